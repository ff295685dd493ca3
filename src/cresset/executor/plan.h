// Plans: one function, made ready for one signature.
//
// What all plans of a function share is prepared once: its graph with calls inlined, and with the attributes that
// nothing in it writes as inputs of their own. A plan is a copy of that, with types that its signature tells, rewritten
// by the passes (plan.cpp) and emitted as code.
//
// Thread-safety: immutable once made.
#pragma once

#include <memory>
#include <string>

#include "cresset/executor/signature.h"
#include "cresset/interpreter/code.h"
#include "cresset/program/program.h"

namespace cresset {

struct PreparedFunction {
  std::shared_ptr<Graph> graph;
  SignatureReader reader;
  size_t num_nodes = 0;  // of the graph
};

struct Plan {
  Signature signature;
  std::shared_ptr<Graph> graph;
  std::shared_ptr<const Code> code;
};

/// The prepared form of a defined function.
std::shared_ptr<const PreparedFunction> prepareFunction(Function& function);

/// Optimizes for calls of this signature.
std::unique_ptr<const Plan> makePlan(Function& function, const PreparedFunction& prepared, const Signature& signature);

}  // namespace cresset
