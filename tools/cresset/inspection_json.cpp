// What `cresset show` tells, as JSON, and as a page that draws it.
#include <nlohmann/json.hpp>

#include "inspection.h"
#include "show_page.h"

namespace cresset::cli {

using nlohmann::json;

namespace {

template <typename T>
json orNull(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

/// Lines and places are many, so they are arrays: [text, place] and [text, line, begin, end, origin].
json listing(const std::vector<Line>& lines) {
  json result = json::array();
  for (const Line& line : lines) result.push_back({line.text, orNull(line.place)});
  return result;
}

json fields(const std::vector<FieldEntry>& entries) {
  json result = json::array();
  for (const FieldEntry& field : entries)
    result.push_back({{"name", field.name}, {"type", field.type}, {"kind", field.kind}, {"value", field.value}});
  return result;
}

json module(const ModuleEntry& entry) {
  json children = json::array();
  for (const ModuleEntry& child : entry.children) children.push_back(module(child));
  return {
      {"name", entry.name},
      {"path", entry.path},
      {"type", entry.type},
      {"same_as", entry.same_as},
      {"fields", fields(entry.fields)},
      {"children", std::move(children)}};
}

json document(const Inspection& in) {
  json result = {
      {"file", in.file},
      {"size", in.size},
      {"version", in.version},
      {"root", module(in.root)},
  };
  auto& functions = result["functions"] = json::array();
  for (const FunctionEntry& f : in.functions)
    functions.push_back(
        {{"name", f.name},
         {"schema", f.schema},
         {"error", f.error},
         {"place", orNull(f.place)},
         {"ir", listing(f.ir)},
         {"inlined", listing(f.inlined)},
         {"bytecode", listing(f.bytecode)}});
  auto& types = result["types"] = json::array();
  for (const TypeEntry& t : in.types)
    types.push_back({{"name", t.name}, {"kind", t.kind}, {"fields", fields(t.fields)}, {"methods", t.methods}});
  auto& tensors = result["tensors"] = json::array();
  for (const TensorEntry& t : in.tensors)
    tensors.push_back(
        {{"path", t.path},
         {"kind", t.kind},
         {"dtype", t.dtype},
         {"device", t.device},
         {"layout", t.layout},
         {"sizes", t.sizes},
         {"strides", t.strides},
         {"bytes", t.bytes},
         {"requires_grad", t.requires_grad},
         {"shares_with", t.shares_with}});
  auto& files = result["files"] = json::array();
  for (const FileEntry& f : in.files)
    files.push_back({{"name", f.name}, {"size", f.size}, {"stored", f.stored}, {"compressed", f.compressed}});
  auto& texts = result["texts"] = json::array();
  for (const Text& t : in.texts) {
    json lines = json::array();
    for (const auto& [number, line] : t.lines) lines.push_back({number, line});
    texts.push_back({{"name", t.name}, {"original", t.is_original}, {"lines", std::move(lines)}});
  }
  auto& places = result["places"] = json::array();
  for (const Place& p : in.places) places.push_back({p.text, p.line, p.begin, p.end, orNull(p.origin)});
  return result;
}

std::string dumped(const Inspection& inspection, int indent) {
  return document(inspection).dump(indent, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string toJson(const Inspection& inspection) {
  return dumped(inspection, 1) + "\n";
}

std::string toHtml(const Inspection& inspection) {
  // Within <script>, only "</" could end the data; archives may hold anything.
  std::string data = dumped(inspection, -1);
  std::string escaped;
  for (char c : data) c == '<' ? escaped += "\\u003c" : escaped += c;
  std::string page(kShowPage);
  const std::string mark = "@DATA@";
  page.replace(page.find(mark), mark.size(), escaped);
  return page;
}

}  // namespace cresset::cli
