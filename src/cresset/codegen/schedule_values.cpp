#include "cresset/codegen/schedule_values.h"

#include <ATen/TensorUtils.h>

#include <algorithm>

namespace cresset::codegen {

std::optional<StridedLayout> layoutOfIndexed(
    const StridedLayout& source, size_t place, size_t num_indexed, const std::vector<StridedLayout>& indices) {
  std::vector<StridedLayout> reshaped;
  for (const StridedLayout& index : indices) {
    Sizes sizes(source.sizes.size(), 1);
    std::copy(index.sizes.begin(), index.sizes.end(), sizes.begin() + static_cast<std::ptrdiff_t>(place));
    const auto strides = at::detail::computeStride(index.sizes, index.strides, at::DimVector(sizes));
    if (!strides || index.sizes.size() != num_indexed) return std::nullopt;
    reshaped.push_back({std::move(sizes), Sizes(strides->begin(), strides->end())});
  }
  std::vector<const StridedLayout*> operands = {&source};
  for (const StridedLayout& index : reshaped) operands.push_back(&index);
  return layoutOfResult(operands);
}

std::optional<StridedLayout> layoutOfStep(const Group::Step& step, const std::vector<ScheduledValue>& values) {
  std::vector<StridedLayout> layouts;
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const StridedLayout& own = values[step.operands[i]].layout;
    if (i > 0 && !step.dims[i].empty()) continue;
    layouts.push_back(step.is_converted[i] ? layoutOfLike(own) : own);
  }
  return layoutOfResult(layouts, step.result);
}

std::optional<int64_t> strideOfVector(const StridedLayout& layout) {
  std::optional<int64_t> stride;
  int64_t expected = 1;
  for (size_t d = layout.sizes.size(); d-- > 0;) {
    if (layout.sizes[d] == 1) continue;
    if (stride && layout.strides[d] != expected) return std::nullopt;
    if (!stride) stride = layout.strides[d];
    expected = layout.strides[d] * layout.sizes[d];
  }
  return stride.value_or(1);
}

bool broadcastTo(const ScheduledValue& operand, const Sizes& sizes, std::vector<int>& variables, Variables& all) {
  const size_t rank = operand.layout.sizes.size();
  if (rank > sizes.size()) return false;
  const size_t missing = sizes.size() - rank;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t size = operand.layout.sizes[d];
    if (size != 1 && size != sizes[missing + d]) return false;
    if (size != 1) all.unite(variables[missing + d], operand.variables[d]);
  }
  return true;
}

ScheduledValue resultOfRead(
    const IndexedRead& read, ScheduledValue& source, const ScheduledValue& index, size_t place, Variables& all) {
  ScheduledValue result;
  const auto add = [&](int64_t size, int64_t stride, int variable) {
    result.layout.sizes.push_back(size);
    result.layout.strides.push_back(stride);
    result.variables.push_back(variable);
  };
  for (size_t d = 0; d < source.variables.size(); ++d) {
    for (size_t k = 0; d == place && k < index.variables.size(); ++k) add(index.layout.sizes[k], 0, index.variables[k]);
    if (d < read.indices.size() && read.indices[d]) continue;
    const int64_t size = source.layout.sizes[d];
    if (size != 1) source.variables[d] = all.add(size);
    add(size, source.layout.strides[d], source.variables[d]);
  }
  return result;
}

bool uniteAdded(
    ScheduledValue& added, const ScheduledValue& index, const Sizes& target, size_t dim, bool is_along,
    Variables& all) {
  for (size_t d = 0; d < target.size(); ++d) {
    const int64_t size = added.layout.sizes[d];
    if (is_along) {
      if (index.layout.sizes[d] != size || (d != dim && size > target[d])) return false;
      all.unite(added.variables[d], index.variables[d]);
    } else if (d != dim) {
      if (size != target[d]) return false;
    } else {
      if (index.layout.sizes[0] != size) return false;
      all.unite(added.variables[d], index.variables[0]);
    }
  }
  return true;
}

std::vector<int64_t> numbersOfReads(const Group& group, std::span<const ScheduledValue> values) {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < group.steps.size(); ++i) {
    const Group::Step& step = group.steps[i];
    if (!step.read) continue;
    // Of what is added to, the result.
    const StridedLayout& source = values[step.read->added ? group.buffers.size() + i : step.read->source].layout;
    const auto element = static_cast<int64_t>(c10::elementSize(group.dtypes[step.read->source]));
    if (step.read->form == IndexRule::Form::Bags) {
      const StridedLayout& offsets = values[step.read->offsets].layout;
      const int64_t bytes =
          offsets.strides[0] * static_cast<int64_t>(c10::elementSize(group.dtypes[step.read->offsets]));
      const int64_t num_indices = values[*step.read->indices[0]].layout.sizes[0];
      const int64_t num_bags = offsets.sizes[0] - (step.read->has_end ? 1 : 0);
      for (const int64_t number :
           {source.sizes[0], source.strides[0] * element, num_indices + 1, bytes, (num_bags - 1) * bytes})
        numbers.push_back(number);
      continue;
    }
    if (step.read->form == IndexRule::Form::Flat) {
      int64_t size = 1;
      for (const int64_t own : source.sizes) size *= own;
      numbers.push_back(size);
      numbers.push_back(*strideOfVector(source) * element);
      continue;
    }
    for (size_t d = 0; d < step.read->indices.size(); ++d) {
      if (!step.read->indices[d]) continue;
      numbers.push_back(source.sizes[d]);
      numbers.push_back(source.strides[d] * element);
    }
  }
  return numbers;
}

std::string expand(const std::string& letters, size_t rank) {
  if (!letters.starts_with('*')) return letters;
  std::string all;
  for (size_t d = 0; d + letters.size() < rank + 1; ++d) all += static_cast<char>('0' + d);
  return all + letters.substr(1);
}

bool hasFewWindows(const Indices& indices, const Contraction& contraction) {
  const bool are_read_in_place = contraction.is_for_groups && contraction.num_window_dims == 1;
  const int64_t most = are_read_in_place ? 1 << 22 : 1 << 16;
  int64_t count = 1;
  for (const char letter : contraction.lettersOf(contraction.windowed)) count *= indices.sizes.at(letter);
  return count <= most;
}

bool isSmall(const Indices& indices, const Contraction& contraction) {
  constexpr int64_t kFew = 4, kFewTerms = 1 << 17, kFewImages = 8;
  const std::string_view first = contraction.operands[0].second, second = contraction.operands[1].second;
  int64_t rows = 1, columns = 1, length = 1;
  for (const auto& [letter, size] : indices.sizes) {
    if (letter == 'b' && !contraction.windowed.empty() && size <= kFewImages) continue;
    const bool is_in_first = first.find(letter) != std::string::npos || (letter >= '0' && letter <= '9');
    const bool is_in_second = second.find(letter) != std::string::npos;
    if (contraction.sums(letter)) {
      length *= size;
    } else if (is_in_first != is_in_second) {
      (is_in_first ? rows : columns) *= size;
    }
  }
  return std::min(rows, columns) <= kFew || rows * columns * length <= kFewTerms;
}

namespace {

/// For each variable that is reduced one of the value `stored` that has as many elements and that no value has beside
/// it. Empty if there is none for one of them.
std::vector<int> broadcastOver(
    const std::vector<int>& reduced, std::span<const ScheduledValue> values, size_t stored,
    const Variables& variables) {
  std::vector<std::vector<int>> roots;
  for (const ScheduledValue& value : values) {
    roots.emplace_back();
    for (const int variable : value.variables) {
      if (variable != kNone) roots.back().push_back(variables.rootOf(variable));
    }
  }
  std::vector<int> reduced_roots, found;
  for (const int variable : reduced) reduced_roots.push_back(variables.rootOf(variable));
  for (const int root : reduced_roots) {
    const auto fits = [&](int other) {
      return variables.sizeOf(other) == variables.sizeOf(root) && !isIn(reduced_roots, other) && !isIn(found, other) &&
             std::none_of(roots.begin(), roots.end(), [&](const std::vector<int>& value) {
               return isIn(value, other) && isIn(value, root);
             });
    };
    const auto other = std::find_if(roots[stored].begin(), roots[stored].end(), fits);
    if (other == roots[stored].end()) return {};
    found.push_back(*other);
  }
  return found;
}

}  // namespace

void uniteReductions(
    std::vector<std::vector<int>>& reductions, std::span<const ScheduledValue> values, size_t stored, bool alone,
    Variables& variables) {
  const auto haveOneSize = [&](int a, int b) { return variables.sizeOf(a) == variables.sizeOf(b); };
  for (size_t i = 1; i < reductions.size(); ++i) {
    if (!std::ranges::equal(reductions[0], reductions[i], haveOneSize)) continue;
    for (size_t k = 0; k < reductions[0].size(); ++k) variables.unite(reductions[0][k], reductions[i][k]);
  }
  if (alone || reductions.empty()) return;
  const std::vector<int> others = broadcastOver(reductions[0], values, stored, variables);
  for (size_t k = 0; k < others.size(); ++k) variables.unite(reductions[0][k], others[k]);
}

bool isRepeated(
    const std::vector<int>& reduced, const std::vector<int>& source, const std::vector<int>& outer,
    const Variables& variables) {
  constexpr double kFewTimes = 4;  // as many elements as loops one after the other would go over
  double elements = 1, times = 1;
  for (const int variable : reduced) elements *= double(variables.sizeOf(variable));
  for (const int variable : outer) {
    if (!isIn(source, variable)) times *= double(variables.sizeOf(variable));
  }
  return elements * times > kFewTimes * (elements + times);
}

}  // namespace cresset::codegen
