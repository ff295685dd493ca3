#include "cresset/codegen/group.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <unordered_map>

#include "cresset/codegen/group_operators.h"
#include "cresset/codegen/operator_check.h"
#include "cresset/codegen/scalar_body.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/support/error.h"
#include "cresset/support/numerics.h"

namespace cresset::codegen {

namespace {

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

constexpr size_t kNowhere = std::string_view::npos;

/// A constant that is no tensor.
bool isKnown(const Value& value) {
  const auto known = knownValue(value);
  return known && !known->isTensor();
}

/// Of a value: whether a scan computes it, or what it is computed from.
bool isScanned(const Group& group, size_t value) {
  return value >= group.buffers.size() && group.steps[value - group.buffers.size()].scans;
}

class GroupBuilder {
 public:
  /// Values that no node of the group computes become its inputs when they are first used.
  void take(const Value& value) {
    if (additions_.contains(&value)) throw Unsupported{"what is added to by index is used in the group"};
    if (registers_.contains(&value) || isKnown(value)) return;
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
    const Operator* op = computedOperator(node);
    if (const IndexRule* rule = op ? IndexRule::of(*op) : nullptr) return read(node, *op, *rule);
    const ScalarBody* body = op ? ScalarBody::of(*op) : nullptr;
    if (!body) throw Unsupported{std::string(node.kind().toQualString()) + " has no scalar body"};
    const std::vector<at::ScalarType> results = dtypesOf(node.outputs());
    std::vector<Fact> facts;
    std::vector<ScalarArgument> arguments;
    std::vector<c10::IValue> samples;
    Group::Step step;
    step.contraction = contractionOf(*body, *op, node);
    Fusibility found;
    for (const Value* input : node.inputs()) {
      const std::string& name = op->schema().arguments()[arguments.size()].name();
      const bool is_windowed = step.contraction && step.contraction->windowed == name;
      facts.push_back(factOf(*input));
      arguments.push_back(is_windowed ? windowsArgument(node, *input, *step.contraction) : argumentOf(*input));
      samples.push_back(name == "groups" ? c10::IValue(1) : sampleOf(*input, arguments.back()));
      if (arguments.back().kind == ScalarArgument::Kind::Element) {
        found.rank = std::max(found.rank, *rankOf(*input));
      } else if (name == "self" || name == "other") {
        step.result.has_number = true;
      }
    }
    refuseWhatReturnsArguments(*op, facts, arguments, results[0]);
    if (const auto windows = windows_.find(&node); windows != windows_.end()) {
      const size_t weight = numberOf(*argumentNamed(node, *op, "weight"));
      if (weight >= group_.buffers.size()) throw Unsupported{op->fullName() + " whose weight is computed"};
      group_.buffers[windows->second].windows->weight = weight;
    }
    const auto computes_in = body->computesIn(*op, facts, results[0]);
    if (!computes_in) throw Unsupported{op->fullName() + " computes in a dtype that is not known"};
    refuseMixedHalves(*op, arguments, *computes_in);
    const Operator& called = *operatorOf(node);
    if (called.isInPlaceReuse()) refuseOtherResults(*op, facts, arguments, results);
    if (const std::string error = objectionTo(called, samples); !error.empty())
      throw Unsupported{op->fullName() + " raises: " + error};
    for (const size_t i : layoutOrder(*op)) {
      if (arguments[i].kind != ScalarArgument::Kind::Element) continue;
      const std::string& name = op->schema().arguments()[i].name();
      const bool is_windowed = step.contraction && step.contraction->windowed == name;
      if (body->isWhole(name)) step.whole = step.operands.size();
      step.operands.push_back(is_windowed ? windows_.at(&node) : numberOf(*node.input(i)));
      step.is_converted.push_back(arguments[i].dtype != *computes_in && name != "condition" && name != "mask");
      auto dims = body->dimensionsOf(name, *rankOf(*node.input(i)), found.rank);
      if (!dims) throw Unsupported{op->fullName() + " of tensors of these ranks"};
      step.dims.push_back(std::move(*dims));
      if (step.contraction) step.letters.emplace_back(step.contraction->lettersOf(name));
    }
    step.result.is_first = called.isInPlaceReuse();
    step.result.keeps_layout = op->keepsLayout() || step.result.is_first;
    step.result.makes_contiguous = op->makesContiguous() && !step.result.is_first;
    step.result.keeps_format = op->takesAnyLayout() && body->broadcasts();
    const auto built = body->build(builder_, *op, arguments, *computes_in, results);
    found.scans = step.scans = std::ranges::any_of(built, &ScalarBody::Built::scans);
    if (step.contraction) {
      if (group_.adds) throw Unsupported{op->fullName() + " beside what is added by index"};
      found.contracts = group_.contracts = group_.reduces = true;
      found.rank = *rankOf(*node.output());
      // Losses reduce if an argument says so.
    } else if (std::any_of(built.begin(), built.end(), [](const auto& result) { return result.reduces; })) {
      if (group_.adds) throw Unsupported{op->fullName() + " beside what is added by index"};
      step.reduction = found.reduction = body->reduction(*op, arguments, found.rank);
      group_.reduces = true;
      refuseReductionsOfScans(*op, step, found.scans);
    }
    for (const size_t operand : step.operands) step.scans = step.scans || isScanned(group_, operand);
    group_.scans = group_.scans || found.scans;
    group_.scans_slowly = group_.scans_slowly || (found.scans && builder_.isSlowScan());
    if (group_.scans_slowly && found.rank == 1) throw Unsupported{op->fullName() + " of one row"};
    for (size_t i = 0; i < built.size(); ++i) {
      const Value* output = node.outputs()[i];
      registers_[output] = built[i].value;
      values_[output] = group_.buffers.size() + group_.steps.size();
      step.is_reduced = built[i].is_reduced && !step.contraction;
      step.chooses = step.is_reduced && step.whole && findOperatorRow(op->fullName())->scalar.find("place") != kNowhere;
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
    const Operator* op = computedOperator(node);
    const IndexRule* rule = op ? IndexRule::of(*op) : nullptr;
    const ScalarBody* body = op ? ScalarBody::of(*op) : nullptr;
    const Contraction* contraction = body ? contractionOf(*body, *op, node) : nullptr;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* input = node.input(i);
      if (contraction && contraction->windowed == op->schema().arguments()[i].name()) {
        addWindows(node, *op, *input, contraction->num_window_dims);
      } else if (rule && i == rule->source) {
        addSource(node, *input);
      } else if (rule && rule->form == IndexRule::Form::Bags && i == rule->offsets) {
        continue;
      } else if (input->node()->kind() == prim::ListConstruct) {
        for (const Value* element : input->node()->inputs()) {
          if (sources_.contains(element)) take(*element);
        }
      } else if (sources_.contains(input)) {
        take(*input);
      }
    }
  }

  void addOutput(const Value& value) {
    const size_t buffer = group_.body.inputs.size() + group_.body.outputs.size();
    group_.body.outputs.push_back(group_.dtypes[numberOf(value)]);
    if (const auto addition = additions_.find(&value); addition != additions_.end()) {
      builder_.addTo(buffer, addition->second.offset, addition->second.added);
    } else {
      builder_.store(buffer, registers_.at(&value));
    }
    group_.outputs.push_back(numberOf(value));
  }

  Group finish() {
    group_.body.code = builder_.code();
    return std::move(group_);
  }

 private:
  /// An operator whose elements are read by index.
  Fusibility read(const Node& node, const Operator& op, const IndexRule& rule) {
    const at::ScalarType dtype = dtypesOf(node.outputs().first(1))[0];
    const Value& source = *node.input(rule.source);
    if (!read_sources_.contains(&node)) addSource(node, source);
    if (rule.added) return addByIndex(node, op, rule);
    Group::Step step;
    step.read = IndexedRead{rule.form, read_sources_.at(&node), {}};
    if (rule.form == IndexRule::Form::Bags) return readBags(node, op, rule, std::move(step));
    std::optional<Register> offset;
    for (const Value* index : indicesOf(node, op, rule)) {
      step.read->indices.emplace_back();
      if (!index) continue;
      const Register bytes = offsetOf(*index, op, rule);
      offset = offset ? builder_.add(Opcode::Add, *offset, bytes) : bytes;
      step.read->indices.back() = numberOf(*index);
      step.operands.push_back(numberOf(*index));
    }
    if (!offset || dtypeOf(source) != dtype) throw Unsupported{op.fullName() + " without indices"};
    Fusibility found;
    found.source = &source;
    const Register read = builder_.read(step.read->source, *offset, dtype);
    addResult(*node.output(), read, std::move(step), found);
    return found;
  }

  /// An operator that adds elements, which the group computes, to elements of what is in memory.
  Fusibility addByIndex(const Node& node, const Operator& op, const IndexRule& rule) {
    requireAddition(node, op, rule);
    if (group_.reduces || group_.scans) throw Unsupported{op.fullName() + " of what is reduced, or computed in order"};
    const Value &target = *node.input(rule.source), &added = *node.input(*rule.added);
    Group::Step step;
    step.read = IndexedRead{rule.form, read_sources_.at(&node), {}};
    std::optional<Register> offset;
    for (const Value* index : indicesOf(node, op, rule)) {
      step.read->indices.emplace_back();
      if (!index) continue;
      offset = offsetOf(*index, op, rule);
      step.read->indices.back() = numberOf(*index);
      step.operands.push_back(numberOf(*index));
    }
    take(added);
    step.read->added = numberOf(added);
    step.operands.push_back(numberOf(added));
    step.result.is_first = operatorOf(node)->isInPlaceReuse();
    step.result.makes_contiguous = op.makesContiguous() && !step.result.is_first;
    step.result.keeps_layout = !step.result.makes_contiguous;
    additions_[node.output()] = {*offset, registers_.at(&added)};
    values_[node.output()] = group_.buffers.size() + group_.steps.size();
    group_.steps.push_back(std::move(step));
    group_.dtypes.push_back(*dtypeOf(added));
    group_.adds = true;
    Fusibility found;
    found.target = &target;
    found.rank = *rankOf(added);
    found.is_reduced = {false};
    return found;
  }

  /// One loop has either: elements of a reduction are not taken in order.
  void refuseReductionsOfScans(const Operator& op, const Group::Step& step, bool scans) const {
    if (!scans && std::ranges::any_of(step.operands, [&](size_t operand) { return isScanned(group_, operand); }))
      throw Unsupported{op.fullName() + " of what is computed element by element in order"};
  }

  void addResult(const Value& output, Register value, Group::Step step, Fusibility& found) {
    registers_[&output] = value;
    values_[&output] = group_.buffers.size() + group_.steps.size();
    group_.steps.push_back(std::move(step));
    group_.dtypes.push_back(*dtypeOf(output));
    found.rank = *rankOf(output);
    found.is_reduced = {false};
    group_.is_exact = group_.is_exact && found.is_exact;
  }

  /// What a loop of its own adds up, from each offset to the next.
  Fusibility readBags(const Node& node, const Operator& op, const IndexRule& rule, Group::Step step) {
    const BagCall call = bagCallOf(node, op, rule);
    const Value &index = *node.input(rule.index), &offsets = *node.input(rule.offsets);
    const at::ScalarType dtype = *dtypeOf(*node.output(0));
    step.read->has_end = call.has_end;
    step.read->offsets = read_offsets_.at(&node);
    const Register bytes = offsetOf(index, op, rule);
    step.read->indices = {numberOf(index)};
    step.operands = {numberOf(index)};
    if (group_.body.bounds) throw Unsupported{"bags of several offsets"};
    const BagBounds bounds =
        boundsOfBags(builder_, *step.read, *dtypeOf(offsets), {addNumber(), addNumber(), addNumber()});
    group_.body.bounds = {bounds.from, bounds.to};
    Register row = builder_.read(step.read->source, bytes, dtype);
    if (call.weights) {
      take(*call.weights);
      step.read->weights = numberOf(*call.weights);
      row = builder_.add(Opcode::Mul, row, registers_.at(call.weights));
    }
    Register sum = builder_.add(Opcode::Sum, row);
    if (call.is_mean) {
      const Register one = builder_.constant(at::kLong, int64_t{1});
      const Register count = builder_.select(builder_.add(Opcode::Lt, bounds.length, one), one, bounds.length);
      sum = builder_.add(Opcode::Div, sum, builder_.convert(count, builder_.typeOf(sum)));
    }
    Fusibility found;
    found.source = node.input(rule.source);
    found.contracts = group_.contracts = group_.reduces = true;
    found.is_exact = false;
    addResult(*node.output(0), builder_.roundTo(sum, dtype), std::move(step), found);
    found.is_reduced.resize(node.outputs().size());
    return found;
  }

  void addSource(const Node& node, const Value& source) {
    read_sources_[&node] = addWhole(source);
    const IndexRule& rule = *IndexRule::of(*computedOperator(node));
    if (rule.form == IndexRule::Form::Bags) read_offsets_[&node] = addWhole(*node.input(rule.offsets));
  }

  /// A buffer whose elements are read by index.
  size_t addWhole(const Value& value) {
    const size_t buffer = addStored(value, "read by index");
    group_.buffers[buffer].is_source = true;
    return buffer;
  }

  /// A buffer of what lies in memory before the kernel runs.
  size_t addStored(const Value& value, const char* use) {
    const auto dtype = dtypeOf(value);
    if (!dtype) throw Unsupported{"the dtype or rank of %" + value.debugName() + " is not known"};
    if (!sources_.empty() && !sources_.contains(&value))
      throw Unsupported{std::string("what is ") + use + " is computed"};
    addBufferOf(value, *dtype);
    return group_.buffers.size() - 1;
  }

  /// An integer that the layouts say.
  Register addNumber() {
    group_.body.numbers.push_back(at::kLong);
    return builder_.number(group_.body.numbers.size() - 1, at::kLong);
  }

  ScalarArgument windowsArgument(const Node& node, const Value& input, const Contraction& contraction) {
    if (!windows_.contains(&node)) addWindows(node, *computedOperator(node), input, contraction.num_window_dims);
    ScalarArgument argument;
    argument.kind = ScalarArgument::Kind::Element;
    argument.dtype = *dtypeOf(input);
    argument.value = builder_.load(windows_.at(&node), argument.dtype);
    return argument;
  }

  void addWindows(const Node& node, const Operator& op, const Value& input, size_t num_dims) {
    const size_t buffer = addStored(input, "convolved");
    windows_[&node] = buffer;
    group_.buffers[buffer].windows = windowsOf(node, op, num_dims);
    group_.ranks[buffer] += num_dims;
  }

  /// How many bytes the index moves.
  Register offsetOf(const Value& index, const Operator& op, const IndexRule& rule) {
    const auto dtype = dtypeOf(index);
    if (dtype != at::kLong && !(rule.takesInt() && dtype == at::kInt))
      throw Unsupported{op.fullName() + " with indices that are not integers, or whose dimensions are not known"};
    take(index);
    const Register size = addNumber(), stride = addNumber();
    Register value = builder_.convert(registers_.at(&index), at::kLong);
    if (rule.wraps()) {
      const Register is_negative = builder_.add(Opcode::Lt, value, builder_.constant(at::kLong, int64_t{0}));
      value = builder_.select(is_negative, builder_.add(Opcode::Add, value, size), value);
    }
    return builder_.add(Opcode::Mul, builder_.add(Opcode::Index, value, size), stride);
  }

  void addBuffer(const Value& value, at::ScalarType dtype) {
    registers_[&value] = builder_.load(group_.body.inputs.size(), dtype);
    values_[&value] = group_.buffers.size();
    addBufferOf(value, dtype);
  }

  void addBufferOf(const Value& value, at::ScalarType dtype) {
    const auto source = sources_.find(&value);
    group_.buffers.push_back(source == sources_.end() ? GroupBuffer{} : source->second);
    group_.body.inputs.push_back(dtype);
    group_.ranks.push_back(*rankOf(value));
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

  /// Of its kind: a tensor of one element, or a number.
  c10::IValue sampleOf(const Value& value, const ScalarArgument& argument) const {
    if (argument.kind == ScalarArgument::Kind::Known) return argument.known;
    if (argument.kind == ScalarArgument::Kind::Number) {
      const at::ScalarType type = builder_.typeOf(argument.value);
      return type == at::kBool ? c10::IValue(true) : type == at::kLong ? c10::IValue(1) : c10::IValue(1.0);
    }
    return sampleTensor(*rankOf(value), argument.dtype);
  }

  KernelBuilder builder_;
  Group group_;
  std::unordered_map<const Value*, GroupBuffer> sources_;  // of inputs and views of them
  std::unordered_map<const Value*, Register> registers_;
  struct Addition {
    Register offset, added;
  };
  std::unordered_map<const Value*, Addition> additions_;  // of results that nothing in the group takes
  std::unordered_map<const Value*, size_t> values_;
  std::unordered_map<const Node*, size_t> read_sources_, read_offsets_;  // buffers that nodes read by index
  std::unordered_map<const Node*, size_t> windows_;                      // and that convolutions go over
};

}  // namespace

Fusibility fusibilityOf(const Node& node) {
  Fusibility refused;
  const Operator* op = computedOperator(node);
  if (!op || (!ScalarBody::of(*op) && !IndexRule::of(*op))) {
    refused.why_not = std::string(node.kind().toQualString()) + " has no scalar body";
    return refused;
  }
  for (const Value* output : node.outputs()) {
    const auto* type = output->type()->castRaw<c10::TensorType>();
    const bool is_unused = output->offset() > 0 && output->uses().empty();
    if (!type || is_unused || type->requiresGrad() == std::optional(false)) continue;
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
  if (!node.is_exact && wantsExactNumerics())
    return "it has other bits than eager PyTorch's in a kernel (option numerics)";
  return std::nullopt;
}

Group makeGroup(const Graph& subgraph) {
  GroupBuilder builder;
  builder.addInputs(subgraph.inputs());
  std::vector<const Node*> computing;
  for (const Node* node : subgraph.nodes()) {
    if (!isCall(*node)) continue;
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
