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
  Scheduler(const Group& group, std::span<const BufferLayout> inputs, std::span<const StridedLayout* const> places)
      : group_(group), inputs_(inputs), places_(places) {}

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
      if (!(step.contraction ? addContraction(step) : addStep(step))) return std::nullopt;
    }
    if (!findLoops()) return std::nullopt;
    packed_.resize(inputs_.size());
    if (auto schedule = makeSchedule()) return schedule;
    // No single loop goes over what is reduced: inputs that have it in another order are copied.
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto& variables = values_[i].variables;
      packed_[i] = std::any_of(variables.begin(), variables.end(), [&](int v) { return isReduced(v); });
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

  /// Sizes and variables of a product's indices. Those of leading dimensions are digits.
  struct Indices {
    std::map<char, int64_t> sizes;
    std::map<char, int> variables;
  };

  /// The letters with the star written out, for an operand or result of this rank.
  static std::string expand(const std::string& letters, size_t rank) {
    if (!letters.starts_with('*')) return letters;
    std::string all;
    for (size_t d = 0; d + letters.size() < rank + 1; ++d) all += static_cast<char>('0' + d);
    return all + letters.substr(1);
  }

  bool addContraction(const Group::Step& step) {
    Indices indices;
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
        if (letters[d] == 'k' && operand.variables[d] == kNone) operand.variables[d] = variables_.add(1);
        unite(indices.variables.try_emplace(letters[d], kNone).first->second, operand.variables[d]);
      }
    }
    if (!isSmall(indices)) return false;
    ScheduledValue result;
    Sizes sizes;
    const size_t rank = step.contraction->result.size() + leading - (step.contraction->result.starts_with('*') ? 1 : 0);
    for (const char letter : expand(step.contraction->result, rank)) {
      sizes.push_back(indices.sizes.at(letter));
      result.variables.push_back(indices.variables.at(letter));
    }
    for (size_t i = 0; i < step.operands.size(); ++i) {
      if (step.letters[i].empty() && !broadcastTo(values_[step.operands[i]], sizes, result.variables)) return false;
    }
    result.layout = contiguousLayout(std::move(sizes));
    reductions_.push_back({indices.variables.at('k')});
    values_.push_back(std::move(result));
    return true;
  }

  /// Whether the product is one that kernels compute: a few rows or columns, or so few terms that calling a library
  /// takes as long as computing them. All others are left to ATen.
  static bool isSmall(const Indices& indices) {
    constexpr int64_t kFew = 4, kFewTerms = 1 << 17;
    int64_t rows = 1, columns = 1, length = 1;
    for (const auto& [letter, size] : indices.sizes) {
      if (letter == 'm' || (letter >= '0' && letter <= '9')) rows *= size;
      if (letter == 'n') columns *= size;
      if (letter == 'k') length *= size;
    }
    return std::min(rows, columns) <= kFew || rows * columns * length <= kFewTerms;
  }

  /// False if the operand can't be broadcast to the sizes.
  bool broadcastTo(const ScheduledValue& operand, const Sizes& sizes, std::vector<int>& variables) {
    const size_t rank = operand.layout.sizes.size();
    if (rank > sizes.size()) return false;
    const size_t missing = sizes.size() - rank;
    for (size_t d = 0; d < rank; ++d) {
      const int64_t size = operand.layout.sizes[d];
      if (size != 1 && size != sizes[missing + d]) return false;
      if (size != 1) unite(variables[missing + d], operand.variables[d]);
    }
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

  /// Reductions of as many elements go over them together, though no operator broadcasts one's to the other's.
  void uniteReductions() {
    for (size_t i = 1; i < reductions_.size() && !group_.contracts; ++i) {
      const auto haveOneSize = [&](int a, int b) { return variables_.sizeOf(a) == variables_.sizeOf(b); };
      if (!std::ranges::equal(reductions_[0], reductions_[i], haveOneSize)) continue;
      for (size_t k = 0; k < reductions_[0].size(); ++k) variables_.unite(reductions_[0][k], reductions_[i][k]);
    }
  }

  /// Divides the variables into those that are reduced and the others.
  bool findLoops() {
    uniteReductions();
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
    // Reductions go over the same variables, in the same order, or are products, each over its own.
    for (const std::vector<int>& reduction : reductions_) {
      if (std::find(reduced_.begin(), reduced_.end(), reduction) != reduced_.end()) continue;
      if (!reduced_.empty() && !group_.contracts) return false;
      if (std::any_of(reduction.begin(), reduction.end(), [&](int variable) { return isReduced(variable); }))
        return false;
      reduced_.push_back(reduction);
    }
    if (group_.contracts && reduced_.size() > 1 && usesCount()) return false;
    for (const int root : variables_.roots()) {
      if (!isReduced(root)) outer_.push_back(root);
    }
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
      const std::vector<int>& own = values_[output].variables;
      const auto has = [&](int variable) { return isIn(own, variable); };
      if (!std::all_of(outer_.begin(), outer_.end(), has)) return false;
      for (const std::vector<int>& together : reduced_) {
        if (std::any_of(together.begin(), together.end(), has) && !std::all_of(together.begin(), together.end(), has))
          return false;
      }
    }
    return true;
  }

  bool isReduced(int variable) const {
    return std::any_of(
        reduced_.begin(), reduced_.end(), [&](const auto& together) { return isIn(together, variable); });
  }

  bool usesCount() const {
    return std::any_of(group_.body.code.begin(), group_.body.code.end(), [](const Instruction& instruction) {
      return instruction.opcode == Opcode::Count;
    });
  }

  static bool isIn(const std::vector<int>& variables, int variable) {
    return std::find(variables.begin(), variables.end(), variable) != variables.end();
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
    for (const int variable : outer_) outer.push_back(dimOf(variable));
    for (const std::vector<int>& together : reduced_) {
      ReducedDims& dims = reduced.emplace_back();
      for (const int variable : together) dims.push_back(dimOf(variable));
    }
    if (group_.reduces && reduced.empty()) reduced.emplace_back();
    // Loops follow the memory of the first result.
    const size_t first = inputs_.size();
    std::stable_sort(outer.begin(), outer.end(), [&](const LoopDim& a, const LoopDim& b) {
      return a.strides[first] > b.strides[first];
    });
    auto nest = makeLoopNest(outer, reduced, group_.contracts, dtypes);
    if (!nest) return std::nullopt;
    Schedule schedule;
    schedule.packed = packed_;
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
  std::vector<std::vector<int>> reduced_;  // what is reduced together: the variables' roots
  std::vector<int> outer_;                 // the others
  std::vector<bool> packed_;
};

}  // namespace

std::optional<Schedule> scheduleGroup(
    const Group& group, std::span<const BufferLayout> inputs, std::span<const StridedLayout* const> places) {
  return Scheduler(group, inputs, places).run();
}

}  // namespace cresset::codegen
