// See frames.h. Reads frames through CPython's public interface; texts come from `linecache`, which knows notebooks and
// doctests.
#include "cresset/python/frames.h"

namespace cresset::python {

namespace {

py::object steal(PyObject* object) {
  return py::reinterpret_steal<py::object>(object);
}

/// The directory of a package, with the separator.
std::string directoryOf(const char* package) {
  std::string file = py::cast<std::string>(py::module_::import(package).attr("__file__"));
  return file.substr(0, file.rfind('/') + 1);
}

std::string fileName(PyCodeObject* code) {
  return py::cast<std::string>(py::handle(reinterpret_cast<PyObject*>(code)).attr("co_filename"));
}

/// The frames from the innermost on, as code and instruction. `visit` returns whether to continue.
template <typename Visit>
void visitFrames(const Visit& visit) {
  PyFrameObject* innermost = PyEval_GetFrame();  // borrowed
  py::object frame = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(innermost));
  while (frame) {
    auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
    py::object code = steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(raw)));
    if (!visit(raw, reinterpret_cast<PyCodeObject*>(code.ptr()))) return;
    frame = steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(raw)));
  }
}

int instructionOf(PyFrameObject* frame) {
#if PY_VERSION_HEX >= 0x030B0000
  return PyFrame_GetLasti(frame);
#else
  return py::cast<int>(py::handle(reinterpret_cast<PyObject*>(frame)).attr("f_lasti"));
#endif
}

}  // namespace

Frames::Owner Frames::ownerOf(PyCodeObject* code) {
  auto it = owners_.find(code);
  if (it != owners_.end()) return it->second.second;
  static const std::string torch = directoryOf("torch"), cresset = directoryOf("cresset");
  py::object held = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(code));
  const std::string file = fileName(code);
  Owner owner = Owner::User;
  if (held.is(outermost_)) {
    owner = Owner::Outermost;
  } else if (file.starts_with(cresset)) {
    owner = Owner::Cresset;
  } else if (file.starts_with(torch)) {
    owner = Owner::Library;
  }
  owners_.emplace(code, std::pair(std::move(held), owner));
  return owner;
}

const Frames::File& Frames::file(PyCodeObject* code) {
  const std::string name = fileName(code);
  auto it = files_.find(name);
  if (it != files_.end()) return it->second;
  std::string text;
  std::vector<size_t> lines;
  for (py::handle line : py::module_::import("linecache").attr("getlines")(name)) {
    lines.push_back(text.size());
    text += py::cast<std::string>(line);
  }
  return files_[name] = {std::make_shared<const Source>(std::move(text), name), std::move(lines)};
}

SourceRange Frames::rangeOf(PyCodeObject* code, int instruction) {
  auto [it, is_new] = ranges_.try_emplace({code, instruction});
  if (!is_new) return it->second;
  int line = PyCode_Addr2Line(code, instruction), column = -1, end_line = line, end_column = -1;
#if PY_VERSION_HEX >= 0x030B0000
  if (!PyCode_Addr2Location(code, instruction, &line, &column, &end_line, &end_column)) column = -1;
#endif
  const File& text = file(code);
  SourceRange& range = it->second;
  const auto has = [&](int number) { return number >= 1 && static_cast<size_t>(number) <= text.lines.size(); };
  if (!has(line)) {
    range.source = std::make_shared<const Source>("", fileName(code), static_cast<size_t>(std::max(line, 1)));
    return range;
  }
  const std::string_view all = text.source->text();
  const auto start = [&](int number) { return text.lines[static_cast<size_t>(number - 1)]; };
  const auto clip = [&](size_t offset) { return static_cast<uint32_t>(std::min(offset, all.size())); };
  range.source = text.source;
  if (column >= 0 && has(end_line) && end_column >= 0) {
    range.begin = clip(start(line) + static_cast<size_t>(column));
    range.end = clip(start(end_line) + static_cast<size_t>(end_column));
  } else {
    size_t begin = all.find_first_not_of(" \t", start(line));
    range.begin = clip(begin);
    range.end = clip(all.find('\n', range.begin));
  }
  return range;
}

SourceRange Frames::location() {
  PyCodeObject* best = nullptr;
  int instruction = 0;
  bool is_inside = false, is_user = false;
  py::object held;
  visitFrames([&](PyFrameObject* frame, PyCodeObject* code) {
    const Owner owner = ownerOf(code);
    is_inside = owner == Owner::Outermost;
    if (is_inside || owner == Owner::Cresset || is_user || (owner == Owner::Library && best)) return !is_inside;
    best = code;
    held = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(code));
    instruction = instructionOf(frame);
    is_user = owner == Owner::User;
    return true;
  });
  return best && is_inside ? rangeOf(best, instruction) : SourceRange();
}

std::string Frames::nameOf(const at::Tensor& tensor) {
  std::string name;
  bool is_inside = false, is_done = false;
  visitFrames([&](PyFrameObject* frame, PyCodeObject* code) {
    const Owner owner = ownerOf(code);
    is_inside = owner == Owner::Outermost;
    if (is_inside || owner == Owner::Cresset || is_done) return !is_inside;
    is_done = true;
    py::object locals = py::handle(reinterpret_cast<PyObject*>(frame)).attr("f_locals");
    for (const auto& [key, value] : entriesOf(locals.ptr())) {
      if (!THPVariable_Check(value.ptr()) || !THPVariable_Unpack(value.ptr()).is_same(tensor)) continue;
      name = py::cast<std::string>(key);
      break;
    }
    return true;
  });
  if (!is_inside) return "";
  const auto isNameCharacter = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return std::all_of(name.begin(), name.end(), isNameCharacter) ? name : std::string();
}

}  // namespace cresset::python
