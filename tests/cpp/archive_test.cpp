// Archives that no writer makes: damaged, hostile, or of another machine; and what only C++ can see of a good one.
#include "cresset/archive/archive.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <unistd.h>
#include "test.h"

#include <cstring>
#include <fstream>
#include <sstream>

#include "archive_builder.h"
#include "cresset/archive/code_file.h"
#include "cresset/archive/zip_reader.h"
#include "cresset/support/error.h"

using namespace cresset;
using namespace archive_builder;
using namespace std::string_literals;

namespace {

const char* const kCode =
    "class M(Module):\n"
    "  __parameters__ = []\n"
    "  __buffers__ = []\n"
    "  x : Tensor\n"
    "  def forward(self: __torch__.M,\n"
    "    y: Tensor) -> Tensor:\n"
    "    return torch.add(self.x, y)\n";

// An archive with one tensor of four floats, 0 to 3, as attribute x.
struct TestArchive {
  Items items;
  TestArchive(const std::string& attributes = text("x") + tensor("0", 4, {4}, {1}), const std::string& code = kCode) {
    float values[] = {0, 1, 2, 3};
    set("data.pkl", object(attributes));
    set("code/__torch__.py", code);
    set("data/0", std::string(reinterpret_cast<char*>(values), sizeof values));
    set("constants.pkl", "\x80\x02).");
    set("version", "10\n");
    set("byteorder", "little");
  }
  TestArchive& set(const std::string& name, std::string data) {
    for (Item& item : items)
      if (item.name == "a/" + name) {
        item.data = std::move(data);
        return *this;
      }
    items.push_back({"a/" + name, std::move(data)});
    return *this;
  }
  LoadedArchive load(const LoadOptions& options = {}) const {
    std::istringstream stream(writeZip(items));
    return loadArchive(stream, options);
  }
  // The reason why it does not load.
  std::string error(const LoadOptions& options = {}) const {
    try {
      load(options);
    } catch (const ArchiveError& error) {
      return error.what();
    }
    return "";
  }
};

at::Tensor attribute(const LoadedArchive& archive, const char* name = "x") {
  return archive.root->getAttr(name).toTensor();
}
struct TemporaryFile {
  std::string path;
  explicit TemporaryFile(const std::string& contents) {
    char name[] = "/tmp/cresset-archive-XXXXXX";
    int descriptor = mkstemp(name);
    REQUIRE(descriptor >= 0);
    close(descriptor);
    path = name;
    std::ofstream(path, std::ios::binary) << contents;
  }
  ~TemporaryFile() { unlink(path.c_str()); }
  std::string contents() const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
};

}  // namespace

TEST_CASE("an archive loads, and compiles nothing") {
  auto archive = TestArchive().load();
  CHECK(archive.version == 10);
  CHECK(archive.root->type()->name()->qualifiedName() == "__torch__.M");
  CHECK(attribute(archive).sizes() == at::IntArrayRef({4}));
  CHECK(static_cast<const float*>(attribute(archive).data_ptr())[3] == 3);
  for (Function* function : archive.program->functions()) CHECK(!function->isDefined());
}

TEST_CASE("writes to mapped tensors stay in memory") {
  TemporaryFile file(writeZip(TestArchive().items));
  std::string before = file.contents();
  auto x = attribute(loadArchive(file.path));  // the view keeps the mapping alive, not the archive
  static_cast<float*>(x.data_ptr())[0] = 42;
  CHECK(file.contents() == before);
  CHECK(static_cast<float*>(attribute(loadArchive(file.path)).data_ptr())[0] == 0);
  std::string bytes = before;
  auto y = attribute(loadArchive(bytes.data(), bytes.size(), nullptr));
  static_cast<float*>(y.data_ptr())[0] = 42;
  CHECK(bytes == before);
}

TEST_CASE("entries that share bytes are refused") {
  // What a tensor's record swallows could be changed by writing to the tensor: code that is not compiled yet, names.
  std::string bytes = writeZip(TestArchive().items);
  const std::string name = "a/data/0";
  const size_t local = bytes.find(name) - 30, directory = bytes.rfind(name) - 46;
  for (size_t field : {local + 18, local + 22, directory + 20, directory + 24}) bytes[field] = 100;
  std::istringstream stream(bytes);
  try {
    loadArchive(stream);
    FAIL("it loads");
  } catch (const ArchiveError& error) {
    CHECK(error.entry() == "data/0");
    CHECK(contains(error.what(), "the entry overlaps the one after it"));
  }
}

TEST_CASE("storages are shared, aligned or not") {
  std::string code =
      std::string(kCode).replace(std::string(kCode).find("  x : Tensor\n"), 13, "  x : Tensor\n  z : Tensor\n");
  TestArchive archive(text("x") + tensor("0", 4, {4}, {1}) + text("z") + tensor("0", 4, {2}, {2}, 1), code);
  for (size_t align : {size_t(64), size_t(1)}) {
    std::istringstream stream(writeZip(archive.items, align));
    auto loaded = loadArchive(stream);
    auto x = attribute(loaded), z = attribute(loaded, "z");
    static_cast<float*>(x.data_ptr())[3] = 7;
    CHECK(static_cast<float*>(z.data_ptr())[2] == 7);
    CHECK(x.storage().data() == z.storage().data());
  }
}

TEST_CASE("the other byte order is swapped") {
  TestArchive archive;
  archive.set("byteorder", "big").set("data/0", std::string("\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0\x40\x80\0\0", 16));
  CHECK(static_cast<float*>(attribute(archive.load()).data_ptr())[0] == 1);
  CHECK(static_cast<float*>(attribute(archive.load()).data_ptr())[3] == 4);
  CHECK(contains(archive.set("byteorder", "middle").error(), "byteorder at byte"));
}

TEST_CASE("geometry that leaves the storage is refused") {
  auto error = [](const std::string& t) { return TestArchive(text("x") + t).error(); };
  CHECK(contains(error(tensor("0", 4, {5}, {1})), "reaches to byte 20 of a storage that has 16"));
  CHECK(contains(error(tensor("0", 5, {5}, {1})), "20 bytes is claimed, but record 'data/0' has 16"));
  CHECK(contains(error(tensor("0", 4, {2}, {1}, 3)), "reaches to byte 20"));
  CHECK(contains(error(tensor("0", 4, {4}, {1}, -1)), "starts at element -1"));
  CHECK(contains(error(tensor("0", 4, {-4}, {1})), "negative size"));
  CHECK(contains(error(tensor("0", 4, {4}, {-1})), "negative stride"));
  CHECK(contains(error(tensor("0", 4, {4, 1}, {1})), "2 sizes and 1 strides"));
  CHECK(contains(error(tensor("0", 4, {int64_t(1) << 62, 4}, {0, 0})), "overflow"));
  CHECK(contains(error(tensor("0", 4, {2}, {INT64_MAX})), "overflow"));
  CHECK(contains(error(tensor("0", INT64_MAX, {1}, {1})), "is not possible"));
  CHECK(contains(error(tensor("1", 4, {4}, {1})), "no record 'data/1'"));
  CHECK(contains(error(tensor("0", 4, {4}, {1}, 0, "QUInt8Storage")), "not quantized"));
  // Expanded tensors are honest.
  CHECK(attribute(TestArchive(text("x") + tensor("0", 4, {1000, 1000}, {0, 0})).load()).numel() == 1000000);
  CHECK(attribute(TestArchive(text("x") + tensor("0", 4, {0, 7}, {7, 1}, 4)).load()).numel() == 0);
}

TEST_CASE("an attribute must have its declared type") {
  auto error = [](const std::string& type, const std::string& value) {
    return TestArchive(text("x") + value, "class M(Module):\n  x : " + type + "\n").error();
  };
  CHECK(contains(error("Tensor", "K\x01"), "a value of type Tensor is expected here, but the pickle has int"));
  CHECK(contains(error("int", tensor("0", 4, {4}, {1})), "a value of type int is expected"));
  CHECK(contains(error("List[int]", "](K\x01" + text("a") + "e"), "a value of type int is expected"));
  CHECK(contains(error("Tuple[int, int]", "K\x01\x85"), "a tuple of 1 elements"));
  CHECK(contains(error("Optional[str]", "K\x01"), "is expected"));
  CHECK(error("Optional[str]", "N").empty());
  CHECK(error(
            "Dict[str, List[int]]", "}(" + text("a") +
                                        "](K\x01K\x02"
                                        "eu")
            .empty());
  CHECK(contains(TestArchive("").error(), "gives no value to attribute 'x'"));
  CHECK(contains(TestArchive(text("y") + "K\x01").error(), "has no attribute 'y'"));
}

TEST_CASE("pickles can't name what they like") {
  auto error = [](const std::string& pickle) { return TestArchive().set("data.pkl", pickle).error(); };
  CHECK(contains(
      error("\x80\x02"
            "cos\nsystem\n(X\x04\0\0\0trueetR."s),
      "data.pkl at byte 2: the pickle names 'os.system', which is not allowed"));
  CHECK(contains(
      error("\x80\x02"
            "c__torch__\nNone\n)\x81}b."),
      "'__torch__.None', which the archive's code does not define"));
  CHECK(contains(error("\x80\x02i"), "opcode INST is not allowed"));
  CHECK(contains(error(std::string("\x80\x02") + "K"), "ends in the middle of an opcode"));
  CHECK(contains(
      error("\x80\x02]q\x01h\x01"
            "a."),
      "contains itself"));
  CHECK(contains(error("\x80\x02h\x05."), "never set"));
  CHECK(contains(error("\x80\x02" + std::string(100000, ']') + std::string(99999, 'a') + "."), "nest deeper than"));
  std::string twice = "\x80\x02]q\x01";  // each list holds the one before twice
  for (int i = 0; i < 100; ++i)
    twice +=
        "]h\x01"
        "ah\x01"
        "aq\x01";
  CHECK(contains(error(twice + "."), "the pickle ends with more than one value"));
}

TEST_CASE("containers that are damaged or lie") {
  TestArchive archive;
  std::string zip = writeZip(archive.items);
  auto error = [](const std::string& bytes) -> std::string {
    try {
      loadArchive(bytes.data(), bytes.size(), nullptr);
    } catch (const ArchiveError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error(zip).empty());
  CHECK(contains(error("hello, world: some text"), "not a zip archive"));
  CHECK(contains(error(zip.substr(0, zip.size() / 2)), "truncated"));
  CHECK(contains(error(std::string("\x1c\0\0\0PTMF and more bytes here", 28)), "flatbuffer"));
  TestArchive twice;
  twice.items.push_back(twice.items[1]);
  CHECK(contains(error(writeZip(twice.items)), "code/__torch__.py at byte"));
  CHECK(contains(error(writeZip(twice.items)), "two entries of this name"));
  std::string flipped = zip;
  flipped[zip.find("return torch.add")] = 'R';
  CHECK(contains(error(flipped), "checksum"));
  Items bomb = archive.items;
  bomb[0] = {"a/data.pkl", "xx", uint64_t(1) << 31, true};
  CHECK(contains(error(writeZip(bomb)), "which deflate can't do"));
  bomb[0].data = std::string(4 << 20, '\0');
  CHECK(contains(error(writeZip(bomb)), "load it with LoadOptions{.trusted = true}"));
  // The tree of a type takes more than its text.
  std::string type = "List[[0";
  for (int i = 0; i < 1'000'000; ++i) type += ",0";
  type += "]]";
  std::string pickle =
      "\x80\x02"
      "ctorch.jit._pickle\nrestore_type_tag\n(]X";
  put(pickle, type.size(), 4);
  bomb[0] = {"a/data.pkl", pickle + type + "tR."};
  CHECK(contains(error(writeZip(bomb)), "load it with LoadOptions{.trusted = true}"));
}

TEST_CASE("what is no TorchScript archive says what it is") {
  CHECK(contains(
      TestArchive().set("version", "11").error(), "version 11, but the maximum supported version for reading is 10"));
  TestArchive saved;
  std::erase_if(saved.items, [](const Item& item) { return item.name == "a/constants.pkl"; });
  CHECK(contains(saved.error(), "use torch.load"));
  CHECK(contains(saved.set("archive_format", "pt2").error(), "torch.export.load"));
  CHECK_THROWS_WITH_AS(loadArchive("/no/such/file.pt"), doctest::Contains("does not exist"), ArchiveError);
  CHECK_THROWS_WITH_AS(loadArchive("/tmp"), doctest::Contains("is a directory"), ArchiveError);
}

TEST_CASE("code of the archive does not run while loading") {
  std::string code =
      std::string(kCode) +
      "  def __setstate__(self: __torch__.M, state: Tensor) -> NoneType:\n    self.x = state\n    return None\n";
  TestArchive archive("", code);
  archive.set(
      "data.pkl",
      "\x80\x02"
      "c__torch__\nM\n)\x81" +
          tensor("0", 4, {4}, {1}) + "b.");
  CHECK(contains(archive.error(), "say so with LoadOptions{.trusted = true}"));
  LoadOptions options;
  options.door = Door::Command;
  CHECK(contains(archive.error(options), "say so with --trusted"));
  options.trusted = true;
  CHECK(archive.error(options).empty());
}

TEST_CASE("errors in code point at the code file") {
  CHECK(contains(
      TestArchive(text("x") + "K\x01", "class M(Module):\n  x : Nothing\n").error(), "code/__torch__.py at byte 23"));
  CHECK(contains(TestArchive(text("x") + "K\x01", "class M(Module):\n  x : __torch__.M2\n").error(), "__torch__.M2"));
}

TEST_CASE("classes of one name in two archives differ") {
  auto a = TestArchive().load(), b = TestArchive().load();
  CHECK(!(*a.root->type() == *b.root->type()));
}

TEST_CASE("extra files, and values of torch.save") {
  TestArchive archive;
  archive.set("extra/notes.txt", "hello");
  std::unordered_map<std::string, std::string> files{{"notes.txt", ""}, {"missing", "stays"}};
  LoadOptions options;
  options.extra_files = &files;
  archive.load(options);
  CHECK(files["notes.txt"] == "hello");
  CHECK(files["missing"] == "stays");
  archive.set("data.pkl", "\x80\x02}(" + text("w") + tensor("0", 4, {2, 2}, {2, 1}) + text("n") + "K\x05u.");
  TemporaryFile file(writeZip(archive.items));
  auto value = loadValue(file.path).toGenericDict();
  CHECK(value.at("w").toTensor().sizes() == at::IntArrayRef({2, 2}));
  CHECK(value.at("n").toInt() == 5);
}

TEST_CASE("code files are cut into definitions without parsing") {
  CodeFile file(
      "class A(Module):\n  x : int\n  def f(self,\n    d: str=\":(\") -> int:\n    return 1\n  def g(self) -> int:\n   "
      " return 2\ndef h():\n  pass\n",
      "code/a.py", nullptr);
  REQUIRE(file.blocks().size() == 2);
  const CodeBlock* cls = file.find("A");
  REQUIRE(cls != nullptr);
  auto parts = file.split(*cls);
  REQUIRE(parts.methods.size() == 2);
  CHECK(parts.methods[1].name == "g");
  CHECK(file.text(cls->begin, parts.header_end) == "class A(Module):\n  x : int\n");
  size_t end = file.signatureEnd(parts.methods[0]);
  CHECK(file.text(parts.methods[0].begin, end + 1) == "def f(self,\n    d: str=\":(\") -> int:");
  CHECK(file.source(parts.methods[1].begin, parts.methods[1].end)->lineNumber(0) == 6);
}
