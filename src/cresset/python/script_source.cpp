// The text of Python functions: found through linecache, as inspect does it, so that notebooks, doctests and zipped
// packages work; read in place, so that every range is a position in the user's file.
//
// One Source per file is shared by all its functions, as long as linecache returns the same lines.
#include "cresset/python/script.h"

#include <algorithm>
#include <unordered_map>

namespace cresset::python {

namespace {

struct FileText {
  py::object lines;  // linecache's list; while it is the same, so is the text
  std::shared_ptr<const Source> source;
  std::vector<uint32_t> starts;  // of each line
};

/// Objects of modules that compilation needs, imported once by bindScript: no import may happen under the lock.
py::handle linecacheModule() {
  static py::handle module = py::object(py::module_::import("linecache")).release();
  return module;
}

std::string utf8(py::handle text) {
  Py_ssize_t size = 0;
  if (const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return {data, static_cast<size_t>(size)};
  PyErr_Clear();  // lone surrogates: the source was no UTF-8
  py::object bytes = py::reinterpret_steal<py::object>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "replace"));
  if (!bytes) throw py::error_already_set();
  return py::cast<std::string>(py::bytes(bytes));
}

/// Takes out what linecache does not have any more: code that is made again and again, each time under another file
/// name, must not fill the memory.
void forgetFiles(std::unordered_map<std::string, FileText>& files) {
  static size_t next_sweep = 256;
  if (files.size() < next_sweep) return;
  const py::dict cache = linecacheModule().attr("cache");
  std::erase_if(files, [&](const auto& file) {
    const py::object entry = cache.attr("get")(file.first, py::none());
    return !PyTuple_Check(entry.ptr()) || PyTuple_GET_SIZE(entry.ptr()) != 4 ||
           PyTuple_GET_ITEM(entry.ptr(), 2) != file.second.lines.ptr();
  });
  next_sweep = std::max<size_t>(256, 2 * files.size());
}

/// torch.fx names the code of a graph after the function that was traced: linecache asks no loader for "<…> in
/// <lambda>".
py::object linesOfGraphModule(const std::string& filename) {
  const py::object module = py::module_::import("sys").attr("modules").attr("get")("torch.fx.graph_module", py::none());
  const py::object loader = py::getattr(module, "_loader", py::none());
  const py::object source = loader.is_none() ? loader : loader.attr("get_source")(filename);
  if (!PyUnicode_Check(source.ptr())) return py::list();
  py::object lines = source.attr("splitlines")(true);
  linecacheModule().attr("cache")[filename.c_str()] = py::make_tuple(py::len(source), py::none(), lines, filename);
  return lines;
}

/// The text of `filename`; null if there is none. `globals` let linecache ask a module's loader.
const FileText* textOf(const std::string& filename, py::handle globals) {
  static auto* files = new std::unordered_map<std::string, FileText>;
  py::object lines;
  {
    py::handle linecache = linecacheModule();
    linecache.attr("checkcache")(filename);
    lines = linecache.attr("getlines")(filename, globals);
    if (py::len(lines) == 0 && filename.ends_with('>')) lines = linesOfGraphModule(filename);
  }
  if (!lines || PyList_GET_SIZE(lines.ptr()) == 0) return nullptr;
  auto known = files->find(filename);
  if (known != files->end() && known->second.lines.is(lines)) return &known->second;
  if (known == files->end()) {
    forgetFiles(*files);
    known = files->try_emplace(filename).first;
  }
  FileText& file = known->second;
  std::string text;
  std::vector<uint32_t> starts;
  for (py::handle line : lines) {
    starts.push_back(static_cast<uint32_t>(text.size()));
    text += utf8(line);
  }
  file.source = std::make_shared<const Source>(std::move(text), filename);
  file.starts = std::move(starts);
  file.lines = std::move(lines);
  return &file;
}

struct CodePlace {
  std::string file;
  size_t line;  // from 1
  py::object globals;
};

CodePlace placeOfCode(py::handle function) {
  py::object code = function.attr("__code__");
  return {
      py::cast<std::string>(code.attr("co_filename")), py::cast<size_t>(code.attr("co_firstlineno")),
      py::getattr(function, "__globals__", py::none())};
}

SourceRange lineRange(const FileText& file, size_t line) {
  if (line == 0 || line > file.starts.size()) return {};
  const std::string& text = file.source->text();
  uint32_t begin = file.starts[line - 1];
  while (begin < text.size() && (text[begin] == ' ' || text[begin] == '\t')) ++begin;
  uint32_t end = line < file.starts.size() ? file.starts[line] : static_cast<uint32_t>(text.size());
  while (end > begin && (text[end - 1] == '\n' || text[end - 1] == '\r')) --end;
  return {file.source, begin, end};
}

/// The line of the `def` or `class` keyword, after decorators that begin at `line`.
SourceRange definitionLine(const FileText& file, size_t line, const char* keyword, const std::string& name) {
  const std::string wanted = std::string(keyword) + " " + name;
  for (size_t i = line; i < line + 100 && i <= file.starts.size(); ++i) {
    SourceRange range = lineRange(file, i);
    std::string_view text = range.text();
    if (text.starts_with(wanted)) {
      range.end = std::min<uint32_t>(range.end, range.begin + static_cast<uint32_t>(wanted.size()));
      return range;
    }
  }
  return lineRange(file, line);
}

std::string describe(py::handle function) {
  return "'" + py::cast<std::string>(py::str(py::getattr(function, "__name__", function))) + "'";
}

bool isFunction(py::handle object) {
  return PyFunction_Check(object.ptr());
}

/// The definitions that were read, by code object, as long as it lives; they are immutable, and module types of one
/// class share them.
struct ReadDefinitions {
  struct Entry {
    py::object code;  // a weak reference, whose end takes the entry out
    std::shared_ptr<const Source> source;
    Def def;
  };
  std::unordered_map<PyObject*, Entry> entries;
  static ReadDefinitions& get() {
    static auto* instance = new ReadDefinitions;
    return *instance;
  }
};

}  // namespace

py::object unwrapFunction(py::handle function) {
  py::object inner = py::reinterpret_borrow<py::object>(function);
  if (PyMethod_Check(inner.ptr())) inner = py::reinterpret_borrow<py::object>(PyMethod_GET_FUNCTION(inner.ptr()));
  // As deep as people decorate; a cycle of wrappers is no useful program, but must end.
  for (int depth = 0; depth < 100; ++depth) {
    py::object next = py::getattr(inner, "__wrapped__", py::none());
    if (next.is_none() || !isFunction(next)) break;
    inner = std::move(next);
  }
  return inner;
}

Def readFunction(py::handle wrapped) {
  const py::object function = unwrapFunction(wrapped);
  if (!isFunction(function)) {
    throw UserError(
        "expected a Python function, got " + shortRepr(function.ptr()) + " of type " + typeName(function.ptr()));
  }
  const CodePlace place = placeOfCode(function);
  const FileText* file = textOf(place.file, place.globals);
  if (!file) {
    throw UserError(
        "Can't get source for " + shortRepr(function.ptr()) +
        ": cresset.script needs the file that the function was "
        "written in, and '" +
        place.file +
        "' is not at hand. Make sure the original .py files are available; for code "
        "made by exec, put its text into linecache.cache");
  }
  auto& known = ReadDefinitions::get().entries;
  py::object code = function.attr("__code__");
  if (auto it = known.find(code.ptr()); it != known.end() && it->second.source == file->source) return it->second.def;
  const SourceRange line = lineRange(*file, place.line);
  const std::string name = py::cast<std::string>(code.attr("co_name"));
  if (name == "<lambda>") {
    throw UserError(
        "Expected a single top-level function: a lambda can't be compiled; write a function with def", line);
  }
  const auto changed = [&](const SourceRange& range) {
    return UserError(
        "the source of " + describe(function) + " is not where it was compiled from: '" + place.file +
            "' has changed since, or the function was made by a program. Reload the module",
        range);
  };
  if (!line) throw changed({});
  const std::string_view start = line.text();
  if (!start.starts_with("def ") && !start.starts_with("@") && !start.starts_with("async ")) throw changed(line);
  Def def = SourceParser(file->source).parseFunctionAt(file->starts[place.line - 1]);
  if (def.name().name() != name) throw changed(def.name().range());
  PyObject* const key = code.ptr();
  py::object weak = weakReference(code, [key] { ReadDefinitions::get().entries.erase(key); });
  known.insert_or_assign(key, ReadDefinitions::Entry{std::move(weak), file->source, def});
  return def;
}

SourceRange placeOf(py::handle object) {
  try {
    if (PyType_Check(object.ptr())) {
      // A class doesn't know its line (before Python 3.13). Its first method does; else its name is looked for.
      const std::string name = py::cast<std::string>(object.attr("__name__"));
      py::object module = py::module_::import("sys").attr("modules").attr("get")(
          py::getattr(object, "__module__", py::none()), py::none());
      py::object filename = py::getattr(module, "__file__", py::none());
      py::object globals = py::getattr(module, "__dict__", py::none());
      size_t last = 0;
      for (auto [key, value] : py::dict(object.attr("__dict__"))) {
        if (!isFunction(value)) continue;
        const CodePlace place = placeOfCode(value);
        // Not what others put there: @dataclass makes methods by exec and takes some from its own file and its
        // helper's.
        if (!textOf(place.file, place.globals) || place.file.ends_with("/dataclasses.py") ||
            place.file.ends_with("/reprlib.py"))
          continue;
        if (last == 0 || place.line < last) {
          last = place.line;
          filename = py::str(place.file);
          globals = place.globals;
        }
      }
      if (filename.is_none()) return {};
      const FileText* file = textOf(py::cast<std::string>(filename), globals);
      if (!file) return {};
      const std::string wanted = "class " + name;
      auto isHere = [&](size_t line) {
        const std::string_view text = lineRange(*file, line).text();
        if (!text.starts_with(wanted)) return false;
        const char next = text.size() > wanted.size() ? text[wanted.size()] : ':';
        return next == ':' || next == '(' || next == ' ';
      };
      const size_t end = last ? last : file->starts.size();
      for (size_t line = end; line > 0; --line) {
        if (!isHere(line)) continue;
        SourceRange range = lineRange(*file, line);
        range.end = range.begin + static_cast<uint32_t>(wanted.size());
        return range;
      }
      return {};
    }
    const py::object function = unwrapFunction(object);
    if (!isFunction(function)) return {};
    const CodePlace place = placeOfCode(function);
    const FileText* file = textOf(place.file, place.globals);
    if (!file) return {};
    return definitionLine(*file, place.line, "def", py::cast<std::string>(function.attr("__code__").attr("co_name")));
  } catch (py::error_already_set&) {
    return {};  // an object that only looks like a function; the message does without the place
  }
}

}  // namespace cresset::python
