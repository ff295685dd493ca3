// One trace while it runs: the graph so far, and which of its values each live tensor is.
//
// A tensor's identity is its TensorImpl. Every tensor that the trace has seen is kept alive until the trace ends, so an
// address never means two tensors. A tensor that was not seen is, in this order: a parameter, buffer or attribute of
// the traced module; another TensorImpl over the storage of a tensor that was seen (`x.data`, what autograd saved); or
// a constant, held by reference.
//
// Memory that was written where the dispatcher can't see it (`torch.tensor([…])`, NumPy) is a literal: a constant with
// the contents, and a clone of it for every run if the program writes to it or lets it escape.
//
// A Recorder belongs to one thread. Recorder::current() is that thread's, and null wherever nothing records.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_clients.h"
#include "cresset/program/program.h"
#include "cresset/tracer/numbers.h"

namespace c10 {
class OperatorHandle;
}

namespace cresset::tracer {

using c10::IValue;
using ObjectPtr = c10::intrusive_ptr<c10::ivalue::Object>;
using AttributePath = std::vector<std::string>;
/// Autograd's own pointer to a node: a shared_ptr before torch 2.13.
using GradientNodePtr = std::decay_t<decltype(std::declval<at::Tensor>().grad_fn())>;

/// What a trace asks of the language that it runs in. All may be empty.
struct Environment {
  /// Where the program stands now.
  std::function<SourceRange()> location;
  /// What the program calls this tensor; "" if nothing.
  std::function<std::string(const at::Tensor&)> nameOf;
  /// There are no warnings about what PyTorch's own code does; but its backward passes do what the program asked for.
  std::function<void(const std::string& message, bool in_backward)> warn;
  /// Whether the language's object for this tensor exists, and only because the tensor does: no variable refers to it.
  std::function<bool(const at::Tensor&)> isForgotten;
};

/// An argument of a PyTorch function that its operators may get as a plain number, which hides where it came from: a
/// traced number, or a tensor of one element that PyTorch's parser of arguments turned into a number.
struct PlainNumber {
  c10::SymNode number;  // null for a tensor
  at::Tensor tensor;
  int position;         // counts from 0, self included; -1 for a keyword argument
  std::string keyword;  // if neither, an int of an index (`x[i, j]`): of those, each becomes the index of one select
  int element;          // within a list; -1 for the argument itself
  IValue contents;      // what the tensor was read as; None if it was not read
  bool read = false;    // the traced number was made a plain one
  bool placed = false;  // an operator has it as an argument

  bool isIndex() const { return position < 0 && keyword.empty(); }
};

/// A list in the graph, and the tensors that it held in the traced call.
struct PassedList {
  Value* list;
  std::vector<at::Tensor> elements;
};

/// A function of PyTorch's that the program calls.
struct LibraryCall {
  std::vector<PlainNumber> numbers;
  at::Tensor target;              // of `x[…] = y`: the part of x that the index has led to so far
  std::vector<PassedList> lists;  // arguments that are all of a list's tensors, however many there are
};

/// A PlainNumber as an argument of an operator.
struct PlacedNumber {
  PlainNumber plain;
  size_t argument;
  int element;         // of a list; -1 for the argument itself
  c10::TypeKind kind;  // of the number that the operator wants there
};

/// Of a result that a trace can't have.
inline constexpr const char* kWrongResult =
    "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions";

inline constexpr const char* kWrongDict =
    "A dictionary that the traced function returned cannot be understood by the tracer, only outputs matching "
    "Dict[K, Tensor] or Dict[K, Tuple[Tensor, ...]], nested at will, can be a dictionary output of a traced function";

/// Throws UserError unless values of the type can be inputs of a trace.
void checkTraceable(const TypePtr& type);

class Recorder final : public OperatorClient {
 public:
  Recorder(Environment environment, bool force_outplace);
  ~Recorder() override;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// The trace that this thread records into; null if it records nothing.
  static Recorder* current();

  /// Operators that are recorded until the scope is popped are said to stand in it.
  void pushUserScope(const std::string& name);
  void popUserScope();

  Graph& graph() { return *graph_; }
  const std::shared_ptr<Graph>& graphPtr() const { return graph_; }
  /// Never given twice in a process.
  uint64_t serial() const { return serial_; }
  SourceRange location() const;
  void warn(const std::string& message, bool in_backward = false) const;

  // ---- Inputs and outputs
  /// Makes `self` the first input: tensors and objects below it are GetAttrs.
  void setSelf(const ObjectPtr& self);
  /// A further input of this type; `value` is the example that the program will be run on.
  void addInput(const std::string& name, const IValue& value, const TypePtr& type);
  /// The value of what the program returned. Throws UserError if it can't be traced.
  Value* outputValue(const IValue& value, size_t position);

  // ---- Values
  /// The value of a tensor as an operand here.
  Value* tensorValue(const at::Tensor& tensor);
  /// The same, but null for a tensor that would be a constant.
  Value* findTensor(const at::Tensor& tensor);
  Value* numberValue(const c10::SymNode& number);
  /// Of anything that may be an argument: tensors and numbers by identity, the rest as constants.
  Value* valueOf(const IValue& value, const TypePtr& type);
  void setTensorValue(const at::Tensor& tensor, Value* value);
  /// Binds the tensors within `value` to what `computed` holds, unpacking containers.
  void setValue(const IValue& value, Value* computed);
  bool isKnown(const at::Tensor& tensor) const;
  /// Whether the tensor has a value that is neither a literal nor a number made a tensor.
  bool isComputed(const at::Tensor& tensor) const;
  /// Whether the tensor is known, or another that reads the same memory in the same way.
  bool hasMemoryOf(const at::Tensor& tensor) const;
  /// How many tensors and storages other than those that only this recorder still holds use the memory.
  size_t liveReferences(const at::Tensor& tensor) const;
  /// Whether sizes of the tensor, or of the one that it wraps, are those of a value.
  bool hasSizesOf(const at::Tensor& tensor);
  /// `tensor.size(dim)` as a number of this trace.
  c10::SymNode size(const at::Tensor& tensor, int64_t dim);
  c10::SymNode size(const at::Tensor& tensor, const c10::SymNode& dim);
  /// `kind(tensor)` that returns an int: aten::numel, aten::dim.
  c10::SymNode intOf(Symbol kind, const at::Tensor& tensor, int64_t number);
  /// `kind(tensor)`, or `kind(tensor, dim)`, that returns an int which tells where elements lie in memory:
  /// aten::stride. Null within functorch's transforms, whose tensors lie elsewhere.
  c10::SymNode layoutOf(Symbol kind, const at::Tensor& tensor, std::optional<int64_t> dim, int64_t number);
  /// The int or float in a tensor of one element.
  c10::SymNode item(const at::Tensor& tensor, bool as_float);

  // ---- Events
  void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) override;
  c10::SymInt sizeOf(const at::Tensor& tensor, int64_t dim) override;
  c10::SymInt argumentOf(const at::Tensor& tensor, const std::string& name, int64_t number) override;
  void noteWritesAreSeen(const at::Tensor& tensor, bool are_seen) override;
  void runDecomposed(const c10::OperatorHandle& op, const Stack& arguments, const std::function<void()>& run) override;
  void runWithSizesOf(const at::Tensor& tensor, const std::function<void()>& run) override;
  /// Runs the operator on the stack and records it.
  void runOperator(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack);
  /// Runs a program's function on arguments that fit its schema, and records the call.
  void runFunction(Function& function, Stack& stack);
  /// A PyTorch function is about to be called. Returns the call around it, for endCall.
  LibraryCall beginCall(LibraryCall call);
  /// PyTorch makes a plain number of a traced one. Warns if that belongs to no call.
  void noteRead(const TracedNumber& number);
  /// A functorch transform has made other operators of a call, and perhaps an autograd node of its own.
  void rememberTransformed(std::span<const IValue> arguments, std::span<const IValue> results);
  /// Warns if an operator in a transform may have computed this number from sizes.
  void noteSizeInTransform(int64_t number);
  /// Whether all that became plain numbers were seen to be arguments of operators. The others are constants.
  bool endCall(LibraryCall outer);
  /// A node whose results Python computed itself: `kind(inputs) -> result`.
  void recordResult(Symbol kind, std::span<Value* const> inputs, const IValue& result);

  // ---- Lists of which another call may have more or fewer elements (lists.cpp)
  /// The list in the graph whose elements these are, as an operator has just returned them; null if there is none.
  Value* listOfElements(std::span<const at::Tensor> elements) const;
  /// The tensor as this element of the list. If it is known as another one already, a tensor of the same memory is.
  at::Tensor elementOfList(Value* list, const c10::SymNode& index, const at::Tensor& tensor, bool is_known_otherwise);
  /// `list[start:stop:step]`; null is no bound.
  Value* sliceOfList(Value* list, std::span<const c10::SymNode> bounds);
  c10::SymNode lengthOfList(Value* list, int64_t length);
  /// All elements of the list, each by itself: the program raises if there are more or fewer.
  std::vector<at::Tensor> unpackList(
      Value* list, std::span<const at::Tensor> elements, const std::vector<bool>& are_known_otherwise);

  struct TransformedCall {
    Symbol kind;
    std::span<const IValue> arguments;
  };
  /// While one lives, a functorch transform makes the operators that run, of a call with these arguments.
  class Transform {
   public:
    Transform(Recorder& recorder, Symbol kind, std::span<const IValue> arguments) : calls_(recorder.transforms_) {
      calls_.push_back({kind, arguments});
    }
    ~Transform() { calls_.pop_back(); }
    Transform(const Transform&) = delete;
    Transform& operator=(const Transform&) = delete;

   private:
    std::vector<TransformedCall>& calls_;
  };

  // ---- Scopes (scopes.cpp)
  /// The program calls the submodule at `path` of self. False if there is no such submodule.
  bool pushScope(const AttributePath& path);
  /// What runs until popScope is forked.
  void pushFork();
  void popScope();

  // ---- The end (finish.cpp)
  /// Registers the outputs, removes what has no effect, makes methods of scopes. Checks the graph.
  std::shared_ptr<Graph> finish(const IValue& result);
  /// The programs of the functions that the graph calls; it names them and does not keep them alive.
  const std::unordered_set<std::shared_ptr<Program>>& called() const { return called_; }

 private:
  struct Known {
    at::Tensor tensor;
    Value* value;
  };
  struct Literal {
    Value* constant;
    Node* clone;
    bool escapes = false;  // written to, or visible outside
  };
  /// A module whose code runs, or what it forked. The first is the traced function itself.
  struct Scope {
    AttributePath path;
    Node* node;  // prim::TracedModuleForward, prim::fork; null for the first
    Block* block;
    Value* self;
    std::unordered_map<std::string, Value*> attributes;  // by dotted path from the root
  };
  /// Where an autograd node comes from.
  struct Gradient {
    GradientNodePtr node;
    std::vector<at::Tensor> inputs, outputs;
    std::vector<double> constants;                   // numbers among the operator's arguments
    std::vector<std::pair<double, Value*>> numbers;  // those that are values of the graph
    bool has_list = false;                           // of tensors among the operator's arguments
    bool counts_parts = false;                       // the trace asks whether the list of outputs is as long as it was
  };
  class OperatorRecord;

  Value* constantValue(const IValue& value, const TypePtr& type);
  Value* tensorConstant(const at::Tensor& tensor);
  Value* makeLiteral(const at::Tensor& tensor);
  Value* sameMemory(const at::Tensor& tensor);
  Value* attributeValue(const AttributePath& path);
  Value* insert(Symbol kind, std::span<Value* const> inputs, const TypePtr& type);
  Value* compute(Basic operation, std::initializer_list<Value*> inputs) {
    return insertBasic(*graph_, operation, inputs)->output();
  }
  Value* listOf(std::vector<Value*> elements, const TypePtr& element_type);
  // Arguments that came as plain numbers (plain_numbers.cpp)
  void noteConversion(const at::Tensor& tensor, const IValue& number);
  std::vector<PlacedNumber> placePlainNumbers(const Operator& op, std::span<const IValue> arguments);
  std::vector<PlacedNumber> placeIndex(const Operator& op, std::span<const IValue> arguments);
  Value* plainNumberValue(const PlacedNumber& placed);
  Value* plainNumberIn(const at::Tensor& tensor);
  /// The list that these tensors are all of, if it is an argument of the call that the program made.
  Value* passedList(const IValue& tensors) const;
  /// The numbers in what a script function returned, as numbers of this trace: `computed` is the value in the graph.
  IValue withTracedNumbers(const IValue& value, Value* computed);
  void nameValue(Value* value, const at::Tensor& tensor);
  void registerObject(const IValue& value, const AttributePath& path);
  void bindContainer(const IValue& value, Value* container);
  bool hasUnseenContents(const at::Tensor& tensor) const;
  void noteWrite(const at::Tensor& tensor);
  void noteEscape(const IValue& value);
  /// What the contents of this tensor are by now, if they came from where the tracer can't see.
  void readContents(const at::Tensor& tensor);
  // Sizes that PyTorch computed (computed_sizes.cpp)
  void rememberGradient(
      const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& outputs, const Node* node = nullptr,
      std::span<const IValue> arguments = {});
  void noteGivenNumbers(std::span<const IValue> arguments, Gradient& known);
  Gradient* currentGradient();
  /// `sizes` as the shape of a tensor of the forward pass; null if it is none, or if no backward pass runs.
  Value* shapeInBackward(at::IntArrayRef sizes);
  /// `sizes`, to which what is assigned is brought by this operator, as the shape of a tensor; null if it is not.
  Value* shapeInAssignment(Symbol kind, const at::Tensor& value, at::IntArrayRef sizes);
  /// `number` as that by which the gradient of a mean is divided.
  Value* divisorInBackward(const IValue& number);

  /// A number that a formula of autograd's passes to an operator: the value of the graph that it was in the forward
  /// pass. Null for a constant; warns if the formula may have computed it from sizes.
  Value* numberInBackward(const IValue& number, bool is_size);
  /// The groups of the backward pass of channel_shuffle: as many as the forward pass had channels in a group.
  Value* groupsInBackward(const IValue& number);
  static bool mayBeOfSizes(const Gradient& gradient, double factor);
  // What a trace froze among the arguments of kernels that believe them (frozen_arguments.cpp)
  static bool believesArguments(const Operator& op);
  void noteListsOfFormula(const Operator& op, std::span<const IValue> arguments);
  void requireTracedSizes(const Operator& op, std::span<const IValue> arguments, std::span<Value* const> inputs);
  /// An operator of a backward pass puts the gradients of as many parts together as a list had: another call has to
  /// have as many.
  void requireTracedParts();
  void raiseIfDifferent(Value* value, Value* traced, std::string message);

  // Sizes in functorch's transforms (transformed_sizes.cpp)
  /// A wrapped tensor has the sizes of `tensor` in `dims`.
  struct Measured {
    at::Tensor tensor;
    std::vector<int64_t> dims;
  };
  Measured measured(const at::Tensor& tensor);
  /// Whether it is an argument of the call that the program made.
  bool isGiven(double number) const;
  /// Whether an operator runs that `reshape` called: for its operand, which others may not be.
  bool isInReshape() const;
  /// The call of chunk, or of tensor_split by a number of parts, whose parts an operator makes; null if there is none.
  const TransformedCall* callForParts() const;
  /// What `chunk` splits by, of the operator that splits; null if that is a constant.
  Value* sizeOfParts(Symbol kind, std::span<const IValue> arguments);
  std::optional<std::vector<int64_t>> givenSizes(at::IntArrayRef sizes) const;
  Value* product(const std::vector<c10::SymNode>& numbers);
  Value* splitSize(const std::vector<c10::SymNode>& whole, const std::vector<c10::SymNode>& others);
  /// A list of sizes as the shape of `tensor` with 1s and symbolic sizes before and between; null if it is none.
  Value* alignedShape(const at::Tensor& tensor, const IValue& list);
  Value* reshapedShape(const at::Tensor& tensor, const IValue& list);
  Value* broadcastShape(const at::Tensor& tensor, const IValue& list);
  /// Those in the graph that the calls have which a transform sees now.
  std::vector<at::Tensor> transformedTensors();
  /// A list of sizes that a transform or an operator in one has computed from shapes; null if it is none.
  Value* shapeInTransform(Symbol kind, const at::Tensor& tensor, const IValue& list);
  /// The same for a factor of this operator.
  void noteFactorInTransform(Symbol kind, const IValue& number);

  Value* outputTensor(const at::Tensor& tensor, size_t position);
  void resolveLiterals();
  /// Gives values the types of the tensors that they stood for, sizes and all.
  void showSeenTypes();

  Environment environment_;
  bool force_outplace_;
  uint64_t serial_;
  std::shared_ptr<Graph> graph_ = Graph::make();
  std::vector<Scope> scopes_;
  ObjectPtr self_;
  std::unordered_set<std::shared_ptr<Program>> called_;  // of functions that the graph calls and others may let go
  std::unordered_map<const void*, Known> known_;         // by TensorImpl
  std::unordered_map<const void*, std::vector<at::Tensor>> storages_;             // by StorageImpl, latest last
  std::unordered_map<const void*, std::pair<IValue, AttributePath>> attributes_;  // by TensorImpl or Object
  std::unordered_map<const void*, std::pair<IValue, Value*>> objects_;            // that operators have returned
  std::vector<InlinedCallPtr> user_scopes_;            // each has those before it as its callers
  std::unordered_set<const void*> uninitialized_;      // StorageImpls never written to
  std::unordered_map<const void*, Literal> literals_;  // by StorageImpl
  std::unordered_map<const torch::autograd::Node*, Gradient> gradients_;
  std::unordered_set<const void*> constants_;  // StorageImpls of tensors that are constants of the forward pass
  at::Tensor sizes_of_;                        // whose sizes operators get as plain numbers now
  std::vector<TransformedCall> transforms_;    // calls that a transform sees now
  LibraryCall call_;
  mutable size_t num_frozen_in_backward_ = 0;  // warnings
  std::unordered_set<const Value*> asked_for_name_;
  std::unordered_map<Value*, c10::TensorTypePtr> seen_types_;  // of the tensors that values stood for at first
};

/// Lets a Recorder record what this thread does, until it goes out of scope.
class Recording {
 public:
  explicit Recording(Recorder& recorder) : scope_(onlyOne(recorder)) {}

 private:
  static Recorder& onlyOne(Recorder& recorder);

  ClientScope scope_;
};

/// A tensor's contents, for messages.
std::string textOf(const at::Tensor& tensor);
/// Removes nodes whose results have no uses and that do nothing else.
void removeDeadNodes(Graph& graph);
/// Makes methods of prim::TracedModuleForward nodes, and calls of the nodes. Blocks of prim::fork become its subgraphs.
void outlineScopes(Graph& graph);

}  // namespace cresset::tracer
