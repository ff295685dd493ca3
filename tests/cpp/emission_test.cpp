// Code against graphs: random programs run as code and by an evaluator that keeps every value in a map, knows nothing
// of registers and lets nothing die early. Results, raised errors and writes to the arguments must agree, and nothing
// may stay allocated: a value read after its register was given away, a reference overwritten or one forgotten in a
// register shows as one or the other.
#include "test.h"

#include <ATen/core/List.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <random>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "allocation_counter.h"
#include "cresset/executor/kernels.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/verifier.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/schema_matching.h"
#include "cresset/support/error.h"

using namespace cresset;
using c10::IValue;

namespace {

using Values = std::unordered_map<const Value*, IValue>;

std::string kindOf(const std::exception& error) {
  if (const auto* raised = dynamic_cast<const ScriptRaise*>(&error)) return raised->pythonClass();
  if (const auto* raised = dynamic_cast<const ScriptError*>(&error)) return raised->pythonClass();
  return "";
}

/// What a graph means, said as plainly as possible.
class Evaluator {
 public:
  std::vector<IValue> run(const Graph& graph, const std::vector<IValue>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) values_[graph.inputs()[i]] = inputs[i];
    return block(*graph.block());
  }

 private:
  std::vector<IValue> get(const InputRange& range) {
    std::vector<IValue> result;
    for (const Value* v : range) result.push_back(values_.at(v));
    return result;
  }
  void set(std::span<Value* const> outputs, const std::vector<IValue>& results) {
    REQUIRE(outputs.size() == results.size());
    for (size_t i = 0; i < outputs.size(); ++i) values_[outputs[i]] = results[i];
  }
  std::vector<IValue> block(const Block& block) {
    for (Node* node : block.nodes()) set(node->outputs(), evaluate(*node));
    return get(block.outputs());
  }
  std::vector<IValue> evaluate(Node& node) {
    std::vector<IValue> in = get(node.inputs());
    switch (node.kind()) {
      case prim::Constant:
        return {*toIValue(node.output())};
      case prim::unchecked_cast:
        return in;
      case prim::If:
        return block(*node.blocks()[in[0].toBool() ? 0 : 1]);
      case prim::Loop: {
        const Block& body = *node.blocks()[0];
        std::vector<IValue> carried(in.begin() + 2, in.end());
        bool go = in[1].toBool();
        for (int64_t i = 0; go && i < in[0].toInt(); ++i) {
          values_[body.inputs()[0]] = i;
          set(body.inputs().subspan(1), carried);
          carried = block(body);
          go = carried[0].toBool();
          carried.erase(carried.begin());
        }
        return carried;
      }
      case prim::ListConstruct: {
        c10::List<int64_t> list;
        for (const IValue& v : in) list.push_back(v.toInt());
        return {list};
      }
      case prim::TupleConstruct:
        return {c10::ivalue::Tuple::create(in)};
      case prim::TupleUnpack:
        return in[0].toTupleRef().elements().vec();
      case prim::TupleIndex:
        return {in[0].toTupleRef().elements()[static_cast<size_t>(in[1].toInt())]};
      case prim::ListUnpack: {
        std::vector<IValue> elements = in[0].toListRef().vec();
        if (elements.size() != node.outputs().size()) throw std::runtime_error("wrong length");
        return elements;
      }
      default: {
        const Operator* op = operatorOf(node);
        REQUIRE(op != nullptr);
        Stack stack = in;
        op->call(stack, in.size());
        return stack;
      }
    }
  }

  Values values_;
};

enum Kind { Int, Bool, List, Tuple, Maybe, kKinds };

const TypePtr& typeOf(Kind kind) {
  static const TypePtr list = c10::ListType::ofInts();
  static const TypePtr types[] = {
      c10::IntType::get(), c10::BoolType::get(), list, c10::TupleType::create({c10::IntType::get(), list}),
      c10::OptionalType::create(list)};
  return types[kind];
}

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed), graph_(Graph::make()) {}

  std::shared_ptr<Graph> make() {
    scopes_.emplace_back();
    for (Kind kind : {Int, Int, Bool, List, List, Tuple, Maybe}) add(kind, graph_->addInput()->setType(typeOf(kind)));
    statements(20);
    for (int kind = 0; kind < kKinds; ++kind) graph_->registerOutput(pick(static_cast<Kind>(kind)));
    return graph_;
  }

 private:
  unsigned upTo(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool chance(unsigned percent) { return upTo(100) < percent; }

  void add(Kind kind, Value* value) { scopes_.back().emplace_back(kind, value); }
  Value* insert(Kind kind, Symbol op, std::initializer_list<Value*> inputs) {
    Value* v = graph_->insertNode(graph_->create(op, inputs))->output()->setType(typeOf(kind));
    add(kind, v);
    return v;
  }

  /// A value in scope: late ones are likelier, so that many die young and some live long.
  Value* pick(Kind kind) {
    std::vector<Value*> choices;
    for (const auto& scope : scopes_) {
      for (const auto& [k, v] : scope) {
        if (k == kind) choices.push_back(v);
      }
    }
    if (choices.empty() || (kind == Int && chance(15))) return fresh(kind);
    const size_t recent = std::min<size_t>(choices.size(), 4);
    return chance(70) ? choices[choices.size() - 1 - upTo(static_cast<unsigned>(recent))]
                      : choices[upTo(static_cast<unsigned>(choices.size()))];
  }
  Value* fresh(Kind kind) {
    switch (kind) {
      case Int:
        return graph_->insertConstant(static_cast<int64_t>(upTo(5)));
      case Bool:
        return graph_->insertConstant(chance(50));
      case List:
        return insert(List, prim::ListConstruct, {pick(Int), pick(Int)});
      case Tuple:
        return insert(Tuple, prim::TupleConstruct, {pick(Int), pick(List)});
      default:
        return chance(50) ? graph_->insertConstant(IValue(), typeOf(Maybe))
                          : insert(Maybe, prim::unchecked_cast, {pick(List)});
    }
  }

  void statements(int count) {
    for (int i = 0; i < count; ++i) statement();
  }

  void statement() {
    switch (upTo(22)) {
      case 0:
      case 1:
        insert(Int, aten::add, {pick(Int), pick(Int)});
        break;
      case 2:
        insert(Int, aten::sub, {pick(Int), pick(Int)});
        break;
      case 3:
        insert(Int, aten::remainder, {pick(Int), graph_->insertConstant(int64_t(7))});
        break;
      case 4:
        insert(Bool, aten::lt, {pick(Int), pick(Int)});
        break;
      case 5:
        insert(Bool, aten::__not__, {pick(Bool)});
        break;
      case 6:
      case 7:
        fresh(List);
        break;
      case 8:
        fresh(Tuple);
        break;
      case 9: {
        Node* node = graph_->insertNode(graph_->create(prim::TupleUnpack, {pick(Tuple)}, 2));
        for (size_t k = 0; k < 2; ++k) add(k ? List : Int, node->output(k)->setType(typeOf(k ? List : Int)));
        break;
      }
      case 10:
        insert(List, prim::TupleIndex, {pick(Tuple), graph_->insertConstant(int64_t(1))});
        break;
      case 11:
        insert(Int, aten::len, {pick(List)});
        break;
      case 12:  // may raise
        insert(Int, aten::__getitem__, {pick(List), graph_->insertConstant(static_cast<int64_t>(upTo(3)))});
        break;
      case 13:
        if (loops_ == 0) insert(List, aten::add, {pick(List), pick(List)});
        break;
      case 14:
        insert(List, aten::append, {pick(List), pick(Int)});
        break;
      case 15: {
        Value* list = pick(List);
        insert(List, prim::unchecked_cast, {list});
        break;
      }
      case 16:
        fresh(Maybe);
        break;
      case 17:
        if (chance(5)) {  // raises more often than not
          Node* node = graph_->insertNode(graph_->create(prim::ListUnpack, {pick(List)}, 2));
          for (size_t k = 0; k < 2; ++k) add(Int, node->output(k)->setType(typeOf(Int)));
        }
        break;
      case 18:
        noneTest();
        break;
      case 19:
      case 20:
        branch();
        break;
      default:
        loop();
        break;
    }
  }

  std::vector<Kind> someKinds() {
    std::vector<Kind> kinds(upTo(4));
    for (Kind& k : kinds) k = static_cast<Kind>(upTo(kKinds));
    return kinds;
  }
  void fill(Block* block, const std::vector<Kind>& outputs, const std::function<void()>& first = {}) {
    InsertPointGuard at(*graph_, block);
    scopes_.emplace_back();
    ++depth_;
    if (first) first();
    statements(static_cast<int>(upTo(6)));
    for (Kind kind : outputs) block->registerOutput(pick(kind));
    --depth_;
    scopes_.pop_back();
  }
  void defineOutputs(Node* node, const std::vector<Kind>& kinds) {
    for (Kind kind : kinds) add(kind, node->addOutput()->setType(typeOf(kind)));
  }

  void branch() {
    if (depth_ >= 4) return;
    Node* node = graph_->insertNode(graph_->create(prim::If, {pick(Bool)}, 0));
    const std::vector<Kind> kinds = someKinds();
    for (int i = 0; i < 2; ++i) fill(node->addBlock(), kinds);
    defineOutputs(node, kinds);
  }
  void noneTest() {
    if (depth_ >= 4) return;
    Value* maybe = pick(Maybe);
    Value* none = graph_->insertConstant(IValue());
    Value* is_none = insert(Bool, aten::__is__, {maybe, none});
    Node* node = graph_->insertNode(graph_->create(prim::If, {is_none}, 0));
    const std::vector<Kind> kinds = someKinds();
    fill(node->addBlock(), kinds);
    fill(node->addBlock(), kinds, [&] { insert(List, prim::unchecked_cast, {maybe}); });
    defineOutputs(node, kinds);
  }
  void loop() {
    if (depth_ >= 4 || loops_ >= 2) return;
    Value* limit = chance(30) ? graph_->insertConstant(std::numeric_limits<int64_t>::max())
                              : insert(Int, aten::remainder, {pick(Int), graph_->insertConstant(int64_t(4))});
    const bool endless = toIValue(limit).has_value();
    const std::vector<Kind> kinds = someKinds();
    std::vector<Value*> inputs{limit, endless || chance(70) ? graph_->insertConstant(true) : pick(Bool)};
    // An endless loop counts for itself, in its first carried value.
    if (endless) inputs.push_back(graph_->insertConstant(int64_t(0)));
    for (Kind kind : kinds) inputs.push_back(pick(kind));
    Node* node = graph_->insertNode(graph_->create(prim::Loop, inputs, 0));
    Block* body = node->addBlock();
    InsertPointGuard at(*graph_, body);
    scopes_.emplace_back();
    ++depth_;
    ++loops_;
    Value* index = body->addInput()->setType(typeOf(Int));
    if (chance(50)) add(Int, index);
    Value* count = endless ? body->addInput()->setType(typeOf(Int)) : nullptr;
    for (Kind kind : kinds) add(kind, body->addInput()->setType(typeOf(kind)));
    statements(static_cast<int>(upTo(7)));
    if (endless) {
      Value* next = insert(Int, aten::add, {count, graph_->insertConstant(int64_t(1))});
      body->registerOutput(insert(Bool, aten::lt, {next, graph_->insertConstant(static_cast<int64_t>(upTo(4)))}));
      body->registerOutput(next);
    } else {
      body->registerOutput(chance(60) ? graph_->insertConstant(true) : pick(Bool));
    }
    for (Kind kind : kinds) body->registerOutput(pick(kind));
    --loops_;
    --depth_;
    scopes_.pop_back();
    if (endless) node->addOutput()->setType(typeOf(Int));
    defineOutputs(node, kinds);
  }

  std::mt19937 random_;
  std::shared_ptr<Graph> graph_;
  std::vector<std::vector<std::pair<Kind, Value*>>> scopes_;
  int depth_ = 0, loops_ = 0;
};

std::vector<IValue> arguments(unsigned seed) {
  c10::List<int64_t> shared({1, 2}), other({3});
  return {
      static_cast<int64_t>(seed % 3),
      static_cast<int64_t>(seed % 5),
      seed % 2 == 0,
      shared,
      seed % 4 ? other : shared,
      c10::ivalue::Tuple::create({IValue(int64_t(4)), IValue(shared)}),
      seed % 2 ? IValue() : IValue(other)};
}

std::string show(const std::vector<IValue>& values) {
  std::ostringstream out;
  for (const IValue& v : values) out << v << "; ";
  return out.str();
}

/// Results or error, and what became of the arguments.
template <typename Run>
std::string outcome(unsigned seed, const Run& run) {
  std::vector<IValue> given = arguments(seed);
  std::string text;
  try {
    text = show(run(given));
  } catch (const std::exception& e) {
    text = "raised " + kindOf(e);
  }
  return text + " | " + show(given);
}

}  // namespace

TEST_CASE("random programs: code does what the graph says, and forgets everything") {
  waitForCompilation();  // of kernels of other tests: their thread's memory would be counted
  size_t raised = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    auto graph = Generator(seed).make();
    INFO("seed " << seed);
    verify(*graph);
    auto code = emitCode(graph, "test");
    INFO("" << cresset::toString(*graph) << "\n" << disassemble(*code));
    const std::string expected =
        outcome(seed, [&](const std::vector<IValue>& in) { return Evaluator().run(*graph, in); });
    const auto run = [&](const std::vector<IValue>& in) {
      Stack stack = in;
      runCode(*code, stack);
      return stack;
    };
    std::string first = outcome(seed, run);
    const int64_t before = startCounting();
    {
      std::string second = outcome(seed, run);
      REQUIRE(first == expected);
      REQUIRE(second == expected);
    }
    REQUIRE(startCounting() - before == 0);
    raised += expected.starts_with("raised");
  }
  MESSAGE("4000 programs, " << raised << " of which raised");
  CHECK(raised > 100);
  CHECK(raised < 2500);
}
