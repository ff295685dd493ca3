#include "cresset/executor/out_variants.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <sstream>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "cresset/analysis/alias.h"
#include "cresset/executor/out_elementwise.h"
#include "cresset/executor/out_kernels.h"
#include "cresset/interpreter/operator_call.h"
#include "cresset/interpreter/plain_tensor.h"
#include "cresset/interpreter/strided_views.h"
#include "cresset/ops/checked_arguments.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::pair<std::string, OutFunctionOf>> entries;

  static Registry& get() {
    static auto* registry = new Registry;
    return *registry;
  }
};

bool isDtypeOfOutput(at::ScalarType dtype) {
  return !c10::isComplexType(dtype) && !c10::isQIntType(dtype);
}

bool isPlainTensor(const c10::IValue& value) {
  const at::Tensor& tensor = value.toTensor();
  return !tensor.defined() || (hasPlainMemory(tensor) && !carriesTangent(tensor));
}

[[gnu::noinline]] bool isPlainOrNoTensor(const c10::IValue& value) {
  if (value.isTensor()) return isPlainTensor(value);
  if (!value.isTensorList()) return true;
  const auto list = value.toListRef();
  return std::all_of(list.begin(), list.end(), isPlainOrNoTensor);
}

[[gnu::always_inline]] inline bool arePlain(const OutArguments& arguments) {
  for (const c10::IValue* input : arguments.inputs()) {
    const bool is_plain = input->isTensor() ? isPlainTensor(*input) : !input->isList() || isPlainOrNoTensor(*input);
    if (!is_plain) [[unlikely]]
      return false;
  }
  return true;
}

void pushInputs(const OutArguments& arguments, Stack& stack) {
  for (const c10::IValue* input : arguments.inputs()) stack.push_back(*input);
}

/// The operator itself, on arguments that the out variant does not take.
bool callOperator(const Operator& op, const OutArguments& arguments, Stack& stack) {
  pushInputs(arguments, stack);
  op.call(stack, arguments.numInputs());
  return false;
}

/// Whether the result's element may be written where that of the operand was: at::TensorIterator, and Cresset's
/// kernels, read what an element is computed of before they write it. A condition may be read after other operands.
bool overwrites(const Operator& op, size_t operand) {
  return op.isPointwise() && op.isPure() && (operand == 0 || op.schema().arguments()[operand].name() == "other");
}

/// A kernel of Cresset's for a single operator.
class OutOperatorCall final : public OutVariant {
 public:
  /// `otherwise`: what computes it where kernels don't run; null if nothing does.
  OutOperatorCall(const Operator& op, const OperatorCall& by_kernel, std::shared_ptr<const OutVariant> otherwise)
      : op_(op), by_kernel_(by_kernel), otherwise_(std::move(otherwise)) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (otherwise_ && !OperatorCall::areWanted()) return otherwise_->call(arguments, stack);
    if (by_kernel_.computeInto(arguments.inputs(), arguments.rawOutput(0))) return true;
    pushInputs(arguments, stack);
    by_kernel_.call(stack, arguments.numInputs());
    return false;
  }

  bool mayOverwrite(size_t operand) const override {
    return overwrites(op_, operand) && (!otherwise_ || otherwise_->mayOverwrite(operand));
  }

 private:
  const Operator& op_;
  const OperatorCall& by_kernel_;
  const std::shared_ptr<const OutVariant> otherwise_;
};

/// The overload with `out`, called through the dispatcher's boxed kernel for the CPU. Autograd's kernels are passed by:
/// what is written to belongs to the run alone.
class OutOverload final : public OutVariant {
 public:
  OutOverload(const Operator& op, const Operator& out) : op_(op), out_(out), with_care_(op.isCalledWithCare()) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    const c10::OperatorHandle* handle = out_.handle();
    if (!handle || !arePlain(arguments)) return callOperator(op_, arguments, stack);
    pushInputs(arguments, stack);
    if (with_care_) checkArguments(op_, stack.data());
    for (size_t i = 0; i < arguments.numOutputs(); ++i) stack.emplace_back(arguments.output(i));
    const at::AutoDispatchBelowADInplaceOrView below;
    handle->redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
    stack.clear();
    return true;
  }
  bool mayOverwrite(size_t operand) const override { return overwrites(op_, operand); }

 private:
  const Operator& op_;
  const Operator& out_;
  const bool with_care_;
};

template <class T>
decltype(auto) argumentOf(const c10::IValue& value) {
  if constexpr (std::is_same_v<T, const at::Tensor&>) {
    return value.toTensor();
  } else {
    return value.toScalar();
  }
}

/// Whether the operator takes arguments of these types and returns one tensor.
template <class... Arguments>
bool takes(const Operator& op) {
  constexpr std::array<bool, sizeof...(Arguments)> kTensors = {std::is_same_v<Arguments, const at::Tensor&>...};
  const auto& arguments = op.schema().arguments();
  if (arguments.size() != kTensors.size() || op.schema().returns().size() != 1) return false;
  for (size_t i = 0; i < kTensors.size(); ++i) {
    const auto kind = arguments[i].type()->kind();
    if (kind != (kTensors[i] ? c10::TypeKind::TensorType : c10::TypeKind::NumberType)) return false;
  }
  return true;
}

/// As OutOverload, but without boxing. Of PyTorch's operators, which stay for as long as the process.
template <class... Arguments>
class TypedOutOverload final : public OutVariant {
 public:
  TypedOutOverload(const Operator& op, const Operator& out)
      : op_(op),
        out_(out.handle()->typed<at::Tensor&(Arguments..., at::Tensor&)>()),
        is_elementwise_(op.isPointwise() && op.isPure()) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (!arePlain(arguments)) return callOperator(op_, arguments, stack);
    return compute(arguments, std::index_sequence_for<Arguments...>());
  }
  bool mayOverwrite(size_t operand) const override { return overwrites(op_, operand); }

 private:
  template <size_t... I>
  bool compute(const OutArguments& arguments, std::index_sequence<I...>) const {
    const at::AutoDispatchBelowADInplaceOrView below;
    out_.redispatch(
        c10::DispatchKeySet(c10::DispatchKey::CPU), argumentOf<Arguments>(arguments.input(I))..., resultOf(arguments));
    return true;
  }

  at::Tensor& resultOf(const OutArguments& arguments) const {
    constexpr size_t kNumTensors = (size_t{std::is_same_v<Arguments, const at::Tensor&>} + ...);
    if (!is_elementwise_ || kNumTensors > 2) return arguments.output(0);
    const at::Tensor& first = arguments.input(0).toTensor();
    const at::Tensor& second = kNumTensors == 2 ? arguments.input(1).toTensor() : first;
    if (!first.defined() || !second.defined()) return arguments.output(0);
    return out::elementwise(arguments, first, second).tensor;
  }

  const Operator& op_;
  const c10::TypedOperatorHandle<at::Tensor&(Arguments..., at::Tensor&)> out_;
  const bool is_elementwise_;
};

template <class... Arguments>
bool makeTyped(const Operator& op, const Operator& out, std::shared_ptr<const OutVariant>& made) {
  if (!takes<Arguments...>(op)) return false;
  made = std::make_shared<TypedOutOverload<Arguments...>>(op, out);
  return true;
}

std::shared_ptr<const OutVariant> outOverload(const Operator& op, const Operator& out) {
  using T = const at::Tensor&;
  using S = const at::Scalar&;
  std::shared_ptr<const OutVariant> made;
  const bool is_typed =
      op.schema().name().starts_with("aten::") && !op.isCalledWithCare() &&
      (makeTyped<T>(op, out, made) || makeTyped<T, T>(op, out, made) || makeTyped<T, T, T>(op, out, made) ||
       makeTyped<T, S>(op, out, made) || makeTyped<T, S, S>(op, out, made) || makeTyped<T, T, S>(op, out, made) ||
       makeTyped<T, T, T, S>(op, out, made));
  return is_typed ? made : std::make_shared<OutOverload>(op, out);
}

/// Calls a library's function, which has to give its outputs their sizes. False if a result has the sizes that an
/// output has before: they don't tell whether it was given any, and the operator itself is to say (computeEmpty).
bool callFunction(const OutFunction& function, const OutArguments& arguments) {
  for (size_t i = 0; i < arguments.numOutputs(); ++i) arguments.output(i);  // or they had those of the call before
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    function(arguments);
  }
  for (size_t i = 0; i < arguments.numOutputs(); ++i) {
    if (arguments.rawOutput(i).sizes() == c10::IntArrayRef{0}) [[unlikely]]
      return false;
  }
  return true;
}

/// The operator itself, after its function has left an output as it was. Throws UserError if the result is another.
bool computeEmpty(const Operator& op, const OutArguments& arguments, Stack& stack) {
  callOperator(op, arguments, stack);
  for (size_t i = 0; i < arguments.numOutputs(); ++i) {
    if (arguments.rawOutput(i).sizes() != c10::IntArrayRef{0} || !stack[i].isTensor()) continue;
    const at::Tensor& expected = stack[i].toTensor();
    if (!expected.defined() || expected.sizes() == c10::IntArrayRef{0}) continue;
    std::ostringstream sizes;
    sizes << expected.sizes();
    throw UserError(
        "The out variant of " + op.fullName() + " has not given " +
        (arguments.numOutputs() == 1 ? "its output" : "output " + std::to_string(i)) + " the sizes of the result, " +
        sizes.str() + ": it must resize it (`out.resize_(…)`), or compute it with an operator that takes `out=`.");
  }
  return false;
}

/// A function of a library.
class OutFunctionCall final : public OutVariant {
 public:
  OutFunctionCall(const Operator& op, OutFunction function) : op_(op), function_(std::move(function)) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (!arePlain(arguments)) return callOperator(op_, arguments, stack);
    return callFunction(function_, arguments) || computeEmpty(op_, arguments, stack);
  }

 private:
  const Operator& op_;
  const OutFunction function_;
};

/// A function of a library, for an operator whose dtypes no rule knows: they are those that the operator itself had for
/// arguments of the same kinds.
class LearningOutFunction final : public OutVariant {
 public:
  LearningOutFunction(const Operator& op, OutFunction function) : op_(op), function_(std::move(function)) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (!arePlain(arguments)) return callOperator(op_, arguments, stack);
    const std::optional<Kinds> kinds = kindsOf(arguments);
    if (const auto dtypes = kinds ? known(*kinds) : std::nullopt) {
      for (size_t i = 0; i < dtypes->size(); ++i) setDtype(arguments.rawOutput(i), (*dtypes)[i]);
      return callFunction(function_, arguments) || computeEmpty(op_, arguments, stack);
    }
    callOperator(op_, arguments, stack);
    if (kinds) learn(*kinds, stack);
    return false;
  }
  bool learnsDtypes() const override { return true; }

 private:
  using Kinds = std::string;
  using Dtypes = c10::SmallVector<at::ScalarType, 2>;
  static constexpr size_t kMostKinds = 16;

  /// All that the dtype of a result may depend on: those of tensors, whether they take part in promotion as numbers do,
  /// and what is no tensor. Nothing if there are values of other types.
  static std::optional<Kinds> kindsOf(const OutArguments& arguments) {
    Kinds kinds;
    add(kinds, c10::get_default_dtype_as_scalartype());
    for (const c10::IValue* input : arguments.inputs()) {
      if (!addKind(kinds, *input)) return std::nullopt;
    }
    return kinds;
  }

  template <class T>
  static void add(Kinds& kinds, T value) {
    kinds.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  static bool addKind(Kinds& kinds, const c10::IValue& value) {
    const auto tag = [&](char letter) { kinds.push_back(letter); };
    if (value.isTensor()) {
      const at::Tensor& tensor = value.toTensor();
      tag('t');
      add(kinds, tensor.defined() ? tensor.scalar_type() : at::ScalarType::Undefined);
      add(kinds, tensor.defined() && tensor.dim() == 0);
      add(kinds, tensor.defined() && tensor.unsafeGetTensorImpl()->is_wrapped_number());
    } else if (value.isNone()) {
      tag('n');
    } else if (value.isInt()) {
      tag('i');
      add(kinds, value.toInt());
    } else if (value.isDouble()) {
      tag('d');
      add(kinds, value.toDouble());
    } else if (value.isBool()) {
      tag('b');
      add(kinds, value.toBool());
    } else if (value.isString()) {
      tag('s');
      add(kinds, value.toStringRef().size());
      kinds += value.toStringRef();
    } else if (value.isList()) {
      const auto elements = value.toListRef();
      tag('l');
      add(kinds, elements.size());
      return std::all_of(
          elements.begin(), elements.end(), [&](const c10::IValue& element) { return addKind(kinds, element); });
    } else {
      return false;
    }
    return true;
  }

  std::optional<Dtypes> known(const Kinds& kinds) const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const auto& entry) { return entry.first == kinds; });
    return found == known_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Not if a result is no tensor that out variants compute.
  void learn(const Kinds& kinds, const Stack& results) const {
    Dtypes dtypes;
    for (const c10::IValue& result : results) {
      if (!result.isTensor() || !result.toTensor().defined() || !hasPlainMemory(result.toTensor())) return;
      const at::ScalarType dtype = result.toTensor().scalar_type();
      if (!isDtypeOfOutput(dtype)) return;
      dtypes.push_back(dtype);
    }
    const std::lock_guard lock(mutex_);
    if (known_.size() == kMostKinds) known_.erase(known_.begin());
    known_.emplace_back(kinds, std::move(dtypes));
  }

  /// The tensor is the run's alone.
  static void setDtype(at::Tensor& tensor, at::ScalarType dtype) {
    if (tensor.scalar_type() == dtype) return;
    tensor.unsafeGetTensorImpl()->set_sizes_contiguous({0});
    tensor.unsafeGetTensorImpl()->set_storage_and_dtype(tensor.storage(), c10::scalarTypeToTypeMeta(dtype));
  }

  const Operator& op_;
  const OutFunction function_;
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<Kinds, Dtypes>> known_;  // oldest first
};

/// A function of the table. Of an operator that copies where it can't return a view, it is what copies.
class OutKernelCall final : public OutVariant {
 public:
  /// `view`: null if views are the operator's.
  OutKernelCall(const Operator& op, OutKernel kernel, StridedView view)
      : op_(op), kernel_(kernel), view_(view), guards_itself_(guardsItself(kernel)) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (view_) {
      c10::IValue result;
      if (view_(arguments.inputs(), result)) {
        stack.push_back(std::move(result));
        return false;
      }
    }
    return (arePlain(arguments) && compute(arguments)) || callOperator(op_, arguments, stack);
  }
  bool computesUnused() const override { return false; }
  bool mayOverwrite(size_t operand) const override { return overwrites(op_, operand); }

 private:
  bool compute(const OutArguments& arguments) const {
    if (guards_itself_) return kernel_(arguments);
    const at::AutoDispatchBelowADInplaceOrView below;
    return kernel_(arguments);
  }

  const Operator& op_;
  const OutKernel kernel_;
  const StridedView view_;
  const bool guards_itself_;
};

bool returnsNewTensors(const Operator& op) {
  const auto& returns = op.schema().returns();
  if (returns.empty() || op.mayShareArguments() || op.isMutable() || op.isInPlaceReuse()) return false;
  for (size_t i = 0; i < returns.size(); ++i) {
    if (returns[i].type()->kind() != c10::TypeKind::TensorType || !returnsNewMemory(op, i)) return false;
  }
  return true;
}

OutFunction registered(const Operator& op) {
  const std::string name = op.kind().toQualString();
  OutFunctionOf found;
  {
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    for (const auto& [key, function_of] : registry.entries) {
      if (key == name || key == op.fullName()) found = function_of;
    }
  }
  return found ? found(op.schema()) : OutFunction();
}

const Operator* findOutOverload(const Operator& op) {
  const auto& arguments = op.schema().arguments();
  const size_t num_returns = op.schema().returns().size();
  for (const Operator* candidate : OperatorTable::get().overloads(op.kind())) {
    const auto& all = candidate->schema().arguments();
    if (!candidate->handle() || all.size() != arguments.size() + num_returns) continue;
    const bool fits = std::equal(arguments.begin(), arguments.end(), all.begin(), [](const auto& a, const auto& b) {
      return a.name() == b.name() && *a.type() == *b.type() && !b.alias_info();
    });
    const bool writes = std::all_of(all.end() - static_cast<std::ptrdiff_t>(num_returns), all.end(), [](const auto& a) {
      return a.kwarg_only() && isWritten(a);
    });
    if (fits && writes && candidate->handle()->hasKernelForDispatchKey(c10::DispatchKey::CPU)) return candidate;
  }
  return nullptr;
}

}  // namespace

void registerOutVariant(const std::string& name, OutFunctionOf function_of) {
  if (name.find("::") == std::string::npos)
    throw UserError("An out variant is registered for an operator, \"namespace::name\", not for \"" + name + "\"");
  Registry& registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  registry.entries.emplace_back(name, std::move(function_of));
}

std::vector<std::string> unboundOutVariants() {
  std::vector<std::string> names;
  {
    Registry& registry = Registry::get();
    const std::lock_guard lock(registry.mutex);
    for (const auto& [name, function_of] : registry.entries) names.push_back(name);
  }
  std::erase_if(names, [](const std::string& name) {
    return OperatorTable::get().find(name) || !OperatorTable::get().overloads(Symbol::fromQualString(name)).empty();
  });
  return names;
}

const Operator* outOverloadOf(const Operator& op) {
  static auto* mutex = new std::mutex;
  static auto* known = new std::unordered_map<const Operator*, const Operator*>;
  if (!op.isOfDispatcher() || !op.handle() || !returnsNewTensors(op)) return nullptr;
  if (!op.isPure() || op.leavesUninitialized() || refusalOfOutOverload(op)) return nullptr;
  const std::lock_guard lock(*mutex);
  const auto [place, is_new] = known->try_emplace(&op, nullptr);
  if (is_new) place->second = findOutOverload(op);
  return place->second;
}

std::optional<at::ScalarType> dtypeOfOutput(const Value& value) {
  const auto* type = value.type()->castRaw<c10::TensorType>();
  if (!type || !type->scalarType() || !type->device() || !type->device()->is_cpu()) return std::nullopt;
  const at::ScalarType dtype = *type->scalarType();
  return isDtypeOfOutput(dtype) ? std::optional(dtype) : std::nullopt;
}

std::shared_ptr<const OutVariant> outVariantOf(const Node& node, bool is_inner_view) {
  const Operator* op = operatorOf(node);
  if (!op) return nullptr;
  if (OutFunction function = registered(*op); function && returnsNewTensors(*op)) {
    const auto outputs = node.outputs();
    if (std::all_of(outputs.begin(), outputs.end(), [](const Value* output) { return dtypeOfOutput(*output); }))
      return std::make_shared<OutFunctionCall>(*op, std::move(function));
    return std::make_shared<LearningOutFunction>(*op, std::move(function));
  }
  std::shared_ptr<const OutVariant> of_torch;
  if (const OutKernel kernel = outKernelOf(*op)) {
    of_torch = std::make_shared<OutKernelCall>(*op, kernel, is_inner_view ? stridedViewOf(*op) : nullptr);
  } else if (const Operator* out = outOverloadOf(*op)) {
    of_torch = outOverload(*op, *out);
  }
  // With numerics=default some operators have bits of their own, wherever they are called.
  const OperatorCall* by_kernel = OperatorCall::of(*op, node);
  if (!by_kernel) return of_torch;
  return returnsNewTensors(*op) ? std::make_shared<OutOperatorCall>(*op, *by_kernel, std::move(of_torch)) : nullptr;
}

}  // namespace cresset
