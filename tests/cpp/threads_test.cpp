// Everything that users may do from several threads at once, done at once. ThreadSanitizer sees what goes wrong without
// consequence: `./dev test --preset tsan tests/cpp`.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/ones_ops.h>
#include <ATen/ops/sum_ops.h>

#include <atomic>
#include <functional>
#include <latch>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "cresset/executor/executor.h"
#include "cresset/executor/kernels.h"
#include "cresset/functionalization/functionalize.h"
#include "cresset/functionalization/level.h"
#include "cresset/ir/printer.h"
#include "cresset/module/compilation_unit.h"
#include "cresset/module/freeze.h"
#include "cresset/module/module.h"
#include "cresset/static_runtime/static_module.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"
#include "small_archive.h"

using namespace cresset;

namespace {

constexpr int kThreads = 16;

at::Tensor onesOf(const std::vector<int64_t>& sizes, at::ScalarType dtype = at::kFloat) {
  return at::_ops::ones::call(c10::fromIntArrayRefSlow(sizes), dtype, std::nullopt, std::nullopt, std::nullopt);
}

at::Tensor ones() {
  return onesOf({2, 2});
}

Module loadSmall(const std::string& bytes) {
  std::istringstream stream(bytes);
  return load(stream);
}

void require(bool condition, const char* otherwise) {
  if (!condition) throw std::runtime_error(otherwise);
}

/// Runs `work(thread)` on all threads, which start together; what they throw fails the test.
void atOnce(const std::function<void(int)>& work) {
  std::latch start(kThreads);
  std::mutex mutex;
  std::vector<std::string> failures;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      try {
        work(t);
      } catch (const std::exception& error) {
        std::lock_guard lock(mutex);
        failures.emplace_back(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& failure : failures) FAIL_CHECK(failure);
}

const char* const kForks = R"(
def work(self, x: Tensor, n: int) -> Tensor:
  y = x
  for i in range(n):
    y = y + self.w
  return y

def start(self, x: Tensor, n: int) -> None:
  self.pending = torch.jit.fork(self.work, x, n)

def finish(self) -> Tensor:
  return torch.jit.wait(self.pending)

def spread(self, x: Tensor, n: int) -> int:
  futures = torch.jit.annotate(List[Future[Tensor]], [])
  for i in range(n):
    futures.append(torch.jit.fork(self.work, x, i))
  total = 0
  for future in futures:
    total += torch.jit.wait(future).numel()
  return total

def check(self, n: int) -> int:
  if n > 2:
    raise ValueError("too many")
  return n

def fails(self) -> int:
  return torch.jit.wait(torch.jit.fork(self.check, 3))
)";

}  // namespace

TEST_CASE("threads: load, compile, run and set attributes of one module at once") {
  const std::string bytes = archive_builder::smallArchive();
  for (int round = 0; round < 3; ++round) {
    // Nothing of it is compiled yet: the first calls race to do that.
    const Module shared = loadSmall(bytes);
    atOnce([&](int t) {
      for (int i = 0; i < 12; ++i) {
        require(shared.forward({ones()}).toTensor().numel() == 4, "a wrong result");
        // What the others read while this writes is one value or the other.
        shared.setattr("n", IValue(2 + (t + i) % 4));
        shared.setattr("w", IValue(ones()));
        shared.setattr("name", IValue("thread " + std::to_string(t)));
        require(!shared.attr("name").toStringRef().empty(), "a wrong name");
        if (i % 4 != t % 4) continue;
        toString(*shared.get_method("forward").function().graph());
        require(shared.deepcopy().forward({ones()}).toTensor().numel() == 4, "a wrong result of a copy");
        const Module own = loadSmall(bytes);
        require(own.forward({ones()}).toTensor().numel() == 4, "a wrong result of an own module");
      }
    });
  }
}

TEST_CASE("threads: fork, and wait for futures that others put into an attribute") {
  Module shared("__torch__.Forks");
  shared.register_buffer("w", ones());
  shared.register_attribute("pending", c10::FutureType::create(c10::TensorType::get()), [] {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::TensorType::get());
    future->markCompleted(IValue(ones()));
    return IValue(future);
  }());
  shared.define(kForks);
  atOnce([&](int t) {
    for (int i = 0; i < 10; ++i) {
      shared.run_method("start", ones(), i);
      shared.setattr("w", IValue(ones()));
      require(shared.run_method("finish").toTensor().numel() == 4, "a wrong result of a future");
      require(shared.run_method("spread", ones(), 5).toInt() == 20, "a wrong result of forks");
      auto future = shared.attr("pending").toFuture();
      future->wait();
      require(future->value().toTensor().numel() == 4, "a wrong result of an attribute");
      try {
        shared.run_method("fails");
        throw std::runtime_error("no error at wait");
      } catch (const ScriptError& error) {
        require(error.message() == "too many" && error.pythonClass() == "builtins.ValueError", error.what());
      }
    }
  });
}

TEST_CASE("threads: define functions in one unit, and call those of others") {
  CompilationUnit unit("def base(x: int):\n  return x + 1\n");
  atOnce([&](int t) {
    for (int i = 0; i < 10; ++i) {
      const std::string name = "f" + std::to_string(t) + "_" + std::to_string(i);
      unit.define("def " + name + "(x: int):\n  return base(x) * " + std::to_string(i) + "\n");
      require(unit.run_method(name, 2).toInt() == int64_t{3} * i, "a wrong result");
      Function* other = unit.find_function("f" + std::to_string((t + 1) % kThreads) + "_" + std::to_string(i));
      require(!other || callFunction(*other, {2}).toInt() == int64_t{3} * i, "another's wrong result");
      require(unit.get_functions().size() > static_cast<size_t>(i), "functions are lost");
      try {
        unit.define("def wrong(x: int):\n  return missing(x)\n");
        throw std::runtime_error("a wrong definition is accepted");
      } catch (const UserError&) {  // perhaps of the same definition that another thread is about to take back
      }
    }
  });
  CHECK(unit.find_function("wrong") == nullptr);
  CHECK(unit.get_functions().size() == 1 + 10 * kThreads);
}

namespace {

/// Groups of operators, a product, and a loop that turns hot.
const char* const kLayers = R"(
def layers(x: Tensor, w: Tensor, n: int) -> Tensor:
  for i in range(n):
    x = torch.softmax(torch.tanh(x * 2 + i) + x.mean(-1, keepdim=True), -1)
    x = torch.mm(x, w) + 1
    if bool(x.sum() < 0):
      x = x.neg()
    x[0].mul_(0.5)
  return (x * x).relu() - 1
)";

const char* const kNorms = R"(
def forward(self, x: Tensor) -> Tensor:
  y = torch.batch_norm(x, self.scale, self.shift, self.mean, self.var, self.training, 0.1, 1e-5, False)
  y = torch.layer_norm(y.relu(), [y.size(-1)])
  z = y.clone()
  z[:, 0] = y[:, 1] * self.scale[0]
  return z.sigmoid() + y
)";

Module norms() {
  Module module("__torch__.Norms");
  for (const char* name : {"scale", "shift", "mean", "var"}) module.register_buffer(name, onesOf({4}));
  module.define(kNorms);
  return module;
}

/// An argument of the kind that a thread calls with in its round.
at::Tensor inputOf(int kind) {
  return onesOf({2 + kind % 3, 4}, kind % 2 == 0 ? at::kFloat : at::kDouble);
}

}  // namespace

TEST_CASE("threads: plans are made, run, forgotten and explained, while kernels are compiled") {
  for (const char* kernels : {"background", "now"}) {
    const OptionScope options(
        {{Option::kernels, kernels}, {Option::plans, "always"}, {Option::plans_per_function, "3"}});
    CompilationUnit unit(kLayers);
    Function& layers = unit.get_function("layers");
    std::vector<at::Tensor> expected;
    for (int kind = 0; kind < 6; ++kind) {
      const OptionScope unoptimized({{Option::execution_mode, "interpret"}});
      expected.push_back(
          callFunction(layers, {inputOf(kind), onesOf({4, 4}, inputOf(kind).scalar_type()), 3}).toTensor());
    }
    atOnce([&](int t) {
      for (int i = 0; i < 12; ++i) {
        const int kind = (t + i) % 6;
        at::Tensor x = inputOf(kind);
        const at::Tensor w = onesOf({4, 4}, x.scalar_type()).requires_grad_(t % 4 == 0);
        const at::Tensor result = callFunction(layers, {x, w, 3}).toTensor();
        require(result.allclose(expected[kind], 1e-5, 1e-5), "a wrong result of a plan");
        if (t % 4 == 0) {
          at::_ops::sum::call(result, std::nullopt).backward();
          require(w.grad().defined(), "no gradient");
        }
        if (t == 1) explain(layers);
        if (t == 2 && i % 4 == 0) forgetPlans(layers);
        if (t == 3) toString(*graphFor(layers, {x, w, 3}));
        const std::shared_ptr<Graph> last = t == 5 ? lastExecutedOptimizedGraph(layers) : nullptr;
        if (last) toString(*last);
        if (t == 6) setOption(Option::hot_loop, i % 2 == 0 ? "64" : "2");
        if (t == 7) waitForCompilation();
      }
    });
  }
  setOption(Option::hot_loop, "64");
}

TEST_CASE("threads: drop tensors of a functional program that ends") {
  for (int round = 0; round < 20; ++round) {
    live::Level level;
    std::vector<std::vector<at::Tensor>> held(kThreads);
    for (std::vector<at::Tensor>& tensors : held) {
      for (int i = 0; i < 50; ++i) tensors.push_back(level.wrap(ones()));
    }
    atOnce([&](int t) {
      if (t > 0) return held[t].clear();
      level.close();
      level.settle();
    });
    for (const at::Tensor& tensor : held[0]) CHECK(tensor.equal(ones()));
  }
}

TEST_CASE("threads: freeze, save, functionalize and make static modules of a module that others run") {
  const OptionScope options({{Option::plans, "always"}});
  const Module shared = norms();
  shared.eval();
  const at::Tensor expected = shared.forward({onesOf({2, 4})}).toTensor();
  const auto same = [&](const IValue& result) {
    require(result.toTensor().allclose(expected, 1e-5, 1e-5), "a wrong result");
  };
  const StaticModule together(shared);
  atOnce([&](int t) {
    const at::Tensor x = onesOf({2, 4});
    for (int i = 0; i < 4; ++i) {
      same(shared.forward({x}));
      same(together({x}));
      switch ((t + i) % 5) {
        case 0:
          same(freeze(shared).forward({x}));
          break;
        case 1:
          same(optimize_for_inference(shared).forward({x}));
          break;
        case 2:
          same(StaticModule(shared, {.manage_output_tensors = true})({x}));
          break;
        case 3: {
          std::stringstream file;
          shared.save(file);
          same(load(file).forward({x}));
          break;
        }
        default: {
          const std::shared_ptr<Graph> graph = shared.get_method("forward").function().graph()->copy();
          functionalize(*graph, false);
          removeViews(*graph);
          reinplace(*graph, false);
          same(StaticModule(graph)({IValue(shared._ivalue()), x}));
          together.report();
        }
      }
    }
  });
}
