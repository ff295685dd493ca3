// The IR from C++: use lists, order, erasure, foreign and stale handles, large graphs, random rewriting.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/ones.h>
#include "test.h"

#include <algorithm>
#include <ctime>
#include <random>
#include <set>
#include <sstream>

#include "cresset/ir/constants.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/same_graph.h"
#include "cresset/ir/structure.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ir/verifier.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

using namespace cresset;

namespace {

Node* append(Graph& graph, Symbol kind, std::initializer_list<Value*> inputs, size_t outputs = 1) {
  return graph.insertNode(graph.create(kind, inputs, outputs));
}

std::string complaint(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& e) {
    return e.message();
  }
  return "no error";
}

/// The input numbers of all uses, which must be by `user`.
std::vector<size_t> usesBy(const Node* user, const Value* value) {
  std::vector<size_t> offsets;
  for (Use use : value->uses()) offsets.push_back(use.user == user ? use.offset : 999);
  return offsets;
}

}  // namespace

TEST_CASE("uses keep their order while operands grow, shift and go") {
  auto graph = Graph::make();
  Value* x = graph->addInput("x");
  Value* y = graph->addInput("y");
  Node* n = append(*graph, prim::ListConstruct, {});
  for (int i = 0; i < 9; ++i) n->addInput(i % 3 == 1 ? y : x);
  CHECK(x->uses().size() == 6);
  CHECK(usesBy(n, y) == std::vector<size_t>{1, 4, 7});
  n->insertInput(0, y);
  CHECK(usesBy(n, y) == std::vector<size_t>{2, 5, 8, 0});
  n->removeInput(5);
  CHECK(usesBy(n, y) == std::vector<size_t>{2, 7, 0});
  CHECK(n->replaceInput(0, x) == y);
  CHECK(usesBy(n, y) == std::vector<size_t>{2, 7});
  x->replaceAllUsesWith(y);
  CHECK(!x->hasUses());
  CHECK(y->uses().size() == 9);
  n->removeAllInputs();
  CHECK(!y->hasUses());
}

TEST_CASE("uses after a node are replaced, nested ones too, its own blocks' not") {
  auto graph = parseGraph(R"(graph(%x : Tensor, %c : bool):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%a)
  %d : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%b)
  return (%x, %d)
)");
  Value* x = graph->findValue("x");
  Value* b = graph->findValue("b");
  x->replaceAllUsesAfterNodeWith(b->node(), b);
  CHECK(toString(*graph) == R"(graph(%x : Tensor,
      %c : bool):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = prim::If(%c)
    block0():
      -> (%x)
    block1():
      -> (%a)
  %d : Tensor = prim::If(%c)
    block0():
      -> (%b)
    block1():
      -> (%b)
  return (%b, %d)
)");
  verify(*graph);
}

TEST_CASE("names") {
  auto graph = Graph::make();
  Value* a = graph->addInput("x");
  Value* b = graph->addInput("x");
  Value* c = graph->addInput("x");
  CHECK(a->debugName() == "x.1");
  CHECK(b->debugName() == "x.2");
  CHECK(c->debugName() == "x");
  a->setDebugName("x.2");
  CHECK(a->debugName() == "x.2");
  CHECK(b->debugName() == "x.3");
  c->setDebugName("");
  CHECK(c->debugName() == "2");
  CHECK(graph->findValue("2") == c);
  CHECK(graph->findValue("x") == nullptr);
  Value* d = graph->addInput("y")->copyMetadata(a);
  CHECK(d->debugName() == "x");
  CHECK(complaint([&] { a->setDebugName("1a"); }).find("can't name a value") != std::string::npos);
  CHECK(complaint([&] { a->setDebugName("a b"); }).find("can't name a value") != std::string::npos);
}

TEST_CASE("values and nodes of other graphs are refused") {
  auto graph = Graph::make();
  auto other = Graph::make();
  Value* x = graph->addInput("x");
  Value* foreign = other->addInput("x");
  Node* n = append(*graph, aten::relu, {x});
  Node* foreign_node = append(*other, aten::relu, {foreign});
  CHECK_THROWS_AS(n->addInput(foreign), UserError);
  CHECK_THROWS_AS(n->addInput(nullptr), UserError);
  CHECK_THROWS_AS(n->replaceInput(0, foreign), UserError);
  CHECK_THROWS_AS(n->replaceInput(5, x), UserError);
  CHECK_THROWS_AS(n->replaceInputWith(x, foreign), UserError);
  CHECK_THROWS_AS(x->replaceAllUsesWith(foreign), UserError);
  CHECK_THROWS_AS(graph->registerOutput(foreign), UserError);
  CHECK_THROWS_AS(graph->create(aten::relu, {foreign}), UserError);
  CHECK_THROWS_AS(graph->insertNode(foreign_node), UserError);
  CHECK_THROWS_AS(n->moveBefore(foreign_node), UserError);
  CHECK_THROWS_AS(n->isBefore(foreign_node), UserError);
  CHECK_THROWS_AS(graph->setInsertPoint(foreign_node), UserError);
  CHECK_THROWS_AS(graph->setInsertPoint(other->block()), UserError);
  CHECK_THROWS_AS(graph->block()->cloneFrom(nullptr, {}), UserError);
  CHECK(graph->numNodes() == 1);
  verify(*graph);
}

TEST_CASE("what is in use can't be erased; what is erased can't be used") {
  auto graph = Graph::make();
  Value* x = graph->addInput("x");
  Node* a = append(*graph, aten::relu, {x});
  Node* b = append(*graph, aten::relu, {a->output()});
  CHECK(complaint([&] { a->destroy(); }) == "Can't erase the node that defines %1: it is in use.");
  CHECK_THROWS_AS(a->eraseOutput(0), UserError);
  CHECK_THROWS_AS(graph->block()->eraseInput(0), UserError);
  Value* stale = b->output();
  b->destroy();
  CHECK(b->isErased());
  CHECK(stale->isErased());
  CHECK(!a->output()->hasUses());
  CHECK_THROWS_AS(b->destroy(), UserError);
  CHECK_THROWS_AS(b->addInput(x), UserError);
  CHECK_THROWS_AS(b->addOutput(), UserError);
  CHECK_THROWS_AS(b->addBlock(), UserError);
  CHECK_THROWS_AS(b->insertBefore(a), UserError);
  CHECK_THROWS_AS(b->setAttribute(attr::value, int64_t{1}), UserError);
  CHECK_THROWS_AS(b->setKind(aten::add), UserError);
  CHECK_THROWS_AS(a->moveAfter(b), UserError);
  CHECK_THROWS_AS(a->addInput(stale), UserError);
  CHECK_THROWS_AS(stale->setType(c10::IntType::get()), UserError);
  CHECK_THROWS_AS(stale->setDebugName("y"), UserError);
  CHECK_THROWS_AS(stale->replaceAllUsesWith(x), UserError);
  CHECK_THROWS_AS(graph->setInsertPoint(b), UserError);
  CHECK_THROWS_AS(graph->createClone(b, [](Value* v) { return v; }), UserError);
  CHECK_THROWS_AS(toString(*b), UserError);
  verify(*graph);
}

TEST_CASE("blocks go with their node, unless something outside uses their values") {
  auto graph = parseGraph(R"(graph(%c : bool, %x : Tensor):
   = prim::If(%c)
    block0():
      %a : Tensor = aten::relu(%x)
       = prim::If(%c)
        block0():
          %b : Tensor = aten::relu(%a)
          -> ()
        block1():
          -> ()
      -> ()
    block1():
      -> ()
  return (%x)
)");
  Node* branch = graph->nodes().front();
  Block* inner = branch->blocks()[0];
  Node* relu = inner->nodes().front();
  graph->setInsertPoint(inner);
  size_t use = graph->registerOutput(relu->output());
  CHECK(complaint([&] { branch->destroy(); }) == "Can't erase %a: it is in use outside of its block.");
  CHECK(complaint([&] { branch->eraseBlock(0); }) == "Can't erase %a: it is in use outside of its block.");
  CHECK(complaint([&] { verify(*graph); }).find("%a is used where it is not in scope") != std::string::npos);
  graph->block()->eraseOutput(use);
  CHECK_THROWS_AS(branch->moveBefore(relu), UserError);
  branch->destroy();
  CHECK(relu->isErased());
  CHECK(inner->isErased());
  CHECK(inner->nodes().empty());
  CHECK_THROWS_AS(inner->addInput(), UserError);
  CHECK_THROWS_AS(graph->setInsertPoint(inner), UserError);
  CHECK(graph->insertPoint() == graph->block()->returnNode());
  CHECK(graph->numNodes() == 0);
  CHECK(graph->findValue("x")->uses().size() == 1);
  verify(*graph);
}

TEST_CASE("the ends of a block stay where they are") {
  auto graph = Graph::make();
  Value* x = graph->addInput("x");
  Node* param = graph->block()->paramNode();
  Node* ret = graph->block()->returnNode();
  Node* n = graph->create(aten::relu, {x});
  CHECK_THROWS_AS(param->destroy(), UserError);
  CHECK_THROWS_AS(ret->removeFromList(), UserError);
  CHECK_THROWS_AS(param->addInput(x), UserError);
  CHECK_THROWS_AS(ret->addOutput(), UserError);
  CHECK_THROWS_AS(n->insertAfter(ret), UserError);
  CHECK_THROWS_AS(n->insertBefore(param), UserError);
  CHECK_THROWS_AS(graph->create(prim::Return), UserError);
  n->insertAfter(param);
  CHECK_THROWS_AS(n->insertBefore(ret), UserError);
  CHECK(graph->nodes().front() == n);
  CHECK(param->isBefore(n));
  CHECK(n->isBefore(ret));
  CHECK_THROWS_AS(n->setAttribute(attr::Subgraph, graph), UserError);
}

TEST_CASE("an insertion point outlives the node it was at") {
  auto graph = Graph::make();
  Value* x = graph->addInput("x");
  Node* a = append(*graph, aten::relu, {x});
  Node* b = append(*graph, aten::relu, {x});
  {
    InsertPointGuard guard(*graph, a);
    a->destroy();
    CHECK(graph->insertPoint() == b);
    InsertPointGuard second(*graph, graph->block());
    b->destroy();
  }
  CHECK(graph->insertPoint() == graph->block()->returnNode());
}

TEST_CASE("isBefore agrees with the list after 100,000 insertions in random places") {
  auto graph = Graph::make();
  std::mt19937 random(7);
  std::vector<Node*> nodes{graph->insertNode(graph->create(aten::relu, 0))};
  auto check = [&] {
    size_t position = 0;
    std::unordered_map<const Node*, size_t> positions;
    for (Node* n : graph->nodes()) positions[n] = position++;
    REQUIRE(position == nodes.size());
    for (int i = 0; i < 100'000; ++i) {
      Node* a = nodes[random() % nodes.size()];
      Node* b = nodes[random() % nodes.size()];
      if (a->isBefore(b) != (positions[a] < positions[b])) FAIL("wrong order");
    }
  };
  SUBCASE("anywhere") {
    for (int i = 0; i < 100'000; ++i) {
      Node* n = graph->create(aten::relu, 0);
      Node* at = nodes[random() % nodes.size()];
      nodes.push_back(random() % 2 ? n->insertBefore(at) : n->insertAfter(at));
    }
    check();
  }
  SUBCASE("always in one place") {
    Node* at = graph->insertNode(graph->create(aten::relu, 0));
    nodes.push_back(at);
    for (int i = 0; i < 100'000; ++i) nodes.push_back(graph->create(aten::relu, 0)->insertBefore(at));
    check();
  }
  SUBCASE("halving the same gap") {
    Node* at = nodes[0];
    for (int i = 0; i < 100'000; ++i) nodes.push_back(graph->create(aten::relu, 0)->insertAfter(at));
    check();
  }
}

TEST_CASE("isBefore across blocks") {
  auto graph = parseGraph(R"(graph(%c : bool):
   = my::first()
   = prim::If(%c)
    block0():
       = my::then()
      -> ()
    block1():
       = my::other()
      -> ()
   = my::last()
  return ()
)");
  auto it = graph->nodes().begin();
  Node* first = *it++;
  Node* branch = *it++;
  Node* last = *it++;
  Node* then = branch->blocks()[0]->nodes().front();
  Node* other = branch->blocks()[1]->nodes().front();
  std::vector<Node*> order{first, branch, then, other, last};
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t k = 0; k < order.size(); ++k) CHECK(order[i]->isBefore(order[k]) == (i < k));
  }
  CHECK_THROWS_AS(first->isBefore(graph->create(aten::relu)), UserError);
}

TEST_CASE("100,000 nodes: build, print, parse, verify, copy, destroy") {
  double smallest = 0;
  for (size_t count : {1'000, 10'000, 100'000}) {
    std::string report = std::to_string(count) + " nodes, ns each:";
    double total = 0;
    auto time = [&](const char* what, const std::function<void()>& f) {
      std::clock_t start = std::clock();  // processor time: other programs don't count
      f();
      double each = 1e9 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / static_cast<double>(count);
      total += each;
      report += std::string(" ") + what + " " + std::to_string(static_cast<int>(each));
    };
    std::shared_ptr<Graph> graph, parsed, copy;
    std::string text;
    time("build", [&] {
      graph = Graph::make();
      Value* x = graph->addInput("x");
      for (size_t i = 0; i < count; ++i) {
        x = append(*graph, aten::add, {x, x})->output();
        if (i % 2) x->setDebugName("x");
      }
      graph->registerOutput(x);
    });
    time("verify", [&] { verify(*graph); });
    time("print", [&] { text = toString(*graph); });
    time("parse", [&] { parsed = parseGraph(text); });
    time("copy", [&] { copy = graph->copy(); });
    CHECK(toString(*parsed) == text);
    CHECK(toString(*copy) == text);
    time("erase", [&] {
      copy->block()->eraseOutput(0);
      while (!copy->nodes().empty()) copy->nodes().back()->destroy();
    });
    CHECK(copy->numNodes() == 0);
    time("free", [&] { graph.reset(); });
    MESSAGE(report);
    if (smallest == 0) smallest = total;
    CHECK(total < 6 * smallest);  // caches stay; quadratic cost would be 100 times as much
  }
}

TEST_CASE("20,000 nested blocks and a chain of 20,000 graphs need no stack") {
  auto graph = Graph::make();
  Value* c = graph->addInput("c")->setType(c10::BoolType::get());
  for (int i = 0; i < 20'000; ++i) {
    Node* branch = append(*graph, prim::If, {c}, 0);
    branch->addBlock();
    branch->addBlock();
    graph->setInsertPoint(branch->blocks()[0]);
  }
  verify(*graph);
  auto copy = graph->copy();
  CHECK(copy->numNodes() == 20'000);
  copy->nodes().front()->destroy();
  CHECK(copy->numNodes() == 0);
  CHECK_THROWS_AS(toString(*graph), UserError);  // the text would grow with the square of the depth

  auto outer = Graph::make();
  for (int i = 0; i < 20'000; ++i) {
    auto next = Graph::make();
    next->insertNode(next->create(Symbol::fromQualString("my::op"), 0))->setAttribute(attr::Subgraph, outer);
    outer = next;
  }
  verify(*outer);
  CHECK_THROWS_AS(outer->copy(), UserError);
}

TEST_CASE("1,000 random rewrites leave a well-formed graph each time") {
  std::mt19937 random(11);
  auto graph = Graph::make();
  Value* c = graph->addInput("c")->setType(c10::BoolType::get());
  Value* x = graph->addInput("x");
  std::vector<Node*> nodes;
  auto pick = [&](auto& from) { return from[random() % from.size()]; };
  // A value that is in scope before `at`: defined by an earlier node of the same block or an enclosing one.
  auto valueBefore = [&](Node* at) {
    std::vector<Value*> choices{x};
    for (Node* n : nodes) {
      if (n->isErased() || n->outputs().empty()) continue;
      for (Node* up = at; up; up = up->owningBlock()->owningNode()) {
        if (up->owningBlock() == n->owningBlock() && up != n && n->isBefore(up)) choices.push_back(n->output(0));
      }
    }
    return pick(choices);
  };
  for (int step = 0; step < 1'000; ++step) {
    std::erase_if(nodes, [](Node* n) { return n->isErased(); });
    Node* at = nodes.empty() || random() % 4 == 0 ? graph->block()->returnNode() : pick(nodes);
    switch (random() % 6) {
      case 0:
      case 1: {
        Node* n = graph->create(aten::add, {valueBefore(at), valueBefore(at)});
        nodes.push_back(n->insertBefore(at));
        break;
      }
      case 2: {
        Node* n = graph->create(prim::If, {c});
        n->insertBefore(at);
        for (int i = 0; i < 2; ++i) {
          Block* block = n->addBlock();
          Node* inner = graph->create(aten::relu, {valueBefore(n)});
          nodes.push_back(block->appendNode(inner));
          block->registerOutput(inner->output());
        }
        nodes.push_back(n);
        break;
      }
      case 3: {
        if (at->isReturn()) break;
        for (Value* output : at->outputs()) {
          Value* replacement = valueBefore(at);
          output->replaceAllUsesWith(replacement);
        }
        at->destroy();
        break;
      }
      case 4: {
        if (at->isReturn()) break;
        Node* copy = graph->createClone(at, [](Value* v) { return v; });
        nodes.push_back(copy->insertBefore(at));
        break;
      }
      case 5:
        if (at->kind() == aten::add) at->replaceInput(random() % 2, valueBefore(at));
        break;
      default:
        break;
    }
    verify(*graph);
  }
  std::string text = toString(*graph);
  CHECK(toString(*parseGraph(text)) == text);
  CHECK(toString(*graph->copy()) == text);
}

TEST_CASE("constants go in and come out") {
  auto graph = Graph::make();
  auto same = [&](const c10::IValue& value, const TypePtr& type = TypePtr()) {
    Value* v = graph->insertConstant(value, type);
    auto back = toIValue(v);
    REQUIRE(back.has_value());
    CHECK(back->tagKind() == value.tagKind());
    std::ostringstream a, b;
    a << value;
    b << *back;
    CHECK(a.str() == b.str());
    return v;
  };
  same(c10::IValue());
  same(int64_t{3});
  same(true);
  same(2.5);
  same(c10::complex<double>(1, -2));
  same("a");
  same(c10::Device("cuda:1"));
  same(std::vector<int64_t>{1, 2});
  same(std::vector<std::string>{"a"});
  same(c10::ivalue::Tuple::create({c10::IValue(1), c10::IValue()}));
  c10::Dict<std::string, int64_t> dict;
  dict.insert("a", 1);
  same(dict);
  same(true, c10::OptionalType::create(c10::BoolType::get()));
  same(int64_t{1}, c10::AnyType::get());
  Value* tensor = same(at::ones({2, 3}));
  CHECK(cresset::toString(*tensor->type()) == "Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu)");
  CHECK(isNoneConstant(graph->insertConstant(c10::IValue(), c10::OptionalType::create(c10::IntType::get()))));
  CHECK(constantAs<int64_t>(graph->insertConstant(int64_t{7})) == 7);
  CHECK_THROWS_AS(graph->insertConstant(c10::IValue::uninitialized()), UserError);
  verify(*graph);

  ConstantTable table;
  std::string text = toString(*graph, {.constants = &table});
  CHECK(table.size() == 2);  // the int held as Any, and the tensor
  ConstantTable again;
  CHECK(toString(*parseGraph(text, {.constants = &table}), {.constants = &again}) == text);
  CHECK(toString(*graph).find("<Tensor>") != std::string::npos);
}

TEST_CASE("source ranges whose text is unknown print the same") {
  std::string text =
      "graph():\n   = my::op() # dir/a b.py:7:4\n   = my::op() # <string>:12:0\n   = my::op() # not a place\n  return "
      "()\n";
  auto graph = parseGraph(text);
  Node* n = graph->nodes().front();
  CHECK(n->sourceRange().source->name() == "dir/a b.py");
  CHECK(n->sourceRange().source->lineNumber(n->sourceRange().begin) == 7);
  CHECK(n->sourceRange().source->column(n->sourceRange().begin) == 4);
  CHECK(n->sourceRange().highlight() == "  File \"dir/a b.py\", line 7\n");
  CHECK(!graph->nodes().back()->sourceRange());
  CHECK(
      toString(*graph) ==
      "graph():\n   = my::op() # dir/a b.py:7:4\n   = my::op() # <string>:12:0\n   = my::op()\n  return ()\n");
}

TEST_CASE("the picture of a range") {
  auto source = std::make_shared<Source>("one\n  two(a,\n      b)\nthree\nfour\nfive\n", "f.py", 10);
  SourceRange range{source, 6, 21};
  CHECK(
      range.highlight(1, "g") ==
      "  File \"f.py\", line 11, in g\none\n  two(a,\n  ~~~~~~\n      b)\n      ~~ <--- HERE\nthree\n");
  CHECK(UserError("Bad.", range).withCaller("f", range).withCaller("g", {}).what() != nullptr);
  SourceRange end{source, 100, 100};
  CHECK(end.highlight(0) == "  File \"f.py\", line 16\n\n~ <--- HERE\n");
}

TEST_CASE("the dispatcher's schemas parse to what the dispatcher holds") {
  auto& dispatcher = c10::Dispatcher::singleton();
  size_t count = 0;
  for (const auto& name : dispatcher.getAllOpNames()) {
    auto op = dispatcher.findSchema(name);
    if (!op) continue;
    const c10::FunctionSchema& schema = op->schema();
    std::ostringstream text, printed;
    text << schema;
    c10::FunctionSchema parsed = parseSchema(text.str());
    printed << parsed;
    CHECK(printed.str() == text.str());
    bool equal = parsed == schema;
    CHECK_MESSAGE(equal, text.str());
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      bool same_real_type = *parsed.arguments()[i].real_type() == *schema.arguments()[i].real_type();
      CHECK_MESSAGE(same_real_type, text.str());
    }
    ++count;
  }
  CHECK(count > 3'000);
}

TEST_CASE("structural nodes: each row is one kind, and no operator") {
  std::set<std::string> names;
  for (const Structure& structure : structures()) {
    CAPTURE(structure.name);
    CHECK(names.insert(structure.name).second);
    CHECK(structureOf(Symbol::fromQualString(structure.name)) == &structure);
    CHECK(&structures()[static_cast<size_t>(structure.id)] == &structure);
    CHECK(OperatorTable::get().overloads(Symbol::fromQualString(structure.name)).empty());
  }
  CHECK_FALSE(isStructural(Symbol::fromQualString("aten::relu")));
}

TEST_CASE("subgraphs: made, copied, compared") {
  const auto inner = parseGraph("graph(%p : Float(*)):\n  %r : Float(*) = aten::relu(%p)\n  return (%r)\n");
  auto graph = Graph::make();
  Value* input = graph->addInput("x");
  Node* node = createSubgraph(*graph, SubgraphKind::Differentiable, inner, std::vector<Value*>{input});
  graph->block()->appendNode(node);
  graph->registerOutput(node->output());
  verify(*graph);
  CHECK((*node->output()->type() == *inner->outputs()[0]->type()));
  CHECK(isSubgraph(*node, SubgraphKind::Differentiable));
  const auto copy = graph->copy();
  Node* other = copy->outputs()[0]->node();
  CHECK(sameGraph(*graph, *copy));
  CHECK(other->g(attr::Subgraph) != inner);  // a copy of its own
  Graph& changed = *other->g(attr::Subgraph);
  changed.registerOutput(changed.inputs()[0]);
  std::string difference;
  CHECK_FALSE(sameGraph(*graph, *copy, &difference));
  CHECK_FALSE(difference.empty());
}

TEST_CASE("subtyping, unification and type variables as TorchScript users rely on them") {
  auto type = [](const char* text) { return parseType(text, {}, true); };
  auto isSubtype = [&](const char* a, const char* b) { return type(a)->isSubtypeOf(*type(b)); };
  CHECK(isSubtype("int", "int?"));
  CHECK(isSubtype("NoneType", "int?"));
  CHECK(!isSubtype("int?", "int"));
  CHECK(isSubtype("int", "Scalar"));
  CHECK(isSubtype("float", "Scalar"));
  CHECK(!isSubtype("bool", "int"));
  CHECK(!isSubtype("int", "float"));
  CHECK(isSubtype("Float(2, 3)", "Tensor"));
  CHECK(!isSubtype("Tensor", "Float(2, 3)"));
  CHECK(isSubtype("int", "Union(int, str)"));
  CHECK(isSubtype("Union(int, str)", "Union(int, str, float)"));
  CHECK(isSubtype("(int, Float(2))", "(Any, Tensor)"));
  CHECK(!isSubtype("int[]", "int?[]"));  // lists are invariant
  CHECK(!isSubtype("Dict(str, int)", "Dict(str, int?)"));
  CHECK(isSubtype("int[]", "Any"));
  CHECK(isSubtype("NamedTuple(x : int)", "(int)"));
  CHECK(!isSubtype("(int)", "NamedTuple(x : int)"));

  auto unified = [&](const char* a, const char* b) {
    auto result = c10::unifyTypes(type(a), type(b));
    return result ? cresset::toString(**result) : std::string("none");
  };
  CHECK(unified("int", "NoneType") == "int?");
  CHECK(unified("int?", "int") == "int?");
  CHECK(unified("int", "str") == "none");
  CHECK(unified("int", "float") == "none");
  CHECK(unified("Float(2)", "Long(3)") == "Tensor(*)");
  CHECK(unified("(int, NoneType)", "(int, str)") == "(int, str?)");
  CHECK(unified("Tensor[]", "Float(2)[]") == "Tensor[]");

  c10::TypeEnv env;
  CHECK(c10::matchTypeVariables(type("Dict(str, t)"), type("Dict(str, int)"), env).success());
  CHECK(cresset::toString(*env.at("t")) == "int");
  CHECK(!c10::matchTypeVariables(type("t[]"), type("str[]"), env).success());
  CHECK(cresset::toString(*c10::tryEvalTypeVariables(type("(t, t[])"), env)) == "(int, int[])");
  CHECK(!c10::matchTypeVariables(type("t[]"), type("int"), env).success());
}
