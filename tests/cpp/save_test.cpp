// Writing archives from C++, and what Python can't reach: the container's limits, modules of several programs, graphs
// that no front end makes.
#include "test.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones_ops.h>
#include <sys/mman.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cresset/archive/archive.h"
#include "cresset/archive/code_printer.h"
#include "cresset/archive/save.h"
#include "cresset/archive/zip_reader.h"
#include "cresset/archive/zip_writer.h"
#include "cresset/frontend/compiler.h"
#include "cresset/ir/parser.h"
#include "cresset/ir/same_graph.h"
#include "cresset/module/module.h"
#include "cresset/support/error.h"

// c10's logging header has a CHECK of its own, which replaces doctest's.
#define CHECK(...) DOCTEST_CHECK(__VA_ARGS__)

using namespace cresset;

namespace {

at::Tensor ones(int64_t n) {
  return at::_ops::ones::call(c10::fromIntArrayRefSlow({n}), std::nullopt, std::nullopt, std::nullopt, std::nullopt);
}

double sumOf(const IValue& value) {
  return value.toTensor().sum().item().toDouble();
}

std::string messageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Module makeModule(const std::string& name, const std::string& expression) {
  Module m(name);
  m.register_parameter("w", ones(3));
  m.define("def forward(self, x):\n  return " + expression + "\n");
  return m;
}

std::string bytesOf(const Module& module, const ExtraFilesMap& files = {}) {
  std::ostringstream out;
  module.save(out, files);
  return out.str();
}

Module loadBytes(const std::string& bytes, ExtraFilesMap* files = nullptr) {
  std::istringstream in(bytes);
  LoadOptions options;
  options.extra_files = files;
  return load(in, options);
}

/// A function of this graph, in a program of its own.
struct GraphFunction {
  std::shared_ptr<Program> program = Program::make();
  Function* function;

  explicit GraphFunction(const std::string& text) {
    auto graph = parseGraph(text);
    std::vector<c10::Argument> arguments, returns;
    for (size_t i = 0; i < graph->inputs().size(); ++i)
      arguments.emplace_back("x" + std::to_string(i), graph->inputs()[i]->type());
    returns.emplace_back("", graph->outputs()[0]->type());
    function = &program->declare(c10::QualifiedName("f"), [graph](Function& f) { f.setGraph(graph); });
    function->setSchema(c10::FunctionSchema("f", "", std::move(arguments), std::move(returns)));
  }
  Function& compileAgain() {
    auto source = std::make_shared<const Source>(printCode(*function, {}, "again"), "<printed>");
    return *defineSource(*program, source, {}).at(0);
  }
};

}  // namespace

TEST_CASE("a module saves to a stream and to a path, with extra files") {
  Module m = makeModule("M", "x * self.w + 1");
  const std::string bytes = bytesOf(m, {{"a.txt", "hello"}});
  ExtraFilesMap files{{"a.txt", ""}};
  Module again = loadBytes(bytes, &files);
  CHECK(files.at("a.txt") == "hello");
  CHECK(sumOf(again.forward({ones(3)})) == 6);
  CHECK(again.named_parameters().size() == 1);

  // Where there is no file, the archive's folder is "archive".
  const auto folder = std::filesystem::temp_directory_path() / "cresset-save-test";
  std::filesystem::create_directories(folder);
  m.save((folder / "archive.pt").string(), {{"a.txt", "hello"}});
  std::ifstream file(folder / "archive.pt", std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == bytes);
  std::filesystem::remove_all(folder);
}

TEST_CASE("modules of two programs with one name of class are saved in one archive") {
  Module root("Root"), first = makeModule("M", "x + self.w"), second = makeModule("M", "x - self.w");
  root.register_module("a", first);
  root.register_module("b", second);
  root.register_module("c", first);
  root.define("def forward(self, x):\n  return self.a(x) + 10 * self.b(x) + self.c(x)\n");
  Module again = loadBytes(bytesOf(root));
  CHECK(sumOf(again.forward({ones(3)})) == sumOf(root.forward({ones(3)})));
  CHECK(again.attr("a").toObject() == again.attr("c").toObject());
  CHECK(again.attr("a").toObject()->type() != again.attr("b").toObject()->type());
}

TEST_CASE("zip64 records appear where they are needed, and are read") {
  for (uint64_t from : {uint64_t(0xffffffff), uint64_t(1000), uint64_t(64), uint64_t(0)}) {
    std::string bytes;
    ZipWriter writer(
        [&](const void* data, size_t size) { bytes.append(static_cast<const char*>(data), size); }, "f", from);
    const std::string large(5000, 'x');
    writer.add("small", "abc");
    writer.add("large", large);
    writer.add("empty", "");
    writer.add("last", "z");
    writer.finish();
    CHECK(contains(bytes, std::string("PK\x06\x06", 4)) == (from < 0xffffffff));
    LoadBudget budget(1 << 20);
    ZipReader reader(ArchiveBytes::wrap(bytes.data(), bytes.size(), nullptr), budget);
    CHECK(reader.entries().size() == 4);
    for (const auto& [name, contents] :
         {std::pair<const char*, std::string>{"small", "abc"}, {"large", large}, {"empty", ""}, {"last", "z"}}) {
      const ZipEntry* entry = reader.find(name);
      CHECK(entry);
      CHECK(reader.read(*entry, budget).take() == contents);
      CHECK(reader.dataOffset(*entry) % ZipWriter::kAlignment == 0);
    }
  }
}

TEST_CASE("an archive beyond 4 GiB, in a sparse file" * slow_under_threads) {
  const auto path = std::filesystem::temp_directory_path() / "cresset-zip64-test";
  constexpr uint64_t kSize = (uint64_t(4) << 30) + 4096;
  {
    // A gap instead of the zeros of the large record; its checksum is taken from the bytes all the same.
    std::ofstream file(path, std::ios::binary);
    ZipWriter writer(
        [&](const void* data, size_t size) {
          if (size == kSize)
            file.seekp(static_cast<std::streamoff>(size), std::ios::cur);
          else
            file.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
        },
        "f");
    void* zeros = ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(zeros != MAP_FAILED);
    writer.add("large", zeros, kSize);
    ::munmap(zeros, kSize);
    writer.add("behind", "abc");
    writer.finish();
  }
  LoadBudget budget(1 << 20);
  ZipReader reader(ArchiveBytes::map(path.string()), budget);
  CHECK(reader.find("large")->size == kSize);
  CHECK(reader.find("behind")->header_offset > kSize);
  CHECK(reader.read(*reader.find("behind"), budget).take() == "abc");
  std::filesystem::remove(path);
}

TEST_CASE("a name of a record is given once") {
  ZipWriter writer([](const void*, size_t) {}, "f");
  writer.add("a", "1");
  CHECK(contains(messageOf([&] { writer.add("a", "2"); }), "two records of the name 'a'"));
}

TEST_CASE("a module whose values hold themselves is refused") {
  Module m("M");
  c10::List<c10::IValue> list(c10::AnyType::get());
  m.register_attribute("xs", c10::AnyType::get(), IValue(c10::impl::toList(list)));
  list.push_back(m.attr("xs"));
  CHECK(contains(messageOf([&] { bytesOf(m); }), "The attribute 'xs' can't be saved: it contains itself."));
}

TEST_CASE("loops of every form print, and what is printed runs the same") {
  // %n, a condition from before and one from the body, the counter, carried values that swap and one that stays.
  GraphFunction f(R"(graph(%n : int, %go : bool, %a : int, %b : int):
  %one : int = prim::Constant[value=1]()
  %limit : int = prim::Constant[value=6]()
  %i.last : int, %x : int, %y : int, %z : int = prim::Loop(%n, %go, %one, %a, %b, %a)
    block0(%i : int, %last : int, %p : int, %q : int, %same : int):
      %s : int = aten::add(%p, %i)
      %c : bool = aten::lt(%s, %limit)
      -> (%c, %i, %q, %s, %same)
  %t : (int, int, int, int) = prim::TupleConstruct(%i.last, %x, %y, %z)
  return (%t)
)");
  Function& again = f.compileAgain();
  for (int64_t n : {0, 1, 5, 50}) {
    for (bool go : {true, false}) {
      const IValue mine = callFunction(*f.function, {n, go, 1, 2}), theirs = callFunction(again, {n, go, 1, 2});
      CHECK(mine == theirs);
    }
  }
  // An equivalent loop that prints the same from then on.
  std::string difference;
  auto source = std::make_shared<const Source>(printCode(again, {}, "third"), "<printed>");
  Function& third = *defineSource(*f.program, source, {}).at(0);
  CHECK(sameGraph(*again.graph(), *third.graph(), &difference));
  CHECK(difference == "");
}

TEST_CASE("graphs that are the same, and graphs that differ") {
  const char* text =
      "graph(%x : Tensor):\n  %c : int = prim::Constant[value=1]()\n  %y : Tensor = aten::add(%x, %x, %c)\n"
      "  return (%y)\n";
  auto graph = parseGraph(text);
  std::string difference;
  CHECK(sameGraph(*graph, *parseGraph(text), &difference));
  auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    difference.clear();
    CHECK(!sameGraph(*graph, *parseGraph(other), &difference));
    return difference;
  };
  CHECK(contains(changed("value=1", "value=2"), "input 2 differs: aten::add"));
  CHECK(contains(changed("aten::add", "aten::sub"), "kind differs: aten::add"));
  CHECK(contains(changed("return (%y)", "return (%x)"), "input 0 differs: return"));
}

TEST_CASE("what can't be printed is named with its place") {
  GraphFunction python(R"(graph(%x : Tensor):
  %y : Tensor = prim::PythonOp[name="my_function"](%x)
  return (%y)
)");
  CHECK(contains(printCode(*python.function), "return ^my_function(x0)"));
  CHECK(contains(
      messageOf([&] { printCode(*python.function, CodeOptions{.importable = true}); }),
      "Could not export Python function call 'my_function'"));
}
