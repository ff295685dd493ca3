#include "cresset/interpreter/compiled_subgraph.h"

#include <utility>

#include "cresset/interpreter/code.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

class InterpretedSubgraph : public CompiledSubgraph {
 public:
  explicit InterpretedSubgraph(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  void call(std::vector<c10::IValue>& stack, size_t) const override { runPart(*code_, stack); }
  const Code* code() const override { return code_.get(); }

 private:
  std::shared_ptr<const Code> code_;
};

}  // namespace

std::shared_ptr<const CompiledSubgraph> interpretSubgraph(
    Graph& subgraph, std::weak_ptr<Program> program, SubgraphCompiler compile) {
  return std::make_shared<InterpretedSubgraph>(
      emitCode(subgraph, "<subgraph>", std::move(program), {.compile_subgraph = compile}));
}

void runPart(const Code& code, std::vector<c10::IValue>& stack) {
  try {
    runCode(code, stack);
  } catch (const ScriptError&) {
    throw ErrorInPlace{std::current_exception()};
  }
}

}  // namespace cresset
