// Types of unpickled values, and whether they are those that are wanted.
//
// Types are trees to whoever compares them, but values may share their parts: a pickle of a kilobyte holds tuples whose
// types have 2^40 parts, or thousands of values whose comparison takes a millisecond each. So tuples of such types are
// refused, what many places share is compared once, and what comparing takes in all is limited by the pickle's size.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cresset/archive/pickle_machine.h"
#include "cresset/ops/type_parts.h"

namespace cresset {

/// A value and how deep it nests: values are used (and destroyed) recursively, so depth is limited as a whole.
struct Unpickled {
  c10::IValue value;
  int height = 0;
  size_t parts = 1;  // of its type
};

/// What a list, a tuple, or one side of a dict is made of.
struct UnpickledElements {
  std::vector<c10::IValue> values;
  int height = 0;                     // of the one that nests deepest
  size_t first_parts = 1, parts = 0;  // of the first one's type; of all

  void add(Unpickled element) {
    if (values.empty()) first_parts = element.parts;
    height = std::max(height, element.height);
    parts = addParts(parts, element.parts);
    values.push_back(std::move(element.value));
  }
};

class UnpickledTypes {
 public:
  explicit UnpickledTypes(const Pickle& pickle) : pickle_(pickle), work_(kWork + kWorkPerNode * pickle.numNodes()) {}

  /// Throws ArchiveError if the value that node `n` stands for is none of type `wanted`; None becomes an undefined
  /// tensor where a tensor is wanted.
  void require(uint32_t n, Unpickled& built, const c10::TypePtr& wanted);
  /// The type that all values have; Any if there is none. And its parts.
  std::pair<c10::TypePtr, size_t> common(uint32_t n, const UnpickledElements& elements, const c10::TypePtr& if_empty);
  size_t partsOf(const c10::TypePtr& type) { return parts_.sizeOf(type).parts; }
  /// The parts of the type of a tuple of these elements. Throws ArchiveError if they are too many.
  size_t partsOfTuple(uint32_t n, const UnpickledElements& elements) const;

 private:
  static constexpr size_t kWork = size_t(1) << 25, kWorkPerNode = 64;
  static constexpr size_t kLittleWork = 16;  // not counted

  void charge(uint32_t n, size_t work);

  const Pickle& pickle_;
  size_t work_;
  TypeParts parts_;
  std::set<std::pair<const void*, const c10::Type*>> known_;  // nodes and classes, and what they are values of
};

}  // namespace cresset
