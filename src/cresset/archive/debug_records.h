// Where an archive's code came from: `.debug_pkl` records map ranges of a code file to the files that people wrote.
//
// They are read when an error first needs a position, each part once. A damaged record loses positions and nothing
// else; so does one that the budget, which all of an archive's records share, has no place for. Thread-safety:
// everything const may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cresset/archive/zip_reader.h"
#include "cresset/support/source.h"

namespace cresset {

/// What the debug records of one archive may take together.
struct DebugBudget {
  explicit DebugBudget(size_t limit) : budget(limit) {}
  std::mutex mutex;
  LoadBudget budget;  // under `mutex`
};

class DebugRecords {
 public:
  /// `record` may be missing from the archive; then nothing has an origin.
  DebugRecords(std::shared_ptr<const ZipReader> zip, std::string record, std::shared_ptr<DebugBudget> budget)
      : zip_(std::move(zip)), record_(std::move(record)), budget_(std::move(budget)) {}
  /// The original of the code at byte `offset` of the code file.
  std::optional<SourceRange> find(size_t offset) const;

 private:
  struct Mapping {
    size_t offset;
    std::shared_ptr<const Source> source;
    uint32_t begin, end;
  };
  void read() const;
  void readWithin(LoadBudget& budget) const;

  std::shared_ptr<const ZipReader> zip_;
  std::string record_;
  std::shared_ptr<DebugBudget> budget_;
  mutable std::once_flag once_;
  mutable std::vector<Mapping> mappings_;  // by offset
};

/// The text of a code file. Its ranges know their originals.
class CodeFileSource final : public Source {
 public:
  CodeFileSource(std::string text, std::string record, std::shared_ptr<const DebugRecords> debug)
      : Source(std::move(text), std::move(record)), debug_(std::move(debug)) {}
  std::optional<SourceRange> origin(const SourceRange& range) const override {
    return debug_ ? debug_->find(range.begin) : std::nullopt;
  }

 private:
  std::shared_ptr<const DebugRecords> debug_;
};

}  // namespace cresset
