// Graphs as TorchScript source that compiles back to the same graph.
#pragma once

#include <string>
#include <vector>

#include "cresset/program/program.h"

namespace cresset {

struct CodeOptions {
  /// Where constants go that source can't say (tensors, …): they print as `CONSTANTS.c0`. May be null.
  std::vector<c10::IValue>* constants = nullptr;
  /// Whether the first parameter says its type. Archives need that for `self`; people know it.
  bool type_of_first = true;
};

/// `def name(...)` with the body of the function's graph. `name` defaults to the function's own.
std::string printCode(Function& function, CodeOptions options = {}, const std::string& name = "");

}  // namespace cresset
