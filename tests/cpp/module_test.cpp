// Modules and compilation units from C++: what text tests can't say.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_ops.h>

#include <thread>

#include "cresset/module/module.h"
#include "cresset/module/values.h"
#include "cresset/support/error.h"

// c10's logging header has a CHECK of its own, which replaces doctest's.
#define CHECK(...) DOCTEST_CHECK(__VA_ARGS__)

using namespace cresset;

namespace {

at::Tensor ones(int64_t n) {
  return at::_ops::ones::call(c10::fromIntArrayRefSlow({n}), std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}

std::string messageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Module makeCounter() {
  Module m("Counter");
  m.register_attribute("n", c10::IntType::get(), IValue(0));
  m.define("def forward(self, x: Tensor, k: int = 1) -> Tensor:\n  self.n = self.n + k\n  return x + self.n\n");
  return m;
}

}  // namespace

TEST_CASE("a module made in C++ runs, and keeps its attributes") {
  Module m = makeCounter();
  CHECK(m.forward({ones(2)}).toTensor().sum().item().toDouble() == 4);
  CHECK(m.forward({ones(2)}, {{"k", IValue(2)}}).toTensor().sum().item().toDouble() == 8);
  CHECK(m.attr("n").toInt() == 3);
  CHECK(m.run_method("forward", ones(1), 5).toTensor().item().toDouble() == 9);
}

TEST_CASE("arguments are checked by the schema, in torch::jit's words") {
  Module m = makeCounter();
  CHECK(contains(
      messageOf([&] { m.forward({}); }), "forward() is missing value for argument 'x'. Declaration: forward("));
  CHECK(contains(
      messageOf([&] {
        m.forward({ones(1), 1, 2});
      }),
      "forward() expected at most 2 argument(s) but received 3 argument(s)."));
  CHECK(contains(
      messageOf([&] {
        m.forward({ones(1)}, {{"z", IValue(1)}});
      }),
      "Unknown keyword argument 'z' for operator 'forward'."));
  CHECK(contains(
      messageOf([&] {
        m.forward({ones(1)}, {{"x", IValue(1)}});
      }),
      "Argument 'x' specified both as positional and keyword argument."));
  CHECK(contains(
      messageOf([&] { m.forward({1}); }),
      "forward() Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'."));
}

TEST_CASE("values convert to what a type wants") {
  CHECK(convertTo(IValue(1), c10::FloatType::get())->toDouble() == 1.0);
  CHECK(!convertTo(IValue(1.5), c10::IntType::get()));
  CHECK(convertTo(IValue("cpu"), c10::DeviceObjType::get())->toDevice().is_cpu());
  auto floats = convertTo(IValue(std::vector<int64_t>{1, 2}), c10::ListType::ofFloats());
  REQUIRE(floats);
  CHECK((floats->toDoubleVector() == std::vector<double>{1, 2}));
  // A list that has the right type already keeps its identity, so that a script's changes reach the caller.
  IValue list(std::vector<int64_t>{1});
  CHECK(convertTo(list, c10::ListType::ofInts())->is(list));
  auto choice = c10::UnionType::create({c10::IntType::get(), c10::StringType::get()});
  CHECK(std::string(convertTo(IValue("a"), choice)->toStringRef()) == "a");
  CHECK(!convertTo(IValue(1.5), choice));
}

TEST_CASE("setattr checks types, unknown names are errors") {
  Module m = makeCounter();
  m.setattr("n", IValue(7));
  CHECK(m.attr("n").toInt() == 7);
  CHECK(contains(
      messageOf([&] { m.setattr("n", IValue("a")); }),
      "Expected a value of type 'int' for field 'n', but found 'str'."));
  CHECK(contains(messageOf([&] { m.setattr("q", IValue(1)); }), "has no attribute 'q'"));
  CHECK(contains(messageOf([&] { m.attr("q"); }), "has no attribute 'q'"));
  CHECK(m.attr("q", IValue(3)).toInt() == 3);
}

TEST_CASE("parameters, buffers and submodules, shared ones once") {
  Module child("Child");
  at::Tensor shared = ones(3);
  child.register_parameter("w", shared);
  child.register_buffer("b", ones(1));
  Module m("Parent", child.program());
  m.register_parameter("v", shared);
  m.register_module("child", child);
  auto parameters = m.named_parameters();
  REQUIRE(parameters.size() == 1);
  CHECK(parameters[0].name == "v");
  CHECK(m.named_parameters(false).size() == 1);
  REQUIRE(m.named_buffers().size() == 1);
  CHECK(m.named_buffers()[0].name == "child.b");
  CHECK(m.buffers(false).empty());
  REQUIRE(m.named_modules().size() == 2);
  CHECK(m.named_modules()[1].name == "child");
  CHECK(m.children().size() == 1);
  m.eval();
  CHECK(!child.is_training());
}

TEST_CASE("to converts in place; copies share, deep copies don't") {
  Module m("M");
  at::Tensor w = ones(2);
  w.set_requires_grad(true);
  m.register_parameter("w", w);
  m.register_attribute("again", c10::TensorType::get(), IValue(w));
  m.to(c10::kDouble);
  CHECK((w.scalar_type() == c10::kDouble));
  CHECK(m.copy().attr("w").toTensor().is_same(w));
  Module deep = m.deepcopy();
  at::Tensor copied = deep.attr("w").toTensor();
  CHECK(!copied.is_same(w));
  CHECK(copied.is_same(deep.attr("again").toTensor()));  // sharing is kept
  CHECK(copied.is_leaf());
  CHECK(copied.requires_grad());
}

TEST_CASE("clone has a class and methods of its own") {
  Module m = makeCounter();
  Module cloned = m.clone();
  CHECK(cloned.type() != m.type());
  cloned.forward({ones(1)});
  CHECK(cloned.attr("n").toInt() == 1);
  CHECK(m.attr("n").toInt() == 0);
}

// What torch::jit does, top-level objects of deepcopy included.
TEST_CASE("copies of modules that save and restore themselves") {
  Module m("M");
  m.register_attribute("k", c10::IntType::get(), IValue(1));
  m.define("def __getstate__(self) -> int:\n  return self.k * 3\n");
  m.define("def __setstate__(self, s: int):\n  self.k = s + 1\n");
  Module outer("Outer");
  outer.register_module("m", m);
  const auto inner = [](const Module& module) { return module.attr("m").toObject()->getAttr("k").toInt(); };
  CHECK(m.deepcopy().attr("k").toInt() == 1);
  CHECK(inner(outer.deepcopy()) == 4);
  CHECK(deepCopy(IValue(m._ivalue())).toObject()->getAttr("k").toInt() == 4);
  CHECK(m.copy().attr("k").toInt() == 1);
  CHECK(m.clone().attr("k").toInt() == 4);
  CHECK(inner(outer.clone()) == 4);
  CHECK(inner(outer) == 1);
}

TEST_CASE("define is all or nothing") {
  Module m = makeCounter();
  CHECK_THROWS_AS(m.define("def good(self): return 1\ndef bad(self): return nothing_here\n"), UserError);
  CHECK(!m.hasmethod("good"));
  m.define("def good(self) -> int: return 1\n");
  CHECK(m.run_method("good").toInt() == 1);

  CompilationUnit unit;
  CHECK_THROWS_AS(unit.define("def f(x: int): return x\ndef g(x: int): return y\n"), UserError);
  CHECK(!unit.find_function("f"));
  unit.define("def f(x: int): return x + 1\n");
  CHECK(unit.run_method("f", 2).toInt() == 3);
  CHECK(unit.get_functions().size() == 1);
}

TEST_CASE("an empty Module says so") {
  Module m;
  CHECK(contains(messageOf([&] { m.forward({}); }), "refers to nothing"));
  CHECK(contains(messageOf([&] { makeCounter().get_method("nope"); }), "Method 'nope' is not defined"));
}

TEST_CASE("many threads may call one module") {
  Module m = makeCounter();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        if (m.forward({ones(4)}, {{"k", IValue(0)}}).toTensor().sum().item().toDouble() != 4) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}
