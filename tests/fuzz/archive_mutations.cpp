// Loads thousands of damaged and hostile copies of archives in this process; see archive_mutator.h.
//
//   archive-mutations [--count N] [--seed S] [--only I] [--save FILE] [--no-calls] [--verbose] ARCHIVE…
//
// Each archive is tried in today's layout and, where that can hold it, in the older one. It works in an empty folder of
// its own, in which nothing may have appeared at the end. Build it with -fsanitize=address,undefined to catch what does
// not crash by itself.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "archive_mutator.h"
#include "cresset/archive/archive.h"
#include "cresset/archive/save.h"
#include "cresset/support/error.h"

namespace {

volatile sig_atomic_t current = 0;

void onSignal(int signal) {
  char text[96];
  int n = snprintf(
      text, sizeof text, "archive-mutations: %s in mutation %d\n", signal == SIGALRM ? "hang" : "crash",
      static_cast<int>(current));
  if (write(2, text, static_cast<size_t>(n)) < 0) _exit(3);
  ::signal(signal, SIG_DFL);
  if (signal == SIGALRM) _exit(3);
  raise(signal);
}

/// A new folder as the current one.
class EmptyFolder {
 public:
  EmptyFolder() : before_(std::filesystem::current_path()) {
    std::string name = std::filesystem::temp_directory_path() / "archive-mutations-XXXXXX";
    if (!mkdtemp(name.data())) throw std::system_error(errno, std::generic_category(), "mkdtemp");
    folder_ = name;
    std::filesystem::current_path(folder_);
  }
  ~EmptyFolder() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
    std::filesystem::remove_all(folder_, ignored);
  }
  EmptyFolder(const EmptyFolder&) = delete;
  EmptyFolder& operator=(const EmptyFolder&) = delete;
  std::vector<std::string> contents() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path before_, folder_;
};

/// Adds each archive in the older layout too, if its module can be written so.
void addOlderLayouts(std::vector<std::string>& archives) {
  for (size_t i = 0, count = archives.size(); i < count; ++i) {
    try {
      const auto loaded = cresset::loadArchive(archives[i].data(), archives[i].size(), nullptr, {.trusted = true});
      std::ostringstream out;
      cresset::saveArchive(c10::IValue(loaded.root), out, {.layout = cresset::ArchiveLayout::ModelJson});
      archives.push_back(out.str());
    } catch (const cresset::UserError&) {  // has something that the layout can't hold
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  archive_mutator::Options options;
  options.current = &current;
  std::vector<std::string> archives;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--count" && i + 1 < argc) {
      options.count = std::stoull(argv[++i]);
    } else if (arg == "--seed" && i + 1 < argc) {
      options.seed = std::stoull(argv[++i]);
    } else if (arg == "--only" && i + 1 < argc) {
      options.only = std::stoull(argv[++i]);
    } else if (arg == "--save" && i + 1 < argc) {
      options.save_as = argv[++i];
    } else if (arg == "--no-calls") {
      options.call = false;
    } else if (arg == "--verbose") {
      options.verbose = true;
    } else {
      std::ifstream file(arg, std::ios::binary);
      archives.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
  }
  addOlderLayouts(archives);
  if (archives.empty()) {
    std::cerr << "usage: archive-mutations [--count N] [--seed S] [--only I] [--save FILE] [--no-calls]\n"
                 "                         [--verbose] ARCHIVE…\n";
    return 2;
  }
  // Sanitizers tell more about a crash than the number, and print it on their own.
  ::signal(SIGALRM, onSignal);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::signal(signal, onSignal);
#endif
  if (!options.save_as.empty()) options.save_as = std::filesystem::absolute(options.save_as);
  const EmptyFolder folder;
  archive_mutator::Report report;
  try {
    report = archive_mutator::run(archives, options);
  } catch (const std::exception& error) {  // of an archive as it is
    std::cerr << error.what() << '\n';
    return 2;
  }
  for (const std::string& name : folder.contents()) report.failures.push_back("the file '" + name + "' was written");
  for (const std::string& failure : report.failures) std::cerr << failure << '\n';
  size_t loaded = 0, refused = 0;
  for (const auto& [name, tally] : report.tallies) {
    loaded += tally.loaded;
    refused += tally.refused;
    std::cout << name << ": " << tally.loaded << " loaded (" << tally.compile_errors
              << " functions of them refused; calls: " << tally.returned << " returned, " << tally.raised << " raised, "
              << tally.interrupted << " were interrupted), " << tally.refused << " refused\n";
  }
  std::cout << loaded + refused << " archives, " << loaded << " loaded, " << refused << " refused: slowest load "
            << report.slowest_load * 1e3 << " ms, largest allocation " << report.largest_allocation * 100
            << " % of the limit, " << report.failures.size() << " failures\n";
  return report.failures.empty() ? 0 : 1;
}
