// Recording one operator: its arguments become inputs of a node, then it runs, then its results become known.
//
// A number may reach an operator as a tensor (`x * 2` is mul.Tensor on a wrapped number). The node gets the number as a
// number, through the overload that takes a Scalar, so that types promote as they did.
#include <torch/csrc/autograd/function.h>

#include <ATen/core/class_type.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>

#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"
#include "cresset/tracer/computed_sizes.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

namespace {

const Operator* operatorOfHandle(const c10::OperatorHandle& op) {
  // Threads have their own, so that no lock is taken per operator.
  static thread_local std::unordered_map<const void*, const Operator*> known;
  const Operator*& found = known[&op.schema()];
  if (!found || found->schema().name() != op.schema().name() ||
      found->schema().overload_name() != op.schema().overload_name()) {
    const auto& name = op.operator_name();
    found = OperatorTable::get().find(name.overload_name.empty() ? name.name : name.name + "." + name.overload_name);
  }
  CRESSET_CHECK(found, "the dispatcher's operators are in the table: " + toString(op.operator_name()));
  return found;
}

enum class TracedAs {
  Node,
  Number,   // its argument becomes a number of Python's or C++'s
  Literal,  // its argument is what torch.tensor and its like have made
  Reuse,    // the in-place reuse of its in-place form, which has a derivative where the operator has none
};

constexpr ColumnCell<TracedAs> kTracedAs[] = {
#define OPERATOR(name) {name, {}},
#define TRACED_AS(what) {{}, TracedAs::what},
#include "cresset/ops/table/table.def"
};

TracedAs tracedAs(const Operator& op) {
  static const auto* column = new auto(byOperator(kTracedAs));
  const auto found = column->find(op.fullName());
  return found == column->end() ? TracedAs::Node : found->second;
}

/// `cresset::copy` of `aten::copy`.
const Operator& reuseOf(const Operator& op) {
  const std::string& name = op.schema().name();
  const std::string& overload = op.schema().overload_name();
  const Operator* in_place = OperatorTable::get().find(name + "_" + (overload.empty() ? "" : "." + overload));
  CRESSET_CHECK(
      in_place && in_place->inPlaceReuse(), "an operator that is traced as a reuse has one: " + op.fullName());
  return *in_place->inPlaceReuse();
}

/// The overload of the operator that takes a Scalar where `is_number` says so, and is the same otherwise; null if there
/// is none.
const Operator* overloadForNumbers(const Operator& op, const std::vector<bool>& is_number) {
  const auto& wanted = op.schema().arguments();
  for (const Operator* candidate : OperatorTable::get().overloads(op.kind())) {
    const auto& arguments = candidate->schema().arguments();
    if (arguments.size() != wanted.size()) continue;
    bool fits = true;
    for (size_t i = 0; fits && i < wanted.size(); ++i) {
      fits = arguments[i].name() == wanted[i].name() &&
             (is_number[i] ? arguments[i].type()->kind() == c10::TypeKind::NumberType
                           : *arguments[i].type() == *wanted[i].type());
    }
    if (fits) return candidate;
  }
  return nullptr;
}

bool isWrappedNumber(const at::Tensor& tensor) {
  return tensor.defined() && tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

/// A SymInt or SymFloat as the plain number that kernels take.
IValue concrete(const IValue& value) {
  const auto plain = [](const c10::SymNode& node) {
    return std::visit([](auto number) { return IValue(number); }, numberOf(node));
  };
  if (value.isSymInt()) return plain(value.toSymInt().toSymNode());
  if (value.isSymFloat()) return plain(value.toSymFloat().toSymNodeImpl());
  if (value.isSymIntList()) {
    c10::List<int64_t> numbers;
    for (const IValue& item : value.toListRef())
      numbers.push_back(item.isInt() ? item.toInt() : concrete(item).toInt());
    return IValue(std::move(numbers));
  }
  if (value.isTuple()) {
    // Arguments of script functions; recursion is over the nesting of tuples.
    std::vector<IValue> elements = value.toTupleRef().elements().vec();
    bool changed = false;
    for (IValue& element : elements) {
      IValue plain = concrete(element);
      changed = changed || !plain.is(element);
      element = std::move(plain);
    }
    if (changed) return IValue(c10::ivalue::Tuple::create(std::move(elements)));
  }
  return value;
}

/// A list of ints, none of them symbolic.
std::optional<std::vector<int64_t>> plainInts(const IValue& value) {
  if (value.isIntList()) return value.toIntVector();
  if (!value.isSymIntList()) return std::nullopt;
  std::vector<int64_t> numbers;
  for (const IValue& item : value.toListRef()) {
    if (!item.isInt()) return std::nullopt;
    numbers.push_back(item.toInt());
  }
  return numbers;
}

TypePtr elementType(const c10::Argument& argument) {
  TypePtr type = argument.type();
  if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
  return type->expectRef<c10::ListType>().getElementType();
}

bool isTraced(const IValue& value) {
  return value.isSymInt() || value.isSymFloat();
}

}  // namespace

/// One call. Lives from before it until its results are known.
class Recorder::OperatorRecord {
 public:
  OperatorRecord(Recorder& recorder, const Operator& op, Stack& stack)
      : recorder_(recorder),
        graph_(recorder.graph()),
        op_(&op),
        stack_(stack),
        first_(stack.size() - op.schema().arguments().size()) {}

  /// Makes the node, not yet inserted, and leaves plain numbers on the stack.
  void begin() {
    graph_.setLocation(recorder_.location());
    const auto& arguments = op_->schema().arguments();
    const auto substitutes = recorder_.placePlainNumbers(*op_, std::span(stack_).subspan(first_, arguments.size()));
    readUnseenContents(substitutes);
    chooseOverload();
    if (op_->kind() == aten::view && arguments.size() == 2 && recorder_.isInReshape()) op_ = reshape();
    const size_t num_frozen = recorder_.num_frozen_in_backward_;
    if (torch::autograd::get_current_node()) recorder_.requireTracedParts();
    std::vector<Value*> inputs;
    for (size_t i = 0; i < arguments.size(); ++i) inputs.push_back(input(i, substitutes));
    for (size_t i = 0; i < arguments.size(); ++i) {
      IValue& value = stack_[first_ + i];
      if (isTraced(value) || value.isSymIntList()) value = concrete(value);
      arguments_.push_back(value);
    }
    if (Recorder::believesArguments(*op_)) {
      if (torch::autograd::get_current_node()) recorder_.noteListsOfFormula(*op_, arguments_);
      if (recorder_.num_frozen_in_backward_ != num_frozen) recorder_.requireTracedSizes(*op_, arguments_, inputs);
    }
    const auto& returns = op_->schema().returns();
    node_ = graph_.create(op_->kind(), inputs, returns.size());
    node_->bindOperator(op_);
    for (size_t i = 0; i < returns.size(); ++i) node_->output(i)->setType(returns[i].type());
    if (recorder_.force_outplace_) {
      const bool are_others_left_behind = warnOfOtherReferences();
      // An assignment to a part (`x[0] = y`) has nothing but its effect on the whole, and so stays in place.
      const bool is_assignment = isCopy() || op_->kind() == aten::fill_;
      if (!is_assignment || !are_others_left_behind) makeOutOfPlace();
    }
  }

  /// The operator threw.
  void abandon() { node_->destroy(); }

  /// After the operator has run: its results are on the stack.
  void end() {
    const auto& schema = op_->schema();
    rereadCopiedContents();
    graph_.insertNode(node_);
    if (!recorder_.user_scopes_.empty()) node_->setInlinedCall(recorder_.user_scopes_.back());
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (isWritten(schema.arguments()[i])) noteWrites(arguments_[i]);
    }
    const size_t count = schema.returns().size(), first = stack_.size() - count;
    std::vector<at::Tensor> inputs, outputs;
    for (const IValue& value : arguments_) {
      visitTensors(value, [&](const at::Tensor& tensor) { inputs.push_back(tensor); });
    }
    for (size_t i = 0; i < count; ++i) {
      const IValue& result = stack_[first + i];
      recorder_.setValue(result, node_->output(i));
      visitTensors(result, [&](const at::Tensor& tensor) { outputs.push_back(tensor); });
      if (result.isTensor() && op_->leavesUninitialized()) {
        if (const void* storage = storage_(result.toTensor())) recorder_.uninitialized_.insert(storage);
      }
    }
    recorder_.rememberGradient(inputs, outputs, node_, arguments_);
    if (recorder_.call_.target.defined() && !inputs.empty() && outputs.size() == 1 &&
        inputs[0].is_same(recorder_.call_.target)) {
      recorder_.call_.target = outputs[0];
    }
  }

 private:
  static const void* storage_(const at::Tensor& tensor) {
    return tensor.defined() && tensor.unsafeGetTensorImpl()->has_storage() ? tensor.storage().unsafeGetStorageImpl()
                                                                           : nullptr;
  }

  template <typename Visit>
  static void visitTensors(const IValue& value, const Visit& visit) {
    if (value.isTensor()) {
      visit(value.toTensor());
    } else if (value.isList()) {
      for (const IValue& item : value.toListRef()) {
        if (item.isTensor()) visit(item.toTensor());
      }
    }
  }

  void noteWrites(const IValue& value) {
    visitTensors(value, [&](const at::Tensor& tensor) { recorder_.noteWrite(tensor); });
  }

  /// `to` and its like return their argument or a copy of it. If it was a copy, the argument was read.
  void rereadCopiedContents() {
    const auto& arguments = op_->schema().arguments();
    const size_t count = op_->schema().returns().size();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const auto* alias = arguments[i].alias_info();
      if (!alias || alias->isWrite() || !arguments_[i].isTensor()) continue;
      const at::Tensor& tensor = arguments_[i].toTensor();
      if (!recorder_.hasUnseenContents(tensor)) continue;
      for (size_t r = 0; r < count; ++r) {
        const IValue& result = stack_[stack_.size() - count + r];
        if (!result.isTensor() || storage_(result.toTensor()) == storage_(tensor)) continue;
        node_->replaceInput(i, recorder_.makeLiteral(tensor));
        break;
      }
    }
  }

  /// Numbers that came as tensors, if some overload takes them as numbers.
  void chooseOverload() {
    const auto& arguments = op_->schema().arguments();
    is_number_.assign(arguments.size(), false);
    bool any = false;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const IValue& value = stack_[first_ + i];
      if (!value.isTensor() || !isWrappedNumber(value.toTensor()) || recorder_.isKnown(value.toTensor())) continue;
      if (value.toTensor().scalar_type() == at::kBool) continue;  // in programs, a bool is no number
      any = is_number_[i] = true;
    }
    if (!any) return;
    if (const Operator* better = overloadForNumbers(*op_, is_number_)) {
      op_ = better;
    } else {
      is_number_.assign(arguments.size(), false);
    }
  }

  using Substitutes = std::vector<PlacedNumber>;

  /// Arguments that are read now, and whose contents came from elsewhere. A view of such memory may yet be filled by
  /// the program, so views wait.
  void readUnseenContents(const Substitutes& substitutes) {
    const auto& arguments = op_->schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto isHere = [&](const PlacedNumber& placed) { return placed.argument == i; };
      if (arguments[i].alias_info() || std::any_of(substitutes.begin(), substitutes.end(), isHere)) continue;
      visitTensors(stack_[first_ + i], [&](const at::Tensor& tensor) { recorder_.readContents(tensor); });
    }
  }

  Value* input(size_t i, const Substitutes& substitutes) {
    const c10::Argument& argument = op_->schema().arguments()[i];
    const IValue& value = stack_[first_ + i];
    const auto substitute = [&](int element) -> Value* {
      for (const PlacedNumber& placed : substitutes) {
        if (placed.argument == i && placed.element == element) return recorder_.plainNumberValue(placed);
      }
      return nullptr;
    };
    if (Value* number = substitute(-1)) {
      if (!value.isTensor() || is_number_[i]) return number;
      return recorder_.compute(Basic::ToTensor, {number});
    }
    if (is_number_[i]) {
      const IValue number = numberIn(value.toTensor());
      Value* known = op_->kind() == aten::div ? recorder_.divisorInBackward(number) : nullptr;
      if (!known) known = recorder_.numberInBackward(number, /*is_size=*/false);
      recorder_.noteFactorInTransform(op_->kind(), number);
      return known ? known : graph_.insertConstant(number);
    }
    const auto isElement = [&](const PlacedNumber& placed) { return placed.argument == i; };
    if (value.isList() && std::any_of(substitutes.begin(), substitutes.end(), isElement)) {
      const TypePtr type = elementType(argument);
      std::vector<Value*> elements;
      for (const IValue& item : value.toListRef()) {
        Value* number = substitute(static_cast<int>(elements.size()));
        elements.push_back(number ? number : recorder_.valueOf(item, type));
      }
      return recorder_.listOf(std::move(elements), type);
    }
    if (Value* list = recorder_.passedList(value)) return list;
    if (op_->kind() == aten::div && (value.isInt() || value.isDouble())) {
      if (Value* divisor = recorder_.divisorInBackward(value)) return divisor;
    }
    if (const auto sizes = isSize(argument) ? plainInts(value) : std::nullopt) {
      const at::Tensor& given = recorder_.sizes_of_;
      if (given.defined() && given.sizes() == *sizes && recorder_.hasMemoryOf(given))
        return recorder_.compute(Basic::Sizes, {recorder_.tensorValue(given)});
      if (Value* shape = recorder_.shapeInBackward(*sizes)) return shape;
      if (i == 1 && recorder_.call_.target.defined() && stack_[first_].isTensor()) {
        if (Value* shape = recorder_.shapeInAssignment(op_->kind(), stack_[first_].toTensor(), *sizes)) return shape;
      }
    }
    if (isSize(argument) && (value.isIntList() || value.isSymIntList())) {
      const at::Tensor operand = i > 0 && stack_[first_].isTensor() ? stack_[first_].toTensor() : at::Tensor();
      if (Value* shape = recorder_.shapeInTransform(op_->kind(), operand, value)) return shape;
    }
    if (i == 1 && isSize(argument) && value.isInt()) {
      if (Value* groups = recorder_.groupsInBackward(value)) return groups;
      if (Value* number = recorder_.sizeOfParts(op_->kind(), std::span(stack_).subspan(first_))) return number;
    }
    if (Value* number = numberOfFormula(argument, value)) return number;
    return recorder_.valueOf(value, argument.type());
  }

  static const Operator* reshape() {
    static const Operator* op = OperatorTable::get().find("aten::reshape");
    return op;
  }

  static bool isSize(const c10::Argument& argument) {
    return argument.real_type()->str().find("SymInt") != std::string::npos;
  }

  /// The same for what a formula of autograd's has computed.
  Value* numberOfFormula(const c10::Argument& argument, const IValue& value) {
    const bool is_size = isSize(argument);
    if (const auto numbers = is_size ? plainInts(value) : std::nullopt) {
      std::vector<Value*> elements;
      bool any = false;
      for (const int64_t number : *numbers) {
        Value* known = recorder_.numberInBackward(IValue(number), /*is_size=*/true);
        recorder_.noteSizeInTransform(number);
        any |= known != nullptr;
        elements.push_back(known ? known : graph_.insertConstant(IValue(number)));
      }
      return any ? recorder_.listOf(std::move(elements), c10::IntType::get()) : nullptr;
    }
    const TypePtr& type = argument.type();
    const bool is_factor = type->kind() == c10::TypeKind::NumberType || type->kind() == c10::TypeKind::FloatType;
    if (!is_size && !is_factor) return nullptr;
    if (!is_size) {
      recorder_.noteFactorInTransform(op_->kind(), value);
    } else if (value.isInt()) {
      recorder_.noteSizeInTransform(value.toInt());
    }
    return recorder_.numberInBackward(value, is_size);
  }

  bool isCopy() const { return op_->kind() == aten::copy_; }

  /// A write that becomes a new value is not seen by what else reads that memory; whether there is something else.
  bool warnOfOtherReferences() {
    const auto& arguments = op_->schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (!isWritten(arguments[i]) || !arguments_[i].isTensor()) continue;
      const size_t count = recorder_.liveReferences(arguments_[i].toTensor());
      if (count < 2) return false;
      std::string name = op_->kind().toUnqualString();
      if (isCopy()) name += " (possibly due to an assignment)";
      if (arguments[i].is_out()) name += "_out";
      recorder_.warn(
          "There are " + std::to_string(count) +
          " live references to the data region being modified when tracing in-place operator " + name +
          ". This might cause the trace to be incorrect, because all other views that also reference this data will "
          "not reflect this change in the trace! On the other hand, if all other views use the same memory chunk, but "
          "are disjoint (e.g. are outputs of torch.split), this might still be safe.");
      return true;
    }
    return false;
  }

  /// `x.add_(y)` as `x = x.add(y)`.
  void makeOutOfPlace() {
    if (!op_->isMutable() || op_->schema().returns().size() != 1) return;
    const Operator* other = functionalForm(op_->schema()).op;
    if (!other) other = viewForm(op_->schema());
    if (!other || other->schema().name() + "_" != op_->schema().name()) return;
    node_->setKind(other->kind());
    node_->bindOperator(other);
  }

  Recorder& recorder_;
  Graph& graph_;
  const Operator* op_;
  Stack& stack_;
  size_t first_;
  std::vector<bool> is_number_;
  Stack arguments_;
  Node* node_ = nullptr;
};

void Recorder::runOperator(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack) {
  const Operator& known = *operatorOfHandle(op);
  const TracedAs what = tracedAs(known);
  const auto run = [&] { handOn(op, keys, stack); };
  if (what == TracedAs::Number) {
    const at::Tensor tensor = stack.back().toTensor();
    run();
    return noteConversion(tensor, stack.back());
  }
  if (what == TracedAs::Literal) {
    const at::Tensor literal = stack.back().toTensor();
    run();
    if (Value* number = plainNumberIn(literal)) {
      setTensorValue(literal, compute(Basic::ToTensor, {number}));
    } else if (!isKnown(literal) || hasUnseenContents(literal)) {
      makeLiteral(literal);
    }
    if (!stack.back().toTensor().is_same(literal)) setTensorValue(stack.back().toTensor(), tensorValue(literal));
    return;
  }
  // torch.tensor ends with aten::detach_, which then does nothing; of a tensor that was computed, later inputs may
  // require gradients.
  if (known.hasTrait(Trait::ChangesTape) && !stack.back().toTensor().requires_grad() &&
      !isComputed(stack.back().toTensor()))
    return run();
  OperatorRecord record(*this, what == TracedAs::Reuse ? reuseOf(known) : known, stack);
  record.begin();
  try {
    run();
  } catch (...) {
    record.abandon();
    throw;
  }
  record.end();
}

void Recorder::runFunction(Function& function, Stack& stack) {
  const c10::FunctionSchema& schema = function.getSchema();
  const size_t count = schema.arguments().size(), first = stack.size() - count;
  graph_->setLocation(location());
  const bool is_method =
      count > 0 && stack[first].isObject() &&
      dynamic_cast<Function*>(stack[first].toObject()->type()->findMethod(function.name())) == &function;
  std::vector<Value*> inputs;
  called_.insert(function.program().shared_from_this());
  if (!is_method) {
    Node* constant = graph_->insertNode(graph_->create(prim::Constant));
    constant->setAttribute(attr::name, function.name());
    inputs.push_back(constant->output()->setType(c10::FunctionType::create(&function)));
  }
  for (size_t i = 0; i < count; ++i) {
    const IValue& value = stack[first + i];
    // What the function does to its arguments is not seen.
    noteEscape(value);
    if (is_method && i == 0 && !attributes_.contains(value.toObject().get())) {
      throw UserError(
          "The script method '" + function.qualname().qualifiedName() +
              "' was called while tracing, but its object is no part of what is traced. Make it a submodule or an "
              "attribute of the traced module.",
          location());
    }
    inputs.push_back(valueOf(value, schema.arguments()[i].type()));
  }
  Node* node = graph_->create(is_method ? prim::CallMethod : prim::CallFunction, inputs);
  if (is_method) node->setAttribute(attr::name, function.name());
  node->output()->setType(schema.returns().empty() ? TypePtr(c10::NoneType::get()) : schema.returns()[0].type());
  for (size_t i = first; i < stack.size(); ++i) stack[i] = concrete(stack[i]);
  try {
    const ClientPause pause;
    function.run(stack);
  } catch (...) {
    node->destroy();
    throw;
  }
  graph_->insertNode(node);
  setValue(stack.back(), node->output());
  noteEscape(stack.back());
  stack.back() = withTracedNumbers(stack.back(), node->output());
}

/// Recursion is over the nesting of tuples.
IValue Recorder::withTracedNumbers(const IValue& value, Value* computed) {
  const auto traced = [&](Number number, Value* from) -> c10::SymNode {
    return c10::make_intrusive<TracedNumber>(number, from, serial_);
  };
  if (value.isInt()) return IValue(c10::SymInt(traced(value.toInt(), computed)));
  if (value.isDouble()) return IValue(c10::SymFloat(traced(value.toDouble(), computed)));
  const auto part = [&](Symbol kind, size_t i, const TypePtr& type) {
    Value* index = graph_->insertConstant(IValue(static_cast<int64_t>(i)));
    return insert(kind, std::array{computed, index}, type);
  };
  if (value.isIntList()) {
    std::vector<c10::SymInt> numbers;
    const auto plain = value.toIntVector();
    for (size_t i = 0; i < plain.size(); ++i)
      numbers.emplace_back(traced(plain[i], part(kindOf(Basic::Element), i, c10::IntType::get())));
    return IValue(std::move(numbers));
  }
  if (!value.isTuple()) return value;
  const auto type = computed->type()->cast<c10::TupleType>();
  const auto& elements = value.toTupleRef().elements();
  const auto isNumber = [](const IValue& element) {
    return element.isInt() || element.isDouble() || element.isIntList() || element.isTuple();
  };
  if (!type || !std::any_of(elements.begin(), elements.end(), isNumber)) return value;
  std::vector<IValue> result;
  for (size_t i = 0; i < elements.size(); ++i) {
    const bool number = isNumber(elements[i]);
    result.push_back(
        number ? withTracedNumbers(elements[i], part(prim::TupleIndex, i, type->elements()[i])) : elements[i]);
  }
  if (type->schema()) return IValue(c10::ivalue::Tuple::createNamed(std::move(result), type));
  return IValue(c10::ivalue::Tuple::create(std::move(result)));
}

}  // namespace cresset::tracer
