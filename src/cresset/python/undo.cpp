// What a captured plan keeps of the state that it is about to change, so that a plan that is given up has changed
// nothing.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <mutex>
#include <utility>
#include <vector>

#include "cresset/python/undo.h"
#include "cresset/support/error.h"

namespace cresset::python {

namespace {

/// Elements and versions of tensors as they were.
class SavedTensors {
 public:
  explicit SavedTensors(const std::vector<at::Tensor>& tensors) {
    for (const at::Tensor& tensor : tensors) {
      if (!tensor.defined() || tensor.layout() != at::kStrided || !tensor.is_cpu() || tensor.requires_grad())
        throw UserError("Only dense tensors of the CPU without gradients are written to and restored.");
      saved_.push_back({tensor, tensor.clone(), tensor.is_inference() ? 0 : tensor._version()});
    }
  }

  /// In the opposite order: one that is there twice, or a part of another, was saved first as it was first.
  void restore() const {
    const at::NoGradGuard no_grad;
    for (auto each = saved_.rbegin(); each != saved_.rend(); ++each) {
      each->tensor.copy_(each->elements);
      if (each->tensor.is_inference()) continue;
      // The program has not written to it: what it keeps for a gradient is as it was.
      c10::VariableVersion version = each->tensor.unsafeGetTensorImpl()->version_counter();
      version.set_version(each->version);
    }
  }

 private:
  struct Saved {
    at::Tensor tensor, elements;
    int64_t version;
  };
  std::vector<Saved> saved_;
};

/// The place in a generator's sequence of random numbers.
class SavedRandomState {
 public:
  explicit SavedRandomState(at::Generator generator) : generator_(std::move(generator)) {
    const std::lock_guard lock(generator_.mutex());
    state_ = generator_.get_state();
  }

  void restore() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(state_);
  }

 private:
  at::Generator generator_;
  at::Tensor state_;
};

/// Whether gradients were on.
class SavedGradMode {
 public:
  void restore() const { at::GradMode::set_enabled(was_enabled_); }

 private:
  bool was_enabled_ = at::GradMode::is_enabled();
};

/// What autocast keeps of a plan's casts of parameters: they live as long as the outermost `with torch.autocast`.
class KeptCasts {
 public:
  void drop() const {
    at::autocast::increment_nesting();
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  }
};

}  // namespace

void bindUndo(py::module_& module) {
  py::class_<SavedTensors>(module, "_SavedTensors", "What was in tensors, which a call puts back.")
      .def(py::init([](const py::args& tensors) { return SavedTensors(py::cast<std::vector<at::Tensor>>(tensors)); }))
      .def("__call__", &SavedTensors::restore);
  py::class_<SavedRandomState>(module, "_SavedRandomState", "A generator's state, which a call puts back.")
      .def(py::init([] { return SavedRandomState(at::detail::getDefaultCPUGenerator()); }))
      .def(py::init<at::Generator>())
      .def("__call__", &SavedRandomState::restore);
  py::class_<SavedGradMode>(module, "_SavedGradMode", "Whether gradients were on, which a call puts back.")
      .def(py::init<>())
      .def("__call__", &SavedGradMode::restore);
  py::class_<KeptCasts>(module, "_KeptCasts", "Casts of parameters, which a call drops outside of autocast.")
      .def(py::init<>())
      .def("__call__", &KeptCasts::drop);
}

}  // namespace cresset::python
