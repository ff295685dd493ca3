// What must hold of an archive, whatever its bytes: loading returns a module or raises an error of Cresset's; no crash,
// no hang; no function of the archive run or even compiled by loading; no more memory than 4 times the file's size and
// 64 MiB while loading. What loads is then compiled whole, down to instructions, and its methods are called within
// bounds (bounded_call.h).
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "bounded_call.h"

namespace archive_checks {

struct Options {
  bool stream = false;   // is read from a stream: tensors live in memory of their own, not in the archive's bytes
  bool call = true;      // what loads
  bool verbose = false;  // shows each call before it is made
};

struct Outcome {
  bool loaded = false;
  std::string refusal;        // why it did not load
  size_t compile_errors = 0;  // functions that were refused
  bounded_call::Tally calls;
  double load_seconds = 0;
  double allocated = 0;               // while loading, of the limit
  std::vector<std::string> failures;  // what must hold and did not
};

/// Arguments of calls are made up from `random`.
Outcome check(const std::string& archive, std::mt19937_64& random, const Options& options);

}  // namespace archive_checks
