// The structural nodes: what structural.def says of each (docs/ir.md says what they mean).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "cresset/ir/graph.h"

namespace cresset {

enum class Structural : uint8_t {
#define STRUCTURE(Name, ...) Name,
#define MARKER(Name, ...) Name,
#include "cresset/ir/structural.def"
  Count
};

/// What the outputs of a node may be, and what it reads and writes for that.
enum class Memory : uint8_t {
  None,      // no memory: numbers, or nothing that is read
  Outside,   // what the world outside of the graph may hold, too
  Holder,    // a new container of the inputs
  Slice,     // a new container of some elements of the first input
  Element,   // what the first input holds: elements of a tuple or list, an attribute of an object
  Same,      // the first input
  Stores,    // no output: the second input is put into the first, an object
  Bodies,    // what blocks, or a subgraph, return; reads and writes what their nodes do
  Leaves,    // the first input; or the program continues elsewhere, with all inputs
  Anything,  // runs unknown code: reads, writes and returns whatever can be reached
};

/// Whether the program may leave at a node, by an exception or to a deoptimization target.
enum class Raises : uint8_t {
  Never,
  OfTensorKeys,  // if the first input of a pair is a tensor: it can't be hashed
  OfTupleIndex,  // unless the second input is a constant, an index of the first
  InBodies,      // as the nodes of its blocks or subgraph do
  Always,        // for some inputs
};

struct Structure {
  Structural id;
  const char* name;  // "prim::If"
  // The columns of structural.def.
  const char* inputs = "";
  const char* outputs = "";
  size_t blocks = 0;
  const char* attributes = "";
  void (*check)(const Node&) = nullptr;
  Memory memory = Memory::None;
  Raises raises = Raises::Never;
  bool sets_state = false;
  bool runs_apart = false;
};

/// The element of the tuple that a prim::TupleIndex returns; nothing if its index is not constant or there is no such
/// element: then it raises an IndexError when it runs.
std::optional<size_t> placeInTuple(const Node& node);

/// All rows, by Structural.
std::span<const Structure> structures();

/// Whether the block, or one inside of it, has a node of the kind.
bool hasNode(const Block* block, Symbol kind);

/// Null of kinds that call an operator. The row of a kind is one look at a table: passes ask of each node.
const Structure* structureOf(Symbol kind);
inline bool isStructural(Symbol kind) {
  return structureOf(kind) != nullptr;
}

/// The column of the node's row; what `otherwise` says if it calls an operator.
inline Memory memoryOf(const Node& node, Memory otherwise) {
  const Structure* structure = structureOf(node.kind());
  return structure ? structure->memory : otherwise;
}

/// Whether the node's attribute `Subgraph` is a call that runs beside the program around it, or later.
inline bool runsApart(const Node& node) {
  const Structure* structure = structureOf(node.kind());
  return structure && structure->runs_apart;
}

/// What is wrong with a node by itself: its numbers of inputs, outputs and blocks, its attributes, the types that must
/// agree. Nullopt if nothing is, or if the node calls an operator.
std::optional<std::string> complaintAbout(const Node& node);

}  // namespace cresset
