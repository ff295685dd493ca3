// The front end from C++: a user's own resolver for names and types, laziness, and all-or-nothing definition.
#include <ATen/core/class_type.h>
#include <ATen/core/ivalue.h>

#include "cresset/frontend/compiler.h"
#include "cresset/frontend/resolver.h"
#include "cresset/support/error.h"

// c10's logging defines a CHECK of its own, which would silently replace doctest's.
#include "test.h"

using namespace cresset;

namespace {

std::shared_ptr<const Source> source(const char* text) {
  return std::make_shared<Source>(text, "test.py");
}

/// Knows the constant LIMIT, the function `twice`, which is the operator aten::mul with 2, and the type Index.
class OwnResolver : public Resolver {
 public:
  class Twice : public SugaredValue {
   public:
    std::string kind() const override { return "function 'twice'"; }
    SugaredValuePtr call(
        const SourceRange& range, EmitContext& cx, const std::vector<NamedValue>& args,
        const std::vector<NamedValue>& kwargs, size_t) override {
      std::vector<NamedValue> both = args;
      both.emplace_back(c10::IValue(static_cast<int64_t>(2)), range);
      return std::make_shared<SimpleValue>(insertOp(cx.graph, aten::mul, both, kwargs, range));
    }
  };
  SugaredValuePtr resolveValue(const std::string& name, EmitContext& cx, const SourceRange&) override {
    if (name == "LIMIT")
      return std::make_shared<SimpleValue>(cx.graph.insertConstant(c10::IValue(static_cast<int64_t>(10))));
    if (name == "twice") return std::make_shared<Twice>();
    return nullptr;
  }
  TypePtr resolveType(const std::string& name, const SourceRange&) override {
    return name == "mine.Index" ? TypePtr(c10::IntType::get()) : nullptr;
  }
};

size_t countNodes(const Graph& graph, Symbol kind) {
  size_t n = 0;
  for (const Node* node : graph.nodes()) n += node->kind() == kind;
  return n;
}

}  // namespace

TEST_CASE("a user's resolver gives names and types") {
  auto program = Program::make();
  DefineOptions options;
  options.resolver = std::make_shared<OwnResolver>();
  auto functions =
      defineSource(*program, source("def f(x: mine.Index, y: int = LIMIT):\n  return twice(x) + LIMIT\n"), options);
  REQUIRE(functions.size() == 1);
  const auto& schema = functions[0]->getSchema();
  CHECK(schema.arguments()[0].type()->kind() == c10::TypeKind::IntType);
  CHECK(schema.arguments()[1].default_value() == c10::IValue(static_cast<int64_t>(10)));
  CHECK(schema.returns()[0].type()->kind() == c10::TypeKind::IntType);
  CHECK(countNodes(*functions[0]->graph(), aten::mul) == 1);
}

TEST_CASE("the program's own names come before a user's") {
  auto program = Program::make();
  DefineOptions options;
  options.resolver = std::make_shared<OwnResolver>();
  auto functions = defineSource(
      *program, source("def twice(x: int):\n  return x + x\n\ndef f(x: int):\n  return twice(x)\n"), options);
  CHECK(countNodes(*functions[1]->graph(), prim::CallFunction) == 1);
}

TEST_CASE("nothing stays of a text with an error") {
  auto program = Program::make();
  CHECK_THROWS_AS(
      defineSource(
          *program,
          source("class A:\n  def __init__(self):\n    self.x = 1\n\ndef g():\n  return A()\n\ndef f():\n  return "
                 "nothing\n"),
          {}),
      UserError);
  CHECK(program->functions().empty());
  CHECK(program->types().empty());
  CHECK(defineSource(*program, source("def f():\n  return 1\n"), {}).size() == 1);
}

TEST_CASE("a function of which only the schema is needed is not compiled") {
  auto program = Program::make();
  SourceParser parser(source("def g(x: int) -> int:\n  return nonsense(x)\n"));
  Function& g = defineFunction(*program, parser.parseFunction(), {});
  Function& f = *defineSource(*program, source("def f(x: int):\n  return g(x)\n"), {})[0];
  CHECK(f.isDefined());
  CHECK_FALSE(g.isDefined());
  CHECK_THROWS_AS(g.graph(), UserError);
}

TEST_CASE("mangling lets a text be defined again") {
  auto program = Program::make();
  const char* text = "class A:\n  def __init__(self):\n    self.x = 1\n\ndef f():\n  return A().x\n";
  DefineOptions options;
  options.prefix = c10::QualifiedName("__torch__");
  options.mangle = true;
  Function* first = defineSource(*program, source(text), options)[0];
  Function* second = defineSource(*program, source(text), options)[0];
  CHECK(first->qualname() == c10::QualifiedName("__torch__.f"));
  CHECK(second->qualname() != first->qualname());
  CHECK(program->types().size() == 2);
  options.mangle = false;
  CHECK_THROWS_AS(defineSource(*program, source(text), options), UserError);
}

TEST_CASE("classes of one name in two programs differ") {
  const char* text = "class A:\n  def __init__(self):\n    self.x = 1\n";
  auto a = Program::make(), b = Program::make();
  defineSource(*a, source(text), {});
  defineSource(*b, source(text), {});
  const auto in_a = a->findClass(c10::QualifiedName("A")), in_b = b->findClass(c10::QualifiedName("A"));
  CHECK(*in_a != *in_b);
  CHECK(programOf(*in_a) == a);
}

TEST_CASE("methods are added to a class") {
  auto program = Program::make();
  defineSource(*program, source("class M(Module):\n  w : Tensor\n"), {});
  auto cls = program->findClass(c10::QualifiedName("M"));
  SourceParser parser(source("def forward(self, x):\n  return x + self.w\n"));
  Function& forward = defineMethod(*program, cls, parser.parseFunction(), {});
  CHECK(cls->findMethod("forward") == &forward);
  CHECK(forward.getSchema().returns()[0].type()->kind() == c10::TypeKind::TensorType);
}
