// The operator table: everything that can be called by name in a graph, from PyTorch's dispatcher or from Cresset's
// own rows (rows_*.cpp) for the builtins that the dispatcher lacks.
//
// Operators are interned and live as long as the process. Thread-safety: all of this may be called from any thread.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/ir/structure.h"
#include "cresset/ops/argument_checks.h"
#include "cresset/ops/call_replacements.h"

namespace c10 {
class OperatorHandle;
}

namespace cresset {

using Stack = std::vector<c10::IValue>;

/// Pops `num_args` values from the end of the stack, pushes the results. Throws c10::Error, or ScriptRaise for a Python
/// exception of a given class.
using Kernel = void (*)(Stack& stack, size_t num_args);

/// Thrown by kernels to raise a Python exception, such as {"builtins.IndexError", "list index out of range"}.
/// The interpreter turns it into ScriptError.
class ScriptRaise : public std::exception {
 public:
  ScriptRaise(std::string python_class, std::string message);
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& pythonClass() const { return python_class_; }

 private:
  std::string python_class_, message_;
};

/// What PyTorch's schema does not tell of an operator; columns of the table (ops/table/table.def), as bits.
enum class Trait : uint32_t {
  None = 0,
  SideEffect = 1,  // prints, warns, draws random numbers, changes global state: never removed, merged or reordered
  Nondeterministic = 2,      // equal inputs may have other results
  NeverRaises = 4,           // returns for all arguments of its types, memory permitting
  NeverRaisesOnFloats = 32,  // so for a dense tensor of floats as first argument, numbers as others
  Pointwise = 8,             // each element of the result depends on the arguments' elements at its place only
  ReusesFirst = 64,          // returns a new tensor, in the memory of the first argument if that has no other owner
  MayShareArguments = 16,    // may return an argument itself or a view of it, though its schema says "fresh"
  MayReturnSelf = 128,       // may return its first argument itself
  KeepsSizes = 256,          // what it returns or writes to has the sizes of its first argument
  TakesSizesOnly = 512,      // takes the sizes and kind of its first argument; no gradient flows through it
  AsksAutograd = 1024,       // asks a tensor for its place in autograd
  AutogradKeepsMore = 2048,  // autograd keeps more of its arguments and results than the rules of its derivative read
  InPlaceDerivativeDiffers = 4096,  // autograd differentiates the in-place form in another way, or not at all
  ChangesState = 8192,              // changes the state of the thread that operators depend on (ambient_state.h)
  LeavesUninitialized = 1 << 14,    // the result holds whatever was in memory
  AsksForKind = 1 << 15,            // asks a tensor for sizes, dtype or device, not for elements or layout
  TakesAnyLayout = 1 << 16,         // computes the same elements in any layout, and returns a result in it
  MakesContiguous = 1 << 17,        // the result is contiguous
  KeepsContiguous = 1 << 18,        // the result is contiguous if the arguments are
  KeepsLayout = 1 << 20,        // the result has the strides of the first argument, if that is dense; see memory_format
  ReplacesMemory = 1 << 19,     // gives its first argument other memory, and perhaps another dtype and device
  ComputesGradients = 1 << 21,  // asks autograd for gradients, and returns them or adds them to leaves
  MakesLeaf = 1 << 22,          // lets autograd begin at its argument, and returns that
  CutsTape = 1 << 23,           // returns its argument without its place in autograd
  ChangesTape = 1 << 24,        // changes the place in autograd that its argument has
  ReleasesTape = 1 << 25,       // lets autograd forget what it keeps for its arguments
  AsksGradMode = 1 << 26,       // asks whether gradients are on
  SetsGradMode = 1 << 27,       // of the thread's state, it changes only whether gradients are on
  Unwraps = 1 << 28,            // returns what an Optional holds
  JoinsTensors = 1 << 29,       // puts the elements of several tensors next to each other along a dimension
  RankFollowsSizes = 1 << 30,   // how many dimensions the result has depends on the sizes of the first argument
  ComparesIdentity = 1u << 31,  // tells two objects of equal contents apart
};
constexpr Trait operator|(Trait a, Trait b) {
  return Trait(uint32_t(a) | uint32_t(b));
}
constexpr Trait operator&(Trait a, Trait b) {
  return Trait(uint32_t(a) & uint32_t(b));
}
constexpr bool has(Trait set, Trait t) {
  return (uint32_t(set) & uint32_t(t)) != 0;
}

/// What torch.autocast does to calls of an operator: a column of the table.
enum class Autocast : uint8_t {
  Unknown,      // not determined; operators that it calls may be cast
  None,         // nothing, also not to what the operator calls
  Inside,       // nothing itself, but it calls operators to which autocast does something
  Lower,        // tensors of floating dtypes, but double, are cast to autocast's dtype
  Float,        // … to float32
  Promote,      // … to the widest of them, at least autocast's dtype
  FloatDtype,   // the argument `dtype` is float32, unless it is given
  AppendFloat,  // the overload with a further argument `dtype`, float32, is called
  Refused,      // it raises
};

/// Why an untrusted program may not call an operator (see policy.h).
enum class Restriction : uint8_t {
  None,
  Files,      // opens, reads or writes files
  Crashes,    // ends the process for some numbers, without reaching beyond its arguments
  RawMemory,  // believes what its arguments say of memory: a wrong one reads or writes elsewhere
  Internal,   // a kernel that PyTorch's own operators call, with arguments that they have checked
  Foreign,    // of a library that is not PyTorch's own; nothing is known of it
};

/// A row of Cresset's own: a builtin that the dispatcher lacks.
struct Row {
  std::string_view schema;  // as text; parsed when the name is first looked up
  Kernel kernel;
  Trait traits = Trait::None;
  Restriction restriction = Restriction::None;
};

struct OperatorRow;

class Operator {
 public:
  const c10::FunctionSchema& schema() const { return schema_; }
  Symbol kind() const { return kind_; }
  /// "aten::add.Tensor".
  const std::string& fullName() const { return full_name_; }

  /// Calls on `num_args` values at the end of the stack (the number matters for variadic operators only). The values
  /// must have the schema's types: that is not checked.
  void call(Stack& stack, size_t num_args) const;
  /// Null if the operator belongs to the dispatcher.
  Kernel kernel() const { return kernel_; }
  /// Null if it is a row of Cresset's, or if the library that registered it is gone (see throwUnregistered).
  const c10::OperatorHandle* handle() const { return handle_.load(std::memory_order_acquire); }
  bool isOfDispatcher() const { return kernel_ == nullptr; }
  /// What a call of an operator of the dispatcher that has no handle any more ends in.
  [[noreturn]] void throwUnregistered() const;
  /// On tensors of the device.
  Autocast autocast(c10::DeviceType device) const {
    return device == c10::DeviceType::CPU    ? autocast_cpu_
           : device == c10::DeviceType::CUDA ? autocast_cuda_
                                             : Autocast::Unknown;
  }
  Restriction restriction() const { return restriction_; }
  /// What `call` looks at before the kernel runs: null for most operators.
  ArgumentCheck argumentCheck() const { return argument_check_; }
  /// Whether `call` does more than to call the kernel: it checks arguments, makes one its own, or calls another
  /// operator in its place (ops/call_replacements.h).
  bool isCalledWithCare() const;
  /// Whether this is an in-place reuse: `cresset::add.Tensor(self, other)` returns what `aten::add_.Tensor` would make
  /// of its first argument, with its sizes, strides, dtype and errors, and leaves the argument as it is. Memory to
  /// which the argument is the only reference is used again: then it costs what the in-place operator costs. There is
  /// one for each in-place operator of PyTorch that has a form without underscore.
  bool isInPlaceReuse() const { return !functional_name_.empty(); }
  /// Of an in-place reuse: "aten::add.Tensor", which has its derivatives.
  const std::string& functionalName() const { return functional_name_; }
  /// The in-place reuse for this in-place operator; null if there is none.
  const Operator* inPlaceReuse() const;

  /// Whether this is a functional call: `cresset::functional_aten_add.out(self, other, *, alpha, out, may_resize)`
  /// calls `aten::add.out` on copies of the tensors that it writes to, and returns in new memory what that returns
  /// beside them, then what they have become. There is one for each operator of the dispatcher that writes to tensors.
  /// Raises if a tensor's sizes change and `may_resize` is false.
  bool isFunctionalCall() const { return writer_ != nullptr; }
  /// Of a functional call: the operator that it calls; null for others.
  const Operator* writer() const { return writer_; }
  /// The same: a call whose writer is called by `call`, which does what Operator::call does.
  void callOnCopies(Stack& stack, const std::function<void(Stack& stack, size_t num_args)>& call) const;
  /// Of an operator that writes to tensors; null if there is none.
  const Operator* functionalCall() const;

  bool hasSideEffects() const { return has(traits_, Trait::SideEffect); }
  bool isDeterministic() const { return !has(traits_, Trait::Nondeterministic); }
  bool neverRaises() const { return has(traits_, Trait::NeverRaises); }
  bool neverRaisesOnFloats() const { return has(traits_, Trait::NeverRaisesOnFloats); }
  bool reusesFirst() const { return has(traits_, Trait::ReusesFirst); }
  bool mayShareArguments() const { return has(traits_, Trait::MayShareArguments); }
  bool mayReturnSelf() const { return has(traits_, Trait::MayReturnSelf); }
  bool keepsSizes() const { return has(traits_, Trait::KeepsSizes); }
  bool takesSizesOnly() const { return has(traits_, Trait::TakesSizesOnly); }
  /// Such an operator says other things inside of a region, which runs below autograd.
  bool asksAutograd() const { return has(traits_, Trait::AsksAutograd); }
  bool autogradKeepsMore() const { return has(traits_, Trait::AutogradKeepsMore); }
  /// Of a convolution: in how many dimensions; 0 if its weight tells.
  std::optional<int> convolution() const { return convolution_; }
  bool changesState() const { return has(traits_, Trait::ChangesState); }
  bool leavesUninitialized() const { return has(traits_, Trait::LeavesUninitialized); }
  bool asksForKind() const { return has(traits_, Trait::AsksForKind); }
  bool takesAnyLayout() const { return has(traits_, Trait::TakesAnyLayout); }
  bool makesContiguous() const { return has(traits_, Trait::MakesContiguous); }
  bool keepsContiguous() const { return has(traits_, Trait::KeepsContiguous); }
  bool keepsLayout() const { return has(traits_, Trait::KeepsLayout); }
  bool replacesMemory() const { return has(traits_, Trait::ReplacesMemory); }
  bool hasTrait(Trait trait) const { return has(traits_, trait); }
  /// Of an in-place reuse.
  bool inPlaceDerivativeDiffers() const { return has(traits_, Trait::InPlaceDerivativeDiffers); }
  /// Whether each element of the result depends on the elements of the arguments at its place only (PyTorch's tag).
  bool isPointwise() const { return has(traits_, Trait::Pointwise); }
  /// Whether some argument is written to.
  bool isMutable() const { return mutable_; }
  /// No write, no side effect, deterministic, no alias annotation on a result.
  bool isPure() const;

  ~Operator();
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

 private:
  friend class OperatorTable;
  Operator(c10::FunctionSchema schema, Kernel kernel, Trait traits, Restriction restriction);
  explicit Operator(const c10::OperatorHandle& handle);
  Operator(const c10::OperatorHandle& in_place, const Operator& functional);
  struct OnCopies {
    const Operator& writer;
  };
  explicit Operator(OnCopies call);

  c10::FunctionSchema schema_;
  Symbol kind_;
  std::string full_name_;
  std::string functional_name_;
  const Operator* writer_ = nullptr;  // of a functional call
  std::vector<size_t> written_;       // the same: the arguments that it copies
  Kernel kernel_ = nullptr;
  /// Compiled code holds this operator for ever, but an operator of the dispatcher lives as long as the library that
  /// registered it: the table takes the handle away then, and sets a new one if the same operator comes back.
  /// Handles are never freed, since a call may be about to read one.
  std::atomic<const c10::OperatorHandle*> handle_{nullptr};
  Trait traits_ = Trait::None;
  Restriction restriction_ = Restriction::None;
  std::optional<int> convolution_;
  Autocast autocast_cpu_ = Autocast::Unknown, autocast_cuda_ = Autocast::Unknown;
  void setAutocast(const OperatorRow* row);
  ArgumentCheck argument_check_ = nullptr;
  CallReplacement replacement_ = nullptr;
  bool mutable_ = false;
  mutable std::atomic<const Operator*> in_place_reuse_{nullptr};  // once it was looked up; itself if there is none
};

class OperatorTable {
 public:
  static OperatorTable& get();

  /// The overloads of `kind` ("aten::add") in ranking order: the order in which schema matching tries them. Empty if
  /// there is no such operator. Finds operators that were registered with the dispatcher a moment ago. The span stays
  /// valid for the life of the process.
  std::span<const Operator* const> overloads(Symbol kind);
  /// By full name, overload included; null if there is none.
  const Operator* find(std::string_view full_name);
  /// All names ("aten::add") that look like `kind`, best first, for messages.
  std::vector<std::string> similarNames(Symbol kind);
  /// Every operator of Cresset's own rows and of the dispatcher; neither in-place reuses nor functional calls.
  std::vector<const Operator*> all();

 private:
  OperatorTable();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The operator that `node` calls, chosen by the types of its inputs and bound to the node; null if the node is
/// structural (ir/structure.h). Throws UserError, listing the candidates, if nothing matches.
const Operator* operatorOf(Node& node);
/// The same: what is remembered can't be seen.
inline const Operator* operatorOf(const Node& node) {
  return operatorOf(const_cast<Node&>(node));
}
/// The types of the results that the schema of that operator says; empty if none takes the inputs.
std::vector<TypePtr> resultTypes(const Node& node);
/// Whether the operator writes to the argument, by its schema.
inline bool isWritten(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}
/// Whether the node calls an operator of the trait.
bool hasTrait(const Node& node, Trait trait);
/// Makes the tensor one that may be written to without that being noticed: a copy, unless it is the only reference to
/// its memory.
void makeOwn(c10::IValue& tensor);
/// A copy through which kernels go as through the tensor: the same order of dimensions, and gaps between elements where
/// the tensor has any, but small ones. Many kernels compute runs without gaps by other code, which has other last bits
/// and draws other random numbers.
at::Tensor cloneInLayout(const at::Tensor& tensor);
/// Checks every operator node of `graph` and of the subgraphs in it against its schema. Throws UserError in verify()'s
/// form.
void verifyOperators(Graph& graph);

}  // namespace cresset
