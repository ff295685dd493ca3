// What text tests can't say of passes: that each takes time in proportion to the graph, that programs which stand for
// too many nodes stay small, and how passes are watched.
#include <ATen/ops/ones_ops.h>

#include <iostream>
#include <sstream>

#include "cresset/frontend/compiler.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/verifier.h"
#include "cresset/module/freeze.h"
#include "cresset/passes/pipeline.h"
#include "cresset/passes/rewrite_rules.h"
#include "cresset/support/error.h"
#include "test.h"

namespace {

using namespace cresset;

/// A graph with about `count` nodes of what every pass looks for.
std::shared_ptr<Graph> manyNodes(size_t count) {
  std::string text =
      "graph(%x : Float(*, *, requires_grad=0), %k : int, %c : bool):\n"
      "  %true : bool = prim::Constant[value=1]()\n  %zero : int = prim::Constant[value=0]()\n"
      "  %l : int[] = prim::ListConstruct()\n  %d : Dict(int, int) = prim::DictConstruct()\n"
      "  %t0 : Float(*, *, requires_grad=0) = aten::tanh(%x)\n  %n0 : int = aten::neg(%k)\n";
  std::string tensor = "t0", number = "n0";
  const auto replaceAll = [](std::string part, const std::string& from, const std::string& to) {
    for (size_t at = part.find(from); at != std::string::npos; at = part.find(from, at + to.size()))
      part.replace(at, from.size(), to);
    return part;
  };
  const size_t iterations = count / 20;
  for (size_t i = 1; i <= iterations; ++i) {
    std::string part = R"(  %two# : int = prim::Constant[value=2]()
  %key# : int = prim::Constant[value=#]()
  %f# : int = aten::add(%two#, %key#)
  %a# : int[] = aten::append(%l, %N)
   = aten::_set_item(%d, %key#, %N)
  %u# : (int, int) = prim::TupleConstruct(%N, %f#)
  %v# : int, %w# : int = prim::TupleUnpack(%u#)
  %s# : int = aten::mul(%v#, %k)
  %r# : int = aten::mul(%v#, %k)
  %q# : int = aten::add(%s#, %r#)
  %e# : Float(*, *, requires_grad=0) = aten::relu_(%T)
  %t# : Float(*, *, requires_grad=0) = aten::tanh(%T)
  %i# : int = prim::If(%c)
    block0():
      -> (%q#)
    block1():
      %j# : int = aten::sub(%q#, %two#)
      -> (%j#)
  %n# : int = prim::Loop(%two#, %true, %i#)
    block0(%m# : int, %o# : int):
      %p# : int = aten::mul(%k, %k)
      %z# : int = aten::add(%o#, %p#)
      -> (%true, %z#)
)";
    part = replaceAll(replaceAll(part, "%N", "%" + number), "%T", "%" + tensor);
    text += replaceAll(part, "#", std::to_string(i));
    number = "n" + std::to_string(i);
    tensor = "t" + std::to_string(i);
  }
  return parseGraph(text + "  return (%l, %d, %" + number + ", %" + tensor + ")\n");
}

TEST_CASE("passes: all of them on 100,000 nodes") {
  const auto graph = manyNodes(100'000);
  Pipeline passes(*graph, "many");
  for (const PassInfo& pass : allPasses()) passes.run(pass.name);
  verify(*graph);
}

TEST_CASE("passes: a program of a few lines that stands for more nodes than fit") {
  auto program = Program::make();
  std::string text = "def f0(x: int) -> int:\n  return x + 1\n";
  for (int i = 1; i <= 60; ++i) {
    const std::string callee = "f" + std::to_string(i - 1);
    text += "def f" + std::to_string(i) + "(x: int) -> int:\n  return " + callee + "(" + callee + "(x))\n";
  }
  defineSource(*program, std::make_shared<const Source>(text, "hostile.py"), {});
  const auto graph = program->findFunction(c10::QualifiedName("f60"))->graph()->copy();
  CHECK(findPass("inline")->run(*graph, {}));
  CHECK(graph->numNodes() < 600'000);
  verify(*graph);
}

TEST_CASE("passes: a long chain of calls") {
  auto program = Program::make();
  std::string text = "def f0(x: int) -> int:\n  return x + 1\n";
  for (int i = 1; i <= 2'000; ++i)
    text += "def f" + std::to_string(i) + "(x: int) -> int:\n  return f" + std::to_string(i - 1) + "(x) + 1\n";
  defineSource(*program, std::make_shared<const Source>(text, "chain.py"), {});
  const auto graph = program->findFunction(c10::QualifiedName("f2000"))->graph()->copy();
  CHECK(findPass("inline")->run(*graph, {}));
  verify(*graph);
}

/// Restores the options, and what std::cerr writes to.
struct Watching {
  explicit Watching(const char* text) {
    setPassOptions(parsePassOptions(text));
    std::cerr.rdbuf(written.rdbuf());
  }
  ~Watching() {
    std::cerr.rdbuf(before_);
    setPassOptions(options_);
  }
  std::ostringstream written;

 private:
  PassOptions options_ = passOptions();
  std::streambuf* before_ = std::cerr.rdbuf();
};

const char* const kFoldable = R"(graph():
  %1 : int = prim::Constant[value=2]()
  %2 : int = aten::mul(%1, %1)
  %3 : int = aten::neg(%1)
  return (%2)
)";

TEST_CASE("passes: what changes is dumped, what is disabled does nothing") {
  const Watching watching("dump=constant-propagation,disable=dce,verify,time");
  const auto graph = parseGraph(kFoldable);
  Pipeline passes(*graph, "small");
  CHECK(passes.run("constant-propagation"));
  CHECK_FALSE(passes.run("dce"));
  CHECK_FALSE(passes.run("constant-propagation"));
  const std::string text = watching.written.str();
  CHECK(text.find("---- before constant-propagation on small\ngraph():") == 0);
  CHECK(text.find("aten::mul") < text.find("---- after constant-propagation on small"));
  CHECK(text.find("---- before", 10) == std::string::npos);
  const auto figures = passFigures();
  REQUIRE(figures.size() == 1);
  CHECK(figures[0].name == "constant-propagation");
  CHECK(figures[0].runs == 2);
  CHECK(figures[0].changes == 1);
}

TEST_CASE("passes: after the limit none runs") {
  const Watching watching("limit=1");
  const auto graph = parseGraph(kFoldable);
  Pipeline passes(*graph, "small");
  CHECK_FALSE(passes.run("cse"));
  CHECK_FALSE(passes.run("constant-propagation"));
  CHECK(watching.written.str() == "the last pass within the limit, 1: cse on small\n");
}

TEST_CASE("passes: options that mean nothing are refused") {
  for (const char* text : {"dump=nope", "disable=cse+nope", "limit=x", "limit=-1", "nope"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parsePassOptions(text), UserError);
  }
  const PassOptions options = parsePassOptions("dump,disable=cse+dce,limit=12,verify,time");
  CHECK(options.dump == std::vector<std::string>{"all"});
  CHECK(options.disable == std::vector<std::string>{"cse", "dce"});
  CHECK(*options.limit == 12);
  const auto graph = parseGraph(kFoldable);
  Pipeline passes(*graph, "small");
  CHECK_THROWS_AS(passes.run("nope"), UserError);
}

TEST_CASE("rewrite rules: lines that mean nothing are refused") {
  const std::pair<std::string_view, const char*> wrong[] = {
      {"aten::neg.int(n)", "expected `pattern -> result`"},
      {"n -> n", "a pattern is a call of an operator"},
      {"aten::nope(n) -> n", "there is no operator aten::nope"},
      {"aten::add.int(n) -> n", "aten::add.int takes 2 arguments"},
      {"aten::add.int(n, 'text') -> n", "a pattern is made of operators, constants and names"},
      {"aten::add.int(n, is_int(n)) -> n", "there is no operator is_int"},
      {"aten::add.int(n, 0) -> m", "the pattern has no m"},
      {"aten::add.int(n, _) -> _", "the pattern has no _"},
      {"aten::add.int(n, 0) -> n + 1", "a result is a name, a constant or a call"},
      {"aten::add.int(n, 0) -> aten::neg.int(n, n)", "aten::neg.int takes 1 arguments"},
      {"aten::add.int(n, 0) -> nope(n)", "there is no function nope"},
      {"aten::add.int(n, 0) -> n if n", "there is no function n"},
      {"aten::add.int(n, 0) -> n if is_int(m)", "the pattern has no m"},
      {"aten::add.int(n, 0) -> n if is_int(0)", "is_int takes names of the pattern"},
      {"aten::add.int(n, 0) -> n if is_int('text')", "is_int takes names of the pattern"},
      {"aten::add.int(n, 0) -> n if is_int(n, n)", "is_int takes 1 values"},
      {"aten::size.int(x, d) -> known_size(x)", "known_size takes 2 values"},
      {"aten::add.int(n, 0 -> n", "expected"},
      {"x = 1; aten::add.int(n, 0) -> n", "expected one expression"},
  };
  for (const auto& [line, message] : wrong) {
    CAPTURE(line);
    CHECK_THROWS_WITH_AS(RewriteRules(std::span(&line, 1)), doctest::Contains(message), std::invalid_argument);
  }
}

TEST_CASE("rewrite rules: conditions, wildcards, and names that stand twice") {
  const std::string_view lines[] = {
      "aten::sub.int(n, n) -> 0",
      "aten::mul.int(_, 0) -> 0 if not is_int(zero) or is_int(zero)",
      "aten::add.int(n, aten::neg.int(m)) -> aten::sub.int(n, m) if is_int(n) and not is_bool(m)",
  };
  CHECK_THROWS_AS(RewriteRules(std::span(lines + 1, 1)), std::invalid_argument);  // no name `zero` in the pattern
  const std::string_view good[] = {lines[0], "aten::mul.int(_, 0) -> 0", lines[2]};
  const RewriteRules rules(good);
  const auto graph = parseGraph(R"(graph(%a : int, %b : int):
  %zero : int = prim::Constant[value=0]()
  %c : int = aten::neg(%b)
  %d : int = aten::add(%a, %c)
  %e : int = aten::mul(%b, %zero)
  %f : int = aten::sub(%a, %a)
  %g : int = aten::sub(%a, %b)
  return (%d, %e, %f, %g)
)");
  const AskIfWritten is_written = [](const Value*) { return false; };
  std::vector<std::string> results;
  for (const Value* value : graph->outputs()) {
    const Value* known = rules.apply(value->node(), is_written);
    results.push_back(known ? std::string(known->node()->kind().toQualString()) : "none");
  }
  CHECK(results == std::vector<std::string>{"aten::sub", "prim::Constant", "prim::Constant", "none"});
  // What something writes to is not matched in the middle of a pattern; an int is never written to.
  const AskIfWritten always = [](const Value*) { return true; };
  CHECK(rules.apply(graph->outputs()[0]->node(), always));
  const auto lengths = parseGraph(R"(graph(%x : Float(*, *), %y : Tensor):
  %s : int[] = aten::size(%x)
  %n : int = aten::len(%s)
  %a : bool = aten::is_floating_point(%x)
  %b : bool = aten::is_floating_point(%y)
  return (%n, %a, %b)
)");
  const RewriteRules& own = RewriteRules::get();
  CHECK(own.apply(lengths->outputs()[0]->node(), is_written));
  CHECK_FALSE(own.apply(lengths->outputs()[0]->node(), always));
  // What a function can't tell is not true, and neither is its negation.
  const std::string_view negated[] = {
      "aten::is_floating_point(x) -> False if not has_floating_dtype(x) or not is_tensor(x)"};
  const RewriteRules unknown(negated);
  CHECK_FALSE(unknown.apply(lengths->outputs()[1]->node(), is_written));
  CHECK_FALSE(unknown.apply(lengths->outputs()[2]->node(), is_written));
}

TEST_CASE("freeze: a module from C++") {
  Module model("Scale");
  model.register_parameter("weight", at::_ops::ones::call({2}, at::kFloat, {}, {}, {}));
  model.register_attribute("by", c10::IntType::get(), IValue(3));
  model.define("def forward(self, x: Tensor):\n  return x * self.weight * self.by\n");
  CHECK_THROWS_WITH_AS(freeze(model), doctest::Contains("eval mode"), UserError);
  model.eval();
  const Module frozen = freeze(model);
  CHECK(frozen.num_slots() == 0);
  CHECK_FALSE(frozen.hasattr("training"));
  const at::Tensor x = at::_ops::ones::call({2}, at::kFloat, {}, {}, {});
  CHECK(frozen.run_method("forward", x).toTensor().equal(model.run_method("forward", x).toTensor()));
  const Module kept = freeze(model, std::vector<std::string>{"by"});
  kept.setattr("by", IValue(4));
  CHECK(kept.run_method("forward", x).toTensor().sum().item<float>() == 8);
}

}  // namespace
