// Alias analysis: questions about values, moves of nodes, and cost; what it says of whole programs is in
// tests/analysis/alias. And analyses that are kept until the graph is edited: which edits count.
#include "cresset/analysis/alias.h"

#include <ATen/core/jit_type.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/printer.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ir/verifier.h"
#include "cresset/passes/pipeline.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"
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

namespace {

/// Programs of `count` statements like one, of which each goes on with the last one's result, `%LAST`.
const std::map<std::string, std::string> kStatements = {
    // Views of views, lists that grow, and elements that are written to: what makes sets large.
    {"lists that grow",
     "  %aN : Tensor = aten::relu(%LAST)\n  %vN : Tensor = aten::t(%aN)\n  %pN : Tensor[] = aten::append(%l, %vN)\n"
     "  %gN : Tensor = aten::__getitem__(%l, %k)\n  %wN : Tensor = aten::add_(%gN, %k, %k)\n"},
    {"updates of one tensor", "  %wN : Tensor = aten::add_(%LAST, %k, %k)\n"},
    {"updates of new tensors", "  %aN : Tensor = aten::relu(%LAST)\n  %wN : Tensor = aten::add_(%aN, %k, %k)\n"},
    {"lists of their own",
     "  %lN : Tensor[] = prim::ListConstruct(%LAST)\n  %pN : Tensor[] = aten::append(%lN, %x)\n"
     "  %wN : Tensor = aten::__getitem__(%lN, %k)\n"},
    {"branches",
     "  %wN : Tensor = prim::If(%c)\n    block0():\n      %aN : Tensor = aten::relu_(%LAST)\n      -> (%aN)\n"
     "    block1():\n      %bN : Tensor = aten::t(%LAST)\n      -> (%bN)\n"},
    {"loops",
     "  %wN : Tensor = prim::Loop(%k, %c, %LAST)\n    block0(%iN : int, %sN : Tensor):\n"
     "      %aN : Tensor = aten::add(%sN, %k, %k)\n      %bN : Tensor = aten::relu_(%aN)\n      -> (%c, %bN)\n"},
};

std::string programOf(const std::string& statement, size_t count) {
  std::string text = "graph(%x : Tensor, %k : int, %c : bool):\n  %l : Tensor[] = prim::ListConstruct(%x)\n";
  std::string last = "x";
  for (size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    for (size_t at = 0; at < statement.size(); ++at) {
      if (statement.compare(at, 4, "LAST") == 0) {
        text += last;
        at += 3;
      } else {
        text += statement[at] == 'N' ? number : std::string(1, statement[at]);
      }
    }
    last = "w" + number;
  }
  return text + "  return (%" + last + ")\n";
}

}  // namespace

TEST_CASE("alias: steps grow with the size of the graph, not faster") {
  for (const auto& [name, statement] : kStatements) {
    CAPTURE(name);
    const auto steps = [&](size_t count) {
      Fixture f(programOf(statement, count));
      AliasDb db(*f.graph);
      size_t written = 0;
      for (const Node* node : f.graph->nodes()) written += db.hasWriters(node);
      CHECK(written >= count);
      return db.numSteps();
    };
    const size_t small = steps(1'000), large = steps(10'000);
    CHECK(small > 0);
    CHECK(large <= 10 * small * 3 / 2);
  }
}

TEST_CASE("alias: steps grow with the number of subgraphs, not faster") {
  const auto steps = [](size_t count) {
    std::string nodes, sections;
    for (size_t i = 0; i < count; ++i) {
      const std::string number = std::to_string(i), last = i ? "%y" + std::to_string(i - 1) : "%x";
      nodes += "  %y" + number + " : Tensor = prim::DifferentiableGraph_" + number + "(" + last + ")\n";
      sections +=
          "with prim::DifferentiableGraph_" + number +
          " = graph(%p : Tensor):\n  %v : Tensor = aten::t(%p)\n  %r : Tensor = aten::relu_(%v)\n  return (%r)\n";
    }
    Fixture f("graph(%x : Tensor):\n" + nodes + "  return (%y" + std::to_string(count - 1) + ")\n" + sections);
    AliasDb db(*f.graph);
    for (const Node* node : f.graph->nodes()) CHECK(db.isMutable(node));
    CHECK(db.mayAlias(f["x"], f["y" + std::to_string(count - 1)]));
    return db.numSteps();
  };
  const size_t small = steps(200), large = steps(2'000);
  CHECK(small > 0);
  CHECK(large <= 10 * small * 3 / 2);
}

TEST_CASE("alias: values inside of subgraphs can be asked about") {
  Fixture f(R"(graph(%a : Tensor, %b : Tensor):
  %x : Tensor = aten::relu(%a)
  %y : Tensor = aten::relu(%b)
  %v : Tensor = prim::DifferentiableGraph_0(%x, %y)
  return (%v)
with prim::DifferentiableGraph_0 = graph(%p : Tensor, %q : Tensor):
  %t : Tensor = aten::t(%p)
  return (%t)
)");
  AliasDb db(*f.graph);
  const Graph& subgraph = *f["v"]->node()->g(attr::Subgraph);
  CHECK(db.mayAlias(f["x"], subgraph.inputs()[0]));
  CHECK(db.mayAlias(f["x"], subgraph.outputs()[0]));
  CHECK_FALSE(db.mayAlias(f["y"], subgraph.outputs()[0]));
  CHECK_FALSE(db.mayAlias(f["x"], subgraph.inputs()[1]));
}

TEST_CASE("alias: keys and partners say of all pairs what questions about two say") {
  Fixture f(R"(graph(%x : Tensor, %y : Tensor, %l : Tensor[], %any : Any, %n : int):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::mul(%x, %one)
  %v : Tensor = aten::select(%a, %one, %one)
  %b : Tensor = aten::mul(%y, %one)
  %row : Tensor = aten::select(%x, %one, %one)
  %made : Tensor[] = prim::ListConstruct(%b, %row)
  %e : Tensor = aten::__getitem__(%l, %one)
  %o : Tensor[] = aten::append(%l, %a)
  return (%v, %made, %e)
)");
  const auto check = [&] {
    AliasDb aliases(*f.graph);
    const std::vector<const char*> names{"x", "y", "l", "any", "n", "a", "v", "b", "row", "made", "e", "o"};
    for (const char* one : names) aliases.reached(f[one]);
    const auto of = [&](const char* name, bool partners) {
      std::set<MemoryKey> found;
      for (const Location location : aliases.reached(f[name]))
        for (const MemoryKey key : partners ? aliases.partners(location) : aliases.keys(location)) found.insert(key);
      return found;
    };
    size_t sharing = 0;
    for (const char* one : names) {
      for (const char* other : names) {
        const auto keys = of(one, false), partners = of(other, true);
        const bool meet = std::ranges::any_of(keys, [&](MemoryKey key) { return partners.contains(key); });
        CHECK(meet == aliases.mayContainAlias(f[one], f[other]));
        sharing += meet;
      }
    }
    return sharing;
  };
  const size_t sharing = check();
  CHECK(sharing > 12);
  setMemory(*f.graph->block()->paramNode(), {0, 1, -1, -1, -1});
  CHECK(check() < sharing);
}

TEST_CASE("alias: a graph that writes to nothing is analyzed when a question needs it") {
  Fixture f(programOf("  %aN : Tensor = aten::relu(%LAST)\n  %wN : Tensor = aten::t(%aN)\n", 100));
  AliasDb db(*f.graph, AliasDb::When::WhenNeeded);
  for (const Node* node : f.graph->nodes()) {
    CHECK_FALSE(db.hasWriters(node));
    CHECK_FALSE(db.readsWritten(node));
    CHECK_FALSE(db.isMutable(node));
    CHECK_FALSE(db.hasSideEffects(node));
  }
  CHECK(db.numSteps() == 0);
  CHECK(db.mayAlias(f["a7"], f["w7"]));
  CHECK_FALSE(db.mayAlias(f["a7"], f["w8"]));
  CHECK(db.numSteps() > 0);
  CHECK_FALSE(db.hasWriters(f["w7"]));
}

namespace {

const char* const kSample = R"(
graph(%x : Float(*), %y : Float(*), %c : bool):
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::add(%x, %y, %one)
  %b : Tensor = aten::mul_(%a, %y)
  %either : Tensor = prim::If(%c)
    block0():
      %u : Tensor = aten::relu(%b)
      -> (%u)
    block1():
      -> (%x)
  %unused : Tensor = aten::neg(%y)
  return (%either)
)";

struct Sample {
  std::shared_ptr<Graph> graph = parseGraph(kSample, {.file = "analyses"});
  Sample() { verify(*graph); }
  Value* operator[](std::string_view name) const { return graph->findValue(name); }
  Node* node(std::string_view name) const { return (*this)[name]->node(); }
};

using Edit = std::function<void(Sample&)>;

/// Whether aliases and facts are made anew after the edit.
std::pair<bool, bool> madeAnew(const Edit& edit) {
  Sample sample;
  const KeepAnalyses kept(*sample.graph);
  const auto aliases = aliasesOf(*sample.graph);
  const auto facts = factsOf(*sample.graph, {}, true);
  edit(sample);
  return {aliasesOf(*sample.graph) != aliases, factsOf(*sample.graph, {}, true) != facts};
}

const std::vector<std::pair<const char*, Edit>> kEdits = {
    {"insert a node", [](Sample& p) { p.graph->create(aten::neg, {p["x"]}, 1)->insertAfter(p.node("a")); }},
    {"create a value", [](Sample& p) { p.graph->create(aten::neg, 1); }},
    {"erase a node", [](Sample& p) { p.node("unused")->destroy(); }},
    {"take a node out", [](Sample& p) { p.node("unused")->removeFromList(); }},
    {"move a node", [](Sample& p) { p.node("unused")->moveBefore(p.node("a")); }},
    {"another kind", [](Sample& p) { p.node("unused")->setKind(aten::relu); }},
    {"another input", [](Sample& p) { p.node("unused")->replaceInput(0, p["x"]); }},
    {"another user", [](Sample& p) { p["x"]->replaceAllUsesWith(p["y"]); }},
    {"an output of the graph less", [](Sample& p) { p.graph->block()->eraseOutput(0); }},
    {"an output", [](Sample& p) { p.node("unused")->addOutput(); }},
    {"an input of the graph", [](Sample& p) { p.graph->addInput("z"); }},
    {"an input of the graph less",
     [](Sample& p) {
       p.node("either")->replaceInput(0, p.graph->insertConstant(true));
       p.graph->block()->eraseInput(2);
     }},
    {"an output of the graph", [](Sample& p) { p.graph->registerOutput(p["x"]); }},
    {"an output of a block", [](Sample& p) { p.node("either")->blocks()[1]->replaceOutput(0, p["y"]); }},
    {"a block",
     [](Sample& p) {
       p.node("either")->addBlock();
       p.node("either")->eraseBlock(2);
     }},
    {"an attribute",
     [](Sample& p) {
       setMemory(*p.graph->block()->paramNode(), {0, 1, -1});
     }},
    {"another constant", [](Sample& p) { p.node("one")->setAttribute(attr::value, Attribute(int64_t(2))); }},
    {"an attribute less", [](Sample& p) { p.node("one")->removeAttribute(attr::value); }},
    {"a type of another kind", [](Sample& p) { p["y"]->setType(c10::OptionalType::ofTensor()); }},
    {"other numbers",
     [](Sample& p) {
       const std::pair<Value*, uint32_t> number(p["x"], 7);
       p.graph->assignNumbers(std::span(&number, 1));
     }},
};

}  // namespace

TEST_CASE("analyses: kept until the graph is edited") {
  CHECK(madeAnew([](Sample&) {}) == std::pair(false, false));
  for (const auto& [name, edit] : kEdits) {
    CAPTURE(name);
    CHECK(madeAnew(edit) == std::pair(true, true));
  }
}

TEST_CASE("analyses: names and places are no edits") {
  CHECK(madeAnew([](Sample& p) { p["a"]->setDebugName("sum"); }) == std::pair(false, false));
  CHECK(madeAnew([](Sample& p) { p["a"]->setType(p["a"]->type()); }) == std::pair(false, false));
  CHECK(madeAnew([](Sample& p) { p.node("a")->copyLocation(p.node("b")); }) == std::pair(false, false));
}

TEST_CASE("analyses: a better type of a tensor leaves its memory") {
  const auto type = c10::TensorType::create(at::kFloat, c10::Device(c10::kCPU), 1, false);
  CHECK(madeAnew([&](Sample& p) { p["y"]->setType(type); }) == std::pair(false, true));
}

TEST_CASE("analyses: other assumptions") {
  Sample sample;
  const KeepAnalyses kept(*sample.graph);
  const auto facts = factsOf(*sample.graph, {});
  CHECK(factsOf(*sample.graph, {}) == facts);
  CHECK(factsOf(*sample.graph, {.grad_mode = false}) != facts);
  CHECK(factsOf(*sample.graph, {}, /*with_sizes=*/true) != facts);
}

TEST_CASE("analyses: who edits keeps the analysis of the graph as it was") {
  Sample sample;
  const KeepAnalyses kept(*sample.graph);
  const auto before = aliasesOf(*sample.graph);
  CHECK(before->hasWriters(sample["a"]));
  sample["b"]->replaceAllUsesWith(sample["a"]);
  sample.node("b")->destroy();
  CHECK(before->hasWriters(sample["a"]));
  CHECK_FALSE(aliasesOf(*sample.graph)->hasWriters(sample["a"]));
}

TEST_CASE("analyses: passes that change nothing share them") {
  Sample sample;
  Pipeline passes(*sample.graph, "program");
  const auto run = [&] {
    for (const char* pass : {"propagate-types", "cse", "licm", "dce", "propagate-types"}) passes.run(pass);
  };
  run();
  run();
  const AnalysisFigures before = analysisFigures();
  run();
  const AnalysisFigures after = analysisFigures();
  CHECK(after.made == before.made);
  CHECK(after.reused >= before.reused + 3);
}

TEST_CASE("analyses: nothing is kept outside of a scope") {
  Sample sample;
  CHECK(aliasesOf(*sample.graph) != aliasesOf(*sample.graph));
  const KeepAnalyses outer(*sample.graph);
  const auto kept = aliasesOf(*sample.graph);
  { const KeepAnalyses inner(*sample.graph); }
  CHECK(aliasesOf(*sample.graph) == kept);
  CHECK(sample.graph->copy()->attachment() == nullptr);
}

TEST_CASE("analyses: a subgraph's edits are its graph's") {
  const auto inner = parseGraph(
      R"(
graph(%p : Tensor):
  %q : Tensor = aten::relu(%p)
  return (%q)
)",
      {.file = "inner"});
  auto graph = Graph::make();
  Value* input = graph->addInput("x");
  Node* node = graph->insertNode(createSubgraph(*graph, SubgraphKind::Differentiable, inner, std::span(&input, 1)));
  graph->registerOutput(node->output());
  const KeepAnalyses kept(*graph);
  const auto aliases = aliasesOf(*graph);
  CHECK(aliasesOf(*graph) == aliases);
  CHECK_FALSE(aliases->mayAlias(input, node->output()));
  inner->block()->replaceOutput(0, inner->inputs()[0]);
  CHECK(aliasesOf(*graph)->mayAlias(input, node->output()));
}

TEST_CASE("analyses: what is kept agrees with a new one in whatever order both were asked") {
  const Fixture sample(R"(
graph(%lists : Tensor[][], %names : Dict(str, int[][][])):
  return (%lists)
)");
  AliasDb kept(*sample.graph), other(*sample.graph);
  kept.reached(sample["names"]);
  other.reached(sample["lists"]);
  CHECK(kept.reached(sample["names"]) != other.reached(sample["names"]));  // what is outside has other numbers
  CHECK(kept.differenceFrom(other).empty());

  AliasDb before(*sample.graph);
  before.reached(sample["lists"]);
  sample.graph->insertNode(sample.graph->create(aten::clear, {sample["lists"]}, 0));
  AliasDb after(*sample.graph);
  CHECK(before.differenceFrom(after) == "whether anything writes to %lists");
}

TEST_CASE("analyses: checks find what changes without an edit") {
  const auto graph = Graph::make();
  const at::Tensor constant = at::zeros({2});
  graph->registerOutput(graph->insertConstant(constant));
  const KeepAnalyses kept(*graph);
  factsOf(*graph, {});
  setOption(Option::check_facts, "plans");
  factsOf(*graph, {});
  constant.unsqueeze_(0);
  CHECK_THROWS_AS(factsOf(*graph, {}), InternalError);
  setOption(Option::check_facts, "off");
}
