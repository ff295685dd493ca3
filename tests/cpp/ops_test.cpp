// The operator table and schema matching: lookup, ranking, conversions, messages, and what a failed match leaves.
#include <ATen/core/jit_type.h>

#include <atomic>
#include <set>
#include <thread>

#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ops/format.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/schema_matching.h"
#include "cresset/support/error.h"

// c10's logging has macros of doctest's names.
#include "test.h"

using namespace cresset;
using c10::IValue;

namespace {

/// A graph with one input per type, and a call on them.
struct Call {
  std::shared_ptr<Graph> graph = Graph::make();
  std::vector<NamedValue> args, kwargs;

  explicit Call(std::initializer_list<const char*> types) {
    for (const char* type : types) args.emplace_back(graph->addInput("x")->setType(parseType(type)));
  }
  Call& keyword(const char* name, const char* type) {
    kwargs.emplace_back(graph->addInput("k")->setType(parseType(type)), SourceRange(), name);
    return *this;
  }
  Value* insert(const char* name) { return insertOp(*graph, Symbol::fromQualString(name), args, kwargs); }
  /// The full name of the last operator inserted.
  std::string pick(const char* name) {
    insert(name);
    std::string picked;
    for (Node* node : graph->nodes()) {
      if (node->boundOperator()) picked = node->boundOperator()->fullName();
    }
    return picked;
  }
  std::string message(const char* name) {
    size_t before = graph->numNodes();
    try {
      insert(name);
    } catch (const UserError& error) {
      CHECK(graph->numNodes() == before);
      return error.message();
    }
    return "no error";
  }
};

template <typename... Args>
Stack callOp(const char* name, const Args&... args) {
  const Operator* op = OperatorTable::get().find(name);
  REQUIRE_MESSAGE(op, name);
  Stack stack;
  (stack.emplace_back(args), ...);
  op->call(stack, stack.size());
  return stack;
}

}  // namespace

TEST_CASE("operators are found by name and by full name") {
  auto& table = OperatorTable::get();
  CHECK(table.overloads(Symbol::fromQualString("aten::add")).size() > 10);
  CHECK(table.overloads(Symbol::fromQualString("aten::no_such_op")).empty());
  const Operator* add = table.find("aten::add.Tensor");
  REQUIRE(add);
  CHECK(add->handle());
  CHECK((add->kernel() == nullptr));
  CHECK(add->isPure());
  REQUIRE(table.find("aten::add.int"));
  CHECK((table.find("aten::add.int")->kernel() != nullptr));
  CHECK(table.find("aten::add.int") == table.find("aten::add.int"));
  CHECK(table.find("aten::add.nothing") == nullptr);
  CHECK(table.find("nothing") == nullptr);
  CHECK(table.similarNames(Symbol::fromQualString("aten::reluu")).front() == "aten::relu");
}

TEST_CASE("traits") {
  auto& table = OperatorTable::get();
  CHECK(table.find("prim::Print")->hasSideEffects());
  CHECK(table.find("aten::set_grad_enabled")->hasSideEffects());
  CHECK(table.find("aten::rand")->hasSideEffects());
  CHECK_FALSE(table.find("aten::rand")->isDeterministic());
  CHECK(table.find("aten::add_.Tensor")->isMutable());
  CHECK_FALSE(table.find("aten::add_.Tensor")->isPure());
  CHECK_FALSE(table.find("aten::append.t")->isPure());
  CHECK_FALSE(table.find("aten::append.t")->hasSideEffects());
  CHECK_FALSE(table.find("aten::view")->isPure());  // its result aliases its argument
  CHECK(table.find("aten::add.int")->isPure());
}

TEST_CASE("every row's schema parses, and its name is unique") {
  std::set<std::string> names;
  size_t rows = 0;
  for (const Operator* op : OperatorTable::get().all()) {
    CHECK_MESSAGE(names.insert(op->fullName()).second, op->fullName());
    rows += op->kernel() != nullptr;
  }
  CHECK(rows > 650);
}

TEST_CASE("lookups from many threads") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (const char* name :
           {"aten::mul", "aten::sub", "aten::div", "aten::relu", "aten::split", "prim::min", "aten::eq"}) {
        for (int k = 0; k < 1000; ++k) wrong += OperatorTable::get().overloads(Symbol::fromQualString(name)).empty();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("overloads are chosen as TorchScript chooses") {
  CHECK(Call({"Tensor", "Tensor"}).pick("aten::add") == "aten::add.Tensor");
  CHECK(Call({"Tensor", "int"}).pick("aten::add") == "aten::add.Scalar");
  CHECK(Call({"int", "int"}).pick("aten::add") == "aten::add.int");
  CHECK(Call({"int", "float"}).pick("aten::add") == "aten::add.int_float");
  CHECK(Call({"bool", "int"}).pick("aten::add") == "aten::add.int");
  CHECK(Call({"bool", "float"}).pick("aten::add") == "aten::add.float");
  CHECK(Call({"int[]", "int[]"}).pick("aten::add") == "aten::add.t");
  CHECK(Call({"str", "str"}).pick("aten::add") == "aten::add.str");
  CHECK(Call({"int", "int"}).pick("aten::pow") == "aten::pow.int");
  CHECK(Call({"Tensor", "Tensor"}).pick("aten::max") == "aten::max.other");
  CHECK(Call({"Tensor", "int"}).pick("aten::max") == "aten::max.dim");
  CHECK(Call({"Tensor", "int"}).pick("aten::sum") == "aten::sum.dim_IntList");
  CHECK(Call({"Tensor", "Device"}).pick("aten::to") == "aten::to.prim_Device");
  CHECK(Call({"Tensor", "int"}).pick("aten::to") == "aten::to.dtype");
  CHECK(Call({"Tensor", "Tensor[]"}).pick("aten::index") == "aten::index.Tensor_hacked_twin");
  CHECK(Call({"Tensor", "Tensor?[]"}).pick("aten::index") == "aten::index.Tensor");
  CHECK(Call({"Dict(str, int)", "str"}).pick("aten::__getitem__") == "aten::__getitem__.Dict_str");
  CHECK(Call({"int", "Tensor"}).pick("aten::mul") == "aten::mul.Scalar");  // swapped
  CHECK(Call({"Tensor", "int", "int"}).pick("aten::view") == "aten::view");
}

TEST_CASE("conversions insert nodes") {
  Call sum({"Tensor", "int"});
  sum.insert("aten::sum");
  CHECK(contains(toString(*sum.graph), "int[] = prim::ListConstruct"));
  Call conv({"Tensor", "Tensor", "NoneType", "int", "(int, int)"});
  conv.insert("aten::conv2d");
  CHECK(contains(toString(*conv.graph), "prim::TupleUnpack"));
  Call zeros({"Tensor"});
  zeros.insert("aten::zeros");
  CHECK(contains(toString(*zeros.graph), "aten::IntImplicit"));
  Call device({"Tensor", "str"});
  device.insert("aten::to");
  CHECK(contains(toString(*device.graph), "aten::device"));
  Call several({"Tensor", "int"});
  Value* out = several.insert("aten::max");
  CHECK(out->node()->kind() == prim::TupleConstruct);
  CHECK(out->type()->expectRef<c10::TupleType>().schema() != nullptr);  // named: values, indices
  Call nothing({"bool"});
  CHECK(nothing.insert("aten::set_grad_enabled")->type()->kind() == c10::TypeKind::NoneType);
}

TEST_CASE("messages are torch.jit's, and a failed match leaves no node") {
  auto message = Call({"Tensor", "str"}).message("aten::add");
  CHECK(contains(message, "Arguments for call are not valid.\nThe following variants are available:\n"));
  CHECK(contains(message, "Expected a value of type 'Tensor' for argument 'other' but instead found type 'str'."));
  CHECK(contains(
      Call({"Tensor", "Tensor"}).message("aten::relu"),
      "Expected at most 1 arguments but found 2 positional arguments."));
  CHECK(contains(Call({}).message("aten::relu"), "Argument self not provided."));
  CHECK(contains(Call({"Tensor"}).keyword("foo", "int").message("aten::relu"), "Keyword argument foo unknown."));
  CHECK(contains(Call({"int[]", "str"}).message("aten::append"), "Could not match type str to t in argument 'el'"));
  CHECK(contains(
      Call({"Tensor"}).message("aten::reluu"),
      "Unknown builtin op: aten::reluu.\nHere are some suggestions: \n\taten::relu\n"));
}

TEST_CASE("keywords, receivers and defaults") {
  CHECK(Call({}).keyword("input", "Tensor").pick("aten::relu") == "aten::relu");
  CHECK(Call({"Tensor"}).keyword("dim", "int").pick("aten::softmax") == "aten::softmax.int");
  Call call({"Tensor"});
  NamedValue self(call.graph->inputs()[0]);
  insertOp(*call.graph, Symbol::aten("transpose"), {NamedValue(IValue(0)), NamedValue(IValue(1))}, {}, {}, self);
  CHECK(contains(toString(*call.graph), "aten::transpose(%x"));
  CHECK(isBuiltinMethod(Symbol::aten("relu"), c10::TensorType::get()));
  CHECK_FALSE(isBuiltinMethod(Symbol::aten("relu"), c10::IntType::get()));
  CHECK(isBuiltinMethod(Symbol::aten("append"), c10::ListType::ofInts()));
}

TEST_CASE("nodes of parsed graphs find their operator by the types of their inputs") {
  auto graph = parseGraph(R"(graph(%a : int, %b : int, %t : Tensor):
  %c : int = aten::add(%a, %b)
  %one : int = prim::Constant[value=1]()
  %d : Tensor = aten::add(%t, %c, %one)
  return (%d))");
  verifyOperators(*graph);
  auto it = graph->nodes().begin();
  CHECK(operatorOf(**it)->fullName() == "aten::add.int");
  CHECK(operatorOf(**++it) == nullptr);
  CHECK(operatorOf(**++it)->fullName() == "aten::add.Scalar");
  auto wrong = parseGraph("graph(%a : str, %b : int):\n  %c : int = aten::sub(%a, %b)\n  return (%c)");
  CHECK_THROWS_WITH_AS(
      verifyOperators(*wrong), doctest::Contains("No overload of aten::sub takes these inputs"), UserError);
}

TEST_CASE("integer rows at the edges") {
  constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;
  CHECK(callOp("aten::add.int", kMax, int64_t(1))[0].toInt() == kMin);
  CHECK(callOp("aten::floordiv.int", int64_t(-7), int64_t(2))[0].toInt() == -4);
  CHECK(callOp("aten::floordiv.int", kMin, int64_t(-1))[0].toInt() == kMin);
  CHECK(callOp("aten::remainder.int", int64_t(7), int64_t(-2))[0].toInt() == -1);
  CHECK(callOp("aten::remainder.int", kMin, int64_t(-1))[0].toInt() == 0);
  CHECK(callOp("aten::neg.int", kMin)[0].toInt() == kMin);
  CHECK(callOp("aten::__range_length", kMin, kMax, int64_t(4))[0].toInt() == int64_t(1) << 62);
  CHECK(callOp("aten::__range_length", int64_t(5), int64_t(0), int64_t(-2))[0].toInt() == 3);
  CHECK_THROWS_WITH(callOp("aten::floordiv.int", int64_t(1), int64_t(0)), "division by 0");
  CHECK_THROWS_WITH(
      callOp("aten::remainder.int", int64_t(1), int64_t(0)), "ZeroDivisionError: integer division or modulo by zero");
}

TEST_CASE("lists are shared, not copied") {
  c10::List<int64_t> list({1, 2, 3});
  CHECK(callOp("aten::append.t", list, int64_t(4))[0].toIntVector() == std::vector<int64_t>{1, 2, 3, 4});
  CHECK(list.size() == 4);
  callOp("aten::extend.t", list, list);
  CHECK(list.size() == 8);
  CHECK(
      callOp("aten::slice.t", list, IValue(), IValue(), int64_t(-3))[0].toIntVector() == std::vector<int64_t>{4, 1, 2});
  CHECK(callOp("aten::pop.t", list, int64_t(-1))[0].toInt() == 4);
  CHECK_THROWS_AS(callOp("aten::__getitem__.t", list, int64_t(100)), ScriptRaise);
}

TEST_CASE("exceptions carry their Python class") {
  try {
    callOp("prim::RaiseException", "bad", "builtins.ValueError");
    FAIL("no exception");
  } catch (const ScriptRaise& raised) {
    CHECK(raised.pythonClass() == "builtins.ValueError");
    CHECK(std::string(raised.what()) == "bad");
  }
}

TEST_CASE("values print as TorchScript prints them") {
  CHECK(toPrinted(1.0) == "1.");
  CHECK(toPrinted(0.1) == "0.10000000000000001");
  CHECK(toPrinted(true) == "True");
  CHECK(toPrinted(IValue()) == "None");
  CHECK(toPrinted(c10::List<std::string>({"a", "b'"})) == "[a, b']");
  std::vector<IValue> args{IValue(1), IValue("a")};
  CHECK(formatBraces("{} {{}} {}", args) == "1 {} a");
  CHECK(formatBraces("{1:>3}|{0:+}", args) == "  a|+1");
  CHECK_THROWS_WITH(
      formatBraces("{} {0}", args), "cannot switch from automatic field numbering to manual field specification");
  CHECK_THROWS_WITH(formatBraces("{}{}{}", args), "Too few arguments for format string: {}{}{}");
  CHECK(formatPercent("%d%% %s", args) == "1% a");
  CHECK_THROWS_WITH(formatPercent("%d", args), "Too many arguments for format string");
  CHECK_THROWS_WITH(formatPercent("%x", args), "The specifier %x is not supported in TorchScript format strings");
  CHECK_THROWS_WITH(formatPercent("%", args), "Incomplete format specifier");
}
