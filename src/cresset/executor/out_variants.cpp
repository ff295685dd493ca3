#include "cresset/executor/out_variants.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cresset/analysis/alias.h"
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

bool isPlain(const c10::IValue& value) {
  if (value.isTensor()) return !value.toTensor().defined() || hasPlainMemory(value.toTensor());
  if (!value.isTensorList()) return true;
  const auto list = value.toListRef();
  return std::all_of(list.begin(), list.end(), isPlain);
}

bool arePlain(const OutArguments& arguments) {
  for (size_t i = 0; i < arguments.numInputs(); ++i) {
    if (!isPlain(arguments.input(i))) return false;
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

/// A kernel of Cresset's for a single operator.
class OutOperatorCall final : public OutVariant {
 public:
  explicit OutOperatorCall(const OperatorCall& by_kernel) : by_kernel_(by_kernel) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (by_kernel_.computeInto(arguments.inputs(), arguments.rawOutput(0))) return true;
    pushInputs(arguments, stack);
    by_kernel_.call(stack, arguments.numInputs());
    return false;
  }

 private:
  const OperatorCall& by_kernel_;
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

 private:
  const Operator& op_;
  const Operator& out_;
  const bool with_care_;
};

/// A function of the table or of a library.
class OutFunctionCall final : public OutVariant {
 public:
  OutFunctionCall(const Operator& op, OutFunction function) : op_(op), function_(std::move(function)) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (!arePlain(arguments)) return callOperator(op_, arguments, stack);
    const at::AutoDispatchBelowADInplaceOrView below;
    function_(arguments);
    return true;
  }

 private:
  const Operator& op_;
  const OutFunction function_;
};

/// A function of the table. Of an operator that copies where it can't return a view, it is what copies.
class OutKernelCall final : public OutVariant {
 public:
  /// `view`: null if views are the operator's.
  OutKernelCall(const Operator& op, OutKernel kernel, StridedView view) : op_(op), kernel_(kernel), view_(view) {}

  bool call(const OutArguments& arguments, Stack& stack) const override {
    if (view_) {
      c10::IValue result;
      if (view_(arguments.inputs(), result)) {
        stack.push_back(std::move(result));
        return false;
      }
    }
    if (!arePlain(arguments)) return callOperator(op_, arguments, stack);
    {
      const at::AutoDispatchBelowADInplaceOrView below;
      if (kernel_(arguments)) return true;
    }
    return callOperator(op_, arguments, stack);
  }
  bool computesUnused() const override { return false; }

 private:
  const Operator& op_;
  const OutKernel kernel_;
  const StridedView view_;
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

std::vector<std::string> registeredOutVariants() {
  Registry& registry = Registry::get();
  const std::lock_guard lock(registry.mutex);
  std::vector<std::string> names;
  for (const auto& [name, function_of] : registry.entries) names.push_back(name);
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
  return c10::isComplexType(dtype) || c10::isQIntType(dtype) ? std::nullopt : std::optional(dtype);
}

std::shared_ptr<const OutVariant> outVariantOf(const Node& node, bool is_inner_view) {
  const Operator* op = operatorOf(node);
  if (!op) return nullptr;
  if (OutFunction function = registered(*op); function && returnsNewTensors(*op))
    return std::make_shared<OutFunctionCall>(*op, std::move(function));
  // With numerics=default some operators have bits of their own, wherever they are called.
  if (const OperatorCall* by_kernel = OperatorCall::of(*op, node))
    return returnsNewTensors(*op) ? std::make_shared<OutOperatorCall>(*by_kernel) : nullptr;
  if (const OutKernel kernel = outKernelOf(*op))
    return std::make_shared<OutKernelCall>(*op, kernel, is_inner_view ? stridedViewOf(*op) : nullptr);
  const Operator* out = outOverloadOf(*op);
  return out ? std::make_shared<OutOverload>(*op, *out) : nullptr;
}

}  // namespace cresset
