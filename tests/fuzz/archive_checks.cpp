// Loading, compiling and calling an archive that nobody has vetted. See archive_checks.h.
#include "archive_checks.h"

#include <chrono>
#include <optional>
#include <sstream>

#include "allocation_counter.h"
#include "cresset/archive/archive.h"
#include "cresset/support/error.h"

namespace archive_checks {

namespace {

std::optional<cresset::LoadedArchive> load(const std::string& archive, const Options& options, Outcome& outcome) {
  std::optional<std::istringstream> stream;
  if (options.stream) stream.emplace(archive);
  const auto start = std::chrono::steady_clock::now();
  const int64_t before = startCounting();
  std::optional<cresset::LoadedArchive> loaded;
  try {
    loaded = stream ? cresset::loadArchive(*stream) : cresset::loadArchive(archive.data(), archive.size(), nullptr);
    outcome.loaded = true;
  } catch (const cresset::ArchiveError& error) {
    outcome.refusal = error.what();
  } catch (const std::exception& error) {
    outcome.failures.push_back(std::string("loading threw something else than ArchiveError: ") + error.what());
  }
  const auto peak = static_cast<double>(stopCounting(before)),
             limit = 4.0 * static_cast<double>(archive.size()) + 64.0 * 1048576;
  outcome.load_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.allocated = peak / limit;
  if (peak > limit)
    outcome.failures.push_back("loading took " + std::to_string(peak) + " bytes of " + std::to_string(limit));
  return loaded;
}

/// Compiles all functions of what was loaded, down to instructions.
void compileAll(const cresset::LoadedArchive& loaded, Outcome& outcome) {
  // A method that is compiled may bring in functions that nothing referred to before.
  std::vector<cresset::Function*> functions = loaded.program->functions();
  for (size_t i = 0; i < functions.size(); ++i) {
    cresset::Function* function = functions[i];
    const std::string name = function->qualname().qualifiedName();
    try {
      function->executable();
    } catch (const cresset::InternalError& error) {
      outcome.failures.push_back("compiling " + name + ": " + error.what());
    } catch (const cresset::Error&) {
      ++outcome.compile_errors;
    } catch (const std::exception& error) {
      outcome.failures.push_back(
          "compiling " + name + " threw something else than an error of Cresset's: " + error.what());
    }
    if (i + 1 == functions.size()) functions = loaded.program->functions();
  }
}

}  // namespace

Outcome check(const std::string& archive, std::mt19937_64& random, const Options& options) {
  Outcome outcome;
  const auto loaded = load(archive, options, outcome);
  if (!loaded) return outcome;
  for (auto* function : loaded->program->functions()) {
    if (function->isDefined()) outcome.failures.push_back("loading compiled " + function->qualname().qualifiedName());
  }
  compileAll(*loaded, outcome);
  if (!options.call) return outcome;
  bounded_call::callMethods(cresset::Module(loaded->root), random, {.verbose = options.verbose}, outcome.calls);
  outcome.failures.insert(outcome.failures.end(), outcome.calls.failures.begin(), outcome.calls.failures.end());
  return outcome;
}

}  // namespace archive_checks
