// Loops for a group whose inputs have given layouts.
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "cresset/codegen/group.h"
#include "cresset/codegen/schedule_values.h"

namespace cresset::codegen {

namespace {

/// Bytes: more would not stay in a cache.
constexpr int64_t kMaxScratch = 1 << 20;

bool usesCount(const Group& group) {
  return std::any_of(group.body.code.begin(), group.body.code.end(), [](const Instruction& instruction) {
    return instruction.opcode == Opcode::Count;
  });
}

int64_t numElements(std::span<const int> dims, const Variables& variables) {
  int64_t count = 1;
  for (const int variable : dims) count *= variables.sizeOf(variable);
  return count;
}

class Scheduler {
 public:
  Scheduler(const Group& group, std::span<const BufferLayout> inputs, std::span<const StridedLayout* const> places)
      : group_(group), inputs_(inputs), places_(places) {}

  std::optional<Schedule> run() {
    if (!findLayouts() || !are_products_small_ || !findLoops()) return std::nullopt;
    packed_.resize(inputs_.size());
    if (auto schedule = makeSchedule()) return schedule;
    // No single loop goes over what is reduced: inputs that have it in another order are copied.
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto& variables = values_[i].variables;
      packed_[i] = !group_.buffers[i].is_source && values_[i].layout != contiguousLayout(values_[i].layout.sizes) &&
                   std::any_of(variables.begin(), variables.end(), [&](int v) { return isReduced(v); });
      if (packed_[i]) values_[i].layout = contiguousLayout(values_[i].layout.sizes);
    }
    return makeSchedule();
  }

  std::optional<std::vector<StridedLayout>> layoutsOfOutputs() {
    if (!findLayouts()) return std::nullopt;
    std::vector<StridedLayout> layouts;
    for (const size_t output : group_.outputs) layouts.push_back(values_[output].layout);
    return layouts;
  }

 private:
  bool findLayouts() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const StridedLayout& layout = inputs_[i].shown ? *inputs_[i].shown : inputs_[i];
      if (layout.sizes.size() != group_.ranks[i]) return false;  // reductions name dimensions
      ScheduledValue& value = values_.emplace_back(ScheduledValue{layout, {}});
      for (const int64_t size : layout.sizes) {
        if (size == 0) return false;
        // Loops go along the dimensions of a source as its reads say.
        value.variables.push_back(size == 1 || group_.buffers[i].is_source ? kNone : variables_.add(size));
      }
    }
    for (const Group::Step& step : group_.steps) {
      if (!(step.read ? addRead(*step.read, step.result) : step.contraction ? addContraction(step) : addStep(step)))
        return false;
    }
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].shown) values_[i].layout = inputs_[i];  // which loops go over
    }
    return true;
  }

  bool addStep(const Group::Step& step) {
    auto layout = layoutOfStep(step, values_);
    if (!layout) return false;
    if (step.whole && layout->sizes != values_[step.operands[*step.whole]].layout.sizes) return false;
    ScheduledValue result{std::move(*layout), {}};
    const size_t rank = result.layout.sizes.size();
    result.variables.assign(rank, kNone);
    for (size_t i = 0; i < step.operands.size(); ++i) {
      const std::vector<int>& own = values_[step.operands[i]].variables;
      const std::vector<size_t>& dims = step.dims[i];
      for (size_t d = 0; d < own.size(); ++d) {
        const size_t dim = dims.empty() ? rank - own.size() + d : dims[d];
        if (!dims.empty() && values_[step.operands[i]].layout.sizes[d] != result.layout.sizes[dim]) return false;
        variables_.unite(result.variables[dim], own[d]);
      }
    }
    if (step.reduction && !reduce(*step.reduction, step.is_reduced, result)) return false;
    values_.push_back(std::move(result));
    return true;
  }

  bool addRead(const IndexedRead& read, const ResultRule& rule) {
    if (read.added) return addAddition(read, rule);
    switch (read.form) {
      case IndexRule::Form::At:
        return addReadAt(read);
      case IndexRule::Form::Along:
        return addReadAlong(read);
      case IndexRule::Form::Flat:
        return addReadFlat(read);
      case IndexRule::Form::Each:
        return addReadEach(read);
      case IndexRule::Form::Bags:
        return addReadBags(read);
    }
    return false;
  }

  /// Loops go over what is added; along the dimension that is indexed the result does not step.
  bool addAddition(const IndexedRead& read, const ResultRule& rule) {
    const StridedLayout& target = values_[read.source].layout;
    ScheduledValue& added = values_[*read.added];
    const auto index = std::ranges::find_if(read.indices, [](const auto& each) { return each.has_value(); });
    const auto dim = static_cast<size_t>(index - read.indices.begin());
    const bool is_along = read.form == IndexRule::Form::Along;
    if (!uniteAdded(added, values_[**index], target.sizes, dim, is_along, variables_)) return false;
    const auto layout = layoutOfResult(std::vector{target}, rule);
    if (!layout) return false;
    ScheduledValue result{*layout, added.variables};
    result.variables[dim] = kNone;
    values_.push_back(std::move(result));
    return true;
  }

  bool addReadAt(const IndexedRead& read) {
    const ScheduledValue& index = values_[*read.indices.back()];
    ScheduledValue result = resultOfRead(read, values_[read.source], index, read.indices.size() - 1, variables_);
    result.layout = contiguousLayout(std::move(result.layout.sizes));
    values_.push_back(std::move(result));
    return true;
  }

  bool addReadAlong(const IndexedRead& read) {
    ScheduledValue& source = values_[read.source];
    const ScheduledValue index = values_[*read.indices.back()];
    for (size_t d = 0; d < source.variables.size(); ++d) {
      if (d + 1 == read.indices.size()) continue;
      if (index.layout.sizes[d] > source.layout.sizes[d]) return false;
      source.variables[d] = index.variables[d];
    }
    values_.push_back({contiguousLayout(index.layout.sizes), index.variables});
    return true;
  }

  bool addReadFlat(const IndexedRead& read) {
    const ScheduledValue index = values_[*read.indices[0]];
    if (!strideOfVector(values_[read.source].layout)) return false;
    values_.push_back({contiguousLayout(index.layout.sizes), index.variables});
    return true;
  }

  /// Whether nothing else is summed, nor the rows that are.
  bool areBagsApart() const {
    const auto isSummed = [&](size_t buffer) {
      const std::vector<int>& variables = values_[buffer].variables;
      return std::any_of(variables.begin(), variables.end(), [&](int v) { return isReduced(v); });
    };
    return reduced_.size() == 1 && !isSummed(bags_->source) && !isSummed(bags_->offsets);
  }

  bool addReadBags(const IndexedRead& read) {
    ScheduledValue &source = values_[read.source], &offsets = values_[read.offsets], &index = values_[*read.indices[0]];
    const int64_t num_bags = offsets.layout.sizes[0] - (read.has_end ? 1 : 0), columns = source.layout.sizes[1];
    // Of many elements ATen's own kernels are faster.
    constexpr int64_t kFew = 16384;
    if (index.layout.sizes[0] * columns > kFew) return false;
    if (num_bags <= 0 || (num_bags > 1 && offsets.layout.strides[0] == 0)) return false;
    if (index.variables[0] == kNone) index.variables[0] = variables_.add(1);
    if (num_bags > 1) offsets.variables[0] = variables_.add(num_bags);
    if (columns > 1) source.variables[1] = variables_.add(columns);
    if (read.weights) {
      const ScheduledValue& weights = values_[*read.weights];
      if (weights.layout.sizes != index.layout.sizes) return false;
      variables_.unite(index.variables[0], weights.variables[0]);
    }
    bags_ = Bags{read.source, read.offsets, num_bags};
    reductions_.push_back({index.variables[0]});
    values_.push_back({contiguousLayout({num_bags, columns}), {offsets.variables[0], source.variables[1]}});
    return true;
  }

  /// As at::index: what its TensorIterator is given are the source, as if it were broadcast along what is indexed, and
  /// the indices with dimensions of one element for the others.
  bool addReadEach(const IndexedRead& read) {
    std::vector<StridedLayout> indices;
    std::vector<const StridedLayout*> operands;
    for (const auto& index : read.indices) {
      if (index) operands.push_back(&values_[*index].layout);
    }
    const auto sizes = broadcastSizes(operands);
    if (!sizes) return false;
    std::vector<int> variables(sizes->size(), kNone);
    size_t first = read.indices.size(), last = 0, count = 0;  // of dimensions that are indexed
    for (size_t d = 0; d < read.indices.size(); ++d) {
      if (!read.indices[d]) continue;
      const ScheduledValue& index = values_[*read.indices[d]];
      if (!broadcastTo(index, *sizes, variables, variables_)) return false;
      const bool is_expanded = operands.size() > 1 && index.layout.sizes != *sizes;
      indices.push_back(is_expanded ? StridedLayout{*sizes, broadcastStrides(index.layout, *sizes)} : index.layout);
      // Eager converts other integers to int64 then, which gives them other strides.
      if (group_.dtypes[*read.indices[d]] != at::kLong && !isNonOverlappingAndDense(indices.back())) return false;
      first = std::min(first, d), last = d, ++count;
    }
    const bool is_together = last + 1 - first == count;
    ScheduledValue result =
        resultOfRead(read, values_[read.source], {{*sizes, {}}, variables}, is_together ? first : 0, variables_);
    auto layout = layoutOfIndexed(result.layout, is_together ? first : 0, sizes->size(), indices);
    if (!layout) return false;
    result.layout = std::move(*layout);
    values_.push_back(std::move(result));
    return true;
  }

  bool addContraction(const Group::Step& step) {
    Indices indices;
    const std::string summed = step.contraction->summed();
    size_t leading = 0;
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (step.letters[i].empty()) continue;
      ScheduledValue& operand = values_[step.operands[i]];
      const size_t rank = operand.layout.sizes.size();
      const std::string letters = expand(step.letters[i], rank);
      if (letters.size() != rank) return false;
      if (step.letters[i].starts_with('*')) leading = rank + 1 - step.letters[i].size();
      for (size_t d = 0; d < rank; ++d) {
        const auto [size, is_new] = indices.sizes.emplace(letters[d], operand.layout.sizes[d]);
        if (!is_new && size->second != operand.layout.sizes[d]) return false;
        // What is summed over has a variable, even of one element.
        if (letters[d] == summed.back() && operand.variables[d] == kNone) operand.variables[d] = variables_.add(1);
        variables_.unite(indices.variables.try_emplace(letters[d], kNone).first->second, operand.variables[d]);
      }
    }
    for (const char letter : summed) {  // there is one channel for each group
      if (step.contraction->is_for_groups && letter == 'c' && indices.sizes.at(letter) != 1) return false;
    }
    if (!isSmall(indices, *step.contraction) ||
        (!step.contraction->windowed.empty() && !hasFewWindows(indices, *step.contraction)))
      are_products_small_ = false;
    ScheduledValue result;
    Sizes sizes;
    const size_t rank = step.contraction->result.size() + leading - (step.contraction->result.starts_with('*') ? 1 : 0);
    for (const char letter : expand(step.contraction->result, rank)) {
      sizes.push_back(indices.sizes.at(letter));
      result.variables.push_back(indices.variables.at(letter));
    }
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (step.letters[i].empty() && !broadcastTo(values_[step.operands[i]], sizes, result.variables, variables_))
        return false;
    }
    const size_t windows = step.operands[0];
    const bool is_channels_last = windows < inputs_.size() && inputs_[windows].makes_channels_last;
    result.layout = is_channels_last ? channelsLastLayout(std::move(sizes), group_.buffers[windows].windows->numDims())
                                     : contiguousLayout(std::move(sizes));
    std::vector<int>& reduced = reductions_.emplace_back();
    for (const char letter : summed) {
      if (indices.variables.at(letter) != kNone) reduced.push_back(indices.variables.at(letter));
    }
    values_.push_back(std::move(result));
    return true;
  }

  /// All reductions go over the same variables, in the same order.
  bool reduce(const Reduction& reduction, bool is_reduced, ScheduledValue& value) {
    std::vector<int> reduced;
    for (const size_t dim : reduction.dims) {
      if (value.variables[dim] != kNone) reduced.push_back(value.variables[dim]);
    }
    reductions_.push_back(std::move(reduced));
    sources_.push_back(value.variables);
    if (!is_reduced) return true;
    Sizes sizes;
    std::vector<int> variables;
    for (size_t d = 0; d < value.variables.size(); ++d) {
      const bool goes = std::find(reduction.dims.begin(), reduction.dims.end(), d) != reduction.dims.end();
      if (goes && !reduction.keeps_dims) continue;
      sizes.push_back(goes ? 1 : value.layout.sizes[d]);
      variables.push_back(goes ? kNone : value.variables[d]);
    }
    value = {contiguousLayout(std::move(sizes)), std::move(variables)};
    return true;
  }

  /// Divides the variables into those that are reduced and the others.
  bool findLoops() {
    if (!group_.contracts)
      uniteReductions(reductions_, values_, group_.outputs[0], /*alone=*/bags_.has_value(), variables_);
    const auto toRoots = [&](std::vector<int>& variables) {
      for (int& variable : variables) variable = variable == kNone ? kNone : variables_.rootOf(variable);
    };
    for (std::vector<int>& reduction : reductions_) toRoots(reduction);
    for (std::vector<int>& source : sources_) toRoots(source);
    for (ScheduledValue& value : values_) {
      toRoots(value.variables);
      std::vector<int> sorted = value.variables;
      std::erase(sorted, kNone);
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;  // a diagonal
    }
    // Reductions go over the same variables, in the same order, or are products, each over its own.
    for (const std::vector<int>& reduction : reductions_) {
      if (std::find(reduced_.begin(), reduced_.end(), reduction) != reduced_.end()) continue;
      if (!reduced_.empty() && !group_.contracts) return false;
      if (std::any_of(reduction.begin(), reduction.end(), [&](int variable) { return isReduced(variable); }))
        return false;
      reduced_.push_back(reduction);
    }
    if (group_.contracts && reduced_.size() > 1 && usesCount(group_)) return false;
    if (bags_ && !areBagsApart()) return false;
    for (const int root : variables_.roots()) {
      if (!isReduced(root)) outer_.push_back(root);
    }
    // Products and sums of rows are computed for each element by nature.
    for (size_t i = 0; i < reductions_.size() && !group_.contracts && !bags_; ++i) {
      if (isRepeated(reductions_[i], sources_[i], outer_, variables_)) return false;
    }
    if (group_.scans_slowly && numElements(outer_, variables_) < kFewScans) return false;
    for (const ScheduledValue& value : values_) {
      size_t num_reduced = 0;  // a value has elements of one reduction only
      for (const std::vector<int>& together : reduced_) {
        num_reduced +=
            std::any_of(together.begin(), together.end(), [&](int v) { return isIn(value.variables, v); }) ? 1 : 0;
      }
      if (num_reduced > 1) return false;
    }
    // What is stored is stored once per iteration of the loops.
    for (const size_t output : group_.outputs) {
      const std::vector<int>& own = written(output).variables;
      const auto has = [&](int variable) { return isIn(own, variable); };
      if (!std::all_of(outer_.begin(), outer_.end(), has)) return false;
      for (const std::vector<int>& together : reduced_) {
        if (std::any_of(together.begin(), together.end(), has) && !std::all_of(together.begin(), together.end(), has))
          return false;
      }
    }
    return true;
  }

  /// What an iteration writes of a result: an element of it, or one that is added to it.
  const ScheduledValue& written(size_t value) const {
    const Group::Step& step = group_.steps[value - inputs_.size()];
    return values_[step.read && step.read->added ? *step.read->added : value];
  }

  bool isReduced(int variable) const {
    return std::any_of(
        reduced_.begin(), reduced_.end(), [&](const auto& together) { return isIn(together, variable); });
  }

  std::optional<Schedule> makeSchedule() {
    std::vector<const ScheduledValue*> buffers;
    for (size_t i = 0; i < inputs_.size(); ++i) buffers.push_back(&values_[i]);
    for (size_t i = 0; i < group_.outputs.size(); ++i) {
      ScheduledValue& value = values_[group_.outputs[i]];
      if (i < places_.size() && places_[i]) value.layout = *places_[i];
      buffers.push_back(&value);
    }
    std::vector<at::ScalarType> dtypes = group_.body.inputs;
    dtypes.insert(dtypes.end(), group_.body.outputs.begin(), group_.body.outputs.end());
    const auto dimOf = [&](int variable) {
      LoopDim dim{variables_.sizeOf(variable), {}};
      for (size_t i = 0; i < buffers.size(); ++i) {
        const auto& own = buffers[i]->variables;
        const auto found = std::find(own.begin(), own.end(), variable);
        const int64_t stride =
            found == own.end() ? 0 : buffers[i]->layout.strides[static_cast<size_t>(found - own.begin())];
        dim.strides.push_back(stride * static_cast<int64_t>(c10::elementSize(dtypes[i])));
      }
      return dim;
    };
    std::vector<LoopDim> outer;
    std::vector<ReducedDims> reduced;
    // Loops follow the memory of what is written of the first result.
    const ScheduledValue& followed = written(group_.outputs[0]);
    std::ranges::stable_sort(outer_, std::greater(), [&](int variable) {
      const auto found = std::find(followed.variables.begin(), followed.variables.end(), variable);
      return found == followed.variables.end()
                 ? 0
                 : followed.layout.strides[static_cast<size_t>(found - followed.variables.begin())];
    });
    for (const int variable : outer_) outer.push_back(dimOf(variable));
    for (const std::vector<int>& together : reduced_) {
      ReducedDims& dims = reduced.emplace_back();
      for (const int variable : together) dims.push_back(dimOf(variable));
    }
    if (group_.reduces && reduced.empty()) reduced.emplace_back();
    auto nest = makeLoopNest(
        outer, reduced, group_.contracts, dtypes, inputs_.size(), bags_ ? std::optional(bags_->offsets) : std::nullopt,
        group_.scans);
    if (!nest) return std::nullopt;
    if (bags_) nest->sizes.back() = std::max<int64_t>(1, nest->sizes.back() / bags_->num_bags);
    Schedule schedule;
    schedule.packed = packed_;
    schedule.numbers = numbersOfReads(group_, values_);
    for (const size_t output : group_.outputs) schedule.outputs.push_back(values_[output].layout);
    schedule.nest = std::move(*nest);
    schedule.kernel = makeKernel(group_.body, schedule.nest, /*keeps=*/schedule.nest.num_reduced == 1);
    int64_t scratch = 0;
    for (const Buffer& buffer : schedule.kernel.scratch)
      scratch += scratchSize(schedule.kernel, buffer, schedule.nest.sizes.back());
    if (scratch > kMaxScratch) schedule.kernel = makeKernel(group_.body, schedule.nest, /*keeps=*/false);
    return schedule;
  }

  const Group& group_;
  const std::span<const BufferLayout> inputs_;
  const std::span<const StridedLayout* const> places_;  // of outputs; may be null
  Variables variables_;
  std::vector<ScheduledValue> values_;
  std::vector<std::vector<int>> reductions_;
  std::vector<std::vector<int>> sources_;  // the variables of what each of them reduces
  std::vector<std::vector<int>> reduced_;  // what is reduced together: the variables' roots
  std::vector<int> outer_;                 // the others
  std::vector<bool> packed_;
  bool are_products_small_ = true;
  struct Bags {
    size_t source, offsets;  // buffers
    int64_t num_bags;
  };
  std::optional<Bags> bags_;
};

}  // namespace

std::optional<std::vector<StridedLayout>> layoutsOfOutputs(const Group& group, std::span<const BufferLayout> inputs) {
  return Scheduler(group, inputs, {}).layoutsOfOutputs();
}

std::optional<Schedule> scheduleGroup(
    const Group& group, std::span<const BufferLayout> inputs, std::span<const StridedLayout* const> places) {
  return Scheduler(group, inputs, places).run();
}

}  // namespace cresset::codegen
