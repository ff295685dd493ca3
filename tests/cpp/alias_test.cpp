// Alias analysis: questions about values, moves of nodes, and cost. What it says of whole programs is in tests/alias.
#include <map>

#include "cresset/analysis/alias.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/verifier.h"
#include "test.h"

using namespace cresset;

namespace {

struct Fixture {
  std::shared_ptr<Graph> graph;
  explicit Fixture(const std::string& text) : graph(parseGraph(text, {.file = "alias"})) { verify(*graph); }
  Value* operator[](std::string_view name) const {
    Value* value = graph->findValue(name);
    REQUIRE(value);
    return value;
  }
  Node* node(std::string_view name) const { return (*this)[name]->node(); }
  /// The names of the first outputs, in order.
  std::string order() const {
    std::string result;
    for (const Node* node : graph->nodes()) {
      if (node->kind() != prim::Constant && !node->outputs().empty()) result += node->outputs()[0]->debugName() + " ";
    }
    return result;
  }
};

const char* const kSeed = R"(graph(%a : Tensor, %b : Tensor):
  %one : int = prim::Constant[value=1]()
  %zero : int = prim::Constant[value=0]()
  %cond : bool = prim::Constant[value=1]()
  %c : Tensor = aten::add(%b, %one, %one)
  %a2 : Tensor = aten::add_(%a, %one, %one)
  %r : Tensor = prim::If(%cond)
    block0():
      %ra : Tensor = aten::select(%a2, %zero, %zero)
      -> (%ra)
    block1():
      %rb : Tensor = aten::select(%b, %zero, %zero)
      -> (%rb)
  %d : Tensor = aten::mul(%c, %c)
  return (%c, %r)
)";

}  // namespace

TEST_CASE("alias: the specification's example") {
  Fixture f(kSeed);
  AliasDb db(*f.graph);
  CHECK(db.mayAlias(f["a"], f["b"]));
  CHECK(db.mayAlias(f["a"], f["r"]));
  CHECK(db.mayAlias(f["b"], f["r"]));
  CHECK(db.mayAlias(f["a"], f["a2"]));
  CHECK_FALSE(db.mayAlias(f["c"], f["a"]));
  CHECK_FALSE(db.mayAlias(f["c"], f["r"]));
  CHECK_FALSE(db.mayAlias(f["c"], f["d"]));
  CHECK(db.hasWriters(f["a"]));
  CHECK(db.hasWriters(f["b"]));
  CHECK_FALSE(db.hasWriters(f["c"]));
  CHECK_FALSE(db.hasWriters(f["d"]));
  CHECK(db.isMutable(f.node("a2")));
  CHECK(db.hasSideEffects(f.node("a2")));
  CHECK_FALSE(db.isMutable(f.node("c")));
  CHECK(db.escapes(f["c"]));
  CHECK_FALSE(db.escapes(f["d"]));
  Value* one[] = {f["b"]};
  CHECK(db.writesToAlias(f.node("a2"), one));
  Value* fresh[] = {f["d"]};
  CHECK_FALSE(db.writesToAlias(f.node("a2"), fresh));
}

TEST_CASE("alias: reads do not pass writes to what they read") {
  Fixture f(kSeed);
  AliasDb db(*f.graph);
  CHECK_FALSE(db.couldMoveAfterTopologically(f.node("c"), f.node("a2")));  // c reads b, which may be a
  CHECK(db.moveBeforeTopologicallyValid(f.node("d"), f.node("r")));        // d reads only what is fresh
  CHECK(f.order() == "c a2 d r ");
  CHECK_FALSE(db.couldMoveBeforeTopologically(f.node("r"), f.node("a2")));
  verify(*f.graph);
}

TEST_CASE("alias: what depends on a moved node moves along") {
  Fixture f(R"(graph(%x : Tensor, %k : int):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::tanh(%x)
  %c : Tensor = aten::relu(%a)
  %d : Tensor = aten::sigmoid(%x)
  %e : Tensor = aten::add(%b, %d, %k)
  return (%c, %e)
)");
  AliasDb db(*f.graph);
  CHECK(db.moveAfterTopologicallyValid(f.node("a"), f.node("d")));
  CHECK(f.order() == "b d a c e ");
  CHECK(db.moveBeforeTopologicallyValid(f.node("c"), f.node("b")));
  CHECK(f.order() == "a c b d e ");
  CHECK_FALSE(db.couldMoveAfterTopologically(f.node("b"), f.node("e")));
  CHECK_FALSE(db.couldMoveBeforeTopologically(f.node("e"), f.node("d")));
  CHECK(db.moveAfterTopologicallyValid(f.node("e"), f.node("d")));
  CHECK(db.moveAfterTopologicallyValid(f.node("e"), f.node("a")));
  CHECK(f.order() == "a b d e c ");
  verify(*f.graph);
}

TEST_CASE("alias: writes to local memory keep their order, and move apart from the rest") {
  Fixture f(R"(graph(%x : Tensor, %k : int):
  %a : Tensor = aten::relu(%x)
  %b : Tensor = aten::add_(%a, %k, %k)
  %c : Tensor = aten::mul_(%a, %x)
  %d : Tensor = aten::sigmoid(%x)
  %e : Tensor = aten::neg(%a)
  return (%d, %e)
)");
  AliasDb db(*f.graph);
  CHECK(db.conflict(f.node("b"), f.node("c")));
  CHECK_FALSE(db.hasSideEffects(f.node("d")));
  CHECK(db.moveBeforeTopologicallyValid(f.node("d"), f.node("a")));
  CHECK(f.order() == "d a b c e ");
  CHECK_FALSE(db.couldMoveBeforeTopologically(f.node("c"), f.node("b")));
  CHECK_FALSE(db.couldMoveBeforeTopologically(f.node("e"), f.node("c")));
}

TEST_CASE("alias: prints and random numbers keep their order") {
  Fixture f(R"(graph(%x : Tensor):
  %p : float = prim::Constant[value=0.5]()
  %none : NoneType = prim::Constant()
  %a : Tensor = aten::bernoulli(%x, %none)
  %n : int = aten::dim(%x)
   = prim::Print(%n)
  %b : Tensor = aten::bernoulli(%x, %p, %none)
  %c : Tensor = aten::relu(%x)
  return (%a, %b, %c)
)");
  AliasDb db(*f.graph);
  CHECK(db.conflict(f.node("a"), f.node("b")));
  CHECK_FALSE(db.couldMoveAfterTopologically(f.node("a"), f.node("b")));
  CHECK(db.hasSideEffects(f.node("a")));
  // relu may raise: it does not pass a print, which would show before the exception.
  CHECK_FALSE(db.couldMoveBeforeTopologically(f.node("c"), f.node("n")));
}

TEST_CASE("alias: computations do not pass changes of the thread's state") {
  Fixture f(R"(graph(%x : Float(*, *, device=cpu), %i : int):
  %off : bool = prim::Constant[value=0]()
  %a : Float(*, *, device=cpu) = aten::relu(%x)
   = aten::set_grad_enabled(%off)
  %n : int = aten::add(%i, %i)
  return (%a, %n)
)");
  AliasDb db(*f.graph);
  Node* change = f.node("a")->next();
  CHECK(db.conflict(f.node("a"), change));
  CHECK_FALSE(db.couldMoveAfterTopologically(f.node("a"), change));
  CHECK_FALSE(db.conflict(f.node("n"), change));
}

TEST_CASE("alias: 100,000 nodes that share memory") {
  // Views of views, and a list that grows: what makes sets large.
  constexpr size_t kCount = 20'000;
  std::string text = "graph(%x : Tensor, %k : int):\n  %l : Tensor[] = prim::ListConstruct(%x)\n";
  std::string last = "x";
  for (size_t i = 0; i < kCount; ++i) {
    const std::string n = std::to_string(i);
    text += "  %a" + n + " : Tensor = aten::relu(%" + last + ")\n";
    text += "  %v" + n + " : Tensor = aten::t(%a" + n + ")\n";
    text += "  %p" + n + " : Tensor[] = aten::append(%l, %v" + n + ")\n";
    text += "  %g" + n + " : Tensor = aten::__getitem__(%l, %k)\n";
    text += "  %w" + n + " : Tensor = aten::add_(%g" + n + ", %k, %k)\n";
    last = "w" + n;
  }
  Fixture f(text + "  return (%" + last + ")\n");
  AliasDb db(*f.graph);
  size_t written = 0;
  for (const Node* node : f.graph->nodes()) written += db.hasWriters(node);
  CHECK(written > kCount);
  CHECK(db.mayAlias(f["v0"], f["g0"]));
}
