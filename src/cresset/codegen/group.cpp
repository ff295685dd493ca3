#include "cresset/codegen/group.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "cresset/codegen/scalar_body.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
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
  if (const auto constant = toIValue(&value)) return Fact::of(*constant);
  switch (value.type()->kind()) {
    case c10::TypeKind::IntType:
      return Fact::integer(std::nullopt);
    case c10::TypeKind::BoolType:
      return Fact::boolean(std::nullopt);
    case c10::TypeKind::FloatType: {
      Fact fact;
      fact.kind = Fact::Kind::Float;
      return fact;
    }
    default:
      return {};
  }
}

class GroupBuilder {
 public:
  /// Values that no node of the group computes become its inputs when they are first used.
  void take(const Value& value) {
    if (registers_.contains(&value) || toIValue(&value)) return;
    if (const auto dtype = dtypeOf(value)) {
      registers_[&value] = builder_.load(group_.body.inputs.size(), *dtype);
      group_.body.inputs.push_back(*dtype);
    } else if (const auto type = numberType(*value.type())) {
      registers_[&value] = builder_.number(group_.body.numbers.size(), *type);
      group_.body.numbers.push_back(*type);
    } else {
      throw Unsupported{"the kind of %" + value.debugName() + " is not known: " + value.type()->repr_str()};
    }
  }

  /// Whether the kernel has eager PyTorch's bits.
  bool compute(const Node& node) {
    const Operator* op = operatorOf(node);
    const ScalarBody* body = op ? ScalarBody::of(*op) : nullptr;
    if (!body || node.outputs().size() != 1)
      throw Unsupported{std::string(node.kind().toQualString()) + " has no scalar body"};
    const Value& output = *node.output();
    const auto result = dtypeOf(output);
    if (!result) throw Unsupported{"the dtype or rank of %" + output.debugName() + " is not known"};
    std::vector<Fact> facts;
    std::vector<ScalarArgument> arguments;
    Group::Step step;
    for (const Value* input : node.inputs()) {
      facts.push_back(factOf(*input));
      arguments.push_back(argumentOf(*input));
      const std::string& name = op->schema().arguments()[arguments.size() - 1].name();
      if (arguments.back().kind == ScalarArgument::Kind::Element) {
        step.operands.push_back(numberOf(*input));
      } else if (name == "self" || name == "other") {
        step.has_number = true;
      }
    }
    const auto computes_in = body->computesIn(*op, facts, *result);
    if (!computes_in) throw Unsupported{op->fullName() + " computes in a dtype that is not known"};
    refuseMixedHalves(*op, arguments, *computes_in);
    const ScalarBody::Built built = body->build(builder_, *op, arguments, *computes_in, *result);
    registers_[&output] = built.value;
    step.makes_contiguous = op->makesContiguous();
    values_[&output] = inputs_.size() + group_.steps.size();
    group_.steps.push_back(std::move(step));
    group_.dtypes.push_back(*result);
    group_.is_exact = group_.is_exact && built.is_exact;
    return built.is_exact;
  }

  /// Before the first node.
  void addInputs(std::span<Value* const> inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      take(*inputs[i]);
      if (const auto dtype = dtypeOf(*inputs[i])) {
        values_[inputs[i]] = inputs_.size();
        inputs_.push_back(inputs[i]);
        group_.tensors.push_back(i);
        group_.dtypes.push_back(*dtype);
      } else {
        group_.numbers.push_back(i);
      }
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
  size_t numberOf(const Value& value) const {
    const auto found = values_.find(&value);
    return found == values_.end() ? 0 : found->second;
  }

  ScalarArgument argumentOf(const Value& value) {
    ScalarArgument argument;
    if (const auto constant = toIValue(&value); constant && !constant->isTensor()) {
      argument.known = *constant;
      return argument;
    }
    take(value);
    const auto dtype = dtypeOf(value);
    argument.kind = dtype ? ScalarArgument::Kind::Element : ScalarArgument::Kind::Number;
    argument.value = registers_.at(&value);
    if (dtype) argument.dtype = *dtype;
    return argument;
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
  std::vector<const Value*> inputs_;
  std::unordered_map<const Value*, Register> registers_;
  std::unordered_map<const Value*, size_t> values_;
};

}  // namespace

std::optional<std::string> whyNotFusible(const Node& node) {
  const Operator* op = isStructural(node.kind()) ? nullptr : operatorOf(node);
  const ScalarBody* body = op ? ScalarBody::of(*op) : nullptr;
  if (!body) return std::string(node.kind().toQualString()) + " has no scalar body";
  const auto* type = node.output()->type()->castRaw<c10::TensorType>();
  if (type && type->requiresGrad() != std::optional(false)) return "autograd may record it";
  try {
    if (!GroupBuilder().compute(node) && options::numerics() == Numerics::Exact)
      return op->fullName() + " has other bits than eager PyTorch's in a kernel (option numerics)";
  } catch (const Unsupported& unsupported) {
    return unsupported.reason;
  }
  return std::nullopt;
}

Group makeGroup(const Graph& subgraph) {
  GroupBuilder builder;
  builder.addInputs(subgraph.inputs());
  for (const Node* node : subgraph.nodes()) {
    if (node->kind() != prim::Constant) builder.compute(*node);
  }
  for (const Value* output : subgraph.outputs()) builder.addOutput(*output);
  return builder.finish();
}

std::optional<Schedule> scheduleGroup(const Group& group, std::span<const StridedLayout> inputs) {
  static const StridedLayout kNumber;
  std::vector<StridedLayout> values(inputs.begin(), inputs.end());
  for (const Group::Step& step : group.steps) {
    std::vector<const StridedLayout*> operands;
    for (const size_t operand : step.operands) operands.push_back(&values[operand]);
    if (step.has_number) operands.push_back(&kNumber);
    auto layout = layoutOfResult(operands);
    if (!layout) return std::nullopt;
    if (step.makes_contiguous) layout = contiguousLayout(layout->sizes);
    values.push_back(std::move(*layout));
  }
  Schedule schedule;
  for (const size_t output : group.outputs) schedule.outputs.push_back(values[output]);
  const Sizes& sizes = schedule.outputs[0].sizes;
  for (const StridedLayout& output : schedule.outputs) {
    if (output.sizes != sizes) return std::nullopt;
  }
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return std::nullopt;
  std::vector<const StridedLayout*> buffers;
  for (const StridedLayout& layout : inputs) {
    if (layout.sizes.size() > sizes.size()) return std::nullopt;  // used by nothing that is returned
    buffers.push_back(&layout);
  }
  for (const StridedLayout& layout : schedule.outputs) buffers.push_back(&layout);
  std::vector<at::ScalarType> dtypes = group.body.inputs;
  dtypes.insert(dtypes.end(), group.body.outputs.begin(), group.body.outputs.end());
  schedule.nest = makeLoopNest(sizes, buffers, dtypes, inputs.size());
  schedule.kernel = makeKernel(group.body, schedule.nest.sizes.size(), schedule.nest.steps);
  return schedule;
}

}  // namespace cresset::codegen
