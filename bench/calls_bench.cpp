// What a call costs from C++, piece by piece: the state of the thread, signatures, entering a plan's code, launching a
// kernel.
//
//   cresset-calls-bench          prints ns of processor time per call, the best of many rounds
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/randn.h>

#include <cstdio>
#include <string>

#include "best_time.h"
#include "cresset/executor/executor.h"
#include "cresset/executor/kernels.h"
#include "cresset/executor/plan.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/ir/subgraph.h"
#include "cresset/module/compilation_unit.h"
#include "cresset/module/module.h"
#include "cresset/ops/new_tensor.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

using namespace cresset;

namespace {

constexpr const char* kSource = R"(
def three(x, y, z):
    return y

def branches(x, y, z):
    a = 1
    if x.dim() > 1:
        a = a + 1
    if y.dim() > 1:
        a = a + 2
    if z.dim() == a:
        return x
    return z

def four(x, y, z):
    return ((x + y) * z - x) * y

def chain(x, y):
    for i in range(100):
        x = x * y + y
    return x
)";

template <typename Work>
void report(const char* what, const Work& work) {
  std::printf("%-64s %9.1f ns\n", what, bestTime(500, 400, work));
}

/// From stack to stack, as the Python binding and scripts call.
void reportCall(const char* what, Function& function, const Stack& arguments) {
  Stack stack;
  const auto call = [&] {
    stack.assign(arguments.begin(), arguments.end());
    function.run(stack);
    stack.clear();
  };
  for (int i = 0; i < 10; ++i) call();
  waitForCompilation();
  report(what, call);
}

void reportPieces(const char* name, Function& function, const Stack& arguments) {
  const auto prepared = prepareFunction(function);
  Signature signature;
  Stack stack(arguments);
  CRESSET_CHECK(!prepared->reader.read(stack, signature), "the call has a signature");
  const Stack inputs(stack);
  const auto named = [name](const char* what) { return std::string(name) + ": " + what; };
  report(named("copying the arguments").c_str(), [&] { stack.assign(arguments.begin(), arguments.end()); });
  report(named("… and reading their signature").c_str(), [&] {
    stack.assign(arguments.begin(), arguments.end());
    Signature words;
    static_cast<void>(prepared->reader.read(stack, words));
  });
  const auto plan = makePlan(function, *prepared, signature);
  const auto run = [&] {
    stack.assign(inputs.begin(), inputs.end());
    runCode(*plan->code, stack);
  };
  for (int i = 0; i < 10; ++i) run();
  report(named("copying the arguments and running the plan's code").c_str(), run);
}

void reportKernel(CompilationUnit& unit, const at::Tensor& x) {
  Function& function = unit.get_function("four");
  const auto prepared = prepareFunction(function);
  Signature signature;
  Stack stack{x, x, x};
  CRESSET_CHECK(!prepared->reader.read(stack, signature), "the call has a signature");
  const auto plan = makePlan(function, *prepared, signature);
  for (const Node* node : plan->graph->nodes()) {
    if (!isSubgraph(*node, SubgraphKind::Fused)) continue;
    const auto group = compileFused(*node);
    const size_t n = node->inputs().size();
    const Stack inputs(n, x);
    const auto launch = [&] {
      stack.assign(inputs.begin(), inputs.end());
      group->call(stack, n);
    };
    launch();
    report("a launch, arguments copied", launch);
  }
  report("  copying the arguments", [&] { stack.assign(3, x); });
  report("  making its result", [&] { newTensor(x.sizes(), x.strides(), at::kFloat, x.nbytes()); });
  report("  making it by at::empty_strided_cpu", [&] {
    at::detail::empty_strided_cpu(x.sizes(), x.strides(), at::kFloat);
  });
}

}  // namespace

int main() {
  setOption(Option::kernels, "now");
  const c10::NoGradGuard without_gradients;
  CompilationUnit unit;
  unit.define(kSource);
  const at::Tensor x = at::randn({4}), y = at::randn({4}), z = at::randn({4});
  report("at::add of 4 floats", [&] { at::add(x, y); });
  report("the ambient state of the thread", [&] { static_cast<void>(AmbientState::now()); });
  reportCall("three(x, y, z), which is too small for a plan", unit.get_function("three"), {x, y, z});
  reportCall("branches(x, y, z), whose plan does nothing", unit.get_function("branches"), {x, y, z});
  reportPieces("branches", unit.get_function("branches"), {x, y, z});
  Function& branches = unit.get_function("branches");
  report("branches, by callFunction", [&] { callFunction(branches, {x, y, z}); });
  reportCall("four(x, y, z), one kernel", unit.get_function("four"), {x, y, z});
  reportCall("chain(x, y), 100 iterations of one kernel", unit.get_function("chain"), {x, y});
  reportKernel(unit, x);
}
