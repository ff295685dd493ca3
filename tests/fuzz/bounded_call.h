// Calls of functions that nobody has vetted, with arguments made up for their schemas, within bounds of time and
// memory.
//
// The bounds are those that a host has today: the interrupt check of the calling thread, which stops a script between
// operations, and a malloc that refuses what is far too large. A single operator is not stopped, so the refused size
// also bounds how long one can take.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "cresset/module/module.h"

namespace bounded_call {

struct Limits {
  double seconds = 0.25;             // for all calls on one module
  size_t bytes = size_t(256) << 20;  // in one allocation, and on top of what was allocated at the start
  size_t calls = 12;                 // of one module
  bool verbose = false;              // shows each call, on standard error, before it is made
};

struct Tally {
  size_t returned = 0, raised = 0, interrupted = 0;
  std::vector<std::string> failures;  // a bug's error, or one that is none of Cresset's
};

/// Calls `function` once with arguments made up for it; not at all if a program alone can make them.
void call(cresset::Function& function, std::mt19937_64& random, const Limits& limits, Tally& tally);

/// Calls the methods of a module and of its submodules, in their order of declaration, twice each.
void callMethods(const cresset::Module& module, std::mt19937_64& random, const Limits& limits, Tally& tally);

}  // namespace bounded_call
