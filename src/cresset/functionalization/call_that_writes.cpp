#include "cresset/functionalization/call_that_writes.h"

#include <ATen/ops/_to_copy_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/copy_ops.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cresset/functionalization/per_operator.h"
#include "cresset/functionalization/view_rows.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/tensor_overlap.h"

namespace cresset::live {

namespace {

/// Whether writing the result to the target is what the operator does. The result gets the target's dtype.
bool becomes(const at::Tensor& target, at::Tensor& result, bool is_out, const LevelState& level) {
  if (target.sym_sizes() != result.sym_sizes()) return false;
  if (target.device() != result.device()) return false;
  if (target.scalar_type() == result.scalar_type()) return true;
  if (is_out || !c10::canCast(result.scalar_type(), target.scalar_type())) return false;
  const Emission emission(level);
  result = at::_ops::_to_copy::call(
      result, target.scalar_type(), std::nullopt, std::nullopt, std::nullopt, false, std::nullopt);
  return true;
}

/// What the operator table says of one that writes.
struct WriterRow {
  Overlap rule = Overlap::Allowed;
  bool replaces_memory = false, goes_through_lists = false;
};

const WriterRow& rowOf(const c10::OperatorHandle& op) {
  static auto* rows = new PerOperator<WriterRow>([](const Operator& row) {
    return WriterRow{overlapOf(row), row.replacesMemory(), isForEach(row)};
  });
  return rows->of(op);
}

/// A copy, if it is memory of what the call was given.
at::Tensor unshared(at::Tensor value, const std::vector<IValue>& given, const LevelState& level) {
  bool shares = false;
  for (const IValue& argument : given) {
    readTensors(argument, [&](const at::Tensor& tensor) {
      shares |= tensor.is_same(value) || (!wrapperOf(tensor) && !wrapperOf(value) && shareStorage(tensor, value));
    });
  }
  if (!shares) return value;
  const Emission emission(level);
  return at::_ops::clone::call(value, std::nullopt);
}

}  // namespace

void CallThatWrites::write(const FunctionalForm& writes) {
  const WriterRow& row = rowOf(op_);
  if (row.replaces_memory) {
    throw UserError(
        "Within cresset.functionalize, '" + schema_.name() +
        "' can't be called: it gives a tensor other memory. Use the other tensor itself");
  }
  const bool has_overlaps = hasOverlaps(writes, row.rule);
  const bool is_entangled = has_overlaps || writesPlaceTwice(writes) || readsWhatItWrites(writes, row.rule);
  if (is_entangled && row.goes_through_lists && canWriteElements(writes)) return writeElements(writes);
  TORCH_CHECK(!has_overlaps, kOverlapError);
  std::vector<IValue> fresh;
  if (is_entangled) {
    fresh = writeMemories(writes);
  } else {
    const bool pure = writes.op && writes.op->handle() && !drawsByLayout(writes) && !multipliesByLayout(writes);
    if (!pure || !writePure(writes, fresh)) fresh = writeCopies(writes);
  }
  countWrites(writes);
  std::vector<IValue> results;
  size_t next = 0;
  for (const c10::Argument& result : schema_.returns()) {
    if (!result.alias_info()) {
      results.push_back(std::move(fresh.at(next++)));
      continue;
    }
    for (const size_t written : writes.written) {
      const c10::AliasInfo* info = schema_.arguments()[written].alias_info();
      if (info && *info == *result.alias_info()) results.push_back(arguments_[written]);
    }
  }
  CRESSET_CHECK(results.size() == schema_.returns().size(), "each result is new or one of the written arguments");
  finish(std::move(results));
}

bool CallThatWrites::canWriteElements(const FunctionalForm& writes) const {
  if (!schema_.returns().empty()) return false;
  const std::vector<at::Tensor> written = tensorsOf(writes.written.at(0));
  return written.size() > 1 && std::ranges::all_of(written, [&](const at::Tensor& tensor) { return own(tensor); }) &&
         std::ranges::all_of(arguments_, [&](const IValue& argument) {
           // One of scalars, of which each element takes one, is not a list.
           return argument.isList() ? argument.toListRef().size() == written.size()
                                    : !argument.isTensor() || argument.toTensor().dim() == 0;
         });
}

void CallThatWrites::writeElements(const FunctionalForm& writes) {
  for (size_t i = 0; i < tensorsOf(writes.written[0]).size(); ++i) {
    std::vector<IValue> stack = arguments_;
    for (IValue& value : stack) {
      if (!value.isList()) continue;
      const c10::List<IValue> list = value.toList();
      c10::List<IValue> element(list.elementType());
      element.push_back(list.get(i));
      value = element;
    }
    runCall(op_, stack);
  }
  finish({});
}

bool CallThatWrites::writesPlaceTwice(const FunctionalForm& writes) const {
  std::vector<const Memory*> memories;
  bool result = false;
  for (const size_t argument : writes.written) {
    for (const at::Tensor& tensor : tensorsOf(argument)) {
      const Wrapper* wrapper = own(tensor);
      if (!wrapper) continue;
      result |= wrapper->part()->repeats;
      result |= std::find(memories.begin(), memories.end(), &wrapper->memory()) != memories.end();
      memories.push_back(&wrapper->memory());
    }
  }
  return result;
}

bool CallThatWrites::anyOperands(const FunctionalForm& writes, const OperandsTest& test) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    if (std::ranges::find(writes.written, i) != writes.written.end()) continue;
    const std::vector<at::Tensor> read = tensorsOf(i);
    if (std::ranges::none_of(read, [&](const at::Tensor& tensor) { return own(tensor); })) continue;
    for (const size_t argument : writes.written) {
      const bool by_element = arguments_[argument].isTensorList() && arguments_[i].isTensorList();
      if (test(tensorsOf(argument), read, by_element)) return true;
    }
  }
  return false;
}

bool CallThatWrites::readsWhatItWrites(const FunctionalForm& writes, Overlap rule) const {
  return anyOperands(writes, [&](const auto& written, const auto& read, bool by_element) {
    // A call for lists of tensors goes from one element to the next: the pairs of one element are the operator's.
    if (!by_element && rule > Overlap::PairsOnly) return false;
    for (size_t k = 0; k < read.size(); ++k) {
      if (!own(read[k]) || read[k].sym_numel() == 0) continue;
      const size_t count = by_element ? std::min(k, written.size()) : written.size();
      for (size_t n = 0; n < count; ++n)
        if (own(written[n]) && isOverlapRefused(written[n], read[k], /*may_be_same=*/false)) return true;
    }
    return false;
  });
}

bool CallThatWrites::hasOverlaps(const FunctionalForm& writes, Overlap rule) const {
  if (rule == Overlap::Allowed) return false;
  return anyOperands(writes, [&](const auto& written, const auto& read, bool by_element) {
    if (!by_element && rule == Overlap::PairsOnly) return false;
    for (size_t k = 0; k < read.size(); ++k) {
      const size_t begin = by_element ? std::min(k, written.size()) : 0;
      const size_t end = by_element ? std::min(k + 1, written.size()) : written.size();
      for (size_t n = begin; n < end; ++n)
        if (own(written[n]) && own(read[k]) && isOverlapRefused(written[n], read[k], rule != Overlap::Refused))
          return true;
    }
    return false;
  });
}

bool CallThatWrites::fitsUndrawn(const FunctionalForm& writes, std::vector<IValue> stack) const {
  try {
    const StandInScope scope;
    for (IValue& value : stack) {
      eachTensor(value, [](at::Tensor& tensor) {
        tensor = standIn(tensor);
        return true;
      });
    }
    writes.op->handle()->callBoxed(&stack);
  } catch (const c10::Error&) {
    return true;  // no kernel for tensors without memory, or an error that the call itself raises
  }
  bool fits = true;
  const size_t num_fresh = stack.size() - writes.written.size();
  for (size_t i = 0; i < writes.written.size(); ++i) {
    const std::vector<at::Tensor> targets = tensorsOf(writes.written[i]), results = tensorsIn(stack[num_fresh + i]);
    fits &= std::ranges::equal(targets, results, [](const at::Tensor& target, const at::Tensor& result) {
      return target.scalar_type() == result.scalar_type() && target.sym_sizes() == result.sym_sizes();
    });
  }
  return fits;
}

void CallThatWrites::countWrites(const FunctionalForm& writes) const {
  const auto has = [&](c10::DispatchKey key) { return op_.hasKernelForDispatchKey(key); };
  const bool is_counted = has(c10::DispatchKey::ADInplaceOrView) || has(c10::DispatchKey::CompositeExplicitAutograd) ||
                          has(c10::DispatchKey::CompositeImplicitAutograd) || !schema_.name().starts_with("aten::");
  // The kernel that has raised them leaves the key out of its own calls.
  if (!is_counted || c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::ADInplaceOrView)) return;
  for (const size_t argument : writes.written) {
    if (!isWritten(schema_.arguments()[argument])) continue;
    for (const at::Tensor& tensor : tensorsOf(argument))
      if (own(tensor) && !(tensor.is_inference() && makesInferenceTensors()))
        tensor.unsafeGetTensorImpl()->bump_version();
  }
}

bool CallThatWrites::writesOutOfOrder(const FunctionalForm& writes) const {
  return std::ranges::any_of(writes.written, [&](size_t argument) {
    return std::ranges::any_of(tensorsOf(argument), [](const at::Tensor& tensor) { return !tensor.is_contiguous(); });
  });
}

bool CallThatWrites::drawsByLayout(const FunctionalForm& writes) const {
  return op_.hasTag(at::Tag::nondeterministic_seeded) && writesOutOfOrder(writes);
}

bool CallThatWrites::multipliesByLayout(const FunctionalForm& writes) const {
  // Products are what autocast lowers.
  if (writes.is_out || !writes.op || writes.op->autocast(c10::kCUDA) != Autocast::Lower) return false;
  const auto* level = dynamic_cast<const Level*>(level_->client);
  return level && !level->isSeen() && writesOutOfOrder(writes);
}

void CallThatWrites::throwWrongResult() const {
  throw UserError(
      "Within cresset.functionalize, '" + schema_.name() +
      "' can't be called with these arguments: its form that returns a new tensor has another dtype or other sizes");
}

void CallThatWrites::refuseViews() const {
  throw UserError(
      "Within cresset.functionalize, '" + schema_.name() +
      "' can't write to memory of which several elements are one, or that it reads, too, where views are removed: "
      "pass "
      "clones, or use remove=\"mutations\"");
}

void CallThatWrites::requireSizesOfOperand(
    const Operator& functional, const at::Tensor& target, const at::Tensor& result) const {
  if (!functional.isPointwise() || target.sym_sizes() == result.sym_sizes()) return;
  size_t uses = 0;
  for (const IValue& argument : arguments_)
    readTensors(argument, [&](const at::Tensor& tensor) { uses += tensor.is_same(target); });
  TORCH_CHECK(
      uses < 2, "output with shape ", target.sym_sizes(), " doesn't match the broadcast shape ", result.sym_sizes());
}

bool CallThatWrites::isResizedTo(const at::Tensor& target, const at::Tensor& result) const {
  const Wrapper* wrapper = own(target);
  return wrapper && isAlone(*wrapper) && target.sym_sizes() != result.sym_sizes() && result.is_contiguous() &&
         target.scalar_type() == result.scalar_type() && target.device() == result.device();
}

void CallThatWrites::replaceBy(const at::Tensor& target, const at::Tensor& value, bool is_out) const {
  Wrapper* wrapper = own(target);
  if (is_out && target.sym_sizes() != value.sym_sizes() && isAlone(*wrapper)) {
    replaceMemory(*wrapper, value);
  } else {
    assign(wrapper->part(), value);
  }
}

std::vector<IValue> CallThatWrites::writeMemories(const FunctionalForm& writes) {
  std::vector<std::pair<Memory*, at::Tensor>> wholes;
  const auto wholeOf = [&](const Memory& memory) {
    return std::find_if(wholes.begin(), wholes.end(), [&](const auto& whole) { return whole.first == &memory; });
  };
  for (const size_t argument : writes.written) {
    for (const at::Tensor& tensor : tensorsOf(argument)) {
      const Wrapper* wrapper = own(tensor);
      if (wrapper && copies() && wrapper->part()->repeats) refuseViews();
      if (wrapper && wholeOf(wrapper->memory()) == wholes.end())
        wholes.emplace_back(&wrapper->memory(), copyOfWhole(wrapper->memory()));
    }
  }
  std::vector<IValue> stack = arguments_;
  for (IValue& value : stack) {
    eachTensor(value, [&](at::Tensor& tensor) {
      const Wrapper* wrapper = own(tensor);
      if (!wrapper) return false;
      const auto whole = wholeOf(wrapper->memory());
      if (whole != wholes.end() && copies() && wrapper->part()->parent) refuseViews();
      tensor = whole == wholes.end() ? current(wrapper->part()) : placeIn(*wrapper->part(), whole->second);
      return true;
    });
  }
  const std::vector<IValue> given = stack;
  call(op_, stack);
  std::vector<std::pair<at::Tensor, at::Tensor>> resized;
  for (const size_t argument : writes.written) {
    const std::vector<at::Tensor> targets = tensorsOf(argument), written = tensorsIn(given[argument]);
    for (size_t i = 0; i < targets.size(); ++i)
      if (own(targets[i]) && targets[i].sym_sizes() != written[i].sym_sizes())
        resized.emplace_back(targets[i], written[i]);
  }
  for (const auto& [memory, whole] : wholes) {
    const bool is_other = std::any_of(resized.begin(), resized.end(), [&, known = memory](const auto& pair) {
      return &own(pair.first)->memory() == known;
    });
    if (!is_other) assignWhole(*memory, whole);
  }
  for (const auto& [target, value] : resized) {
    if (!isAlone(*own(target))) {
      throw UserError(
          "Within cresset.functionalize, '" + schema_.name() +
          "' can't change the sizes of a tensor that is a view or has views: make a new tensor");
    }
    replaceMemory(*own(target), value);
  }
  std::vector<IValue> fresh;
  for (size_t i = 0; i < schema_.returns().size(); ++i)
    if (!schema_.returns()[i].alias_info()) fresh.push_back(stack[i]);
  return wrapResults(std::move(fresh), given);
}

bool CallThatWrites::writePure(const FunctionalForm& writes, std::vector<IValue>& fresh) {
  const std::vector<IValue> given = values();
  std::vector<IValue> stack;
  for (const size_t argument : writes.taken) stack.push_back(given[argument]);
  // Random numbers would be drawn twice, were the call repeated.
  const bool random = op_.hasTag(at::Tag::nondeterministic_seeded);
  if (random && writes.is_out && !fitsUndrawn(writes, stack)) return false;
  call(*writes.op->handle(), stack);
  const size_t num_fresh = stack.size() - writes.written.size();
  std::vector<std::pair<at::Tensor, at::Tensor>> assigned, resized;
  for (size_t i = 0; i < writes.written.size(); ++i) {
    const std::vector<at::Tensor> targets = tensorsOf(writes.written[i]);
    std::vector<at::Tensor> results = tensorsIn(stack[num_fresh + i]);
    if (results.size() != targets.size()) return false;
    for (size_t k = 0; k < targets.size(); ++k) {
      requireSizesOfOperand(*writes.op, targets[k], results[k]);
      if (writes.is_out && isResizedTo(targets[k], results[k])) {
        resized.emplace_back(targets[k], results[k]);
        continue;
      }
      if (!becomes(targets[k], results[k], writes.is_out, *level_)) {
        if (random) throwWrongResult();
        return false;
      }
      assigned.emplace_back(targets[k], results[k]);
    }
  }
  for (auto& [target, value] : assigned) set(target, value, given);
  for (auto& [target, value] : resized) replaceMemory(*own(target), unshared(value, given, *level_));
  stack.resize(num_fresh);
  fresh = wrapResults(std::move(stack), given);
  return true;
}

void CallThatWrites::set(const at::Tensor& target, at::Tensor value, const std::vector<IValue>& given) const {
  if (const Wrapper* wrapper = own(target)) {
    assign(wrapper->part(), unshared(std::move(value), given, *level_));
  } else {
    const Emission emission(*level_);
    at::Tensor written = target;
    at::_ops::copy_::call(written, value, false);
  }
}

std::vector<IValue> CallThatWrites::writeCopies(const FunctionalForm& writes) {
  const bool recorded = isRecordedInside();
  std::vector<IValue> given = values();
  const OnTape on_tape(*this, given, recorded);
  std::vector<IValue> stack = given;
  struct Copy {
    at::Tensor target, value;
    bool is_out;  // beside it others may be written that are read, too
  };
  std::vector<Copy> copies;
  for (const size_t argument : writes.written) {
    size_t at = 0;
    const std::vector<at::Tensor> targets = tensorsOf(argument);
    eachTensor(stack[argument], [&](at::Tensor& tensor) {
      const at::Tensor& target = targets[at++];
      if (!own(target)) return false;
      const Emission emission(*level_);
      // A copy of a view has not the strides that the operator goes by.
      tensor = copyWithStrides(tensor, (copiesViews(*level_) ? target : tensor).sym_strides());
      TORCH_CHECK(
          !recorded || !target.requires_grad() || !target.is_leaf(),
          "a leaf Variable that requires grad is being used in an in-place operation.");
      if (recorded) followOnTape(target, tensor);
      copies.push_back({target, tensor, schema_.arguments()[argument].is_out()});
      return true;
    });
  }
  call(op_, stack, recorded);
  for (const auto& [target, value, is_out] : copies) {
    if (value.requires_grad() && !isEntered(value) && (!target.is_view() || !recordWrite(target, value)))
      sharePlace(value, target);
    replaceBy(target, value.requires_grad() ? offTape(value) : value, is_out);
  }
  std::vector<IValue> fresh;
  for (size_t i = 0; i < schema_.returns().size(); ++i)
    if (!schema_.returns()[i].alias_info()) fresh.push_back(stack[i]);
  return wrapResults(std::move(fresh), given);
}

}  // namespace cresset::live
