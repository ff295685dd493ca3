// What `cresset show` prints.
#include <algorithm>
#include <iomanip>
#include <sstream>

#include "cresset/support/error.h"
#include "inspection.h"

namespace cresset::cli {

namespace {

std::string humanBytes(uint64_t bytes) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(1);
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit < 3; unit++) value /= 1024;
  out << value << " " << units[unit];
  return out.str();
}

template <typename T>
std::string bracketed(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); i++) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

/// Columns as wide as their widest cell; the last one is left ragged.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += "  ";
    for (size_t i = 0; i < row.size(); i++) {
      text += row[i];
      if (i + 1 < row.size()) text += std::string(widths[i] - row[i].size() + 2, ' ');
    }
    text += "\n";
  }
  return text;
}

/// Of the `def` at `head`: up to the next line that is indented no deeper.
size_t lastLineOfBlock(const std::map<size_t, std::string>& lines, std::map<size_t, std::string>::const_iterator head) {
  const size_t indent = head->second.find_first_not_of(' ');
  size_t last = head->first;
  for (auto line = std::next(head); line != lines.end(); ++line) {
    const size_t column = line->second.find_first_not_of(' ');
    if (column == std::string::npos) continue;
    if (column <= indent && line->second[column] != ')') break;
    last = line->first;
  }
  return last;
}

class Writer {
 public:
  Writer(const Inspection& inspection, std::string function) : in_(inspection), function_(std::move(function)) {
    findByPath(in_.root);
  }

  void section(const std::string& name) {
    if (name == "overview") return overview();
    if (name == "modules") return title("Modules"), module(in_.root, 1);
    if (name == "parameters") return parameters();
    if (name == "types") return types();
    if (name == "files") return files();
    title(
        name == "ir"         ? "Graphs"
        : name == "inlined"  ? "Graphs, calls inlined"
        : name == "bytecode" ? "Instructions"
        : name == "source"   ? "Source"
                             : "Code");
    bool found = false;
    for (const FunctionEntry& function : in_.functions) {
      if (!isSelected(function)) continue;
      found = true;
      listing(function, name);
    }
    if (!found)
      throw UserError(
          function_.empty() ? "The archive has no function."
                            : "The archive has no function whose name ends in '" + function_ +
                                  "', and no module at a path with a method of that name.");
  }

  std::string text() const { return out_.str(); }

 private:
  void title(const std::string& text) { out_ << (out_.tellp() > 0 ? "\n" : "") << text << "\n"; }

  /// What the tree of modules calls `gru.forward` is a method of the class of `gru`.
  void findByPath(const ModuleEntry& module) {
    if (!module.path.empty() && function_.starts_with(module.path + "."))
      by_path_.push_back(module.type + function_.substr(module.path.size()));
    for (const ModuleEntry& child : module.children) findByPath(child);
  }

  bool isSelected(const FunctionEntry& function) const {
    if (std::find(by_path_.begin(), by_path_.end(), function.name) != by_path_.end()) return true;
    if (!function.name.ends_with(function_)) return false;
    const size_t rest = function.name.size() - function_.size();
    return function_.empty() || rest == 0 || function.name[rest - 1] == '.';
  }

  void overview() {
    uint64_t bytes = 0, elements = 0;
    size_t parameters = 0, failed = 0;
    for (const TensorEntry& tensor : in_.tensors) {
      if (tensor.shares_with.empty()) bytes += tensor.bytes;
      if (tensor.kind != "parameter") continue;
      parameters++;
      uint64_t count = 1;
      for (int64_t size : tensor.sizes) count *= static_cast<uint64_t>(size);
      elements += count;
    }
    for (const FunctionEntry& function : in_.functions) failed += !function.error.empty();
    out_ << in_.file << "\n"
         << table({
                {"size", humanBytes(in_.size)},
                {"format", "version " + std::to_string(in_.version)},
                {"root", in_.root.type},
                {"parameters", std::to_string(parameters) + " tensors, " + std::to_string(elements) + " elements"},
                {"tensors", std::to_string(in_.tensors.size()) + ", " + humanBytes(bytes)},
                {"functions", std::to_string(in_.functions.size()) +
                                  (failed ? ", of which " + std::to_string(failed) + " do not compile" : "")},
                {"types", std::to_string(in_.types.size())},
            });
  }

  void module(const ModuleEntry& entry, size_t level) {
    const std::string indent(2 * level, ' ');
    out_ << indent << (entry.name.empty() ? "" : entry.name + " : ") << entry.type
         << (entry.same_as.empty() ? "" : "  (the same as " + entry.same_as + ")") << "\n";
    for (const FieldEntry& field : entry.fields)
      out_ << indent << "  " << field.name << " : " << field.type << " = " << field.value
           << (field.kind == "attribute" ? "" : "  # " + field.kind) << "\n";
    for (const ModuleEntry& child : entry.children) module(child, level + 1);
  }

  void parameters() {
    title("Tensors");
    std::vector<std::vector<std::string>> rows;
    for (const TensorEntry& tensor : in_.tensors)
      rows.push_back(
          {tensor.path, tensor.dtype + bracketed(tensor.sizes), tensor.kind, tensor.device, humanBytes(tensor.bytes),
           tensor.shares_with.empty() ? "" : "storage of " + tensor.shares_with});
    out_ << table(rows);
  }

  void types() {
    title("Types");
    for (const TypeEntry& type : in_.types) {
      out_ << "  " << type.kind << " " << type.name << "\n";
      for (const FieldEntry& field : type.fields)
        out_ << "    " << field.name << " : " << field.type << (field.value.empty() ? "" : " = " + field.value)
             << (field.kind == "attribute" ? "" : "  # " + field.kind) << "\n";
      for (const std::string& method : type.methods) out_ << "    def " << method << "\n";
    }
  }

  void files() {
    title("Files");
    std::vector<std::vector<std::string>> rows;
    for (const FileEntry& file : in_.files)
      rows.push_back({file.name, humanBytes(file.size), file.compressed ? "stored in " + humanBytes(file.stored) : ""});
    out_ << table(rows);
  }

  std::string position(size_t place) const {
    const Place& at = in_.places[place];
    return in_.texts[at.text].name + ":" + std::to_string(at.line);
  }

  void listing(const FunctionEntry& function, const std::string& name) {
    out_ << "\n" << function.name << "\n";
    if (!function.error.empty()) {
      std::istringstream lines(function.error);
      for (std::string line; std::getline(lines, line);) out_ << "  " << line << "\n";
      return;
    }
    if (name == "code" || name == "source") return text(function, name == "source");
    const auto& lines = name == "ir" ? function.ir : name == "bytecode" ? function.bytecode : function.inlined;
    // A function without calls is its own inlined form.
    for (const Line& line : name == "inlined" && lines.empty() ? function.ir : lines) {
      out_ << "  " << line.text;
      if (line.place) {
        const Place& place = in_.places[*line.place];
        out_ << "  # " << position(place.origin.value_or(*line.place));
      }
      out_ << "\n";
    }
  }

  /// The lines of the archive's code, or of the original file, that a function comes from.
  void text(const FunctionEntry& function, bool original) {
    std::optional<size_t> text;
    size_t first = 0, last = 0;
    const auto widen = [&](std::optional<size_t> index) {
      if (index && original) index = in_.places[*index].origin;
      if (!index) return;
      const Place& place = in_.places[*index];
      if (text && *text != place.text) return;
      first = text ? std::min(first, place.line) : place.line;
      last = std::max(last, place.line);
      text = place.text;
    };
    // The place of a `def` in the archive has no origin of its own; where the function starts and ends in the
    // original file is looked up in the text.
    if (!original) widen(function.place);
    for (const Line& line : function.ir) widen(line.place);
    if (!text) {
      out_ << "  "
           << (original ? "The archive does not tell which file it came from." : "The archive has no code for it.")
           << "\n";
      return;
    }
    out_ << "  " << in_.texts[*text].name << "\n";
    const auto& lines = in_.texts[*text].lines;
    const std::string head = "def " + function.name.substr(function.name.rfind('.') + 1) + "(";
    for (auto line = lines.upper_bound(last); line != lines.begin();) {
      if ((--line)->second.find(head) == std::string::npos) continue;
      first = line->first;
      last = lastLineOfBlock(lines, line);
      break;
    }
    for (size_t number = first; number <= last; number++)
      if (auto line = lines.find(number); line != lines.end())
        out_ << "  " << std::setw(5) << number << "  " << line->second << "\n";
  }

  const Inspection& in_;
  std::string function_;
  std::vector<std::string> by_path_;  // qualified names of what function_ means as a path of modules
  std::ostringstream out_;
};

}  // namespace

std::string toText(
    const Inspection& inspection, const std::vector<std::string>& sections, const std::string& function) {
  Writer writer(inspection, function);
  for (const std::string& section : sections) writer.section(section);
  return writer.text();
}

}  // namespace cresset::cli
