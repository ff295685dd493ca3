// The operators that the compiler itself computes with in graphs, and recognizes there: sizes of tensors, elements of
// lists, arithmetic of ints. Their rows say which they are (column BASIC), so that no other place names them.
#pragma once

#include <cstdint>
#include <span>

#include "cresset/ir/graph.h"

namespace cresset {

enum class Basic : uint8_t {
  Sizes,    // of a tensor, as a list
  Size,     // of one of its dimensions
  Rank,     // how many dimensions it has
  Length,   // of a list
  Element,  // of a list, at an index
  Keys,     // of a dict, as a list
  Values,   // the same
  Items,    // the same, of pairs
  Add,      // ints
  Subtract,
  Multiply,
  FloorDivide,
  Equal,
  Unequal,
  Not,
  Unwrap,    // what an optional holds
  ToInt,     // of a tensor with one element
  ToFloat,   // the same
  ToBool,    // the same
  ToTensor,  // of a number
  Detach,
  RequiresGrad,
  Raise,          // an exception: its message, and the name of its class
  MakeTensor,     // of a number or of lists of numbers
  CheckOverlap,   // of what is written and what is read
  Clone,          // of a tensor, in a memory format
  WithElements,   // elements, at a tensor's place on the tape
  Copy,           // into a tensor
  NoGradCopy,     // into a tensor, which keeps its place on the tape
  CopyIfWritten,  // into a tensor, if it is not what is copied
  ApartFrom,      // elements, which do not lie in the memory of a tensor
  CallHost,       // a function of the program that embeds Cresset (ops/host_callable.h), with any inputs
  Count
};

/// The name that its overloads share.
Symbol kindOf(Basic operation);

/// Whether the node calls an operator of that name with as many arguments. Of whatever types: `Length` is that of a
/// dict, too.
bool isBasic(const Node& node, Basic operation);
inline bool isBasic(const Node* node, Basic operation) {
  return isBasic(*node, operation);
}

/// Whether the node is a copy that functionalization ends with: the last value of an input, into it.
bool isClosingCopy(const Node& node);

/// A node that computes it, at the graph's insertion point: bound to the overload for these inputs, its results of the
/// types that the schema says.
Node* insertBasic(Graph& graph, Basic operation, std::span<Value* const> inputs);
inline Node* insertBasic(Graph& graph, Basic operation, std::initializer_list<Value*> inputs) {
  return insertBasic(graph, operation, std::span(inputs.begin(), inputs.size()));
}

}  // namespace cresset
