// Loops for a group whose inputs have given layouts.
#include <algorithm>
#include <map>
#include <numeric>

#include "cresset/codegen/group.h"

namespace cresset::codegen {

namespace {

/// Of one element along a dimension, nothing varies.
constexpr int kNone = -1;

/// Bytes: more would not stay in a cache.
constexpr int64_t kMaxScratch = 1 << 20;

/// Dimensions of values that go together have one variable: those that operators broadcast to each other.
class Variables {
 public:
  int add(int64_t size) {
    parents_.push_back(static_cast<int>(parents_.size()));
    sizes_.push_back(size);
    return parents_.back();
  }

  int rootOf(int variable) const {
    while (parents_[variable] != variable) variable = parents_[variable];
    return variable;
  }

  void unite(int a, int b) { parents_[rootOf(a)] = rootOf(b); }

  int64_t sizeOf(int variable) const { return sizes_[variable]; }

  std::vector<int> roots() const {
    std::vector<int> found;
    for (int i = 0; i < static_cast<int>(parents_.size()); ++i) {
      if (parents_[i] == i) found.push_back(i);
    }
    return found;
  }

 private:
  std::vector<int> parents_;
  std::vector<int64_t> sizes_;
};

struct ScheduledValue {
  StridedLayout layout;
  std::vector<int> variables;  // per dimension
};

class Scheduler {
 public:
  Scheduler(const Group& group, std::span<const BufferLayout> inputs) : group_(group), inputs_(inputs) {}

  std::optional<Schedule> run() {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const StridedLayout& layout = inputs_[i];
      if (layout.sizes.size() != group_.ranks[i]) return std::nullopt;  // reductions name dimensions
      ScheduledValue& value = values_.emplace_back(ScheduledValue{layout, {}});
      for (const int64_t size : layout.sizes) {
        if (size == 0) return std::nullopt;
        value.variables.push_back(size == 1 ? kNone : variables_.add(size));
      }
    }
    for (const Group::Step& step : group_.steps) {
      if (!addStep(step)) return std::nullopt;
    }
    if (!findLoops()) return std::nullopt;
    packed_.resize(inputs_.size());
    if (auto schedule = makeSchedule()) return schedule;
    // No single loop goes over what is reduced: inputs that have it in another order are copied.
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto& variables = values_[i].variables;
      packed_[i] = std::any_of(variables.begin(), variables.end(), [&](int v) { return isIn(reduced_, v); });
      if (packed_[i]) values_[i].layout = contiguousLayout(values_[i].layout.sizes);
    }
    return makeSchedule();
  }

 private:
  bool addStep(const Group::Step& step) {
    static const StridedLayout kNumber;
    std::vector<const StridedLayout*> operands;
    for (const size_t operand : step.operands) operands.push_back(&values_[operand].layout);
    if (step.has_number) operands.push_back(&kNumber);
    auto layout = layoutOfResult(operands);
    if (!layout) return false;
    if (step.makes_contiguous) layout = contiguousLayout(layout->sizes);
    ScheduledValue result{std::move(*layout), {}};
    const size_t rank = result.layout.sizes.size();
    result.variables.assign(rank, kNone);
    for (const size_t operand : step.operands) {
      const std::vector<int>& own = values_[operand].variables;
      for (size_t d = 0; d < own.size(); ++d) unite(result.variables[rank - own.size() + d], own[d]);
    }
    if (step.reduction && !reduce(*step.reduction, step.is_reduced, result)) return false;
    values_.push_back(std::move(result));
    return true;
  }

  void unite(int& variable, int other) {
    if (other == kNone) return;
    if (variable == kNone) {
      variable = other;
    } else {
      variables_.unite(variable, other);
    }
  }

  /// All reductions go over the same variables, in the same order.
  bool reduce(const Reduction& reduction, bool is_reduced, ScheduledValue& value) {
    std::vector<int> reduced;
    for (const size_t dim : reduction.dims) {
      if (value.variables[dim] != kNone) reduced.push_back(value.variables[dim]);
    }
    reductions_.push_back(std::move(reduced));
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
    const auto toRoots = [&](std::vector<int>& variables) {
      for (int& variable : variables) variable = variable == kNone ? kNone : variables_.rootOf(variable);
    };
    for (std::vector<int>& reduction : reductions_) toRoots(reduction);
    for (ScheduledValue& value : values_) {
      toRoots(value.variables);
      std::vector<int> sorted = value.variables;
      std::erase(sorted, kNone);
      std::sort(sorted.begin(), sorted.end());
      if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return false;  // a diagonal
    }
    if (!reductions_.empty()) reduced_ = reductions_[0];
    for (const std::vector<int>& reduction : reductions_) {
      if (reduction != reduced_) return false;
    }
    for (const int root : variables_.roots()) {
      if (!isIn(reduced_, root)) outer_.push_back(root);
    }
    // What is stored is stored once per iteration of the loops.
    for (const size_t output : group_.outputs) {
      const std::vector<int>& own = values_[output].variables;
      const auto has = [&](int variable) { return isIn(own, variable); };
      if (!std::all_of(outer_.begin(), outer_.end(), has)) return false;
      if (std::any_of(reduced_.begin(), reduced_.end(), has) && !std::all_of(reduced_.begin(), reduced_.end(), has))
        return false;
    }
    return true;
  }

  static bool isIn(const std::vector<int>& variables, int variable) {
    return std::find(variables.begin(), variables.end(), variable) != variables.end();
  }

  std::optional<Schedule> makeSchedule() {
    std::vector<const ScheduledValue*> buffers;
    for (size_t i = 0; i < inputs_.size(); ++i) buffers.push_back(&values_[i]);
    for (const size_t output : group_.outputs) buffers.push_back(&values_[output]);
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
    std::vector<LoopDim> outer, reduced;
    for (const int variable : outer_) outer.push_back(dimOf(variable));
    for (const int variable : reduced_) reduced.push_back(dimOf(variable));
    // Loops follow the memory of the first result.
    const size_t first = inputs_.size();
    std::stable_sort(outer.begin(), outer.end(), [&](const LoopDim& a, const LoopDim& b) {
      return a.strides[first] > b.strides[first];
    });
    auto nest = makeLoopNest(outer, group_.reduces ? std::optional(std::move(reduced)) : std::nullopt, dtypes);
    if (!nest) return std::nullopt;
    Schedule schedule;
    schedule.packed = packed_;
    for (const size_t output : group_.outputs) schedule.outputs.push_back(values_[output].layout);
    schedule.nest = std::move(*nest);
    schedule.kernel = makeKernel(group_.body, schedule.nest, /*keeps=*/true);
    int64_t scratch = 0;
    for (const Buffer& buffer : schedule.kernel.scratch)
      scratch += scratchSize(schedule.kernel, buffer, schedule.nest.sizes.back());
    if (scratch > kMaxScratch) schedule.kernel = makeKernel(group_.body, schedule.nest, /*keeps=*/false);
    return schedule;
  }

  const Group& group_;
  const std::span<const BufferLayout> inputs_;
  Variables variables_;
  std::vector<ScheduledValue> values_;
  std::vector<std::vector<int>> reductions_;
  std::vector<int> reduced_, outer_;  // the variables' roots
  std::vector<bool> packed_;
};

}  // namespace

std::optional<Schedule> scheduleGroup(const Group& group, std::span<const BufferLayout> inputs) {
  return Scheduler(group, inputs).run();
}

}  // namespace cresset::codegen
