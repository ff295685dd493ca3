// What a captured plan keeps of the state that it is about to change, so that a plan that is given up has changed
// nothing.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <cstring>
#include <memory>
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

/// What a program's writes to tensors are about to change: the whole of tensors, or the part of one that an index
/// takes. The tape can't be put back, so writes that are recorded on it are refused.
class SavedWrites {
 public:
  using Previous = std::shared_ptr<const SavedWrites>;

  /// `tensors` are those that are written, `count` of them, and others that decide whether the tape records that;
  /// `previous` is of other writes of the plan.
  SavedWrites(Previous previous, size_t count, const py::args& tensors) : previous_(std::move(previous)) {
    for (const auto& object : tensors) {
      const auto tensor = py::cast<at::Tensor>(object);
      const bool is_recorded = tensor._fw_grad(0).defined() || (at::GradMode::is_enabled() && tensor.requires_grad());
      const bool is_plain = tensor.layout() == at::kStrided && tensor.is_cpu() && !tensor.is_quantized() &&
                            at::has_internal_overlap(tensor) != at::MemOverlap::Yes;
      const bool is_written = parts_.size() < count;
      if (is_recorded || (is_written && !is_plain))
        throw UserError("Only dense tensors of the CPU are written to, off the tape.");
      if (is_written) parts_.push_back({tensor, {}, 0, tensor.is_inference() ? 0 : tensor._version()});
    }
    if (parts_.empty() || parts_.size() != count) throw UserError("There are fewer tensors than are said to be.");
  }

  void saveAll() {
    size_t size = 0;
    for (Part& part : parts_) {
      if (!part.tensor.is_non_overlapping_and_dense()) {
        part.elements = kept(part.tensor.detach()).clone();
        continue;
      }
      part.offset = size;
      size += kept(part.tensor).nbytes();
    }
    memory_.reset(new char[size]);
    for (const Part& part : parts_)
      if (!part.elements.defined()) std::memcpy(placeOf(part), part.tensor.const_data_ptr(), part.tensor.nbytes());
  }

  void saveSlices(int64_t dimension, const at::Tensor& index) {
    if (parts_.front().tensor.numel() <= kSmall) return saveAll();
    const at::NoGradGuard no_grad;
    dimension_ = dimension;
    index_ = ownIndex(index);
    parts_.front().elements = kept(parts_.front().tensor.index_select(dimension, index_));
  }

  void saveElements(const py::object& index) {
    Part& part = parts_.front();
    if (part.tensor.numel() <= kSmall) return saveAll();
    const at::NoGradGuard no_grad;
    element_ = ownIndexOf(index);
    const auto found = kept(py::cast<at::Tensor>(py::cast(part.tensor)[element_]));
    part.elements = found.is_alias_of(part.tensor) ? found.clone() : found;
  }

  void restore() const {
    const at::NoGradGuard no_grad;
    for (const Part& part : parts_) {
      const at::Tensor& tensor = part.tensor;
      if (!part.elements.defined()) {
        std::memcpy(tensor.mutable_data_ptr(), placeOf(part), tensor.nbytes());
      } else if (element_) {
        py::cast(tensor)[element_] = part.elements;
      } else if (index_.defined()) {
        at::Tensor(tensor).index_copy_(dimension_, index_, part.elements);
      } else {
        tensor.copy_(part.elements);
      }
      if (tensor.is_inference()) continue;
      c10::VariableVersion version = tensor.unsafeGetTensorImpl()->version_counter();
      version.set_version(part.version);
    }
  }

 private:
  struct Part {
    at::Tensor tensor, elements;  // elements: undefined if they are in `memory_`, from `offset` on
    size_t offset;
    int64_t version;
  };

  char* placeOf(const Part& part) const { return memory_.get() + part.offset; }

  static const at::Tensor& kept(const at::Tensor& elements) {
    if (elements.numel() > kMaxSaved) throw UserError("What a write changes is too large to be kept.");
    return elements;
  }

  /// An index as it is now. The saved elements are taken before the plan's other writes, so these must not change it.
  at::Tensor ownIndex(const at::Tensor& index) const {
    for (const SavedWrites* each = previous_.get(); each != nullptr; each = each->previous_.get())
      for (const Part& part : each->parts_)
        if (part.tensor.is_alias_of(index)) throw UserError("An index was written to.");
    return index.clone();
  }

  py::object ownIndexOf(const py::object& index) const {
    if (THPVariable_Check(index.ptr())) return py::cast(ownIndex(py::cast<at::Tensor>(index)));
    if (!py::isinstance<py::tuple>(index) && !py::isinstance<py::list>(index)) return index;
    py::list parts;
    for (const auto& part : index) parts.append(ownIndexOf(py::reinterpret_borrow<py::object>(part)));
    if (py::isinstance<py::list>(index)) return parts;
    return py::tuple(parts);
  }

  static constexpr int64_t kMaxSaved = 1 << 14;
  static constexpr int64_t kSmall = 1 << 12;  // what is kept as a whole sooner than its elements are found

  Previous previous_;
  std::vector<Part> parts_;
  std::unique_ptr<char[]> memory_;
  at::Tensor index_;
  py::object element_;
  int64_t dimension_ = 0;
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

void bindWrites(py::module_& module) {
  using Writes = std::shared_ptr<SavedWrites>;
  py::class_<SavedWrites, Writes>(module, "_SavedWrites", "What writes change, which a call puts back.")
      .def("__call__", &SavedWrites::restore);
  module.def("_saved_writes", [](const Writes& previous, size_t count, const py::args& tensors) {
    auto made = std::make_shared<SavedWrites>(previous, count, tensors);
    made->saveAll();
    return made;
  });
  module.def(
      "_saved_slices", [](const Writes& previous, int64_t dimension, const at::Tensor& index, const py::args& tensors) {
        auto made = std::make_shared<SavedWrites>(previous, 1, tensors);
        made->saveSlices(dimension, index);
        return made;
      });
  module.def("_saved_elements", [](const Writes& previous, const py::object& index, const py::args& tensors) {
    auto made = std::make_shared<SavedWrites>(previous, 1, tensors);
    made->saveElements(index);
    return made;
  });
}

}  // namespace

void bindUndo(py::module_& module) {
  py::class_<SavedTensors>(module, "_SavedTensors", "What was in tensors, which a call puts back.")
      .def(py::init([](const py::args& tensors) { return SavedTensors(py::cast<std::vector<at::Tensor>>(tensors)); }))
      .def("__call__", &SavedTensors::restore);
  bindWrites(module);
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
