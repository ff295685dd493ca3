// The C++ interface, name by name: what torch::jit's clients call. What both engines print is compared by
// tests/python/test_clients.py.
#include "test.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/ops/equal_ops.h>
#include <ATen/ops/full_ops.h>
#include <ATen/ops/relu_ops.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "cresset/torch_jit.h"

#undef CHECK
#define CHECK(...) DOCTEST_CHECK(__VA_ARGS__)

namespace jit = cresset::jit;
using cresset::IValue;

namespace {

at::Tensor full(int64_t n, double value) {
  return at::_ops::full::call(
      c10::fromIntArrayRefSlow({n}), value, at::kFloat, std::nullopt, std::nullopt, std::nullopt);
}
double totalOf(const IValue& value) {
  return value.toTensor().sum().item().toDouble();
}

/// The message of what `action` throws; it has to be a c10::Error, which clients of torch::jit catch.
template <typename Action>
std::string errorOf(const Action& action) {
  try {
    action();
  } catch (const c10::Error& error) {
    return error.what();
  }
  return "no error";
}

constexpr const char* kModule = R"(
def forward(self, x: Tensor, by: float = 2.) -> Tensor:
    return self.w * x * by

def count(self, n: int) -> int:
    self.calls += n
    return self.calls

def level(self) -> int:
    return self.calls
)";

/// A module with each kind of attribute, and a submodule of the same tensors.
jit::Module makeSample() {
  jit::Module m("api.M");
  m.register_parameter("w", full(2, 3), false);
  m.register_buffer("seen", full(1, 1));
  m.register_attribute("calls", c10::IntType::get(), 0);
  m.define(kModule);
  jit::Module child("api.Child", std::make_shared<jit::CompilationUnit>(m.program()));
  child.register_parameter("w", m.attr("w").toTensor());
  child.register_parameter("v", full(4, 1));
  child.define("def forward(self, x: Tensor) -> Tensor:\n  return x + self.v.sum()\n");
  m.register_module("child", child);
  return m;
}

template <typename Items>
std::string namesOf(const Items& items) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : " ") + item.name;
  return text;
}

class BufferReader final : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit BufferReader(std::string bytes, bool lie = false) : bytes_(std::move(bytes)), lie_(lie) {}
  size_t size() const override { return bytes_.size(); }
  size_t read(uint64_t pos, void* buffer, size_t n, const char*) const override {
    if (lie_) return 0;
    std::memcpy(buffer, bytes_.data() + pos, n);
    return n;
  }

 private:
  std::string bytes_;
  bool lie_;
};

std::string saved(const jit::Module& module, const jit::ExtraFilesMap& extra = {}) {
  std::ostringstream out;
  module.save(out, extra);
  return out.str();
}

}  // namespace

TEST_CASE("api: calls, by position and by name") {
  jit::Module m = makeSample();
  CHECK(totalOf(m.forward({full(2, 1)})) == 12);
  CHECK(totalOf(m({full(2, 1), 1})) == 6);  // an int for a float
  CHECK(totalOf(m.forward({full(2, 1)}, {{"by", 3.}})) == 18);
  CHECK(totalOf(m.forward({}, {{"by", 1.}, {"x", full(2, 1)}})) == 6);
  CHECK(m.run_method("count", 2).toInt() == 2);
  CHECK(m.get_method("count")({3}).toInt() == 5);
  CHECK(m.get_method("count")({}, {{"n", 1}}).toInt() == 6);
  CHECK(contains(errorOf([&] { m.forward({}); }), "missing value for argument 'x'"));
  CHECK(contains(errorOf([&] { m.get_method("nope"); }), "Method 'nope' is not defined"));
}

TEST_CASE("api: methods") {
  jit::Module m = makeSample();
  CHECK(!m.find_method("nope"));
  const jit::Method method = m.find_method("count").value();
  CHECK(method.name() == "count");
  CHECK(method.num_inputs() == 2);
  CHECK(method.getSchema().arguments()[1].name() == "n");
  CHECK(method.owner() == m);
  CHECK(method.raw_owner() == m._ivalue());
  CHECK(method.graph()->inputs().size() == 2);
  CHECK(&method.function() == m.get_method("count").function().program().findFunction({"api.M.count"}));
  jit::Stack stack{IValue("below"), IValue(4)};
  method.run(stack);
  CHECK(stack.size() == 2);
  CHECK(stack.back().toInt() == 4);
  jit::Stack empty;
  CHECK(contains(errorOf([&] { method.run(empty); }), "takes 1 argument(s), and the stack has 0"));
  auto future = method.run_async({1});
  future->wait();
  CHECK(future->value().toInt() == 5);
  std::string names;
  for (const jit::Method& each : m.get_methods()) names += each.name() + " ";
  CHECK(names == "forward count level ");
  CHECK(m.hasmethod("level"));
}

TEST_CASE("api: attributes") {
  jit::Module m = makeSample();
  CHECK(m.attr("calls").toInt() == 0);
  CHECK(m.attr("nope", 7).toInt() == 7);
  CHECK(m.hasattr("seen"));
  CHECK(!m.hasattr("forward"));
  m.setattr("calls", 9);
  CHECK(m.run_method("level").toInt() == 9);
  CHECK(contains(errorOf([&] { m.setattr("calls", "many"); }), "Expected a value of type 'int' for field 'calls'"));
  CHECK(contains(errorOf([&] { m.attr("nope"); }), "Module 'api.M' has no attribute 'nope'"));
  CHECK(m.num_slots() == 5);
  CHECK(namesOf(m.named_attributes(false)) == "training w seen calls child");
  CHECK(m.attributes(false).size() == 5);
  CHECK(m.attributes().size() == 8);
}

TEST_CASE("api: parameters, buffers, submodules") {
  jit::Module m = makeSample();
  CHECK(namesOf(m.named_parameters()) == "w child.v");  // the child's w is listed once
  CHECK(namesOf(m.named_parameters(false)) == "w");
  CHECK(m.parameters().size() == 2);
  CHECK(namesOf(m.named_buffers()) == "seen");
  CHECK(m.buffers(false).size() == 1);
  CHECK(namesOf(m.named_children()) == "child");
  CHECK(m.children().size() == 1);
  CHECK(namesOf(m.named_modules()) == "child");  // itself is called ""
  REQUIRE(m.modules().size() == 2);
  CHECK(m.modules()[1] == m.attr("child").toObject());
  int visited = 0;
  m.apply([&](jit::Module& each) { visited += each.hasattr("w"); });
  CHECK(visited == 2);
  CHECK(m.is_training());
  m.eval();
  CHECK(!m.children()[0].is_training());
  m.train();
  CHECK(m.children()[0].is_training());
  CHECK(m.is_optimized());
  m.set_optimized(false);
}

TEST_CASE("api: to, in all its forms") {
  jit::Module m = makeSample();
  const at::Tensor w = m.attr("w").toTensor();
  m.to(at::kDouble);
  CHECK((w.scalar_type() == at::kDouble));
  CHECK((m.attr("seen").toTensor().scalar_type() == at::kDouble));
  m.to(c10::Device(at::kCPU), at::kHalf, /*non_blocking=*/true);
  CHECK((w.scalar_type() == at::kHalf));
  jit::Module other = makeSample();
  other.to(at::kCPU);
  other.to(c10::Device("cpu"), true);
  CHECK(other.attr("w").toTensor().is_cpu());
}

TEST_CASE("api: graphs print") {
  jit::Module m("M");
  m.define("def forward(self, x: Tensor) -> Tensor:\n  return x + 1\n");
  const std::shared_ptr<jit::Graph> graph = m.get_method("forward").graph();
  std::ostringstream out;
  out << *graph;
  CHECK(out.str() == jit::toString(*graph));
  CHECK(contains(out.str(), "aten::add"));
  CHECK(contains(out.str(), " # "));
  CHECK(!contains(jit::toString(*graph, {.source_ranges = false}), " # "));
  std::ostringstream nodes;
  for (jit::Node* node : graph->nodes()) nodes << *node;
  nodes << *graph->block();
  CHECK(contains(nodes.str(), "aten::add"));
}

TEST_CASE("api: copies") {
  jit::Module m = makeSample();
  const at::Tensor w = m.attr("w").toTensor();
  CHECK(m.copy().attr("w").toTensor().is_same(w));
  CHECK(!(m.copy() == m));
  jit::Module deep = m.deepcopy();
  CHECK(deep.type() == m.type());
  CHECK(!deep.attr("w").toTensor().is_same(w));
  CHECK(deep.attr("child").toObject()->getAttr("w").toTensor().is_same(deep.attr("w").toTensor()));
  CHECK(m.deepcopy(c10::Device(at::kMeta)).attr("w").toTensor().is_meta());
  jit::Module shared = m.clone(/*inplace=*/true);
  CHECK(shared.type() != m.type());
  CHECK(shared.attr("w").toTensor().is_same(w));
  CHECK(!m.clone().attr("w").toTensor().is_same(w));
  CHECK(totalOf(m.clone().forward({full(2, 1)})) == 12);
}

TEST_CASE("api: clones without some members, and single methods") {
  jit::Module m = makeSample();
  jit::Module part = m.clone(false, {"count", "level"}, {"calls"});
  CHECK(!part.find_method("count"));
  CHECK(!part.hasattr("calls"));
  CHECK(totalOf(part.forward({full(2, 1)})) == 12);
  const std::string message = errorOf([&] { m.clone(false, {"count"}, {"calls"}); });
  CHECK(contains(message, "has no 'calls', which one of the copied methods needs"));
  CHECK(contains(message, "return self.calls"));

  jit::Module target("api.Target", m.program());
  target.register_attribute("calls", c10::IntType::get(), 40);
  target.clone_method(m, "count");
  CHECK(target.run_method("count", 2).toInt() == 42);
  CHECK(m.attr("calls").toInt() == 0);
  CHECK(contains(errorOf([&] { target.clone_method(m, "count"); }), "already has 'count'"));
  CHECK(contains(errorOf([&] { target.clone_method(m, "forward"); }), "has no 'w'"));
  CHECK(!target.find_method("forward"));
  CHECK(contains(errorOf([&] { jit::Module("api.Else").clone_method(m, "level"); }), "of another program"));
}

TEST_CASE("api: saving and loading") {
  jit::Module m = makeSample();
  const std::string bytes = saved(m, {{"note.txt", "hello"}});
  // Archives that are written to no file stand in a folder "archive", others in one of their file's name.
  const auto folder = std::filesystem::temp_directory_path() / "cresset-api-test";
  std::filesystem::create_directories(folder);
  const std::string path = folder / "archive.pt";
  m.save(path, {{"note.txt", "hello"}});
  std::ifstream file(path, std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()) == bytes);

  jit::ExtraFilesMap extra{{"note.txt", ""}, {"none.txt", "as before"}};
  auto check = [&](const jit::Module& loaded) {
    CHECK(totalOf(loaded.forward({full(2, 1)})) == 12);
    CHECK(extra.at("note.txt") == "hello");
    CHECK(extra.at("none.txt") == "as before");
    extra["note.txt"] = "";
  };
  check(jit::load(path, std::nullopt, extra));
  std::istringstream stream(bytes);
  check(jit::load(stream, at::kCPU, extra));
  check(jit::load(std::make_shared<BufferReader>(bytes), std::nullopt, extra));
  CHECK(totalOf(jit::load(path).forward({full(2, 1)})) == 12);
  CHECK(jit::load(path, c10::Device("meta")).attr("w").toTensor().is_meta());
  CHECK(totalOf(jit::load(std::make_shared<BufferReader>(bytes)).forward({full(2, 1)})) == 12);
  CHECK(totalOf(cresset::load(bytes.data(), bytes.size(), {.trusted = true}).forward({full(2, 1)})) == 12);
  CHECK(contains(errorOf([&] { jit::load(std::make_shared<BufferReader>(bytes, true)); }), "the reader gave 0 of"));
  CHECK(contains(errorOf([&] { jit::load(path + ".nope"); }), "nope"));
  std::filesystem::remove(path);
}

TEST_CASE("api: errors of loaded code show the file it was written in, or the archive's code") {
  jit::CompilationUnit unit;
  unit.define("def check(x: int) -> int:\n  assert x > 0, 'small'\n  return x\n", nullptr, "mine.py");
  std::ostringstream out;
  cresset::moduleOfFunction(unit.get_function("check")).save(out);
  const std::string bytes = out.str();
  for (bool debug_files : {true, false}) {
    std::istringstream in(bytes);
    jit::Module loaded = jit::load(in, std::nullopt, debug_files);
    CHECK(contains(errorOf([&] { loaded.forward({0}); }), "mine.py") == debug_files);
  }
}

TEST_CASE("api: dumps") {
  jit::Module m = makeSample();
  const std::string text = m.dump_to_str(true, true, true);
  CHECK(contains(text, "module api.M {"));
  CHECK(contains(text, "method count"));
  CHECK(!contains(m.dump_to_str(false, false, false), "method"));
  std::ostringstream out;
  std::streambuf* before = std::cout.rdbuf(out.rdbuf());
  m.dump(true, true, true);
  std::cout.rdbuf(before);
  CHECK(out.str() == text + "\n");
}

constexpr const char* kClasses = R"(
class Counter:
    def __init__(self, start: int = 1):
        self.value = start

    def add(self, n: int) -> int:
        self.value += n
        return self.value

    @property
    def double(self) -> int:
        return self.value * 2

    @double.setter
    def double(self, to: int):
        self.value = to // 2

class Adder(Interface):
    def add(self, n: int) -> int:
        pass

class Pair(NamedTuple):
    first: int
    second: Tensor

def twice(counter: Adder, n: int) -> int:
    return counter.add(n) + counter.add(n)

def pair(x: Tensor) -> Pair:
    return Pair(1, x)
)";

TEST_CASE("api: classes, interfaces and objects") {
  auto unit = jit::compile(kClasses);
  REQUIRE(unit->get_class({"Counter"}));
  CHECK(!unit->get_class({"Adder"}));
  CHECK(unit->get_interface({"Adder"}));
  CHECK(unit->get_type({"Pair"}));
  REQUIRE(unit->get_named_tuple({"Pair"}));
  CHECK(unit->get_named_tuple({"Pair"})->schema()->arguments()[1].name() == "second");
  CHECK(!unit->get_named_tuple({"Counter"}));

  jit::Object counter = unit->create_class({"Counter"}, {5});
  CHECK(counter.attr("value").toInt() == 5);
  CHECK(counter.run_method("add", 2).toInt() == 7);
  CHECK(unit->create_class({"Counter"}, {}, {{"start", 3}}).attr("value").toInt() == 3);
  CHECK(unit->run_method("twice", counter._ivalue(), 1).toInt() == 17);
  CHECK(counter.type()->is_module() == false);
  CHECK(counter.program() == unit->program());

  REQUIRE(counter.get_properties().size() == 1);
  CHECK(counter.has_property("double"));
  const jit::Object::Property property = counter.get_property("double");
  CHECK(property.getter_func({}).toInt() == 18);
  property.setter_func.value()({8});
  CHECK(counter.attr("value").toInt() == 4);
  CHECK(contains(errorOf([&] { counter.get_property("nope"); }), "Property 'nope' is not defined"));

  jit::Object bare(unit, unit->get_class({"Counter"}));
  bare.run_method("__init__", 10);
  CHECK(bare.attr("value").toInt() == 10);
  CHECK(contains(errorOf([&] { jit::Object(unit, unit->get_class({"Nope"})); }), "There is no class"));
  counter.define("def less(self, n: int) -> int:\n  return self.value - n\n");
  CHECK(bare.run_method("less", 1).toInt() == 9);
  jit::Object copied = counter.copy();
  copied.setattr("value", 1);
  CHECK(counter.attr("value").toInt() == 4);
  CHECK(counter.deepcopy().attr("value").toInt() == 4);
  CHECK(contains(errorOf([&] { jit::Object().attr("x"); }), "refers to nothing"));

  jit::Module m("api.Holder", unit->program());
  CHECK(m.create_class({"Counter"}, {2}).toObject()->getAttr("value").toInt() == 2);
  CHECK(contains(errorOf([&] { m.create_class({"Nope"}); }), "There is no class 'Nope'"));
}

TEST_CASE("api: programs from text") {
  auto unit = jit::compile("def relu_sum(a, b):\n  return torch.relu(a + b).sum()\n");
  CHECK(totalOf(unit->run_method("relu_sum", full(2, 1), full(2, -3))) == 0);
  CHECK(totalOf(unit->get_function({"relu_sum"})({full(2, 1), full(2, 2)})) == 6);
  auto defined = unit->define("def f(x: int):\n  return x + 1\ndef g(x: int):\n  return f(x) * 2\n");
  REQUIRE(defined.size() == 2);
  CHECK(defined[1]->name() == "g");
  CHECK(unit->run_method("g", 2).toInt() == 6);
  unit->define(c10::QualifiedName("lib.math"), "def h(x: int):\n  return x * 3\n", jit::nativeResolver(), nullptr);
  CHECK(unit->run_method("lib.math.h", 2).toInt() == 6);
  CHECK(unit->get_functions().size() == 4);
  CHECK(!unit->find_function({"nope"}));
  CHECK(contains(errorOf([&] { unit->get_function({"nope"}); }), "There is no function 'nope'"));
  CHECK(contains(errorOf([&] { jit::compile("def f(x):\n  return y\n"); }), "undefined value y"));
  auto graph = cresset::parseGraph("graph(%x : int):\n  %y : int = aten::neg(%x)\n  return (%y)\n");
  CHECK((*unit->create_function({"minus"}, graph))({3}).toInt() == -3);
  CHECK(unit->create_function({"minus"}, graph, true)->name() == "minus");
  CHECK(contains(errorOf([&] { unit->create_function({"minus"}, graph); }), "minus"));
  CHECK(unit->mangle({"fresh"}).name() == "fresh");
  CHECK(unit->is_optimized());
}

namespace {

/// Knows one type of the program's own.
struct BatchNames final : cresset::Resolver {
  cresset::TypePtr resolveType(const std::string& name, const cresset::SourceRange&) override {
    return name == "Batch" ? c10::ListType::ofTensors() : nullptr;
  }
};

}  // namespace

TEST_CASE("api: resolvers give names to texts") {
  jit::CompilationUnit unit;
  unit.define("def first(batch: Batch) -> Tensor:\n  return batch[0]\n", std::make_shared<BatchNames>());
  CHECK(totalOf(unit.run_method("first", c10::List<at::Tensor>({full(2, 4)}))) == 8);
  jit::Module m("api.Resolved");
  m.define("def size(self, batch: Batch) -> int:\n  return len(batch)\n", std::make_shared<BatchNames>());
  CHECK(m.run_method("size", c10::List<at::Tensor>()).toInt() == 0);
  CHECK(contains(errorOf([&] { unit.define("def g(batch: Batch):\n  return 1\n"); }), "Batch"));
}

TEST_CASE("api: modules by name and unit") {
  auto unit = std::make_shared<jit::CompilationUnit>();
  jit::Module a(c10::QualifiedName("api.Same"), unit);
  jit::Module b(c10::QualifiedName("api.Same"), unit, /*should_mangle=*/true);
  CHECK(a.type()->name()->qualifiedName() == "api.Same");
  CHECK(b.type()->name()->qualifiedName() != "api.Same");
  CHECK(b.type()->name()->name() == "Same");
  CHECK(contains(errorOf([&] { jit::Module(c10::QualifiedName("api.Same"), unit); }), "api.Same"));
  jit::Module again(unit, a.type());
  CHECK(again.type() == a.type());
  const jit::Module plain("Plain");
  CHECK(plain.type()->name()->qualifiedName() == "__torch__.Plain");
}

TEST_CASE("api: schemas and graphs from text") {
  const auto schema = jit::parseSchema("my::op.overload(Tensor(a!) x, *, int[2] size=1) -> Tensor(a!)");
  CHECK(schema.overload_name() == "overload");
  CHECK(schema.arguments()[1].kwarg_only());
  CHECK((std::get<c10::OperatorName>(jit::parseSchemaOrName("my::op.out")) == c10::OperatorName("my::op", "out")));
  CHECK(std::get<c10::FunctionSchema>(jit::parseSchemaOrName("my::op(int x) -> int")).name() == "my::op");
  CHECK((jit::parseName("my::op") == c10::OperatorName("my::op", "")));
  CHECK(contains(errorOf([] { jit::parseName("my::op("); }), "expected the end of the name"));
  CHECK(contains(errorOf([] { jit::parseSchema("my::op(int x"); }), "expected"));
  CHECK(contains(errorOf([] { cresset::parseGraph("graph(%x : int):\n  return (%y)\n"); }), "%y"));
}

TEST_CASE("api: a C++ function is traced") {
  auto unit = cresset::trace(
      [](std::vector<IValue> inputs) -> IValue {
        at::Tensor x = inputs[0].toTensor();
        return at::_ops::relu::call(x).mul(2);
      },
      {full(3, -1)});
  CHECK(totalOf(unit.run_method("traced", full(5, 2))) == 20);
}

TEST_CASE("api: values as bytes") {
  c10::Dict<std::string, at::Tensor> dict;
  dict.insert("a", full(2, 3));
  const IValue value(c10::ivalue::Tuple::create({IValue(dict), IValue(std::vector<int64_t>{1, 2}), IValue("text")}));
  const auto bytes = jit::pickle_save(value);
  const IValue back = jit::pickle_load(bytes);
  const auto& parts = back.toTupleRef().elements();
  CHECK(totalOf(parts[0].toGenericDict().at("a")) == 6);
  CHECK(parts[0].type()->repr_str() == "Dict[str, Tensor]");
  CHECK((parts[1].toIntVector() == std::vector<int64_t>{1, 2}));
  CHECK(parts[2].toStringRef() == "text");
  CHECK(jit::pickle_save(value) == bytes);
  CHECK(contains(errorOf([] { jit::pickle_load({'n', 'o'}); }), "<buffer>"));
  CHECK(contains(
      errorOf([] { jit::pickle_save(jit::compile(kClasses)->create_class({"Counter"})._ivalue()); }),
      "can't be saved by itself"));
}

TEST_CASE("api: the names of torch::jit and of torch::jit::script") {
  static_assert(std::is_same_v<jit::script::Module, cresset::Module>);
  static_assert(std::is_same_v<jit::script::Method, cresset::Method>);
  static_assert(std::is_same_v<jit::script::Object, cresset::Object>);
  static_assert(std::is_same_v<jit::script::CompilationUnit, cresset::CompilationUnit>);
  static_assert(std::is_same_v<jit::script::ExtraFilesMap, std::unordered_map<std::string, std::string>>);
  static_assert(std::is_same_v<jit::named_parameter_list::value_type, jit::NameTensor>);
  static_assert(std::is_base_of_v<c10::Error, jit::JITException>);
  static_assert(std::is_base_of_v<c10::Error, jit::ErrorReport>);
}

TEST_CASE("api: how calls run") {
  CHECK(jit::getGraphExecutorOptimize());
  {
    const jit::GraphOptimizerEnabledGuard guard(false);
    CHECK(!jit::getGraphExecutorOptimize());
  }
  CHECK(jit::getGraphExecutorOptimize());
  jit::FusionStrategy strategy = {{jit::FusionBehavior::DYNAMIC, 3}};
  const jit::FusionStrategy before = jit::setFusionStrategy(strategy);
  CHECK((jit::getFusionStrategy().size() == 1 && jit::getFusionStrategy()[0].second == 3));
  strategy = before;
  CHECK(jit::setFusionStrategy(strategy).front().second == 3);
  CHECK(jit::getProfilingMode());
  jit::getExecutorMode() = false;
  CHECK(!jit::getExecutorMode());
  jit::getExecutorMode() = true;
}
