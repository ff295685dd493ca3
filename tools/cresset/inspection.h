// What `cresset show` tells of an archive, gathered once for text, JSON and HTML.
//
// Nothing of the archive runs: functions are compiled to graphs and instructions, and one that does not compile has its
// error instead. Texts, places and lines refer to each other by index.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cresset::cli {

/// A file of the archive's code, or what the archive's debug records hold of the file that its author wrote.
struct Text {
  std::string name;
  bool is_original = false;
  std::map<size_t, std::string> lines;  // by 1-based number; of original files, those that are known
};

/// A part of a line of a text.
struct Place {
  size_t text = 0;
  size_t line = 0;               // 1-based
  size_t begin = 0, end = 0;     // byte columns; end is that of the line if the place goes on after it
  std::optional<size_t> origin;  // the place in the original file that this was made from
};

/// A line of a listing, and where it comes from.
struct Line {
  std::string text;
  std::optional<size_t> place;
};

struct FunctionEntry {
  std::string name;             // qualified
  std::string schema;           // "" if it does not compile
  std::string error;            // why it does not compile
  std::optional<size_t> place;  // of its `def`
  std::vector<Line> ir, inlined, bytecode;
};

struct FieldEntry {
  std::string name, type, kind, value;  // kind: "parameter", "buffer", "attribute", "constant"
};

struct TypeEntry {
  std::string name, kind;  // kind: "module", "class", "interface", "enum", "named tuple"
  std::vector<FieldEntry> fields;
  std::vector<std::string> methods;  // qualified names of functions; of interfaces, schemas
};

struct ModuleEntry {
  std::string name, path, type;
  std::string same_as;  // the path of the same module, told of earlier; then nothing else is told
  std::vector<FieldEntry> fields;
  std::vector<ModuleEntry> children;
};

struct TensorEntry {
  std::string path, kind, dtype, device, layout;
  std::vector<int64_t> sizes, strides;
  uint64_t bytes = 0;  // of its elements
  bool requires_grad = false;
  std::string shares_with;  // the path of an earlier tensor with the same storage
};

struct FileEntry {
  std::string name;
  uint64_t size = 0, stored = 0;
  bool compressed = false;
};

struct Inspection {
  std::string file;
  uint64_t size = 0;
  int64_t version = 0;  // of the archive's format
  ModuleEntry root;
  std::vector<FunctionEntry> functions;
  std::vector<TypeEntry> types;
  std::vector<TensorEntry> tensors;
  std::vector<FileEntry> files;
  std::vector<Text> texts;
  std::vector<Place> places;
};

/// `trusted`: whether code of the archive may restore its objects. Throws ArchiveError if it can't be loaded.
Inspection inspect(const std::string& path, bool trusted, bool verify);

/// As JSON. Text that is not UTF-8 has its bad bytes replaced.
std::string toJson(const Inspection& inspection);
/// One page that needs nothing else.
std::string toHtml(const Inspection& inspection);
/// For a terminal. `sections`: of "overview", "modules", "parameters", "types", "files", "code", "source", "ir",
/// "inlined", "bytecode"; `function` selects functions whose qualified name ends in it ("" for all), or the method of a
/// module that it is the path of ("encoder.gru.forward").
std::string toText(const Inspection& inspection, const std::vector<std::string>& sections, const std::string& function);

}  // namespace cresset::cli
