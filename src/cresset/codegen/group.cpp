#include "cresset/codegen/group.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "cresset/codegen/scalar_body.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset::codegen {

namespace {

/// The dtype of a dense tensor of this machine's memory; nothing if it is not known, or none that kernels have.
std::optional<at::ScalarType> dtypeOf(const Value& value) {
  const auto* type = value.type()->castRaw<c10::TensorType>();
  if (!type || !type->scalarType() || !type->dim() || !type->device() || !type->device()->is_cpu()) return std::nullopt;
  return isSupported(*type->scalarType()) ? type->scalarType() : std::nullopt;
}

std::optional<at::ScalarType> numberType(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
      return at::kLong;
    case c10::TypeKind::FloatType:
      return at::kDouble;
    case c10::TypeKind::BoolType:
      return at::kBool;
    default:
      return std::nullopt;
  }
}

Fact factOf(const Value& value) {
  if (value.type()->kind() == c10::TypeKind::TensorType) return Fact::tensor(TensorFacts::of(*value.type()));
  if (const auto known = knownValue(value)) return Fact::of(*known);
  return Fact::ofType(*value.type());
}

class GroupBuilder {
 public:
  /// Values that no node of the group computes become its inputs when they are first used.
  void take(const Value& value) {
    const auto known = knownValue(value);
    if (registers_.contains(&value) || (known && !known->isTensor())) return;
    if (const auto dtype = dtypeOf(value)) {
      addBuffer(value, *dtype);
    } else if (const auto type = numberType(*value.type())) {
      registers_[&value] = builder_.number(group_.body.numbers.size(), *type);
      group_.body.numbers.push_back(*type);
    } else {
      throw Unsupported{"the kind of %" + value.debugName() + " is not known: " + value.type()->repr_str()};
    }
  }

  Fusibility compute(const Node& node) {
    const Operator* op = operatorOf(node);
    const ScalarBody* body = op ? ScalarBody::of(*op) : nullptr;
    if (!body) throw Unsupported{std::string(node.kind().toQualString()) + " has no scalar body"};
    const std::vector<at::ScalarType> results = dtypesOf(node.outputs());
    std::vector<Fact> facts;
    std::vector<ScalarArgument> arguments;
    Group::Step step;
    step.contraction = contractionOf(*body, *op, node);
    Fusibility found;
    for (const Value* input : node.inputs()) {
      facts.push_back(factOf(*input));
      arguments.push_back(argumentOf(*input));
      const std::string& name = op->schema().arguments()[arguments.size() - 1].name();
      if (arguments.back().kind == ScalarArgument::Kind::Element) {
        step.operands.push_back(numberOf(*input));
        if (step.contraction) step.letters.push_back(lettersOf(*step.contraction, name));
        found.rank = std::max(found.rank, *input->type()->castRaw<c10::TensorType>()->dim());
      } else if (name == "self" || name == "other") {
        step.has_number = true;
      }
    }
    refuseWhatReturnsArguments(*op, facts, arguments, results[0]);
    const auto computes_in = body->computesIn(*op, facts, results[0]);
    if (!computes_in) throw Unsupported{op->fullName() + " computes in a dtype that is not known"};
    refuseMixedHalves(*op, arguments, *computes_in);
    if (findOperatorRow(op->fullName())->reverses_operands) std::reverse(step.operands.begin(), step.operands.end());
    step.makes_contiguous = op->makesContiguous();
    const auto built = body->build(builder_, *op, arguments, *computes_in, results);
    if (step.contraction) {
      found.contracts = group_.contracts = group_.reduces = true;
      found.rank = *node.output()->type()->castRaw<c10::TensorType>()->dim();
      // Losses reduce if an argument says so.
    } else if (std::any_of(built.begin(), built.end(), [](const auto& result) { return result.reduces; })) {
      step.reduction = found.reduction = body->reduction(*op, arguments, found.rank);
      group_.reduces = true;
    }
    for (size_t i = 0; i < built.size(); ++i) {
      const Value* output = node.outputs()[i];
      registers_[output] = built[i].value;
      values_[output] = group_.buffers.size() + group_.steps.size();
      step.is_reduced = built[i].is_reduced && !step.contraction;
      group_.steps.push_back(step);
      group_.dtypes.push_back(results[i]);
      found.is_exact = found.is_exact && built[i].is_exact;
      found.is_reduced.push_back(step.is_reduced);
    }
    group_.is_exact = group_.is_exact && found.is_exact;
    return found;
  }

  /// Before the first node.
  void addInputs(std::span<Value* const> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const auto dtype = dtypeOf(*inputs[i])) {
        sources_[inputs[i]] = {group_.tensors.size(), {}};
        group_.tensors.push_back(i);
        group_.tensor_dtypes.push_back(*dtype);
      } else {
        take(*inputs[i]);
        group_.numbers.push_back(i);
      }
    }
  }

  void addViews(const Node& node) {
    if (node.kind() == prim::ListUnpack) {
      for (size_t i = 0; i < node.outputs().size(); ++i) {
        GroupBuffer source = sources_.at(node.input(0));
        source.views.back().element = i;
        sources_[node.outputs()[i]] = std::move(source);
      }
      return;
    }
    GroupBuffer source = sources_.at(node.input(0));
    ViewCall call{operatorOf(node), {}};
    for (size_t i = 1; i < node.inputs().size(); ++i) call.arguments.push_back(*knownValue(*node.input(i)));
    source.views.push_back(std::move(call));
    sources_[node.output()] = std::move(source);
  }

  /// Before the first node that computes: values of buffers come before those of nodes.
  void addBuffersOf(const Node& node) {
    for (const Value* input : node.inputs()) {
      if (sources_.contains(input)) take(*input);
    }
  }

  void addOutput(const Value& value) {
    const size_t buffer = group_.body.inputs.size() + group_.body.outputs.size();
    group_.body.outputs.push_back(group_.dtypes[numberOf(value)]);
    builder_.store(buffer, registers_.at(&value));
    group_.outputs.push_back(numberOf(value));
  }

  Group finish() {
    group_.body.code = builder_.code();
    return std::move(group_);
  }

 private:
  static std::vector<at::ScalarType> dtypesOf(std::span<Value* const> values) {
    std::vector<at::ScalarType> dtypes;
    for (const Value* value : values) {
      const auto dtype = dtypeOf(*value);
      if (!dtype) throw Unsupported{"the dtype or rank of %" + value->debugName() + " is not known"};
      dtypes.push_back(*dtype);
    }
    return dtypes;
  }

  void addBuffer(const Value& value, at::ScalarType dtype) {
    registers_[&value] = builder_.load(group_.body.inputs.size(), dtype);
    values_[&value] = group_.buffers.size();
    const auto source = sources_.find(&value);
    group_.buffers.push_back(source == sources_.end() ? GroupBuffer{} : source->second);
    group_.body.inputs.push_back(dtype);
    group_.ranks.push_back(*value.type()->castRaw<c10::TensorType>()->dim());
    group_.dtypes.push_back(dtype);
  }

  size_t numberOf(const Value& value) const {
    const auto found = values_.find(&value);
    return found == values_.end() ? 0 : found->second;
  }

  ScalarArgument argumentOf(const Value& value) {
    ScalarArgument argument;
    if (const auto known = knownValue(value); known && !known->isTensor()) {
      argument.known = *known;
      return argument;
    }
    take(value);
    const auto dtype = dtypeOf(value);
    argument.kind = dtype ? ScalarArgument::Kind::Element : ScalarArgument::Kind::Number;
    argument.value = registers_.at(&value);
    if (dtype) argument.dtype = *dtype;
    return argument;
  }

  /// Null if it is no product. Throws Unsupported if it is none for operands of these ranks.
  static const Contraction* contractionOf(const ScalarBody& body, const Operator& op, const Node& node) {
    const auto fits = [&](const Contraction& contraction) {
      return std::all_of(contraction.operands.begin(), contraction.operands.end(), [&](const auto& operand) {
        const auto& [name, letters] = operand;
        const auto index = op.schema().argumentIndexWithName(name);
        const auto* type =
            index ? node.input(static_cast<size_t>(*index))->type()->castRaw<c10::TensorType>() : nullptr;
        if (!type || !type->dim()) return false;
        return letters.starts_with('*') ? *type->dim() + 1 >= letters.size() : *type->dim() == letters.size();
      });
    };
    const std::span<const Contraction> all = body.contractions();
    if (all.empty()) return nullptr;
    const auto found = std::find_if(all.begin(), all.end(), fits);
    if (found == all.end()) throw Unsupported{op.fullName() + " of tensors of these ranks"};
    return &*found;
  }

  static std::string lettersOf(const Contraction& contraction, const std::string& argument) {
    for (const auto& [name, letters] : contraction.operands) {
      if (name == argument) return letters;
    }
    return "";
  }

  /// Casts return their argument if it has the dtype already; and may be told in which layout.
  static void refuseWhatReturnsArguments(
      const Operator& op, std::span<const Fact> facts, std::span<const ScalarArgument> arguments,
      at::ScalarType result) {
    if (op.mayReturnSelf() && facts[0].dtype == result) throw Unsupported{op.fullName() + " may return its argument"};
    const auto& parameters = op.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (parameters[i].name() == "memory_format" && !arguments[i].known.isNone())
        throw Unsupported{op.fullName() + " in a given memory format"};
    }
  }

  /// Eager PyTorch does not round a tensor of one element of another dtype to half precision first.
  static void refuseMixedHalves(
      const Operator& op, std::span<const ScalarArgument> arguments, at::ScalarType computes_in) {
    if (registerType(computes_in) == computes_in) return;
    for (const ScalarArgument& argument : arguments) {
      if (argument.kind == ScalarArgument::Kind::Element && argument.dtype != computes_in &&
          argument.dtype != at::kBool)
        throw Unsupported{op.fullName() + " of half precision and another dtype"};
    }
  }

  KernelBuilder builder_;
  Group group_;
  std::unordered_map<const Value*, GroupBuffer> sources_;  // of inputs and views of them
  std::unordered_map<const Value*, Register> registers_;
  std::unordered_map<const Value*, size_t> values_;
};

}  // namespace

std::optional<c10::IValue> knownValue(const Value& value) {
  if (auto constant = toIValue(&value)) return constant;
  if (value.node()->kind() == prim::unchecked_cast) return knownValue(*value.node()->input(0));
  if (value.node()->kind() != prim::ListConstruct) return std::nullopt;
  c10::impl::GenericList list(value.type()->castRaw<c10::ListType>()->getElementType());
  for (const Value* element : value.node()->inputs()) {
    auto constant = toIValue(element);
    if (!constant) return std::nullopt;
    list.push_back(std::move(*constant));
  }
  return c10::IValue(std::move(list));
}

Fusibility fusibilityOf(const Node& node) {
  Fusibility refused;
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  if (!op || !ScalarBody::of(*op)) {
    refused.why_not = std::string(node.kind().toQualString()) + " has no scalar body";
    return refused;
  }
  for (const Value* output : node.outputs()) {
    const auto* type = output->type()->castRaw<c10::TensorType>();
    if (!type || type->requiresGrad() == std::optional(false)) continue;
    refused.why_not = "autograd may record it";
    return refused;
  }
  try {
    return GroupBuilder().compute(node);
  } catch (const Unsupported& unsupported) {
    refused.why_not = unsupported.reason;
    return refused;
  }
}

std::optional<std::string> whyNotFusible(const Fusibility& node) {
  if (!node.why_not.empty()) return node.why_not;
  if (!node.is_exact && options::numerics() == Numerics::Exact)
    return "it has other bits than eager PyTorch's in a kernel (option numerics)";
  return std::nullopt;
}

bool makesKnownViews(const Node& node) {
  if (node.kind() == prim::ListUnpack) {
    const Node* maker = node.input(0)->node();
    return maker->kind() != prim::ListUnpack && maker->outputs().size() == 1 && makesKnownViews(*maker);
  }
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  if (!op || !op->isOfDispatcher() || op->isMutable() || node.outputs().size() != 1 || node.inputs().empty())
    return false;
  const auto& result = op->schema().returns()[0];
  const auto& self = op->schema().arguments()[0];
  if (!result.alias_info() || !self.alias_info() || !dtypeOf(*node.input(0))) return false;
  const bool is_list = result.type()->kind() == c10::TypeKind::ListType;
  if (!is_list && dtypeOf(*node.output()) != dtypeOf(*node.input(0))) return false;
  const auto inputs = node.inputs();
  return std::all_of(inputs.begin() + 1, inputs.end(), [](const Value* input) {
    const auto known = knownValue(*input);
    return known && !known->isTensor() && !known->isObject();
  });
}

Group makeGroup(const Graph& subgraph) {
  GroupBuilder builder;
  builder.addInputs(subgraph.inputs());
  std::vector<const Node*> computing;
  for (const Node* node : subgraph.nodes()) {
    if (node->kind() == prim::Constant) continue;
    if (makesKnownViews(*node)) {
      builder.addViews(*node);
    } else {
      computing.push_back(node);
    }
  }
  for (const Node* node : computing) builder.addBuffersOf(*node);
  for (const Node* node : computing) builder.compute(*node);
  for (const Value* output : subgraph.outputs()) builder.addOutput(*output);
  return builder.finish();
}

}  // namespace cresset::codegen
