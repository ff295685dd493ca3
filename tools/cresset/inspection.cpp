// Gathers what `cresset show` tells.
#include "inspection.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>

#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "cresset/archive/budget.h"
#include "cresset/archive/mapped_file.h"
#include "cresset/archive/zip_reader.h"
#include "cresset/cresset.h"
#include "cresset/ir/printer.h"
#include "cresset/ops/format.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pipelines.h"
#include "cresset/support/source_part.h"

namespace cresset::cli {

namespace {

constexpr size_t kMaxValueLength = 200;
constexpr size_t kMaxModuleNesting = 200;

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

std::string streamed(const auto& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

std::string shortened(std::string text) {
  if (text.size() > kMaxValueLength) text = text.substr(0, kMaxValueLength) + "…";
  return text;
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return std::string(c10::toString(tensor.scalar_type())) + streamed(tensor.sizes());
}

std::string describe(const IValue& value) {
  if (value.isTensor()) return describe(value.toTensor());
  if (value.isObject()) return "<" + value.toObject()->type()->annotation_str() + ">";
  // What a list holds may be large, and only its beginning is shown.
  if (value.isList() && value.toListRef().size() > kMaxValueLength)
    return "list of " + std::to_string(value.toListRef().size());
  if (value.isGenericDict() && value.toGenericDict().size() > kMaxValueLength)
    return "dict of " + std::to_string(value.toGenericDict().size());
  try {
    requireFewElements(value, "printing a value");
  } catch (const ScriptRaise&) {  // deep, or few that occur in each other very often
    return value.tagKind();
  }
  return shortened(toPrinted(value));
}

class Inspector {
 public:
  Inspector(const std::string& path, bool trusted, bool verify) {
    result_.file = path;
    readFiles(path);
    LoadOptions options;
    // No method runs, so what the operators of the archive may do is of no concern; they are to be shown.
    options.allow_ops = {"*"};
    options.trusted = trusted;
    options.verify = verify;
    options.door = Door::Command;
    archive_ = loadArchive(path, options);
    result_.version = archive_.version;
  }

  Inspection run() && {
    result_.root = moduleEntry(Module(archive_.root), "", "");
    // Compiling a function declares what it calls, which is then queued.
    for (size_t i = 0; i < archive_.program->functions().size(); i++) addFunction(*archive_.program->functions()[i]);
    for (const auto& type : archive_.program->types()) addType(*type);
    linkBytecode();
    return std::move(result_);
  }

 private:
  void readFiles(const std::string& path) {
    auto bytes = ArchiveBytes::map(path);
    result_.size = bytes->size();
    LoadBudget budget(LoadBudget::defaultLimit(bytes->size()));
    ZipReader zip(std::move(bytes), budget);
    for (const ZipEntry& entry : zip.entries()) {
      const std::string name(zip.recordName(entry));
      result_.files.push_back({name, entry.size, entry.stored_size, entry.compressed()});
      if (!name.starts_with("code/") || !name.ends_with(".py")) continue;
      Text& text = result_.texts[textOf(name, false)];
      size_t number = 0;
      for (std::string& line : linesOf(zip.read(entry, budget).take())) text.lines[++number] = std::move(line);
    }
  }

  size_t textOf(const std::string& name, bool is_original) {
    auto [at, is_new] = text_index_.try_emplace((is_original ? "o" : "c") + name, result_.texts.size());
    if (is_new) result_.texts.push_back({name, is_original, {}});
    return at->second;
  }

  /// What is known of the original file grows with each function that comes from it.
  void addOriginal(Text& text, const Source& source) {
    if (!seen_sources_.insert(&source).second) return;
    size_t number = source.lineNumber(0);
    for (std::string& line : linesOf(source.text())) text.lines.try_emplace(number++, std::move(line));
  }

  std::optional<size_t> placeOf(const SourceRange& range) {
    if (!range) return std::nullopt;
    std::optional<size_t> origin;
    if (auto original = range.source->origin(range); original && original->source) {
      kept_.push_back(original->source);
      const size_t text = textOf(original->source->name(), true);
      addOriginal(result_.texts[text], *original->source);
      origin = addPlace(text, *original, std::nullopt);
    }
    return addPlace(textOf(range.source->name(), false), range, origin);
  }

  size_t addPlace(size_t text, const SourceRange& range, std::optional<size_t> origin) {
    const Source& source = *range.source;
    Place place{text, source.lineNumber(range.begin), source.column(range.begin), 0, origin};
    const bool ends_in_line = range.end > range.begin && source.lineNumber(range.end - 1) == place.line;
    place.end = ends_in_line ? place.begin + (range.end - range.begin) : place.begin + source.line(range.begin).size();
    std::string key = std::to_string(text) + ":" + std::to_string(place.line) + ":" + std::to_string(place.begin) +
                      ":" + std::to_string(place.end);
    auto [at, is_new] = place_index_.try_emplace(std::move(key), result_.places.size());
    if (is_new) {
      result_.places.push_back(place);
      if (origin) origin_of_line_.try_emplace(lineKey(text, place.line), *origin);
    }
    return at->second;
  }

  static std::string lineKey(size_t text, size_t line) { return std::to_string(text) + ":" + std::to_string(line); }

  std::vector<Line> listing(const Graph& graph) {
    std::vector<std::pair<size_t, const Node*>> offsets;
    const std::string text = cresset::toString(graph, PrintOptions{.source_ranges = false, .offsets = &offsets});
    std::vector<Line> lines;
    size_t begin = 0, next = 0;
    for (std::string& line : linesOf(text)) {
      const size_t end = begin + line.size() + 1;
      std::optional<size_t> place;
      // A node within a node's attribute starts in the middle of a line; the line is that of the outer one.
      for (bool first = true; next < offsets.size() && offsets[next].first < end; next++, first = false)
        if (first) place = placeOf(offsets[next].second->sourceRange());
      lines.push_back({std::move(line), place});
      begin = end;
    }
    return lines;
  }

  /// "  3  r1 = aten::add(…)  # code/m.py:7", of which the comment becomes the place.
  std::vector<Line> listing(const std::string& instructions) {
    std::vector<Line> lines;
    for (std::string& line : linesOf(instructions)) {
      std::optional<size_t> place;
      const size_t comment = line.rfind("  # ");
      const size_t colon = line.rfind(':');
      if (comment != std::string::npos && colon != std::string::npos && colon > comment) {
        const std::string name = line.substr(comment + 4, colon - comment - 4);
        const size_t number = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
        if (auto text = text_index_.find("c" + name); text != text_index_.end() && number > 0) {
          place = wholeLine(text->second, number);
          line.resize(comment);
        }
      }
      lines.push_back({std::move(line), place});
    }
    return lines;
  }

  size_t wholeLine(size_t text, size_t number) {
    auto [at, is_new] = place_index_.try_emplace(lineKey(text, number), result_.places.size());
    if (is_new) {
      const auto& lines = result_.texts[text].lines;
      const auto line = lines.find(number);
      result_.places.push_back({text, number, 0, line == lines.end() ? 0 : line->second.size(), std::nullopt});
      whole_lines_.push_back(at->second);
    }
    return at->second;
  }

  /// Instructions know lines of the archive's code; graphs tell what those were made from.
  void linkBytecode() {
    for (size_t index : whole_lines_) {
      Place& place = result_.places[index];
      if (auto origin = origin_of_line_.find(lineKey(place.text, place.line)); origin != origin_of_line_.end())
        place.origin = origin->second;
    }
  }

  void addFunction(Function& function) {
    FunctionEntry entry;
    entry.name = function.qualname().qualifiedName();
    try {
      auto graph = function.graph();
      entry.schema = streamed(function.getSchema());
      entry.place = placeOf(function.sourceRange());
      entry.ir = listing(*graph);
      auto inlined = graph->copy();
      if (inlineForReading(*inlined)) entry.inlined = listing(*inlined);
      entry.bytecode = listing(disassemble(*emitCode(graph, entry.name)));
    } catch (const std::exception& error) {
      entry.error = error.what();
    }
    result_.functions.push_back(std::move(entry));
  }

  void addType(const c10::NamedType& type) {
    TypeEntry entry;
    entry.name = type.name()->qualifiedName();
    if (auto cls = dynamic_cast<const c10::ClassType*>(&type)) {
      entry.kind = cls->is_module() ? "module" : "class";
      for (size_t i = 0; i < cls->numAttributes(); i++)
        entry.fields.push_back(
            {cls->getAttributeName(i), cresset::toString(*cls->getAttribute(i)), kindOf(*cls, i), ""});
      for (size_t i = 0; i < cls->numConstants(); i++) {
        const IValue& constant = cls->getConstant(i);
        entry.fields.push_back(
            {cls->getConstantName(i), cresset::toString(*constant.type()), "constant", describe(constant)});
      }
      for (const auto* method : cls->methods()) entry.methods.push_back(method->qualname().qualifiedName());
    } else if (auto interface = dynamic_cast<const c10::InterfaceType*>(&type)) {
      entry.kind = "interface";
      for (const auto& schema : interface->methods()) entry.methods.push_back(streamed(schema));
    } else if (auto enumeration = dynamic_cast<const c10::EnumType*>(&type)) {
      entry.kind = "enum";
      for (const auto& [name, value] : enumeration->enumNamesValues())
        entry.fields.push_back({name, cresset::toString(*enumeration->getValueType()), "constant", describe(value)});
    } else if (auto tuple = dynamic_cast<const c10::TupleType*>(&type)) {
      entry.kind = "named tuple";
      for (const auto& argument : tuple->schema()->arguments())
        entry.fields.push_back({argument.name(), cresset::toString(*argument.type()), "attribute", ""});
    }
    result_.types.push_back(std::move(entry));
  }

  static std::string kindOf(const c10::ClassType& type, size_t slot) {
    if (!type.is_module()) return "attribute";
    return type.is_parameter(slot) ? "parameter" : type.is_buffer(slot) ? "buffer" : "attribute";
  }

  // A module that stands in several places is told of once. That, and the bound, end the traversal of archives in which
  // modules hold themselves.
  ModuleEntry moduleEntry(const Module& module, const std::string& name, const std::string& path, size_t depth = 0) {
    ModuleEntry entry{name, path, module.type()->name()->qualifiedName(), "", {}, {}};
    const auto [seen, is_new] = modules_.try_emplace(module._ivalue().get(), path);
    if (!is_new) {
      entry.same_as = seen->second.empty() ? "the root" : seen->second;
      return entry;
    }
    if (depth > kMaxModuleNesting)
      throw UserError("The modules of '" + result_.file + "' nest too deeply to be shown.");
    const auto type = module.type();
    for (size_t i = 0; i < type->numAttributes(); i++) {
      const std::string& attribute = type->getAttributeName(i);
      const std::string full = path.empty() ? attribute : path + "." + attribute;
      const IValue value = module.attr(attribute);
      if (value.isObject() && value.toObject()->type()->is_module()) {
        entry.children.push_back(moduleEntry(Module(value.toObject()), attribute, full, depth + 1));
        continue;
      }
      entry.fields.push_back({attribute, cresset::toString(*type->getAttribute(i)), kindOf(*type, i), describe(value)});
      if (value.isTensor() && value.toTensor().defined()) addTensor(value.toTensor(), full, kindOf(*type, i));
    }
    return entry;
  }

  void addTensor(const at::Tensor& tensor, const std::string& path, const std::string& kind) {
    TensorEntry entry{
        path,
        kind,
        c10::toString(tensor.scalar_type()),
        tensor.device().str(),
        streamed(tensor.layout()),
        tensor.sizes().vec(),
        {},
        0,
        tensor.requires_grad(),
        ""};
    if (tensor.layout() == c10::kStrided) {
      entry.strides = tensor.strides().vec();
      entry.bytes = tensor.nbytes();
      auto [at, is_new] = storages_.try_emplace(tensor.storage().unsafeGetStorageImpl(), path);
      if (!is_new) entry.shares_with = at->second;
    }
    result_.tensors.push_back(std::move(entry));
  }

  Inspection result_;
  LoadedArchive archive_;
  std::unordered_map<std::string, size_t> text_index_, place_index_, origin_of_line_;
  std::vector<size_t> whole_lines_;
  std::unordered_set<const Source*> seen_sources_;
  std::vector<std::shared_ptr<const Source>> kept_;  // so that no address in seen_sources_ is used twice
  std::unordered_map<const void*, std::string> storages_, modules_;  // the path where each was met first
};

}  // namespace

Inspection inspect(const std::string& path, bool trusted, bool verify) {
  return Inspector(path, trusted, verify).run();
}

}  // namespace cresset::cli
