// cresset-filetest: runs text tests, all in one process.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include "cresset/passes/rewrite_rules.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"
#include "filetest_commands.h"

namespace fs = std::filesystem;
using namespace cresset::tools;

namespace {

/// Files that are tests: those of the three kinds whose first lines hold a `# run:`.
void collect(const fs::path& path, std::vector<fs::path>& out) {
  if (!fs::is_directory(path)) {
    out.push_back(path);
    return;
  }
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || (extension != ".ir" && extension != ".py" && extension != ".txt")) continue;
    try {
      TestFile::read(entry.path());
    } catch (const std::exception&) {
      continue;  // a Python test, a list of words
    }
    out.push_back(entry.path());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Runs text tests: files whose first line is '# run: COMMAND', whose input follows, and whose expected output\n"
      "follows a line '# ---- expect'. Instead of that, input lines may end in '# error: part of the message'.\n"
      "A run of all tests fails, too, if there are rewrite rules that none of them needs.");
  app.footer(
      "Commands:\n" + describeCommands() +
      "\nExamples:\n  cresset-filetest tests/frontend/tree\n  cresset-filetest --filter with- --bless\n");
  std::vector<std::string> paths;
  std::string filter;
  bool bless = false, list = false;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("paths", paths, "Files or folders (default: tests)");
  app.add_option("--filter", filter, "Only tests whose path contains this");
  app.add_flag("--bless", bless, "Rewrite the expect sections of tests that fail");
  app.add_flag("--list", list, "Print the tests' paths and run nothing");
  app.add_option("-j,--jobs", jobs, "Threads")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    cresset::checkOptionsOfEnvironment();
    // Texts show what the bits of eager PyTorch allow, and kernels also where the operators would be faster.
    if (!std::getenv("CRESSET_NUMERICS")) cresset::setOption(cresset::Option::numerics, "exact");
    if (!std::getenv("CRESSET_KERNELS")) cresset::setOption(cresset::Option::kernels, "check");
  } catch (const cresset::UserError& error) {
    std::cerr << error.message() << "\n";
    return 1;
  }
  if (paths.empty()) paths.emplace_back("tests");
  const bool runs_all = filter.empty() && paths == std::vector<std::string>{"tests"};

  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) {
      std::cerr << path << ": no such file or folder\n";
      return 1;
    }
    collect(path, files);
  }
  std::erase_if(files, [&](const fs::path& p) { return p.string().find(filter) == std::string::npos; });
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  if (list) {
    for (const fs::path& file : files) std::cout << file.string() << "\n";
    return 0;
  }

  struct Report {
    Outcome outcome;
    bool blessed = false;
  };
  std::vector<Report> reports(files.size());
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < files.size();) {
      Report& report = reports[i];
      try {
        TestFile test = TestFile::read(files[i]);
        report.outcome = runTest(test);
        if (bless && !report.outcome.passed && test.errors.empty() && !report.outcome.output.empty()) {
          test.bless(report.outcome.output);
          report.blessed = true;
        }
      } catch (const std::exception& e) {
        report.outcome.complaint = std::string("  ") + e.what() + "\n";
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<size_t>(jobs, files.size()); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  size_t passed = 0, failed = 0;
  for (size_t i = 0; i < files.size(); ++i) {
    const Report& report = reports[i];
    if (report.outcome.passed) {
      ++passed;
    } else if (report.blessed) {
      ++passed;
      std::cout << "blessed " << files[i].string() << "\n";
    } else {
      ++failed;
      std::cout << "FAILED " << files[i].string() << "\n" << report.outcome.complaint << "\n";
    }
  }
  if (runs_all) {
    for (const std::string_view rule : cresset::RewriteRules::get().unused()) {
      ++failed;
      std::cout << "FAILED: no test uses the rewrite rule\n  " << rule << "\n";
    }
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 ? 0 : 1;
}
