// Fusion groups: subgraphs that become kernels.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cresset/codegen/index_rule.h"
#include "cresset/codegen/layout.h"
#include "cresset/codegen/loops.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/codegen/windows.h"
#include "cresset/ir/graph.h"

namespace cresset::codegen {

/// What a kernel would do for a node.
struct Fusibility {
  std::string why_not;   // empty if a kernel computes it
  bool is_exact = true;  // with eager PyTorch's bits
  size_t rank = 0;       // of what it goes over: the tensors that it takes, broadcast
  std::optional<Reduction> reduction;
  std::vector<bool> is_reduced;   // per result
  bool scans = false;             // it computes an element from those before it along what `reduction` says
  bool contracts = false;         // sums over other dimensions than its result's: a product of matrices, or bags
  const Value* source = nullptr;  // what it reads by index: it must be in memory when the kernel begins
  const Value* target = nullptr;  // what it adds to by index: the same; what takes the result is of another group
};

/// The operator whose columns say what the node computes, of an in-place reuse the one that it is made of; null if the
/// node calls none.
const Operator* computedOperator(const Node& node);
/// Types must have been propagated, and lists of constants among the arguments must not be written to.
Fusibility fusibilityOf(const Node& node);
/// The dtype of a dense tensor of this machine's memory; nothing if it is not known, or none that kernels have.
std::optional<at::ScalarType> dtypeOf(const Value& value);
/// Of a tensor; nothing if it is not known.
std::optional<size_t> rankOf(const Value& value);
/// Null if the operator has no such argument.
const Value* argumentNamed(const Node& node, const Operator& op, const char* name);
/// Nothing if the operator has no such argument. Throws Unsupported (scalar_body.h) if it is not known.
std::optional<c10::IValue> knownArgument(const Node& node, const Operator& op, const char* name);
/// Why the pass that forms groups leaves the node alone, by the options of the program too; nothing if it does not.
std::optional<std::string> whyNotFusible(const Fusibility& node);

/// The only node that uses the list which the node makes; null if there are others, or it makes no list.
const Node* onlyUserOfList(const Node& node);
/// Whether the node makes a list of indices for one operator that reads by them.
bool makesIndices(const Node& node);
/// Whether the user reads a tensor at the indices of the list, which its block makes.
bool readsAt(const Node& user, const Value& list);
/// What calls the operator that takes the list of indices which the node makes; other nodes themselves.
const Node* callOf(const Node& node);
/// Nodes that make lists of indices for this one.
std::vector<Node*> listsOfIndices(const Node& node);
/// Whether the node is neither a constant nor such a list.
bool isCall(const Node& node);

/// Whether the node only makes views of one tensor, by arguments that are known, or takes them from their list: then
/// groups that compute with the views can take the tensor.
bool makesKnownViews(const Node& node);

/// A call that makes a view, or a list of them.
struct ViewCall {
  const Operator* op;
  std::vector<c10::IValue> arguments;  // but for the tensor, the first
  size_t element = 0;                  // of the list
};

/// A tensor that a kernel reads: an input, or a view of it.
struct GroupBuffer {
  size_t tensor = 0;  // index into Group::tensors
  std::vector<ViewCall> views;
  bool is_source = false;  // it is read by index, and not copied
  std::optional<Windows> windows;
};

/// Where the elements of a buffer lie.
struct BufferLayout : StridedLayout {
  int64_t offset = 0;  // in bytes, from the first element of the tensor, or of its copy
  /// A view that is a copy for this layout (`contiguous`), if kernels read what it is a copy of in its place: the
  /// layout of the copy, on which those of results depend.
  std::optional<StridedLayout> shown;
  /// It is a view of a copy, which is made first (`reshape`).
  struct Copy {
    StridedLayout from, to;
    int64_t offset;  // of what is copied, in bytes, from the tensor's first element
  };
  std::optional<Copy> copied;
  /// It is a view of this, to which the elements that lie there are copied.
  std::optional<PaddedLayout> padded;
  bool makes_channels_last = false;  // what is convolved
};

/// A result whose elements are read by index, or added to.
struct IndexedRead {
  IndexRule::Form form;
  size_t source;                               // a buffer
  std::vector<std::optional<size_t>> indices;  // values, per dimension of the source; of `Flat` there is one
  // Of `Bags`:
  size_t offsets = 0;             // a buffer
  std::optional<size_t> weights;  // a value: what rows are multiplied by
  bool has_end = false;           // the last offset is the end of the last bag
  std::optional<size_t> added;    // a value that is added to elements of the source: the result is what that becomes
};

/// What a group's nodes do. Values are numbered: buffers, then the nodes' results.
struct Group {
  /// Of a result.
  struct Step {
    std::vector<size_t> operands;    // tensors, in the order in which they decide the result's layout
    std::vector<bool> is_converted;  // per operand: eager PyTorch copies it to another dtype first
    /// Per operand: which of the result's dimensions it has; none if they are the last.
    std::vector<std::vector<size_t>> dims;
    std::optional<size_t> whole;  // the operand that the others are broadcast to
    bool chooses = false;         // the result is one of its elements
    ResultRule result;
    std::optional<Reduction> reduction;
    const Contraction* contraction = nullptr;
    std::vector<std::string> letters;  // of a contraction, per operand: its indices
    std::optional<IndexedRead> read;
    bool is_reduced = false;  // the result is what was reduced; otherwise it has the sizes of the operands
    bool scans = false;       // it, or what it is computed from, is computed by a scan
  };

  KernelBody body;
  std::vector<size_t> tensors;                // of the subgraph's inputs
  std::vector<at::ScalarType> tensor_dtypes;  // of these
  std::vector<GroupBuffer> buffers;           // the body's inputs
  std::vector<size_t> ranks;                  // of these
  /// Of the subgraph's inputs. The body has more: of each index of each read the size of the dimension, and its stride
  /// in bytes.
  std::vector<size_t> numbers;
  std::vector<Step> steps;  // one per result of a node
  bool reduces = false;     // products too
  bool scans = false;
  bool scans_slowly = false;           // see KernelBuilder::isSlowScan
  bool adds = false;                   // by index; then it does not reduce
  bool contracts = false;              // there are products of matrices: kernels compute small ones only; or bags
  std::vector<at::ScalarType> dtypes;  // of values
  std::vector<size_t> outputs;         // values
  bool is_exact = true;                // the kernel has eager PyTorch's bits
};

/// Throws Unsupported (scalar_body.h) if a node is not fusible.
Group makeGroup(const Graph& subgraph);

/// How a kernel computes the group for inputs of given layouts.
struct Schedule {
  std::vector<StridedLayout> outputs;
  LoopNest nest;
  Kernel kernel;
  std::vector<bool> packed;      // inputs that the kernel takes contiguous
  std::vector<int64_t> numbers;  // the last of the kernel's: those of reads
};

/// Nothing if the tensors, those of the group, have no such views, or some would be copies.
std::optional<std::vector<BufferLayout>> layoutsOfBuffers(const Group& group, std::span<const at::Tensor> tensors);

/// What the operators' results have in memory, however large they are; nothing if an operator raises.
std::optional<std::vector<StridedLayout>> layoutsOfOutputs(const Group& group, std::span<const BufferLayout> inputs);

/// Nothing if no kernel does: an operator raises, outputs have several sizes, or no elements.
/// `places`: per output where it has to lie in a larger tensor; null where its layout is eager PyTorch's.
std::optional<Schedule> scheduleGroup(
    const Group& group, std::span<const BufferLayout> inputs, std::span<const StridedLayout* const> places = {});

}  // namespace cresset::codegen
