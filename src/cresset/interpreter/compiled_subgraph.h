// What the subgraphs of a piece of code were compiled to (ir/subgraph.h). Code calls each by one instruction; who makes
// the code says what compiles them, and what is not compiled is interpreted.
#pragma once

#include <ATen/core/ivalue.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

class Code;
class Program;

class CompiledSubgraph {
 public:
  virtual ~CompiledSubgraph() = default;
  /// Replaces the inputs, the last `num_inputs` values of the stack, by the outputs. Called from any thread.
  virtual void call(std::vector<c10::IValue>& stack, size_t num_inputs) const = 0;
  /// What runs, if that is code of the interpreter's; else null.
  virtual const Code* code() const { return nullptr; }
};

/// Compiles the subgraph of a node; null for kinds that it does not know.
using SubgraphCompiler = std::shared_ptr<const CompiledSubgraph> (*)(const Node& subgraph);

/// A subgraph that the interpreter runs, with what `compile` makes of those inside of it.
std::shared_ptr<const CompiledSubgraph> interpretSubgraph(
    Graph& subgraph, std::weak_ptr<Program> program, SubgraphCompiler compile);

/// Runs code that stands for a part of the calling function itself: in errors its frame takes the place of the
/// caller's.
void runPart(const Code& code, std::vector<c10::IValue>& stack);

/// What runPart throws: the frames of the error that it carries take the place of the caller's.
struct ErrorInPlace {
  std::exception_ptr error;  // a ScriptError
};

}  // namespace cresset
