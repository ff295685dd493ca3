// A few hundred mutations of a small archive. The program archive-mutations runs thousands, of real archives.
#include <sstream>

#include "archive_mutator.h"
#include "cresset/archive/archive.h"
#include "cresset/archive/save.h"
#include "small_archive.h"
#include "test.h"

TEST_CASE("archives: mutations of a small archive are refused or load, within their limits" * slow_under_threads) {
  archive_mutator::Options options;
  options.count = 400;
  const std::string archive = archive_builder::smallArchive();
  const auto original = cresset::loadArchive(archive.data(), archive.size(), nullptr);
  std::ostringstream older;
  cresset::saveArchive(c10::IValue(original.root), older, {.layout = cresset::ArchiveLayout::ModelJson});
  archive_mutator::Report report = archive_mutator::run({archive, older.str()}, options);
  for (const std::string& failure : report.failures) FAIL_CHECK(failure);
  // Mutations that are all refused, or all load, test nothing.
  size_t loaded = 0, refused = 0;
  for (const auto& [name, tally] : report.tallies) {
    loaded += tally.loaded;
    refused += tally.refused;
  }
  CHECK(loaded > 40);
  CHECK(refused > 100);
}
