// Values of a group whose inputs have given layouts: their own layouts, which of their dimensions go together, and
// which products of them are computed here. Internal to schedule.cpp.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cresset/codegen/group.h"

namespace cresset::codegen {

/// Of one element along a dimension, nothing varies.
inline constexpr int kNone = -1;

inline bool isIn(const std::vector<int>& variables, int variable) {
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

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

  /// Either may be kNone, which becomes the other, if it is `variable`.
  void unite(int& variable, int other) {
    if (other == kNone) return;
    if (variable == kNone) {
      variable = other;
    } else {
      parents_[rootOf(variable)] = rootOf(other);
    }
  }

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

/// Sizes and variables of a product's indices. Those of leading dimensions are digits.
struct Indices {
  std::map<char, int64_t> sizes;
  std::map<char, int> variables;
};

/// Reductions of as many elements go over them together, though no operator broadcasts one's to the other's. Unless
/// they are `alone`, what their results are broadcast over in the value `stored` goes along with them, where it has as
/// many elements: the loops then stand one after the other.
void uniteReductions(
    std::vector<std::vector<int>>& reductions, std::span<const ScheduledValue> values, size_t stored, bool alone,
    Variables& variables);

/// Whether a reduction of `source` over the variables `reduced` stands in loops over `outer` that it does not depend
/// on, and would rather be computed by itself than again for each iteration. All are roots.
bool isRepeated(
    const std::vector<int>& reduced, const std::vector<int>& source, const std::vector<int>& outer,
    const Variables& variables);

/// Whether the operand can be broadcast to the sizes. Then its dimensions go with the variables, one per size.
bool broadcastTo(const ScheduledValue& operand, const Sizes& sizes, std::vector<int>& variables, Variables& all);

/// The dimensions of the source, with those of `index`, whose sizes and variables count, in the place of those that are
/// indexed. Strides are those of the source, and 0.
ScheduledValue resultOfRead(
    const IndexedRead& read, ScheduledValue& source, const ScheduledValue& index, size_t place, Variables& all);

/// Whether what is added along a dimension has the sizes of the index and of what it is added to. Then its dimensions
/// go with those of the index, which has all of them if it is `along`.
bool uniteAdded(
    ScheduledValue& added, const ScheduledValue& index, const Sizes& target, size_t dim, bool is_along, Variables& all);

/// Of the result of at::index: `source` has the result's sizes, and strides of 0 along what is indexed.
std::optional<StridedLayout> layoutOfIndexed(
    const StridedLayout& source, size_t place, size_t num_indexed, const std::vector<StridedLayout>& indices);

/// What eager PyTorch gives the result; nothing if the operands don't go together.
std::optional<StridedLayout> layoutOfStep(const Group::Step& step, const std::vector<ScheduledValue>& values);

/// How elements of the tensor follow each other if it counts as a vector; nothing if no stride says it.
std::optional<int64_t> strideOfVector(const StridedLayout& layout);

/// In the order of the body's numbers.
std::vector<int64_t> numbersOfReads(const Group& group, std::span<const ScheduledValue> values);

/// The letters with the star written out, for an operand or result of this rank.
std::string expand(const std::string& letters, size_t rank);

/// Windows over channels or along two dimensions are copied for a kernel; ATen's fastest kernels do without.
bool hasFewWindows(const Indices& indices, const Contraction& contraction);

/// Whether the product is one that kernels compute: a few rows or columns, or so few terms that calling a library takes
/// as long as computing them. All others are left to ATen. Rows are the elements of the result along dimensions of the
/// first operand, columns along those of the second. Of images ATen makes a product each, as long as they are few.
bool isSmall(const Indices& indices, const Contraction& contraction);

}  // namespace cresset::codegen
