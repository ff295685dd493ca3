// Kernels that run one after another, with what passes between them in memory of their own: what a subgraph of kind
// "sequence" does, a graph of fused subgraphs and of operators that join tensors (cat, stack). A fused subgraph alone
// is a sequence of one.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "cresset/codegen/group.h"

namespace cresset::codegen {

/// A call that joins tensors along a dimension: cat, stack.
struct JoinCall {
  const Operator* op;
  std::vector<c10::IValue> arguments;  // but for the list of tensors, the first
};

/// Values are numbered: the subgraph's inputs, then the results of items.
struct Sequence {
  struct Item {
    std::variant<Group, JoinCall> work;
    std::vector<size_t> inputs;  // values; of a join the tensors
    size_t first_result = 0;     // value; a group has as many as outputs, a join one
  };

  std::vector<Item> items;
  std::vector<size_t> tensors;                // of the subgraph's inputs
  std::vector<at::ScalarType> tensor_dtypes;  // of these
  std::vector<size_t> outputs;                // values
  std::vector<at::ScalarType> dtypes;         // of values; of those that are tensors
};

/// Whether the node joins tensors that are listed for it alone, in a way that sequences know.
bool isJoin(const Node& node);
/// Whether the node makes the list that a join takes.
bool isListOfJoin(const Node& node);

/// Of a fused subgraph or a sequence. Throws Unsupported (scalar_body.h) if a node is not fusible.
Sequence makeSequence(const Graph& subgraph, bool is_group);

/// Where the elements of a kernel's buffer begin.
struct Place {
  enum class Memory : uint8_t { Input, Output, Temporary } memory = Memory::Input;
  size_t index = 0;    // into Sequence::tensors, Sequence::outputs, SequenceSchedule::temporaries
  int64_t offset = 0;  // in bytes
};

struct KernelCall {
  LoopNest nest;
  Kernel kernel;
  std::vector<Place> buffers;   // inputs first, without scratch
  std::vector<size_t> numbers;  // of the subgraph's inputs
  std::vector<int64_t> more_numbers;
  size_t item = 0;  // what it is a part of
};

/// Kernel calls for inputs of given layouts.
struct SequenceSchedule {
  std::vector<StridedLayout> outputs;
  std::vector<KernelCall> calls;
  std::vector<size_t> temporaries;  // memory that only the calls use: bytes of each
  std::vector<size_t> refused;      // items that no kernels do: an operator raises, a product is large
};

/// `tensors`: Sequence::tensors. No calls if no kernels do it; then `refused` has the items up to the first whose
/// results are not known.
SequenceSchedule scheduleSequence(const Sequence& sequence, std::span<const at::Tensor> tensors);

}  // namespace cresset::codegen
