// What scripts ask of their host: where printed text and warnings go, and whether the user wants them to stop; and what
// the host tells them: how many threads forks get, limits, that it is about to go away.
#include "cresset/python/common.h"

#include <pybind11/stl.h>

#include <c10/util/Exception.h>

#include <iostream>
#include <utility>
#include <vector>

#include "cresset/interpreter/interpreter.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/tensor_memory.h"
#include "cresset/program/definition_lock.h"
#include "cresset/support/options.h"
#include "cresset/support/print_handler.h"

namespace cresset::python {

namespace {

unsigned long main_thread = 0;  // what threading.main_thread().ident says

/// Scripts print from any thread, with the GIL released.
void printToPython(const std::string& text) {
  if (pythonIsGoingAway()) {
    std::cout << text;
    return;
  }
  py::gil_scoped_acquire gil;
  // sys.stdout is looked up each time: users and test runners replace it.
  PyObject* out = PySys_GetObject("stdout");
  if (!out || out == Py_None) return;
  py::object stream = py::reinterpret_borrow<py::object>(out);
  py::object string = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (!string || PyFile_WriteObject(string.ptr(), stream.ptr(), Py_PRINT_RAW) != 0) {
    PyErr_WriteUnraisable(out);  // a script's print has no way to fail
  }
}

bool interruptRequested() {
  if (pythonIsGoingAway()) return false;
  py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  rememberInterrupt(py::error_already_set());
  return true;
}

/// Definers look up names in Python, so that whoever waits for them must not hold its lock.
void waitWithoutGil(const std::function<void()>& wait) {
  if (pythonIsGoingAway() || !PyGILState_Check()) return wait();
  py::gil_scoped_release no_gil;
  wait();
}

constexpr size_t kMostRemembered = 2 << 20;  // bytes of texts, and what Python keeps beside each
constexpr size_t kBesideText = 300;

/// A script's warning, under its own file and line. Python's filters decide, once per place where they say so: for that
/// they keep a registry per module, here per file of scripts. Scripts can make ever new texts, so what is remembered is
/// bounded: past that, all is forgotten, and a place may warn again.
void warnInPython(const ScriptWarning& warning) {
  if (pythonIsGoingAway()) {
    std::cerr << warning.file << ":" << warning.line << ": UserWarning: " << warning.message << "\n";
    return;
  }
  py::gil_scoped_acquire gil;
  static auto* registries = new py::dict;
  static size_t remembered = 0;
  const std::string file = warning.file.empty() ? "<string>" : warning.file;
  py::object text = py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
      warning.message.data(), static_cast<Py_ssize_t>(warning.message.size()), "backslashreplace"));
  py::object filename = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeFSDefaultAndSize(file.data(), static_cast<Py_ssize_t>(file.size())));
  if (!text || !filename) throw py::error_already_set();
  if (!registries->contains(filename)) (*registries)[filename] = py::dict();
  py::object registry = (*registries)[filename];
  remembered += warning.message.size() + file.size() + kBesideText;
  if (remembered > kMostRemembered) {
    registries->clear();
    remembered = 0;
  }
  if (PyErr_WarnExplicitObject(
          PyExc_UserWarning, text.ptr(), filename.ptr(), static_cast<int>(warning.line), nullptr, registry.ptr()) ==
      0) {
    return;
  }
  // A filter makes an exception of it: the script raises that, and so shows where it was.
  py::error_already_set error;
  const auto module = py::cast<std::string>(error.type().attr("__module__"));
  const auto name = py::cast<std::string>(error.type().attr("__qualname__"));
  throw ScriptRaise(module + "." + name, py::cast<std::string>(py::str(error.value())));
}

/// The error that a filter made of an operator's warning. It waits for the end of the call, because operators warn in
/// places that no exception may leave.
thread_local std::optional<py::error_already_set> warning_error;
thread_local bool collects_warning_errors = false;

/// Warnings of PyTorch's operators, in the words and under the line that they have when Python calls the operator.
class OperatorWarnings final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (pythonIsGoingAway()) return c10::WarningHandler::process(warning);
    py::gil_scoped_acquire gil;
    const bool is_deprecation = std::holds_alternative<c10::DeprecationWarning>(warning.type());
    std::string text = warning.msg();
    const auto& place = warning.source_location();
    if (!warning.verbatim())
      text += " (Triggered internally at " + std::string(place.file) + ":" + std::to_string(place.line) + ".)";
    if (PyErr_WarnEx(is_deprecation ? PyExc_DeprecationWarning : PyExc_UserWarning, text.c_str(), 1) == 0) return;
    py::error_already_set error;
    if (!collects_warning_errors) {
      error.discard_as_unraisable("a warning of an operator");
    } else if (!warning_error) {
      warning_error.emplace(std::move(error));
    }
  }
  static void install() {
    static auto* handler = new OperatorWarnings;
    c10::WarningUtils::set_warning_handler(handler);
  }
};

thread_local std::vector<Limits> outer_limits;

void enterLimits(std::optional<double> seconds, std::optional<size_t> memory) {
  outer_limits.push_back(threadLimits());
  const Limits limits{seconds, memory};
  if (memory) countTensorMemory();  // what the caller is about to make counts too, if a script resizes it
  threadLimits() = tightest(threadLimits(), limits);
}

void leaveLimits() {
  if (outer_limits.empty()) throw UserError("These limits were not entered on this thread");
  threadLimits() = outer_limits.back();
  outer_limits.pop_back();
}

}  // namespace

bool pythonIsGoingAway() {
#if PY_VERSION_HEX >= 0x030d0000
  return !Py_IsInitialized() || Py_IsFinalizing();
#else
  return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

WarningErrors::WarningErrors() : outer_(std::exchange(collects_warning_errors, true)) {}

WarningErrors::~WarningErrors() {
  collects_warning_errors = outer_;
}

void WarningErrors::raisePending() {
  if (!warning_error) [[likely]]
    return;
  py::error_already_set error = std::move(*warning_error);
  warning_error.reset();
  throw error;
}

void prepareThread() {
  // Checks are per thread. Signals reach Python's main thread only, so the others need not ask.
  static thread_local bool prepared = false;
  if (prepared) [[likely]]
    return;
  prepared = true;
  if (PyThread_get_thread_ident() == main_thread) setInterruptCheck(interruptRequested);
  OperatorWarnings::install();
}

void bindHost(py::module_& module) {
  main_thread = py::cast<unsigned long>(py::module_::import("threading").attr("main_thread")().attr("ident"));
  setPrintHandler(printToPython);
  setWarningHandler(warnInPython);
  setHostExceptionFilter(pythonErrorOf);
  setHostWait(waitWithoutGil);
  setForkThreadStart(OperatorWarnings::install);
  // While there is a Python that forks can call, and that what they hold can be released to.
  py::module_::import("atexit").attr("register")(
      py::cpp_function([] { stopForks(); }, py::call_guard<py::gil_scoped_release>()));
  module.def("set_num_fork_threads", setForkThreads, py::arg("count"));
  module.def("_options", [] {
    py::list all;
    for (const OptionInfo& option : allOptions()) {
      std::string text = std::string(option.variable) + ": " + option.allowed;
      if (!option.initial.empty()) text += " (" + option.initial + ")";
      all.append(py::make_tuple(
          std::string(option.name), text + ". " + std::string(option.help), option.kind == OptionInfo::Kind::Integer));
    }
    return all;
  });
  module.def(
      "_get_option", [](const std::string& name) { return optionText(findOption(name)); }, py::arg("name"));
  module.def(
      "_set_options",
      [](const std::vector<std::pair<std::string, std::string>>& values) {
        std::vector<std::pair<Option, std::string>> found;
        for (const auto& [name, value] : values) found.emplace_back(findOption(name), value);
        setOptions(found);
      },
      py::arg("values"));
  module.def("_check_options_of_environment", checkOptionsOfEnvironment);
  module.def("_options_as_markdown", optionsAsMarkdown);
  module.def("get_num_fork_threads", numForkThreads);
  module.def("_enter_limits", enterLimits, py::arg("seconds"), py::arg("memory"));
  module.def("_leave_limits", leaveLimits);
}

}  // namespace cresset::python
