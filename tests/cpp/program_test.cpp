// Programs: lazy definition, recursion, names, taking definitions back.
#include "test.h"

#include <ATen/core/class_type.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <memory>
#include <thread>
#include <vector>

#include "cresset/ir/parser.h"
#include "cresset/program/program.h"
#include "cresset/support/error.h"

using namespace cresset;

namespace {

Function::Definer definer(std::string text) {
  return [text = std::move(text)](Function& f) { f.setGraph(parseGraph(text)); };
}

const char* const kIdentity = "graph(%x : int):\n  return (%x)\n";

c10::ClassTypePtr makeClass(Program& program, const std::string& name) {
  auto type = c10::ClassType::create(name, program.asCompilationUnit(), /*is_module=*/false);
  program.registerType(type);
  return type;
}

}  // namespace

TEST_CASE("a function is defined when it is first needed") {
  auto program = Program::make();
  int runs = 0;
  Function& f = program->declare("f", [&](Function& f) {
    ++runs;
    f.setGraph(parseGraph(kIdentity));
  });
  CHECK(!f.isDefined());
  CHECK(runs == 0);
  CHECK(f.num_inputs() == 1);
  CHECK(f.isDefined());
  f.ensure_defined();
  CHECK(runs == 1);
  CHECK(f.getSchema().arguments()[0].name() == "x");
  CHECK(f.getSchema().returns()[0].type()->kind() == c10::TypeKind::IntType);
}

TEST_CASE("a definition that fails can be tried again, and fails again") {
  auto program = Program::make();
  int runs = 0;
  Function& f = program->declare("f", [&](Function&) -> void {
    ++runs;
    throw UserError("wrong");
  });
  CHECK_THROWS_AS(f.ensure_defined(), UserError);
  CHECK_THROWS_AS(f.getSchema(), UserError);
  CHECK(runs == 2);
  CHECK(!f.isDefined());
}

TEST_CASE("a function without a schema can't need itself") {
  auto program = Program::make();
  Function& f = program->declare("f", [](Function& f) { f.getSchema(); });
  CHECK_THROWS_WITH_AS(f.ensure_defined(), doctest::Contains("is called recursively"), UserError);
}

TEST_CASE("many threads that need a function define it once") {
  auto program = Program::make();
  std::atomic<int> runs = 0;
  Function& f = program->declare("f", [&](Function& f) {
    ++runs;
    f.setGraph(parseGraph(kIdentity));
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { CHECK(f.graph() != nullptr); });
  for (auto& t : threads) t.join();
  CHECK(runs == 1);
}

TEST_CASE("names are unique, and mangled on request") {
  auto program = Program::make();
  program->declare("__torch__.f", definer(kIdentity));
  CHECK_THROWS_WITH_AS(
      program->declare("__torch__.f", definer(kIdentity)), doctest::Contains("already defined"), UserError);
  CHECK(program->mangle("__torch__.g").qualifiedName() == "__torch__.g");
  const auto mangled = program->mangle("__torch__.f");
  CHECK(mangled.qualifiedName() == "__torch__.___torch_mangle_0.f");
  program->declare(mangled, definer(kIdentity));
  CHECK(program->mangle(mangled).qualifiedName() == "__torch__.___torch_mangle_1.f");
  CHECK(program->functions().size() == 2);
}

TEST_CASE("classes of one name in two programs differ, and know their program") {
  auto a = Program::make(), b = Program::make();
  auto in_a = makeClass(*a, "__torch__.C"), in_b = makeClass(*b, "__torch__.C");
  CHECK(*in_a != *in_b);
  CHECK(programOf(*in_a) == a);
  CHECK(programOf(*in_b) == b);
  CHECK(a->findClass("__torch__.C") == in_a);
  CHECK(programOf(*c10::ClassType::create("X", std::weak_ptr<torch::jit::CompilationUnit>())) == nullptr);
  std::weak_ptr<Program> weak = a;
  auto object = c10::ivalue::Object::create(c10::StrongTypePtr(in_a->compilation_unit(), in_a), 0);
  a = nullptr;
  CHECK(weak.lock() != nullptr);  // the object keeps it
  object = {};
  CHECK(weak.lock() == nullptr);
}

TEST_CASE("types that refer to themselves end with their program") {
  auto program = Program::make();
  std::weak_ptr<c10::Type> node, other, step;
  {
    auto type = makeClass(*program, "Node");
    auto second = makeClass(*program, "Other");
    type->addAttribute("number", c10::IntType::get());
    type->addAttribute("next", c10::OptionalType::create(type));
    type->addAttribute("others", c10::ListType::create(second));
    second->addAttribute("node", c10::DictType::create(c10::StringType::get(), type));
    auto interface = c10::InterfaceType::create(c10::QualifiedName("Step"));
    program->registerType(interface);
    interface->addMethod(c10::FunctionSchema("step", "", {c10::Argument("self", interface)}, {}));
    node = type, other = second, step = interface;
  }
  CHECK(!node.expired());
  CHECK(!step.expired());
  program.reset();
  CHECK(node.expired());
  CHECK(other.expired());
  CHECK(step.expired());
}

TEST_CASE("a scope that is not committed leaves nothing") {
  auto program = Program::make();
  auto cls = makeClass(*program, "C");
  Function& kept = program->declare("kept", definer(kIdentity));
  {
    DefinitionScope scope(*program);
    program->declare("f", definer(kIdentity)).ensure_defined();
    cls->addMethod(&program->declare("C.m", definer(kIdentity)));
    makeClass(*program, "D");
    {
      DefinitionScope inner(*program);
      program->declare("g", definer(kIdentity));
      inner.commit();  // the outer scope decides
    }
  }
  CHECK(program->functions() == std::vector<Function*>{&kept});
  CHECK(program->types().size() == 1);
  CHECK(program->findFunction("f") == nullptr);
  CHECK(program->findType("D") == nullptr);
  CHECK(cls->findMethod("m") == nullptr);
  program->declare("f", definer(kIdentity));  // the name is free again
  {
    DefinitionScope scope(*program);
    program->declare("h", definer(kIdentity));
    scope.commit();
  }
  CHECK(program->findFunction("h") != nullptr);
}
