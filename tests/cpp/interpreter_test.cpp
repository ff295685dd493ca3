// The interpreter, on graphs as text: control flow, calls, exceptions, forks, attributes, and when values die.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/ones.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cresset/interpreter/interpreter.h"
#include "cresset/ir/parser.h"
#include "cresset/ops/object_slots.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

using namespace cresset;
using c10::IValue;

namespace {

IValue run(const std::string& text, Stack stack = {}) {
  auto graph = parseGraph(text);
  auto code = emitCode(graph, "test");
  INFO(disassemble(*code));
  runCode(*code, stack);
  REQUIRE(stack.size() == 1);
  return stack[0];
}

std::string listing(const std::string& text) {
  return disassemble(*emitCode(parseGraph(text), "test"));
}

size_t count(const std::string& text, const std::string& word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// A program whose functions and classes graphs can name.
struct World {
  std::shared_ptr<Program> program = Program::make();

  std::shared_ptr<Graph> parse(const std::string& text) {
    return parseGraph(
        text, {.types = [this](const std::string& n) -> TypePtr { return program->findType(n); },
               .functions = [this](const std::string& n) { return program->findFunction(n); }});
  }
  Function& define(const std::string& name, const std::string& text) {
    auto graph = parse(text);
    return program->declare(name, [graph](Function& f) { f.setGraph(graph); });
  }
  c10::ClassTypePtr defineClass(
      const std::string& name, const std::vector<std::pair<std::string, TypePtr>>& attributes = {}) {
    auto type = c10::ClassType::create(name, program->asCompilationUnit(), true);
    for (auto& [attribute, t] : attributes) type->addAttribute(attribute, t);
    program->registerType(type);
    return type;
  }
  void defineMethod(const c10::ClassTypePtr& type, const std::string& name, const std::string& text) {
    type->addMethod(&define(type->name()->qualifiedName() + "." + name, text));
  }
  IValue object(const c10::ClassTypePtr& type) {
    return c10::ivalue::Object::create(c10::StrongTypePtr(type->compilation_unit(), type), type->numAttributes());
  }
  IValue call(const std::string& name, Stack stack) {
    program->findFunction(name)->run(stack);
    REQUIRE(stack.size() == 1);
    return stack[0];
  }
};

const char* const kCollatz = R"(
graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %three : int = prim::Constant[value=3]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %start : bool = aten::gt(%n, %one)
  %last : int, %steps : int = prim::Loop(%max, %start, %n, %zero)
    block0(%i : int, %x : int, %s : int):
      %r : int = aten::remainder(%x, %two)
      %even : bool = aten::eq(%r, %zero)
      %next : int = prim::If(%even)
        block0():
          %half : int = aten::floordiv(%x, %two)
          -> (%half)
        block1():
          %y : int = aten::mul(%x, %three)
          %z : int = aten::add(%y, %one)
          -> (%z)
      %s2 : int = aten::add(%s, %one)
      %go : bool = aten::gt(%next, %one)
      -> (%go, %next, %s2)
  return (%steps)
)";

}  // namespace

TEST_CASE("the payload of a number stands at the start of its IValue, as the interpreter reads it") {
  static_assert(sizeof(c10::IValue) == 16);
  auto payload = [](const c10::IValue& value, auto result) {
    std::memcpy(&result, static_cast<const void*>(&value), sizeof(result));
    return result;
  };
  CHECK(payload(c10::IValue(int64_t{-42}), int64_t{}) == -42);
  CHECK(payload(c10::IValue(-0.5), double{}) == -0.5);
  CHECK(payload(c10::IValue(true), bool{}) == true);
  CHECK(payload(c10::IValue(false), bool{}) == false);
}

TEST_CASE("loops, branches and scalars") {
  CHECK(run(kCollatz, {int64_t(27)}).toInt() == 111);
  CHECK(run(kCollatz, {int64_t(1)}).toInt() == 0);
}

TEST_CASE("carried values stay in their registers") {
  const std::string text = listing(kCollatz);
  INFO(text);
  // No copies but those of initial constants.
  CHECK(count(text, "= move r") == 0);
  CHECK(count(text, "= r") == 0);
}

TEST_CASE("values that change places need a third") {
  const char* swap = R"(
graph(%a : int, %b : int, %n : int):
  %true : bool = prim::Constant[value=1]()
  %x : int, %y : int = prim::Loop(%n, %true, %a, %b)
    block0(%i : int, %p : int, %q : int):
      -> (%true, %q, %p)
  %t : (int, int) = prim::TupleConstruct(%x, %y)
  return (%t)
)";
  for (int64_t n = 0; n < 4; ++n) {
    const auto t = run(swap, {int64_t(1), int64_t(2), n}).toTuple();
    CHECK(t->elements()[0].toInt() == (n % 2 ? 2 : 1));
    CHECK(t->elements()[1].toInt() == (n % 2 ? 1 : 2));
  }
}

TEST_CASE("the trip count may be carried too") {
  const char* text = R"(
graph(%n : int):
  %true : bool = prim::Constant[value=1]()
  %x : int = prim::Loop(%n, %true, %n)
    block0(%i : int, %m : int):
      %k : int = aten::add(%m, %i)
      -> (%true, %k)
  return (%x)
)";
  CHECK(run(text, {int64_t(4)}).toInt() == 10);
  CHECK(run(text, {int64_t(-4)}).toInt() == -4);
}

TEST_CASE("the first condition may be carried too") {
  const char* text = R"(
graph(%b : bool, %n : int):
  %r : bool = prim::Loop(%n, %b, %b)
    block0(%i : int, %c : bool):
      %d : bool = aten::__not__(%c)
      -> (%c, %d)
  return (%r)
)";
  CHECK(run(text, {true, int64_t(5)}).toBool() == true);
  CHECK(run(text, {false, int64_t(5)}).toBool() == false);
}

TEST_CASE("scalar instructions compute what their operators do") {
  auto binary = [](const char* op, const IValue& a, const IValue& b) {
    const std::string type = a.isInt() ? "int" : a.isDouble() ? "float" : "bool";
    const std::string result = std::string(op) == "aten::eq" ? "bool" : type;
    return run(
        "graph(%a : " + type + ", %b : " + type + "):\n  %r : " + result + " = " + op + "(%a, %b)\n  return (%r)\n",
        {a, b});
  };
  const int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
  CHECK(binary("aten::add", greatest, int64_t(1)).toInt() == least);
  CHECK(binary("aten::floordiv", int64_t(-7), int64_t(2)).toInt() == -4);
  CHECK(binary("aten::floordiv", int64_t(7), int64_t(-2)).toInt() == -4);
  CHECK(binary("aten::remainder", int64_t(-7), int64_t(3)).toInt() == 2);
  CHECK(binary("aten::remainder", int64_t(7), int64_t(-3)).toInt() == -2);
  CHECK(binary("aten::mul", 1.5, 2.0).toDouble() == 3.0);
  CHECK(binary("aten::eq", true, true).toBool());
  CHECK_THROWS_AS(binary("aten::floordiv", int64_t(1), int64_t(0)), ScriptError);
  CHECK_THROWS_AS(binary("aten::remainder", int64_t(1), int64_t(0)), ScriptError);
}

TEST_CASE("tensors die at their last use") {
  // The argument is passed on by moving; what only one branch uses is dropped in the other.
  const char* text = R"(
graph(%x : Tensor, %c : bool):
  %y : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%x)
      -> (%a)
    block1():
      %s : int[] = prim::ListConstruct()
      %none : NoneType = prim::Constant()
      %b : Tensor = aten::zeros(%s, %none, %none, %none, %none)
      -> (%b)
  %z : Tensor = aten::relu(%y)
  return (%z)
)";
  const std::string code = listing(text);
  INFO(code);
  CHECK(count(code, "aten::relu(move r") == 2);
  CHECK(count(code, "Drop r0") == 1);
  for (bool c : {true, false}) {
    at::Tensor x = at::ones({2});
    Stack stack{x, c};
    runCode(*emitCode(parseGraph(text), "test"), stack);
    CHECK(x.use_count() == 1);
  }
}

TEST_CASE("unused arguments and results are dropped at once") {
  const std::string code = listing(R"(
graph(%x : Tensor, %y : Tensor):
  %a : Tensor = aten::relu(%y)
  %r : int = prim::Constant[value=3]()
  return (%r)
)");
  INFO(code);
  CHECK(count(code, "Drop r0") == 1);
  CHECK(count(code, "_ = aten::relu(move r1)") == 1);
}

TEST_CASE("few registers for many values") {
  std::string text = "graph(%x0 : Tensor):\n";
  for (int i = 0; i < 100; ++i) {
    text += "  %x" + std::to_string(i + 1) + " : Tensor = aten::relu(%x" + std::to_string(i) + ")\n";
  }
  CHECK(listing(text + "  return (%x100)\n").find("1 inputs, 1 registers") != std::string::npos);
}

TEST_CASE("tuples, lists and dicts") {
  CHECK(
      run(R"(
graph(%a : int, %b : int):
  %l : int[] = prim::ListConstruct(%a, %b)
  %x : int, %y : int = prim::ListUnpack(%l)
  %t : (int, int) = prim::TupleConstruct(%y, %x)
  %p : int, %q : int = prim::TupleUnpack(%t)
  %r : int = aten::sub(%p, %q)
  return (%r)
)",
          {int64_t(3), int64_t(10)})
          .toInt() == 7);
  const char* unpack = R"(
graph(%l : int[]):
  %x : int, %y : int = prim::ListUnpack(%l)
  return (%y)
)";
  CHECK_THROWS_WITH_AS(
      run(unpack, {std::vector<int64_t>{1, 2, 3}}), doctest::Contains("Expected 2 elements in a list but found 3"),
      ScriptError);
  const char* index = R"(
graph(%t : (int, int, int), %i : int):
  %s : (int, int) = prim::TupleSlice[beg=1, end=3](%t)
  %x : int = prim::TupleIndex(%s, %i)
  return (%x)
)";
  auto tuple = c10::ivalue::Tuple::create({IValue(1), IValue(2), IValue(3)});
  CHECK(run(index, {tuple, int64_t(-1)}).toInt() == 3);
  CHECK_THROWS_WITH_AS(run(index, {tuple, int64_t(2)}), doctest::Contains("out of range"), ScriptError);
  const auto dict = run(R"(
graph(%k : str, %v : int):
  %d : Dict(str, int) = prim::DictConstruct(%k, %v)
  return (%d)
)",
                        {"a", int64_t(1)})
                        .toGenericDict();
  CHECK(dict.at("a").toInt() == 1);
}

TEST_CASE("isinstance looks into containers") {
  const char* text = R"(
graph(%x : Any):
  %b : bool = prim::isinstance[types=[int[], (int, str), Dict(str, int), Tensor]](%x)
  return (%b)
)";
  CHECK(run(text, {std::vector<int64_t>{1}}).toBool());
  CHECK(run(text, {at::ones({1})}).toBool());
  CHECK(run(text, {c10::ivalue::Tuple::create({IValue(1), IValue("s")})}).toBool());
  CHECK(!run(text, {c10::ivalue::Tuple::create({IValue(1), IValue(2)})}).toBool());
  CHECK(!run(text, {std::vector<double>{1}}).toBool());
  CHECK(!run(text, {IValue()}).toBool());
  CHECK(!run(text, {int64_t(1)}).toBool());
}

TEST_CASE("calls push frames, and recursion ends in an error") {
  World world;
  Function& fact = world.program->declare("fact", nullptr);
  fact.setSchema(parseSchema("fact(int n) -> int"));
  auto graph = world.parse(R"(
graph(%n : int):
  %f : Function = prim::Constant[name="fact"]()
  %one : int = prim::Constant[value=1]()
  %stop : bool = aten::eq(%n, %one)
  %r : int = prim::If(%stop)
    block0():
      -> (%one)
    block1():
      %m : int = aten::sub(%n, %one)
      %k : int = prim::CallFunction(%f, %m)
      %p : int = aten::mul(%n, %k)
      -> (%p)
  return (%r)
)");
  fact.setGraph(graph);
  CHECK(world.call("fact", {int64_t(10)}).toInt() == 3628800);
  CHECK_NOTHROW(world.call("fact", {int64_t(9000)}));
  try {
    world.call("fact", {int64_t(20000)});
    FAIL("no error");
  } catch (const ScriptError& e) {
    CHECK(e.message() == "maximum recursion depth exceeded");
    CHECK(e.pythonClass() == "builtins.RecursionError");
    CHECK(e.frames().size() <= 101);
    CHECK(std::string(e.what()).size() < 100000);
  }
  CHECK(world.call("fact", {int64_t(5)}).toInt() == 120);
}

TEST_CASE("methods are found by the object's own class") {
  World world;
  auto a = world.defineClass("A"), b = world.defineClass("B");
  world.defineMethod(a, "get", "graph(%self : A):\n  %r : int = prim::Constant[value=1]()\n  return (%r)\n");
  world.defineMethod(b, "get", "graph(%self : B):\n  %r : int = prim::Constant[value=2]()\n  return (%r)\n");
  auto interface = c10::InterfaceType::create("I", false);
  interface->addMethod(
      c10::FunctionSchema("get", "", {c10::Argument("self", interface)}, {c10::Argument("", c10::IntType::get())}));
  world.program->registerType(interface);
  world.define("f", "graph(%o : I):\n  %r : int = prim::CallMethod[name=\"get\"](%o)\n  return (%r)\n");
  world.define("g", "graph(%o : A):\n  %r : int = prim::CallMethod[name=\"get\"](%o)\n  return (%r)\n");
  for (int i = 0; i < 3; ++i) {
    CHECK(world.call("f", {world.object(a)}).toInt() == 1);
    CHECK(world.call("f", {world.object(b)}).toInt() == 2);
    CHECK(world.call("g", {world.object(a)}).toInt() == 1);
  }
}

TEST_CASE("comparisons of floats that a jump is fused with hold for nan") {
  const std::string head =
      "graph(%x : float, %y : float):\n  %one : int = prim::Constant[value=1]()\n"
      "  %two : int = prim::Constant[value=2]()\n  %c : bool = aten::";
  const std::string tail =
      "(%x, %y)\n  %r : int = prim::If(%c)\n    block0():\n      %a : int = aten::add(%one, %two)\n"
      "      -> (%a)\n    block1():\n      %b : int = aten::mul(%two, %two)\n      -> (%b)\n  return (%r)\n";
  for (const std::string op : {"lt", "le", "gt", "ge"}) {
    const std::string text = head + op + tail;
    CHECK(run(text, {std::nan(""), 1.0}).toInt() == 4);
    CHECK(run(text, {1.0, std::nan("")}).toInt() == 4);
    CHECK(run(text, {1.0, 2.0}).toInt() == (op[0] == 'l' ? 3 : 4));
    CHECK(run(text, {2.0, 1.0}).toInt() == (op[0] == 'g' ? 3 : 4));
    CHECK(run(text, {1.0, 1.0}).toInt() == (op[1] == 'e' ? 3 : 4));
  }
}

TEST_CASE("instructions of lists and dicts do what their operators do") {
  auto text = [](const std::string& node, const std::string& result) {
    return "graph(%l : int[], %d : Dict(str, int), %i : int, %k : str):\n  " + node + "\n  return (%" + result + ")\n";
  };
  auto inputs = [](int64_t i, const std::string& key) -> std::vector<IValue> {
    c10::impl::GenericList list(c10::IntType::get());
    for (int64_t v : {10, 20, 30}) list.push_back(v);
    c10::impl::GenericDict dict(c10::StringType::get(), c10::IntType::get());
    dict.insert("a", int64_t(1));
    return {list, dict, i, key};
  };
  auto append = text("%u : int[] = aten::append(%l, %i)", "l");
  CHECK(run(append, inputs(40, "")).toIntVector() == std::vector<int64_t>{10, 20, 30, 40});
  CHECK(run(text("%u : int[] = aten::append(%l, %i)", "u"), inputs(40, "")).toIntVector().size() == 4);
  auto set = text("%u : int[] = aten::_set_item(%l, %i, %i)", "l");
  CHECK(run(set, inputs(1, "")).toIntVector() == std::vector<int64_t>{10, 1, 30});
  CHECK(run(set, inputs(-3, "")).toIntVector() == std::vector<int64_t>{-3, 20, 30});
  CHECK_THROWS_WITH_AS(run(set, inputs(3, "")), doctest::Contains("list index out of range"), ScriptError);
  CHECK_THROWS_WITH_AS(run(set, inputs(-4, "")), doctest::Contains("list index out of range"), ScriptError);
  auto get = text("%r : int = aten::__getitem__(%d, %k)", "r");
  CHECK(run(get, inputs(0, "a")).toInt() == 1);
  CHECK_THROWS_WITH_AS(run(get, inputs(0, "b")), doctest::Contains("KeyError: b"), ScriptError);
  auto contains = text("%r : bool = aten::__contains__(%d, %k)", "r");
  CHECK(run(contains, inputs(0, "a")).toBool());
  CHECK(!run(contains, inputs(0, "b")).toBool());
  auto insert = text(" = aten::_set_item(%d, %k, %i)", "d");
  CHECK(run(insert, inputs(7, "b")).toGenericDict().at("b").toInt() == 7);
  CHECK(run(insert, inputs(7, "a")).toGenericDict().at("a").toInt() == 7);
}

TEST_CASE("attributes") {
  World world;
  auto c = world.defineClass("C", {{"n", c10::IntType::get()}, {"o", c10::OptionalType::create(c10::IntType::get())}});
  world.define("make", R"(
graph(%n : int):
  %o : C = prim::CreateObject()
   = prim::SetAttr[name="n"](%o, %n)
  return (%o)
)");
  world.define("get", "graph(%o : C):\n  %n : int = prim::GetAttr[name=\"n\"](%o)\n  return (%n)\n");
  world.define("opt", "graph(%o : C):\n  %n : int? = prim::GetAttr[name=\"o\"](%o)\n  return (%n)\n");
  IValue object = world.call("make", {int64_t(5)});
  CHECK(object.use_count() == 1);
  CHECK(world.call("get", {object}).toInt() == 5);
  CHECK(world.call("opt", {object}).isNone());
  CHECK_THROWS_WITH_AS(
      world.call("get", {world.object(c)}), doctest::Contains("C.n is read before it was set"), ScriptError);
  CHECK(object.use_count() == 1);
}

TEST_CASE("attributes are read and written by many threads") {
  World world;
  auto c = world.defineClass("C", {{"t", c10::TensorType::get()}});
  auto object = world.object(c).toObject();
  writeSlot(*object, 0, at::ones({1}));
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      while (!stop) {
        if (i % 2)
          writeSlot(*object, 0, at::ones({1}));
        else if (!readSlot(*object, 0).toTensor().defined())
          stop = true;
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!stop);
  stop = true;
  for (auto& t : threads) t.join();
}

TEST_CASE("errors carry the script's stack, once") {
  World world;
  world.define("inner", "graph(%x : Tensor):\n  %y : Tensor = aten::mm(%x, %x)\n  return (%y)\n");
  world.define("outer", R"(
graph(%x : Tensor):
  %f : Function = prim::Constant[name="inner"]()
  %y : Tensor = prim::CallFunction(%f, %x)
  return (%y)
)");
  at::Tensor x = at::ones({2, 3});
  for (int i = 0; i < 2; ++i) {
    try {
      world.call("outer", {x});
      FAIL("no error");
    } catch (const ScriptError& e) {
      CHECK(e.message().find("mat1 and mat2 shapes cannot be multiplied") != std::string::npos);
      CHECK(e.message().find("Exception raised from") == std::string::npos);
      REQUIRE(e.frames().size() == 2);
      CHECK(e.frames()[0].function == "outer");
      CHECK(e.frames()[1].function == "inner");
      CHECK(std::string(e.what()).find("The following operation failed") == 0);
    }
    CHECK(x.use_count() == 1);  // nothing is left over
  }
}

TEST_CASE("__exit__ runs when the body raises") {
  World world;
  auto c = world.defineClass("C", {{"log", c10::IntType::get()}});
  const std::string count = R"(
  %log : int = prim::GetAttr[name="log"](%self)
  %ten : int = prim::Constant[value=10]()
  %one : int = prim::Constant[value=1]()
  %shifted : int = aten::mul(%log, %ten)
)";
  world.defineMethod(c, "__enter__", "graph(%self : C):" + count + R"(
  %new : int = aten::add(%shifted, %one)
   = prim::SetAttr[name="log"](%self, %new)
  return (%new)
)");
  world.defineMethod(c, "__exit__", "graph(%self : C, %a : Any, %b : Any, %d : Any):" + count + R"(
  %two : int = prim::Constant[value=2]()
  %new : int = aten::add(%shifted, %two)
   = prim::SetAttr[name="log"](%self, %new)
  %none : NoneType = prim::Constant()
  return (%none)
)");
  world.define("f", R"(
graph(%o : C, %a : int, %b : int):
  %e : int = prim::Enter(%o)
  %e2 : int = prim::Enter(%o)
  %r : int = aten::floordiv(%a, %b)
  %x : NoneType = prim::Exit(%o)
  %x2 : NoneType = prim::Exit(%o)
  return (%r)
)");
  auto call = [&](int64_t divisor) {
    IValue object = world.object(c);
    writeSlot(object.toObjectRef(), 0, int64_t(0));
    if (divisor)
      CHECK(world.call("f", {object, int64_t(8), divisor}).toInt() == 8 / divisor);
    else
      CHECK_THROWS_AS(world.call("f", {object, int64_t(8), divisor}), ScriptError);
    CHECK(object.use_count() == 1);
    return readSlot(object.toObjectRef(), 0).toInt();
  };
  CHECK(call(2) == 1122);
  CHECK(call(0) == 1122);
  CHECK(call(4) == 1122);
}

TEST_CASE("forks") {
  const char* text = R"(
graph(%x : Tensor):
  %f : Future(Tensor) = prim::fork[Subgraph=prim::Forked_0](%x)
  %g : Future(Tensor) = prim::fork[Subgraph=prim::Forked_0](%x)
  %a : Tensor = aten::wait(%f)
  %b : Tensor = aten::wait(%g)
  %one : int = prim::Constant[value=1]()
  %r : Tensor = aten::add(%a, %b, %one)
  return (%r)
with prim::Forked_0 = graph(%y : Tensor):
  %z : Tensor = aten::mm(%y, %y)
  return (%z)
)";
  at::NoGradGuard no_grad;  // inherited
  at::Tensor x = at::ones({2, 2}).requires_grad_();
  for (int i = 0; i < 200; ++i) {
    const auto r = run(text, {x}).toTensor();
    CHECK(r.sum().item<float>() == 16);
    CHECK(!r.requires_grad());
  }
  try {
    run(text, {at::ones({2, 3})});
    FAIL("no error");
  } catch (const ScriptError& e) {
    REQUIRE(e.frames().size() == 2);
    CHECK(e.frames()[0].function == "test");
    CHECK(e.frames()[1].function == "<forked function>");
  }
}

TEST_CASE("ten thousand forks inside each other on any number of threads") {
  World world;
  Function& down = world.program->declare("down", nullptr);
  down.setSchema(parseSchema("down(int n) -> int"));
  auto graph = world.parse(R"(
graph(%n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %stop : bool = aten::eq(%n, %zero)
  %r : int = prim::If(%stop)
    block0():
      -> (%zero)
    block1():
      %m : int = aten::sub(%n, %one)
      %f : Future(int) = prim::fork[Subgraph=prim::Forked_0](%m)
      %k : int = aten::wait(%f)
      %s : int = aten::add(%k, %one)
      -> (%s)
  return (%r)
with prim::Forked_0 = graph(%q : int):
  %d : Function = prim::Constant[name="down"]()
  %w : int = prim::CallFunction(%d, %q)
  return (%w)
)");
  down.setGraph(graph);
  CHECK(world.call("down", {int64_t(10000)}).toInt() == 10000);
}

namespace {
std::atomic<bool> interrupt_now{false};
}  // namespace

TEST_CASE("a loop without end is interrupted") {
  const char* forever = R"(
graph(%n : int):
  %true : bool = prim::Constant[value=1]()
  %one : int = prim::Constant[value=1]()
  %max : int = prim::Constant[value=9223372036854775807]()
  %r : int = prim::Loop(%max, %true, %n)
    block0(%i : int, %x : int):
      %y : int = aten::add(%x, %one)
      -> (%true, %y)
  return (%r)
)";
  setInterruptCheck([] { return interrupt_now.load(); });
  interrupt_now = false;
  std::jthread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    interrupt_now = true;
  });
  try {
    run(forever, {int64_t(0)});  // never ends by itself
    FAIL("no error");
  } catch (const ScriptError& e) {
    CHECK(e.pythonClass() == "builtins.KeyboardInterrupt");
  }
  later.join();
  setInterruptCheck(nullptr);
  interrupt_now = false;
}

TEST_CASE("interpreter: a subgraph is one instruction") {
  const std::string text = R"(graph(%x : int, %l : int[]):
  %y : int, %unused : int, %m : int[] = prim::DifferentiableGraph_0(%x, %l)
  %n : int[] = aten::append(%l, %y)
  return (%m)
with prim::DifferentiableGraph_0 = graph(%x : int, %l : int[]):
  %1 : int = prim::Constant[value=1]()
  %y : int = aten::add(%x, %1)
  %z : int = prim::DifferentiableGraph_1(%y)
  %m : int[] = aten::append(%l, %z)
  return (%z, %y, %l)
with prim::DifferentiableGraph_1 = graph(%x : int):
  %2 : int = prim::Constant[value=2]()
  %y : int = aten::mul(%x, %2)
  return (%y)
)";
  const std::string code = listing(text);
  CHECK(count(code, "CallSubgraph") == 2);
  CHECK(count(code, "subgraph 0, ") == 2);
  const IValue list = run(text, {int64_t(3), c10::List<int64_t>({7})});
  CHECK(list.toIntVector() == std::vector<int64_t>{7, 8, 8});
}

TEST_CASE("interpreter: an error in a subgraph has the frame of its function") {
  const auto graph = parseGraph(R"(graph(%x : int):
  %y : int = prim::DifferentiableGraph_0(%x)
  return (%y)
with prim::DifferentiableGraph_0 = graph(%x : int):
  %0 : int = prim::Constant[value=0]()
  %y : int = aten::floordiv(%x, %0)
  return (%y)
)");
  Stack stack{int64_t(1)};
  try {
    runCode(*emitCode(graph, "test"), stack);
    FAIL("no error");
  } catch (const ScriptError& error) {
    CHECK(contains(error.message(), "division by 0"));
    REQUIRE(error.frames().size() == 1);
    CHECK(error.frames()[0].function == "test");
  }
}

TEST_CASE("long programs are emitted in one pass, without recursion") {
  std::ostringstream text;
  text << "graph(%x0 : int):\n  %one : int = prim::Constant[value=1]()\n";
  constexpr int kNodes = 100000;
  for (int i = 0; i < kNodes; ++i) text << "  %x" << i + 1 << " : int = aten::add(%x" << i << ", %one)\n";
  text << "  return (%x" << kNodes << ")\n";
  CHECK(run(text.str(), {int64_t(0)}).toInt() == kNodes);
}
