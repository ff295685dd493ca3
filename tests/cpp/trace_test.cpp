// Tracing C++ code: sizes, writes, errors, calls of programs, threads.
#include "test.h"

#include <ATen/core/ivalue.h>
#include <ATen/ops/add_ops.h>
#include <ATen/ops/equal_ops.h>
#include <ATen/ops/ones_ops.h>
#include <ATen/ops/relu_ops.h>
#include <ATen/ops/view_ops.h>

#include <thread>

#include "cresset/module/trace.h"
#include "cresset/support/error.h"
#include "cresset/tracer/tracer.h"

using namespace cresset;

namespace {

at::Tensor ones(const std::vector<int64_t>& sizes) {
  return at::_ops::ones::call(c10::fromIntArrayRefSlow(sizes), at::kFloat, std::nullopt, std::nullopt, std::nullopt);
}

}  // namespace

TEST_CASE("a C++ function becomes a program for other sizes") {
  auto unit = trace(
      [](std::vector<IValue> inputs) -> IValue {
        at::Tensor x = inputs[0].toTensor();
        x.add_(1);
        return at::_ops::view::call(at::_ops::relu::call(x), {{symbolicSize(x, 0), c10::SymInt(-1)}});
      },
      {ones({2, 3, 4})}, {.name = "flat", .argument_names = {"x"}});
  at::Tensor x = ones({5, 3, 2});
  at::Tensor result = unit.run_method("flat", x).toTensor();
  CHECK(result.sizes().vec() == std::vector<int64_t>{5, 6});
  CHECK(x.sum().item().toDouble() == 60);
  CHECK(!tracing());
  CHECK(symbolicSize(x, 0).expect_int() == 5);
}

TEST_CASE("calls of programs stay calls") {
  CompilationUnit library("def f(x: Tensor) -> Tensor:\n  if bool(x.sum() > 3):\n    return x - 1\n  return x + 1\n");
  auto unit = trace(
      [&](std::vector<IValue> inputs) -> IValue { return library.run_method("f", inputs[0]).toTensor().mul(2); },
      {ones({2})});
  CHECK(unit.run_method("traced", ones({2})).toTensor().sum().item().toDouble() == 8);
  CHECK(unit.run_method("traced", ones({5})).toTensor().sum().item().toDouble() == 0);
}

TEST_CASE("an exception in traced code passes through and ends the trace") {
  CHECK_THROWS_AS(
      trace([](const std::vector<IValue>&) -> IValue { throw std::logic_error("mine"); }, {ones({2})}),
      std::logic_error);
  CHECK(!tracing());
  CHECK_THROWS_AS(trace([](const std::vector<IValue>&) -> IValue { return 3; }, {ones({2})}), UserError);
  CHECK_THROWS_AS(trace([](std::vector<IValue> in) -> IValue { return in[0]; }, {IValue(3)}), UserError);
}

TEST_CASE("threads trace at once") {
  std::vector<std::thread> threads;
  std::vector<double> sums(4);
  for (size_t i = 0; i < sums.size(); ++i) {
    threads.emplace_back([i, &sums] {
      auto unit = trace(
          [i](std::vector<IValue> inputs) -> IValue {
            at::Tensor x = inputs[0].toTensor();
            for (size_t n = 0; n < 10 * (i + 1); ++n) x = x.add(1);
            return x;
          },
          {ones({1})});
      sums[i] = unit.run_method("traced", ones({1})).toTensor().item().toDouble();
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(sums == std::vector<double>{11, 21, 31, 41});
}
