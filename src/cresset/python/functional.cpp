// Levels of functionalization, for cresset/functional.py.
#include <memory>
#include <optional>

#include "cresset/functionalization/level.h"
#include "cresset/ops/functorch.h"
#include "cresset/python/common.h"

namespace cresset::python {

namespace {

class PythonLevel {
 public:
  explicit PythonLevel(bool copies_views) : level_(copies_views) {}
  void enter() {
    if (scope_) throw UserError("this level is open");
    scope_.emplace(level_);
  }
  void exit() { scope_.reset(); }
  void close() { level_.close(); }
  at::Tensor leave(const at::Tensor& tensor) { return level_.leave(tensor); }
  void visitStanding(const py::function& visit) const {
    level_.visitStanding([&](const at::Tensor& stand_in, const at::Tensor& tensor) { visit(stand_in, tensor); });
  }
  void settle() { level_.settle(); }
  const std::string& refusal() const { return level_.refusal(); }
  at::Tensor sync(const at::Tensor& tensor, bool shares) { return level_.sync(tensor, shares); }

 private:
  live::Level level_;
  std::optional<ClientScope> scope_;
};

live::Level* innermost() {
  return findClient<live::Level>();
}

/// The wrapper that transforms which record have wrapped; the tensor itself else.
at::Tensor withoutTapes(at::Tensor tensor) {
  while (const auto* wrapper = at::functorch::maybeGetTensorWrapper(tensor)) tensor = wrapper->value();
  return tensor;
}

/// What the levels from this frame outward have in the tensor's place, one after the other.
at::Tensor syncFrom(const detail::ClientFrame* frame, const at::Tensor& tensor, bool shares) {
  at::Tensor value = tensor;
  for (; frame; frame = frame->outer) {
    auto* level = dynamic_cast<live::Level*>(frame->client);
    if (!level) continue;
    const detail::ActiveClients active(frame);
    const at::Tensor inner = withoutTapes(value);
    value = level->sync(live::wrapperOf(inner) ? inner : value, shares);
  }
  const at::Tensor inner = withoutTapes(value);
  const live::Wrapper* wrapper = live::wrapperOf(inner);  // of a level that is closed
  return wrapper ? live::current(wrapper->part()) : value;
}

live::Level& innermostFor(const char* function) {
  if (live::Level* level = innermost()) return *level;
  throw UserError(
      std::string("cresset.functional.") + function +
      " is for code that cresset.functionalize runs: no functionalized program runs on this thread");
}

/// While it is entered, operators go below the innermost level, and past autograd.
class PythonBelow {
 public:
  void enter() {
    if (below_) throw UserError("cresset.functional.redispatch_to_next() is entered once");
    below_.emplace(innermostFor("redispatch_to_next").state());
  }
  void exit(const py::args&) { below_.reset(); }

 private:
  std::optional<live::Emission> below_;
};

/// While it is entered, no client sees what this thread does.
class PythonPause {
 public:
  void enter() { pause_.emplace(); }
  void exit(const py::args&) { pause_.reset(); }

 private:
  std::optional<ClientPause> pause_;
};

}  // namespace

void bindFunctional(py::module_& module) {
  py::class_<PythonLevel>(module, "_FunctionalLevel")
      .def(py::init<bool>(), py::arg("copies_views"))
      .def("enter", &PythonLevel::enter)
      .def("exit", &PythonLevel::exit)
      .def("close", &PythonLevel::close)
      .def("leave", &PythonLevel::leave)
      .def("visit_standing", &PythonLevel::visitStanding)
      .def("settle", &PythonLevel::settle)
      .def_property_readonly("refusal", &PythonLevel::refusal);
  py::class_<PythonPause>(module, "_ClientPause")
      .def(py::init<>())
      .def("__enter__", &PythonPause::enter)
      .def("__exit__", &PythonPause::exit);
  py::class_<PythonBelow>(module, "_BelowFunctional")
      .def(py::init<>())
      .def("__enter__", &PythonBelow::enter)
      .def("__exit__", &PythonBelow::exit);
  module.def(
      "_functional_wrap", [](const at::Tensor& tensor) { return innermostFor("wrap").wrap(tensor); },
      py::arg("tensor"));
  module.def(
      "_functional_unwrap", [](const at::Tensor& tensor) { return innermostFor("unwrap").unwrap(tensor); },
      py::arg("tensor"));
  module.def(
      "_functional_replace",
      [](const at::Tensor& tensor, const at::Tensor& value) { innermostFor("replace").replace(tensor, value); },
      py::arg("tensor"), py::arg("value"));
  module.def(
      "_functional_commit_update", [](const at::Tensor& tensor) { innermostFor("commit_update").commitUpdate(tensor); },
      py::arg("tensor"));
  module.def("_set_functional_write_observer", [](py::function observer) {
    // For the life of the process.
    const auto* function = new py::function(std::move(observer));
    live::setWriteObserver([function](const at::Tensor& tensor) {
      const py::gil_scoped_acquire acquired;
      (*function)(tensor);
    });
  });
  module.def("_set_fake_python_objects", [](py::function fakes) {
    // For the life of the process.
    const auto* function = new py::function(std::move(fakes));
    live::setFakePythonObjects([function](const at::Tensor& tensor, const at::Tensor& value) {
      const py::gil_scoped_acquire acquired;
      return (*function)(tensor, value).cast<bool>();
    });
  });
  module.def(
      "_is_functional", [](const at::Tensor& tensor) { return live::wrapperOf(withoutTapes(tensor)) != nullptr; });
  module.def("_in_functional_level", [] { return innermost() != nullptr; });
  module.def(
      "_functional_sync",
      [](const at::Tensor& tensor, bool shares) { return syncFrom(detail::activeClients(), tensor, shares); },
      "A tensor with memory that has the tensor's elements now; if it shares, that memory is the tensor's from now "
      "on.");
  module.def(
      "_functional_place",
      [](const at::Tensor& tensor) {
        const at::Tensor inner = withoutTapes(tensor);
        const live::Wrapper* wrapper = live::wrapperOf(inner);
        const auto& part = *wrapper->part();
        const bool is_whole = live::copiesViews(*part.memory->level) || !part.parent;
        const at::Tensor place = is_whole ? live::current(wrapper->part()) : live::placeIn(part, part.memory->value);
        const detail::ClientFrame* clients = detail::activeClients();
        return clients ? syncFrom(clients->outer, place, /*shares=*/false) : place;
      },
      "A functional tensor's elements, in memory that it shares with the tensors which are parts of the same; copies "
      "where views are removed.");
  module.def(
      "_functional_memory_of_copies",
      [](const at::Tensor& tensor) -> std::optional<uintptr_t> {
        const live::Wrapper* wrapper = live::wrapperOf(tensor);
        if (!wrapper || !live::copiesViews(*wrapper->memory().level)) return std::nullopt;
        return reinterpret_cast<uintptr_t>(&wrapper->memory());
      },
      "Which memory the tensor is a part of, as a number, if its level has copies in the place of views.");
}

}  // namespace cresset::python
