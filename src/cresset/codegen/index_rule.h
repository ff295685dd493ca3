// Operators that read by index: each element of their result is one of an argument, the source, chosen by tensors of
// indices (column READS).
//
//   at(source, dim, index)     the dimension is replaced by those of the index: embedding, index_select
//   along(source, dim, index)  the result has the sizes of the index, and each of its elements is that of the source at
//                              the same place, but for the dimension: gather
//   flat(source, index)        the source counts as a vector; indices below 0 count from its end: take
//   each(source, indices)      an index or None per dimension, as at::index takes them
//   bags(source, offsets, index)  sums or means of the rows that a part of the index chooses, which begins at an offset
//                              and ends at the next: the first result of embedding_bag
//
// Or operators that add each element of an argument to one of another, the source, which becomes the result (column
// ADDS): at(source, dim, index, added), along(…), each(…), in the order in which the elements of `added` stand.
#pragma once

#include <optional>

#include "cresset/ops/operator.h"

namespace cresset::codegen {

struct IndexRule {
  enum class Form : uint8_t { At, Along, Flat, Each, Bags } form = Form::At;
  size_t source = 0, index = 0, offsets = 0;  // arguments
  std::optional<size_t> added;                // nothing if it reads
  /// The argument that says it, or itself.
  std::optional<size_t> dim_argument;
  int64_t dim = 0;

  /// Whether indices below 0 count from the end.
  bool wraps() const { return form == Form::Flat || form == Form::Each; }
  bool takesInt() const { return form != Form::Flat; }  // beside Long

  /// Null if the operator neither reads nor adds by index.
  static const IndexRule* of(const Operator& op);
};

}  // namespace cresset::codegen
