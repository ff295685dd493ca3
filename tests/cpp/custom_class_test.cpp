// Operators and classes that a user registers with TORCH_LIBRARY: scripts call, construct, hold and pass them.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/ones.h>
#include <torch/custom_class.h>
#include <torch/library.h>

// The headers above bring c10's CHECK back.
#undef CHECK
#define CHECK DOCTEST_CHECK

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cresset/frontend/compiler.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/policy.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

using namespace cresset;

namespace {

int alive = 0;

struct Counter : torch::CustomClassHolder {
  int64_t n;
  explicit Counter(int64_t n) : n(n) { ++alive; }
  ~Counter() override { --alive; }
  int64_t add(int64_t k) { return n += k; }
  at::Tensor scale(const at::Tensor& x) const { return x.mul(n); }
  void fail() { throw std::runtime_error("the counter is broken"); }
  bool same(const c10::intrusive_ptr<Counter>& other) { return other.get() == this; }
};

TORCH_LIBRARY(cresset_test, m) {
  m.class_<Counter>("Counter")
      .def(torch::init<int64_t>())
      .def("add", &Counter::add, "", {torch::arg("k") = 1})
      .def("scale", &Counter::scale)
      .def("fail", &Counter::fail)
      .def("same", &Counter::same)
      .def_static("version", []() -> int64_t { return 7; })
      .def_static("of", [](int64_t n) { return c10::make_intrusive<Counter>(n); })
      .def_property("n", [](const c10::intrusive_ptr<Counter>& c) { return c->n; });
  // By schemas of Cresset's own parser: TORCH_LIBRARY's strings would bring torch::jit's into this program.
  const auto schema = [](const char* text) {
    return parseSchema(text, [](const std::string& name) -> TypePtr { return torch::getCustomClass(name); });
  };
  m.def(schema("cresset_test::twice(Tensor x) -> Tensor"));
  m.impl("twice", [](const at::Tensor& x) { return x.mul(2); });
  m.def(schema("cresset_test::total(__torch__.torch.classes.cresset_test.Counter[] cs, int plus=1) -> int"));
  m.impl("total", [](const c10::List<c10::intrusive_ptr<Counter>>& cs, int64_t plus) {
    for (const c10::intrusive_ptr<Counter> c : cs) plus += c->n;
    return plus;
  });
  m.def(schema("cresset_test::pair(int a) -> (int, int)"));
  m.impl("pair", [](int64_t a) { return std::make_tuple(a, a + 1); });
  m.def(schema("cresset_test::nothing(int a) -> ()"));
  m.impl("nothing", [](int64_t) {});
}

const char* const kSource = R"(
class Holder:
  def __init__(self, c: torch.classes.cresset_test.Counter):
    self.c = c
    self.more = [c]
    self.none : Optional[torch.classes.cresset_test.Counter] = None
  def up(self, k: int) -> int:
    return self.c.add(k)

def make(n: int):
  return torch.classes.cresset_test.Counter(n)
def defaults(n: int):
  c = torch.classes.cresset_test.Counter(n)
  c.add()
  c.add(k=10)
  return c.n
def scaled(c: torch.classes.cresset_test.Counter, x):
  return torch.ops.cresset_test.twice(c.scale(x))
def held(n: int):
  h = Holder(torch.classes.cresset_test.Counter(n))
  h.up(2)
  h.c.add(3)
  other = h.none
  if other is None:
    h.none = h.c
    other = h.c
  return h.c.n, h.more[0].same(h.c), other.same(make(1)), torch.ops.cresset_test.total([h.c, make(100)]), torch.ops.cresset_test.total(h.more, plus=0)
def results(a: int):
  x, y = torch.ops.cresset_test.pair(a)
  torch.ops.cresset_test.nothing(a)
  return x + y
def broken(c: torch.classes.cresset_test.Counter):
  c.fail()
def made_by_static(n: int):
  return torch.classes.cresset_test.Counter.of(n).n
def static_number():
  return torch.classes.cresset_test.Counter.version()
def unknown(x: Any):
  if isinstance(x, torch.classes.cresset_test.Counter):
    return x.n
  return -1
)";

c10::IValue call(Program& program, const char* name, Stack stack) {
  program.findFunction(c10::QualifiedName(name))->run(stack);
  REQUIRE(stack.size() == 1);
  return stack[0];
}

std::string refusal(const char* text) {
  try {
    defineSource(*Program::make(), std::make_shared<Source>(text, "t.py"), {});
  } catch (const UserError& e) {
    return e.message();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("custom operators and classes in scripts") {
  auto program = Program::make();
  defineSource(*program, std::make_shared<Source>(kSource, "t.py"), {});
  {
    c10::IValue counter = call(*program, "make", {int64_t(3)});
    CHECK(counter.toCustomClass<Counter>()->n == 3);
    CHECK(call(*program, "scaled", {counter, at::ones({2})}).toTensor().sum().item<double>() == 12);
    CHECK(call(*program, "unknown", {counter}).toInt() == 3);
    CHECK(call(*program, "unknown", {int64_t(1)}).toInt() == -1);
    CHECK(call(*program, "defaults", {int64_t(1)}).toInt() == 12);
    CHECK(call(*program, "results", {int64_t(4)}).toInt() == 9);
    CHECK(call(*program, "made_by_static", {int64_t(8)}).toInt() == 8);
    CHECK(call(*program, "static_number", {}).toInt() == 7);
    const auto held = call(*program, "held", {int64_t(1)}).toTuple();
    CHECK(held->elements()[0].toInt() == 6);
    CHECK(held->elements()[1].toBool());
    CHECK(!held->elements()[2].toBool());
    CHECK(held->elements()[3].toInt() == 107);
    CHECK(held->elements()[4].toInt() == 6);
    try {
      call(*program, "broken", {counter});
      FAIL("no error");
    } catch (const ScriptError& e) {
      CHECK(e.message().find("the counter is broken") != std::string::npos);
      REQUIRE(e.frames().size() == 1);
      CHECK(e.frames()[0].function == "broken");
    }
  }
  CHECK(alive == 0);
}

TEST_CASE("static methods of C++ classes are refused with their class") {
  for (const std::string body : {"Counter.version()", "Counter.of(1).n"}) {
    const std::string source = "def f():\n  return torch.classes.cresset_test." + body + "\n";
    auto program = Program::make();
    program->setRules({.policy = std::make_shared<const OperatorPolicy>(std::vector<std::string>())});
    defineSource(*program, std::make_shared<Source>(source, "t.py"), {});
    CHECK_THROWS_WITH_AS(
        call(*program, "f", {}), doctest::Contains("may not use the C++ class torch.classes.cresset_test.Counter"),
        UserError);
  }
}

TEST_CASE("wrong uses of custom operators and classes are refused with a reason") {
  CHECK(refusal("def f():\n  return torch.classes.cresset_test.Nope(1)\n").find("Nope") != std::string::npos);
  CHECK(refusal("def f(x):\n  return torch.ops.cresset_test.nope(x)\n").find("nope") != std::string::npos);
  CHECK(
      refusal("def f(c: torch.classes.cresset_test.Counter):\n  return c.nope()\n").find("nope") != std::string::npos);
  const std::string text = refusal("def f(c: torch.classes.cresset_test.Counter):\n  return c.add('a')\n");
  CHECK(text.find("'k'") != std::string::npos);
  CHECK(text.find("int") != std::string::npos);
  CHECK(refusal("def f():\n  return torch.classes.cresset_test.Counter()\n").find("not provided") != std::string::npos);
}
