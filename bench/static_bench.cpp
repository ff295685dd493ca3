// What a node of a static module costs beside its kernel: a chain of one operator on 16 floats, without fusion, and the
// same calls made directly, of `at::cpu::…_out` into tensors that have their sizes, or of the boxed operator.
//
//   cresset-static-bench [NAME]   prints ns of processor time per node, the best of many rounds; of all, or of those
//                                 whose names begin so
//   cresset-static-bench allocations  prints how often a node asks PyTorch's allocator for memory, with managed
//   outputs,
//                                 and how often the rest of a run does
//   cresset-static-bench threads  prints how many calls of one module 2 and 16 threads make in the same time: chains of
//                                 eight and of 40 nodes
//
// Both are the difference of two lengths, so that what a call as a whole costs is in neither. The numerics are eager's:
// others have kernels of their own, which have no peer.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add_cpu_dispatch.h>
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/maximum_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mul_cpu_dispatch.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/sigmoid_cpu_dispatch.h>
#include <ATen/ops/tanh_cpu_dispatch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "best_time.h"
#include "cresset/module/compilation_unit.h"
#include "cresset/static_runtime/static_module.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

using namespace cresset;

namespace {

constexpr std::array<int, 2> kLengths = {8, 40};
constexpr int kCalls = 40, kRounds = 200;

using Tensors = std::vector<at::Tensor>;

/// The arguments of all programs: x and y, of 4 by 4 floats. No chain of products underflows.
const Tensors& arguments() {
  static const Tensors made = {at::rand({4, 4}), at::eye(4)};
  return made;
}

struct Chain {
  const char* name;
  const char* statement;  // which makes x anew
  /// Calls of the kernel, n of them.
  std::function<void(int)> direct;
};

/// `compute(result, x, y)`, each result the next call's x. Results lie in two places, as they do in a static module.
template <typename Compute>
std::function<void(int)> into(Compute compute) {
  auto results = std::make_shared<Tensors>();
  for (int i = 0; i < 2; ++i) {
    results->push_back(at::rand({0}));
    compute(results->back(), arguments()[0], arguments()[1]);
  }
  return [results, compute](int n) {
    const at::Tensor* x = arguments().data();
    for (int i = 0; i < n; ++i) {
      compute((*results)[i % 2], *x, arguments()[1]);
      x = &(*results)[i % 2];
    }
  };
}

std::function<void(int)> boxed(const char* name, const char* overload, const std::vector<c10::IValue>& others) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
  return [op, others](int n) {
    Stack stack;
    c10::IValue x = arguments()[0];
    for (int i = 0; i < n; ++i) {
      stack.push_back(std::move(x));
      for (const c10::IValue& other : others) stack.push_back(other);
      op.callBoxed(stack);
      x = std::move(stack.back());
      stack.clear();
    }
  };
}

double perNode(const std::function<void(int)>& run) {
  std::array<double, 2> times;
  for (size_t i = 0; i < 2; ++i) times[i] = bestTime(kCalls, kRounds, [&] { run(kLengths[i]); });
  return (times[1] - times[0]) / (kLengths[1] - kLengths[0]);
}

double perNode(const Chain& chain, StaticNodeKind& kind) {
  std::vector<std::unique_ptr<StaticRuntime>> runtimes;
  StaticModuleOptions options;
  options.enable_fusion = false;
  for (const int length : kLengths) {
    std::string source = "def chain(x: Tensor, y: Tensor):\n";
    for (int i = 0; i < length; ++i) source += std::string("    ") + chain.statement + "\n";
    CompilationUnit unit(source + "    return x\n");
    const StaticModule model(unit.get_function("chain"), options);
    for (int i = 0; i < 3; ++i) model.runtime()({arguments()[0], arguments()[1]});
    const StaticReport report = model.report();
    for (const StaticReport::Node& node : report.plans.at(0).nodes) {
      kind = node.kind;
      if (kind != StaticNodeKind::Native) break;
    }
    runtimes.push_back(std::make_unique<StaticRuntime>(model));
  }
  return perNode([&](int n) { (*runtimes[n == kLengths[0] ? 0 : 1])({arguments()[0], arguments()[1]}); });
}

void report(const Chain& chain) {
  StaticNodeKind kind{};
  const double node = perNode(chain, kind);
  const double direct = perNode(chain.direct);
  std::printf(
      "%-36s %-12s %10.1f %10.1f %10.1f\n", chain.name, std::string(toString(kind)).c_str(), direct, node,
      node - direct);
}

/// Counting takes time, also of what runs afterwards, and so stands in no run that measures it.
void reportAllocations(const Chain& chain) {
  constexpr int kLength = 8;
  StaticModuleOptions options;
  options.enable_fusion = false;
  options.manage_output_tensors = true;
  std::string source = "def chain(x: Tensor, y: Tensor):\n";
  for (int i = 0; i < kLength; ++i) source += std::string("    ") + chain.statement + "\n";
  CompilationUnit unit(source + "    return x\n");
  const StaticModule model(unit.get_function("chain"), options);
  const IndividualOps ops = model.runtime().benchmark_individual_ops({{arguments()[0], arguments()[1]}});
  double in_operators = 0;
  for (const IndividualOps::Op& op : ops.ops) in_operators += op.allocations;
  std::printf("%-36s %10.1f %10.1f\n", chain.name, in_operators / kLength, ops.allocations - in_operators);
}

/// Calls per second of `count` threads that share the module, each of which calls it as often as it can.
double callsPerSecond(const StaticModule& model, size_t count) {
  constexpr auto kTime = std::chrono::milliseconds(300);
  std::atomic<bool> runs = true;
  std::atomic<size_t> calls = 0;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      const c10::NoGradGuard without_gradients;
      size_t own = 0;
      for (; runs; ++own) model({arguments()[0], arguments()[1]});
      calls += own;
    });
  }
  std::this_thread::sleep_for(kTime);
  runs = false;
  for (std::thread& thread : threads) thread.join();
  return static_cast<double>(calls) / std::chrono::duration<double>(kTime).count();
}

void reportThreads() {
  constexpr size_t kFew = 2, kMany = 16, kTimes = 11;
  StaticModuleOptions options;
  options.enable_fusion = false;
  for (const int length : kLengths) {
    std::string source = "def chain(x: Tensor, y: Tensor):\n";
    for (int i = 0; i < length; ++i) source += "    x = x * y\n";
    CompilationUnit unit(source + "    return x\n");
    const StaticModule model(unit.get_function("chain"), options);
    callsPerSecond(model, kMany);
    std::vector<double> ratios, calls;
    for (size_t i = 0; i < kTimes; ++i) {
      const double few = callsPerSecond(model, kFew);
      calls.push_back(callsPerSecond(model, kMany));
      ratios.push_back(calls.back() / few);
    }
    std::ranges::sort(ratios);
    std::ranges::sort(calls);
    std::printf(
        "%2d nodes: %zu threads make %.0f calls a second, %.2f of what %zu make\n", length, kMany, calls[kTimes / 2],
        ratios[kTimes / 2], kFew);
  }
}

}  // namespace

int main(int argc, char** argv) {
  setOption(Option::numerics, "exact");
  const c10::NoGradGuard without_gradients;
  if (argc == 2 && std::string_view(argv[1]) == "threads") {
    reportThreads();
    return 0;
  }
  const auto unary = [](auto kernel) {
    return into([kernel](at::Tensor& to, const at::Tensor& x, const at::Tensor&) { kernel(to, x); });
  };
  const auto binary = [](auto kernel) {
    return into([kernel](at::Tensor& to, const at::Tensor& x, const at::Tensor& y) { kernel(to, x, y); });
  };
  using One = at::Tensor& (*)(at::Tensor&, const at::Tensor&);
  using Two = at::Tensor& (*)(at::Tensor&, const at::Tensor&, const at::Tensor&);
  const Chain chains[] = {
      {"sigmoid", "x = torch.sigmoid(x)", unary(One(at::cpu::sigmoid_out))},
      {"tanh", "x = torch.tanh(x)", unary(One(at::cpu::tanh_out))},
      {"mul", "x = x * y", binary(Two(at::cpu::mul_out))},
      {"add", "x = x + y",
       binary([](at::Tensor& to, const at::Tensor& x, const at::Tensor& y) { at::cpu::add_out(to, x, y, 1); })},
      {"mm", "x = torch.mm(x, y)", binary(Two(at::cpu::mm_out))},
      {"addmm", "x = torch.addmm(y, x, y)",
       binary([](at::Tensor& to, const at::Tensor& x, const at::Tensor& y) { at::cpu::addmm_out(to, y, x, y); })},
      {"maximum, by its overload with out", "x = torch.maximum(x, y)", binary(Two(at::cpu::maximum_out))},
      {"mul by a number", "x = x * 0.5", boxed("aten::mul", "Scalar", {0.5})},
      {"rad2deg, a fallback", "x = torch.rad2deg(x)", boxed("aten::rad2deg", "", {})},
      {"fliplr, a fallback", "x = torch.fliplr(x)", boxed("aten::fliplr", "", {})},
      {"square, a fallback", "x = torch.square(x)", boxed("aten::square", "", {})},
      {"inner, a fallback", "x = torch.inner(x, y)", boxed("aten::inner", "", {arguments()[1]})},
      {"selu, by the dispatcher", "x = torch.selu(x)", boxed("aten::selu", "", {})},
      {"clip, by the dispatcher", "x = torch.clip(x, 0.0, 1.0)", boxed("aten::clip", "", {0.0, 1.0})},
      {"narrow_copy, by the dispatcher", "x = torch.narrow_copy(x, 0, 0, 4)",
       boxed("aten::narrow_copy", "", {int64_t{0}, int64_t{0}, int64_t{4}})},
  };
  if (argc == 2 && std::string_view(argv[1]) == "allocations") {
    std::printf("%-36s %10s %10s\n", "operator", "a node", "the rest");
    for (const Chain& chain : chains) reportAllocations(chain);
    return 0;
  }
  std::printf("%-36s %-12s %10s %10s %10s\n", "operator", "runs as", "direct", "node", "overhead");
  for (const Chain& chain : chains) {
    if (argc < 2 || std::string(chain.name).starts_with(argv[1])) report(chain);
  }
}
