// A call of an operator with wrappers, whatever becomes of it: its arguments, their values, and what results become.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/clone_ops.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cresset/functionalization/each_tensor.h"
#include "cresset/functionalization/level.h"
#include "cresset/functionalization/sharing.h"
#include "cresset/functionalization/tape.h"
#include "cresset/functionalization/wrapper.h"
#include "cresset/ops/operator.h"
#include "cresset/support/error.h"

namespace cresset::live {

using c10::IValue;

/// Whether elements of both are of one kind, so that strides of one step over elements of the other.
template <class Tensor>
bool haveSameElements(const Tensor& a, const at::Tensor& b) {
  return a.dtype() == b.dtype() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

/// Whether the tensor is made within the program, or the level lets it have other sizes.
inline bool mayHaveOtherSizes(const Memory& memory) {
  return !memory.foreign || memory.follows;
}

/// … and nothing else in the program is of its memory.
inline bool isAlone(const Wrapper& wrapper) {
  return !wrapper.part()->parent && mayHaveOtherSizes(wrapper.memory()) && wrapper.part().use_count() == 1;
}

inline void replaceMemory(Wrapper& wrapper, const at::Tensor& value) {
  Memory& memory = wrapper.memory();
  memory.has_more |= value.sym_numel() < memory.value.sym_numel();
  memory.bytes = memory.bytes.max(value.sym_numel() * static_cast<int64_t>(value.itemsize()));
  memory.value = value;
  memory.offset = 0;
  memory.written = true;
  ++memory.generation;
  wrapper.setPart(wrapper.part(), value);
}

/// A call of an operator with wrappers: its arguments, their values, and what its results become.
class CallWithWrappers {
 public:
  CallWithWrappers(const c10::OperatorHandle& op, std::vector<IValue>& stack)
      : op_(op),
        schema_(op.schema()),
        stack_(stack),
        arguments_(std::make_move_iterator(firstOf(stack, schema_)), std::make_move_iterator(stack.end())) {
    stack_.erase(firstOf(stack_, schema_), stack_.end());
    for (const IValue& argument : arguments_) {
      readTensors(argument, [&](const at::Tensor& tensor) {
        if (const Wrapper* wrapper = wrapperOf(tensor)) noteLevel(wrapper->memory().level);
      });
    }
  }

 private:
  static std::vector<IValue>::iterator firstOf(std::vector<IValue>& stack, const c10::FunctionSchema& schema) {
    return stack.end() - static_cast<ptrdiff_t>(schema.arguments().size());
  }

 protected:
  /// The innermost level of the arguments that is open.
  void noteLevel(const std::shared_ptr<LevelState>& level) {
    if (!level_ || (level->open && !level_->open)) level_ = level;
    const detail::ClientFrame* innermost = detail::activeClients();
    if (level->open && innermost && innermost->client == level->client) level_ = level;
  }

  Wrapper* own(const at::Tensor& tensor) const {
    Wrapper* wrapper = wrapperOf(tensor);
    return wrapper && wrapper->memory().level == level_ ? wrapper : nullptr;
  }

  /// What the level has for the tensor: of a wrapper, also of a level within that is closed, its value.
  at::Tensor valueOf(const at::Tensor& tensor) const {
    at::Tensor value = tensor;
    for (const Wrapper* wrapper = wrapperOf(value);
         wrapper && (wrapper->memory().level == level_ || !wrapper->memory().level->open); wrapper = wrapperOf(value))
      value = current(wrapper->part());
    return value;
  }

  /// The arguments with the values of the wrappers.
  std::vector<IValue> values() const {
    std::vector<IValue> result = arguments_;
    for (IValue& value : result) {
      eachTensor(value, [&](at::Tensor& tensor) {
        if (!wrapperOf(tensor)) return false;
        tensor = valueOf(tensor);
        return true;
      });
    }
    return result;
  }

  /// `recorded`: with values that are on the tape.
  void call(const c10::OperatorHandle& op, std::vector<IValue>& stack, bool recorded = false) const {
    const Emission emission(*level_, recorded);
    op.callBoxed(&stack);
  }

  /// Whether autograd has no kernel for the operator, so that it records what the backend's kernel calls, as one in
  /// Python may do.
  bool isRecordedInside() const {
    if (!at::GradMode::is_enabled() || makesInferenceTensors() ||
        c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality))
      return false;
    bool result = false;
    for (const IValue& argument : arguments_)
      readTensors(argument, [&](const at::Tensor& tensor) { result |= own(tensor) && tensor.requires_grad(); });
    return result;
  }

  /// Puts a value on the tape where the wrapper is. A tensor from outside may be there itself.
  static bool followOnTape(const at::Tensor& wrapper, const at::Tensor& value) {
    if (!wrapper.requires_grad() || value.requires_grad()) return false;
    enterTape(wrapper, value, [](const at::Tensor& gradient) { return gradient; });
    return true;
  }

  /// What stands for a value on the tape. Where modes see what is computed, they have to know it: the value itself,
  /// which autograd may then refuse to have kept.
  at::Tensor toBeRecorded(const at::Tensor& value) const {
    return c10::impl::TorchDispatchModeTLS::any_modes_set() ? value : detachedHidden(value, *level_);
  }

  /// A tensor that the level has, once a wrapper has its place on the tape.
  at::Tensor offTape(const at::Tensor& value) const {
    const at::Tensor result = value.is_view() ? detachedHidden(value, *level_) : toBeRecorded(value);
    if (result.is_same(value)) leaveTape(value);
    return result;
  }

  /// While it lives, values are on the tape where their wrappers are, if `recorded`.
  class OnTape {
   public:
    OnTape(const CallWithWrappers& call, std::vector<IValue>& values, bool recorded) {
      for (size_t i = 0; recorded && i < values.size(); ++i) {
        const std::vector<at::Tensor> wrappers = tensorsIn(call.arguments_[i]);
        size_t at = 0;
        eachTensor(values[i], [&](at::Tensor& value) {
          const at::Tensor& wrapper = wrappers[at++];
          if (!call.own(wrapper)) return false;
          const at::Tensor place = call.toBeRecorded(value);
          if (!followOnTape(wrapper, place)) return false;
          if (place.is_same(value)) placed_.push_back(value);
          value = place;
          return true;
        });
      }
    }
    ~OnTape() {
      for (const at::Tensor& value : placed_) leaveTape(value);
    }
    OnTape(const OnTape&) = delete;
    OnTape& operator=(const OnTape&) = delete;

   private:
    std::vector<at::Tensor> placed_;
  };

  void finish(std::vector<IValue> results) {
    for (IValue& result : results) stack_.push_back(std::move(result));
  }

  /// A result of a call with these values: a wrapper of its own, or that of an argument that was returned.
  bool wrapResult(at::Tensor& result, const std::vector<IValue>& values) const {
    if (wrapperOf(result) && wrapperOf(result)->memory().level == level_) return false;
    const bool is_plain = isPlain(result);
    at::Tensor found, container;
    struct Sharing {
      at::Tensor argument, value;
    };
    std::vector<Sharing> sharing;
    for (size_t i = 0; i < values.size(); ++i) {
      size_t place = 0;
      readTensors(values[i], [&](const at::Tensor& used) {
        if (used.is_same(result)) {
          found = tensorsIn(arguments_[i])[place];
        } else if (shareStorage(used, result)) {
          sharing.push_back({tensorsIn(arguments_[i])[place], used});
          if (!isPlain(used)) container = used;
        }
        ++place;
      });
    }
    if (found.defined()) {
      result = found;
      return true;
    }
    for (const auto& [argument, value] : sharing) {
      Wrapper* wrapper = own(argument);
      if (!wrapper) continue;
      if (is_plain) {
        result = partOf(*wrapper, value, result);
        return true;
      }
      noteHolder(wrapper->memory(), result);
    }
    if (!is_plain) return false;
    if (!sharing.empty() && !container.defined()) result = at::_ops::clone::call(result, std::nullopt);
    tellClientsOfWrites(result);
    const at::Tensor value = result;
    result = wrapFresh(value, level_, makesInferenceTensors());
    if (value.requires_grad()) {
      sharePlace(value, result);
      wrapperOf(result)->memory().value = offTape(value);
    }
    wrapperOf(result)->memory().relaid = isRelaid(result);
    if (container.defined()) noteContainer(wrapperOf(result)->memory(), container);
    return true;
  }

  /// A result that lies in the memory of an argument, which has the value, though the operator's schema denies it.
  at::Tensor partOf(Wrapper& argument, const at::Tensor& value, const at::Tensor& result) const {
    const bool is_followed =
        haveSameElements(argument, result) && !result.unsafeGetTensorImpl()->has_symbolic_sizes_strides() &&
        !value.unsafeGetTensorImpl()->has_symbolic_sizes_strides() && value.strides() == argument.strides();
    if (!is_followed) {
      throw UserError(
          "Within cresset.functionalize, '" + schema_.name() +
          "' can't be called with these arguments: it returns memory of one, which its schema denies. Pass a clone");
    }
    auto part = std::make_shared<Part>(argument.part()->memory);
    part->parent = argument.part();
    part->sizes = result.sizes().vec();
    part->strides = result.strides().vec();
    part->offset = result.storage_offset() - value.storage_offset();
    part->value = copies() ? at::_ops::clone::call(result, std::nullopt) : result;
    part->generation = part->memory->generation;
    const c10::SymInt offset = argument.sym_storage_offset() + part->offset;
    return wrapperFor(std::move(part), result, argument.is_inference(), offset);
  }

  /// Whether the layout of a result may come from that of a copy.
  bool isRelaid(const at::Tensor& result) const {
    if (!copiesViews(*level_)) return false;
    bool may_be = false;
    for (const IValue& argument : arguments_) {
      readTensors(argument, [&](const at::Tensor& tensor) {
        const Wrapper* wrapper = own(tensor);
        may_be |= wrapper && wrapper->memory().relaid;
        for (int64_t d = 0; wrapper && d < tensor.dim(); ++d) may_be |= tensor.size(d) > 1 && tensor.stride(d) == 0;
      });
    }
    if (!may_be) return false;
    const Operator* known = OperatorTable::get().find(toString(op_.operator_name()));
    if (known && known->makesContiguous()) return false;
    const auto strides = schema_.argumentIndexWithName("stride");
    return !strides || !arguments_[static_cast<size_t>(*strides)].isIntList() ||
           result.strides() != c10::IntArrayRef(arguments_[static_cast<size_t>(*strides)].toIntVector());
  }

  bool copies() const { return copiesViews(*level_); }

  std::vector<at::Tensor> tensorsOf(size_t argument) const { return tensorsIn(arguments_[argument]); }

  std::vector<IValue> wrapResults(std::vector<IValue> results, const std::vector<IValue>& values) const {
    const Emission emission(*level_);
    for (IValue& result : results) eachTensor(result, [&](at::Tensor& tensor) { return wrapResult(tensor, values); });
    return results;
  }

  const c10::OperatorHandle& op_;
  const c10::FunctionSchema& schema_;
  std::vector<IValue>& stack_;
  std::vector<IValue> arguments_;
  std::shared_ptr<LevelState> level_;
};

}  // namespace cresset::live
