#include "cresset/codegen/sequence.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "cresset/codegen/kernel_builder.h"
#include "cresset/codegen/operator_check.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/subgraph.h"
#include "cresset/ops/operator.h"
#include "cresset/support/options.h"

namespace cresset::codegen {

namespace {

/// The dtype of a tensor; of anything else any: it is not used.
at::ScalarType dtypeOrAny(const Value& value) {
  const auto* type = value.type()->castRaw<c10::TensorType>();
  return type ? type->scalarType().value_or(at::kFloat) : at::kFloat;
}

/// A tensor of the layout, with any elements. (Operators on tensors of the device "meta" are Python functions, whose
/// errors are others.)
at::Tensor emptyTensor(const StridedLayout& layout, at::ScalarType dtype) {
  return at::detail::empty_strided_cpu(layout.sizes, layout.strides, dtype);
}

class SequenceScheduler {
 public:
  SequenceScheduler(const Sequence& sequence, std::span<const at::Tensor> tensors)
      : sequence_(sequence), tensors_(tensors) {}

  SequenceSchedule run() {
    const at::NoGradGuard no_grad;
    // Once sizes are known: what is only joined is computed where it is joined.
    if (schedule() && findParts()) schedule();
    return std::move(result_);
  }

 private:
  struct Located {
    at::Tensor tensor;  // with the layout; of what is computed without the elements
    Place place;
  };

  bool schedule() {
    result_ = {};
    result_.outputs.resize(sequence_.outputs.size());
    values_.assign(sequence_.dtypes.size(), {});
    std::vector<size_t> refused;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].numel() == 0) return false;
      values_[sequence_.tensors[i]] = {tensors_[i], {Place::Memory::Input, i, 0}};
    }
    for (size_t i = 0; i < sequence_.items.size(); ++i) {
      const Sequence::Item& item = sequence_.items[i];
      const auto* group = std::get_if<Group>(&item.work);
      const size_t first_call = result_.calls.size();
      if (group ? addGroup(item, *group) : addJoin(item, std::get<JoinCall>(item.work))) {
        for (size_t call = first_call; call < result_.calls.size(); ++call) result_.calls[call].item = i;
        continue;
      }
      refused.push_back(i);
      if (!group || !values_[item.first_result].tensor.defined()) break;
    }
    if (refused.empty()) return true;
    result_ = {};
    result_.refused = std::move(refused);
    return false;
  }

  /// What a group's operators return, if that is known.
  void addLayouts(const Sequence::Item& item, const Group& group, std::span<const BufferLayout> buffers) {
    const auto layouts = layoutsOfOutputs(group, buffers);
    for (size_t i = 0; layouts && i < layouts->size(); ++i)
      values_[item.first_result + i] = {emptyTensor((*layouts)[i], group.body.outputs[i]), {}};
  }

  /// False if no kernel does it; then its results are known nevertheless, or undefined.
  bool addGroup(const Sequence::Item& item, const Group& group) {
    std::vector<at::Tensor> tensors;
    for (size_t i = 0; i < group.tensors.size(); ++i) {
      tensors.push_back(values_[item.inputs[group.tensors[i]]].tensor);
      if (tensors.back().scalar_type() != group.tensor_dtypes[i]) return false;
    }
    const auto buffers = layoutsOfBuffers(group, tensors);
    if (!buffers) return false;
    std::vector<const StridedLayout*> places;
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      const auto part = parts_.find(item.first_result + i);
      places.push_back(part == parts_.end() ? nullptr : &part->second.layout);
    }
    auto schedule = scheduleGroup(group, *buffers, places);
    if (!schedule || (options::kernels() != KernelMode::Check && isSlower(group, *schedule, *buffers))) {
      addLayouts(item, group, *buffers);
      return false;
    }
    KernelCall call;
    for (size_t i = 0; i < buffers->size(); ++i) {
      const Located& value = values_[item.inputs[group.tensors[group.buffers[i].tensor]]];
      Place place = value.place;
      if (const auto& copied = (*buffers)[i].copied) {
        place.offset += copied->offset;
        const Place to = newTemporary(copied->to, group.body.inputs[i]);
        addCopy(group.body.inputs[i], copied->from, place, copied->to, to);
        place = to;
      }
      place.offset += (*buffers)[i].offset;
      if (const auto& padded = (*buffers)[i].padded) place = addPadded(*padded, group.body.inputs[i], place);
      if (schedule->packed[i]) {
        const StridedLayout packed = contiguousLayout((*buffers)[i].sizes);
        const Place to = newTemporary(packed, group.body.inputs[i]);
        addCopy(group.body.inputs[i], (*buffers)[i], place, packed, to);
        place = to;
      }
      call.buffers.push_back(place);
    }
    for (size_t i = 0; i < group.outputs.size(); ++i) {
      call.buffers.push_back(addResult(item.first_result + i, schedule->outputs[i], group.body.outputs[i]));
      const auto& read = group.steps[group.outputs[i] - buffers->size()].read;
      if (!read || !read->added) continue;  // else the result begins as a copy of what is added to
      addCopy(
          group.body.outputs[i], (*buffers)[read->source], call.buffers[read->source], schedule->outputs[i],
          call.buffers.back());
    }
    for (const size_t number : group.numbers) call.numbers.push_back(item.inputs[number]);
    call.more_numbers = std::move(schedule->numbers);
    call.nest = std::move(schedule->nest);
    call.kernel = std::move(schedule->kernel);
    result_.calls.push_back(std::move(call));
    return true;
  }

  /// Whether the kernel takes longer than the operators one by one. What a group saves is that each operator goes over
  /// its operands; copies of what it would read in another order go over them, too, and far from in order.
  static bool isSlower(const Group& group, const Schedule& schedule, std::span<const BufferLayout> buffers) {
    constexpr int64_t kCopy = 8;  // a copy of an element, in visits of one by an operator
    int64_t copied = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
      if (schedule.packed[i] && !group.buffers[i].windows) copied += c10::multiply_integers(buffers[i].sizes);
    }
    const int64_t visited = c10::multiply_integers(schedule.nest.sizes);
    // Of what lies in memory an operator reads the one element that it chooses.
    const bool reads_all = std::ranges::any_of(group.steps, [&](const Group::Step& step) {
      return step.chooses && step.operands[*step.whole] < buffers.size();
    });
    // In place, operators add to a large tensor without copying it.
    constexpr int64_t kAdd = 16;  // an addition by an operator, in copies of an element
    const bool copies_target = std::ranges::any_of(group.steps, [&](const Group::Step& step) {
      return step.read && step.read->added && step.result.is_first &&
             c10::multiply_integers(buffers[step.read->source].sizes) > kAdd * visited;
    });
    return reads_all || copies_target || kCopy * copied > visited * static_cast<int64_t>(group.steps.size() - 1) ||
           reducesAgainstVectors(group, schedule.nest);
  }

  /// Whether reductions share a kernel that don't belong together: the inputs of one lie along what is reduced, while
  /// vectors go across, as those of another lie. Each operator by itself takes its own way; a kernel is faster where it
  /// saves results between operators, or few elements, of which calling operators takes longer.
  static bool reducesAgainstVectors(const Group& group, const LoopNest& nest) {
    constexpr int64_t kCall = 8192;  // a call of an operator, in visits of an element
    const size_t reduced = nest.sizes.size() - nest.num_reduced;
    if (nest.num_reduced != 1 || nest.vector_dim == reduced) return false;
    const auto liesAlong = [&](const std::vector<bool>& inputs, size_t dim, size_t other) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const auto element = static_cast<int64_t>(c10::elementSize(group.body.inputs[i]));
        if (inputs[i] && isTransposed(nest.strides[i][dim], nest.strides[i][other], element)) return true;
      }
      return false;
    };
    std::vector<std::vector<bool>> sources;  // of each value the inputs that its elements come from
    for (size_t i = 0; i < group.buffers.size(); ++i) sources.emplace_back(group.buffers.size())[i] = true;
    int64_t num_against = 0, num_between = 0;
    bool are_some_across = false;
    for (const Group::Step& step : group.steps) {
      std::vector<bool> own(group.buffers.size());
      for (const size_t operand : step.operands) {
        for (size_t i = 0; i < own.size(); ++i) own[i] = own[i] || sources[operand][i];
      }
      const bool is_across = liesAlong(own, nest.vector_dim, reduced);
      const bool is_along = liesAlong(own, reduced, nest.vector_dim);
      if (step.reduction) {
        num_against += is_along && !is_across;
        are_some_across = are_some_across || is_across;
      } else {
        num_between += is_along || is_across;
      }
      if (step.is_reduced) own.assign(own.size(), false);
      sources.push_back(std::move(own));
    }
    return are_some_across && (num_against - num_between) * c10::multiply_integers(nest.sizes) >
                                  kCall * static_cast<int64_t>(group.steps.size());
  }

  /// Copies a tensor to where there are zeros around it.
  Place addPadded(const PaddedLayout& layout, at::ScalarType dtype, const Place& source) {
    const Place whole = newTemporary(layout.whole, dtype);
    KernelBuilder zero;
    zero.store(0, zero.bits(registerType(dtype), 0));
    const auto bytes = static_cast<int64_t>(c10::elementSize(dtype));
    std::vector<LoopDim> dims;
    for (size_t d = 0; d < layout.whole.sizes.size(); ++d)
      dims.push_back({layout.whole.sizes[d], {layout.whole.strides[d] * bytes}});
    const std::array<at::ScalarType, 1> dtypes = {dtype};
    KernelCall call;
    call.nest = *makeLoopNest(dims, {}, /*contracts=*/false, dtypes);
    call.kernel = makeKernel({{}, {dtype}, {}, zero.code(), {}}, call.nest, /*keeps=*/false);
    call.buffers = {whole};
    result_.calls.push_back(std::move(call));
    Place inner = whole;
    inner.offset += layout.begin * bytes;
    addCopy(dtype, layout.inner, source, {layout.inner.sizes, layout.whole.strides}, inner);
    return whole;
  }

  /// Where a value goes that an item computes.
  Place addResult(size_t value, const StridedLayout& layout, at::ScalarType dtype) {
    Place place;
    const auto output = std::find(sequence_.outputs.begin(), sequence_.outputs.end(), value);
    if (const auto part = parts_.find(value); part != parts_.end()) {
      const Place whole = placeOfJoin(part->second.join);
      place = {whole.memory, whole.index, whole.offset + part->second.offset};
    } else if (output != sequence_.outputs.end()) {
      place = {Place::Memory::Output, static_cast<size_t>(output - sequence_.outputs.begin()), 0};
      result_.outputs[place.index] = layout;
    } else {
      place = newTemporary(layout, dtype);
    }
    values_[value] = {emptyTensor(layout, dtype), place};
    return place;
  }

  Place newTemporary(const StridedLayout& layout, at::ScalarType dtype) {
    result_.temporaries.push_back(
        at::detail::computeStorageNbytes(layout.sizes, layout.strides, c10::elementSize(dtype)));
    return {Place::Memory::Temporary, result_.temporaries.size() - 1, 0};
  }

  /// Before the join itself if a part of it is computed first.
  Place placeOfJoin(size_t value) {
    if (!values_[value].tensor.defined()) {
      const at::Tensor whole = wholes_.at(value);
      addResult(value, layoutOf(whole), whole.scalar_type());
    }
    return values_[value].place;
  }

  bool addJoin(const Sequence::Item& item, const JoinCall& join) {
    const size_t result = item.first_result;
    at::Tensor& whole = wholes_[result];
    if (!whole.defined()) whole = joined(item, join);
    if (!whole.defined() || whole.scalar_type() != sequence_.dtypes[result]) return false;
    const Place place = placeOfJoin(result);
    const int64_t rank = values_[item.inputs[0]].tensor.dim();
    const bool is_stack = whole.dim() != rank;
    const int64_t dim = c10::maybe_wrap_dim(join.arguments[0].toInt(), whole.dim());
    int64_t begin = 0;
    for (const size_t input : item.inputs) {
      const Located& from = values_[input];
      if (from.tensor.dim() != rank || from.tensor.scalar_type() != whole.scalar_type()) return false;
      const int64_t size = is_stack ? 1 : from.tensor.size(dim);
      const at::Tensor part = is_stack ? whole.select(dim, begin) : whole.narrow(dim, begin, size);
      begin += size;
      const int64_t offset = part.storage_offset() * part.itemsize();
      part_of_[input] = {layoutOf(part), result, offset};
      if (parts_.contains(input)) continue;  // it is there already
      Place to = place;
      to.offset += offset;
      addCopy(whole.scalar_type(), layoutOf(from.tensor), from.place, layoutOf(part), to);
    }
    return true;
  }

  /// What the operator returns; an undefined tensor if it raises.
  at::Tensor joined(const Sequence::Item& item, const JoinCall& join) const {
    c10::List<at::Tensor> list;
    for (const size_t input : item.inputs) list.push_back(values_[input].tensor);
    Stack stack = {std::move(list)};
    stack.insert(stack.end(), join.arguments.begin(), join.arguments.end());
    const auto result = resultOf(*join.op, std::move(stack));
    return result ? result->toTensor() : at::Tensor();
  }

  void addCopy(
      at::ScalarType dtype, const StridedLayout& from, const Place& source, const StridedLayout& to,
      const Place& target) {
    KernelBuilder builder;
    builder.store(1, builder.load(0, dtype));
    std::vector<LoopDim> dims;
    const auto bytes = static_cast<int64_t>(c10::elementSize(dtype));
    for (size_t d = 0; d < from.sizes.size(); ++d) {
      if (from.sizes[d] != 1) dims.push_back({from.sizes[d], {from.strides[d] * bytes, to.strides[d] * bytes}});
    }
    std::stable_sort(
        dims.begin(), dims.end(), [](const LoopDim& a, const LoopDim& b) { return a.strides[1] > b.strides[1]; });
    KernelCall call;
    const std::array<at::ScalarType, 2> dtypes = {dtype, dtype};
    call.nest = *makeLoopNest(dims, {}, /*contracts=*/false, dtypes);
    call.kernel = makeKernel({{dtype}, {dtype}, {}, builder.code(), {}}, call.nest, /*keeps=*/false);
    call.buffers = {source, target};
    result_.calls.push_back(std::move(call));
  }

  /// Results of groups that only one join takes, once.
  bool findParts() {
    std::vector<size_t> uses(sequence_.dtypes.size());
    std::vector<bool> is_computed(sequence_.dtypes.size());
    for (const Sequence::Item& item : sequence_.items) {
      for (const size_t input : item.inputs) ++uses[input];
      const auto* group = std::get_if<Group>(&item.work);
      for (size_t i = 0; group && i < group->outputs.size(); ++i) is_computed[item.first_result + i] = true;
    }
    for (const size_t output : sequence_.outputs) ++uses[output];
    for (const auto& [value, part] : part_of_) {
      if (is_computed[value] && uses[value] == 1) parts_[value] = part;
    }
    return !parts_.empty();
  }

  /// Of what is joined: where it lies in the whole.
  struct Part {
    StridedLayout layout;
    size_t join;  // value
    int64_t offset;
  };

  const Sequence& sequence_;
  const std::span<const at::Tensor> tensors_;
  SequenceSchedule result_;
  std::vector<Located> values_;
  std::map<size_t, at::Tensor> wholes_;  // of joins
  std::map<size_t, Part> part_of_;       // of what is joined: where it lies in the last join that takes it
  std::map<size_t, Part> parts_;         // values that are computed where they are joined
};

}  // namespace

bool isJoin(const Node& node) {
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  if (!op || !op->hasTrait(Trait::JoinsTensors)) return false;
  const Node* list = node.input(0)->node();
  if (onlyUserOfList(*list) != &node || list->inputs().empty()) return false;
  const auto isPlain = [](const Value* value) {
    const auto* type = value->type()->castRaw<c10::TensorType>();
    return type && type->scalarType() && isSupported(*type->scalarType()) && type->dim() && type->device() &&
           type->device()->is_cpu() && type->requiresGrad() == std::optional(false);
  };
  const auto tensors = list->inputs();
  const auto inputs = node.inputs();
  return isPlain(node.output()) && std::all_of(tensors.begin(), tensors.end(), isPlain) &&
         std::all_of(
             inputs.begin() + 1, inputs.end(), [](const Value* input) { return knownValue(*input).has_value(); });
}

bool isListOfJoin(const Node& node) {
  const Node* user = onlyUserOfList(node);
  return user && isJoin(*user);
}

Sequence makeSequence(const Graph& subgraph, bool is_group) {
  Sequence sequence;
  std::unordered_map<const Value*, size_t> numbers;
  const auto add = [&](const Value* value) {
    numbers[value] = sequence.dtypes.size();
    sequence.dtypes.push_back(dtypeOrAny(*value));
  };
  const auto addItem = [&](auto work, const auto& inputs, const auto& outputs) {
    Sequence::Item item{std::move(work), {}, sequence.dtypes.size()};
    for (const Value* input : inputs) item.inputs.push_back(numbers.at(input));
    for (const Value* output : outputs) add(output);
    sequence.items.push_back(std::move(item));
  };
  const auto inputs = subgraph.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    add(inputs[i]);
    if (inputs[i]->type()->kind() != c10::TypeKind::TensorType) continue;
    sequence.tensors.push_back(i);
    sequence.tensor_dtypes.push_back(dtypeOrAny(*inputs[i]));
  }
  if (is_group) {
    addItem(makeGroup(subgraph), inputs, subgraph.outputs());
  } else {
    for (const Node* node : subgraph.nodes()) {
      if (isSubgraph(*node)) {
        addItem(makeGroup(*node->g(attr::Subgraph)), node->inputs(), node->outputs());
      } else if (isJoin(*node)) {
        JoinCall join{operatorOf(*node), {}};
        for (size_t i = 1; i < node->inputs().size(); ++i) join.arguments.push_back(*knownValue(*node->input(i)));
        addItem(std::move(join), node->input(0)->node()->inputs(), node->outputs());
      }
    }
  }
  for (const Value* output : subgraph.outputs()) sequence.outputs.push_back(numbers.at(output));
  return sequence;
}

SequenceSchedule scheduleSequence(const Sequence& sequence, std::span<const at::Tensor> tensors) {
  return SequenceScheduler(sequence, tensors).run();
}

}  // namespace cresset::codegen
