#include "cresset/codegen/group_operators.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/analysis/fact_rule.h"
#include "cresset/codegen/operator_check.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator_rows.h"

namespace cresset::codegen {

static constexpr size_t kNowhere = std::string_view::npos;

std::vector<const Value*> indicesOf(const Node& node, const Operator& op, const IndexRule& rule) {
  const Value* index = node.input(rule.index);
  const size_t rank = *rankOf(*node.input(rule.source)), result = *rankOf(*node.output());
  const auto require = [&](bool condition) {
    if (!condition) throw Unsupported{op.fullName() + " with indices of such dimensions"};
  };
  if (rule.form == IndexRule::Form::Each) {
    std::vector<const Value*> indices;
    if (!makesIndices(*index->node())) throw Unsupported{"a list of indices that is not known, or that others use"};
    for (const Value* element : index->node()->inputs()) {
      const auto known = knownValue(*element);
      indices.push_back(known && known->isNone() ? nullptr : element);
    }
    require(rank >= indices.size());
    return indices;
  }
  if (!dtypeOf(*index)) throw Unsupported{"the dtype or rank of %" + index->debugName() + " is not known"};
  if (rule.form == IndexRule::Form::Flat) {
    require(result == rankOf(*index));
    return {index};
  }
  int64_t dim = rule.dim;
  if (rule.dim_argument) {
    const auto known = knownValue(*node.input(*rule.dim_argument));
    if (!known || !known->isInt()) throw Unsupported{op.fullName() + " along unknown dimensions"};
    dim = known->toInt() < 0 ? known->toInt() + static_cast<int64_t>(rank) : known->toInt();
  }
  require(dim >= 0 && dim < static_cast<int64_t>(rank));
  const bool replaces = rule.form == IndexRule::Form::At && !rule.added;
  require(result == (replaces ? rank - 1 + *rankOf(*index) : rank));
  require(rule.form == IndexRule::Form::At || rankOf(*index) == rank);
  std::vector<const Value*> indices(static_cast<size_t>(dim) + 1);
  indices.back() = index;
  return indices;
}

std::vector<at::ScalarType> dtypesOf(std::span<Value* const> values) {
  std::vector<at::ScalarType> dtypes;
  for (const Value* value : values) {
    const auto dtype = dtypeOf(*value);
    if (!dtype) throw Unsupported{"the dtype or rank of %" + value->debugName() + " is not known"};
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

void requireAddition(const Node& node, const Operator& op, const IndexRule& rule) {
  const auto require = [&](bool condition, const char* what) {
    if (!condition) throw Unsupported{op.fullName() + what};
  };
  const Value &target = *node.input(rule.source), &added = *node.input(*rule.added);
  const at::ScalarType dtype = dtypesOf(node.outputs())[0];
  const auto alpha = knownArgument(node, op, "alpha"), accumulates = knownArgument(node, op, "accumulate");
  require(!alpha || alpha->toScalar().equal(1), " of a multiple");
  require(!accumulates || accumulates->toBool(), " that does not accumulate");
  require(dtypeOf(target) == dtype && dtypeOf(added) == dtype, " of several dtypes");
  // Eager PyTorch adds up elements of half precision in float32 there.
  require(registerType(dtype) == dtype, " of half precision");
  require(rankOf(target) == rankOf(added) && rankOf(target) > 0, " of such dimensions");
  size_t num_indices = 0;
  for (const Value* index : indicesOf(node, op, rule)) {
    if (!index) continue;
    ++num_indices;
    require(rule.form == IndexRule::Form::Along || rankOf(*index) == 1, " with an index of such dimensions");
  }
  require(num_indices == 1, " with several indices, or none");
}

BagCall bagCallOf(const Node& node, const Operator& op, const IndexRule& rule) {
  const auto require = [&](bool condition, const char* what) {
    if (!condition) throw Unsupported{op.fullName() + what};
  };
  for (size_t i = 1; i < node.outputs().size(); ++i)
    require(node.output(i)->uses().empty(), " whose other results are used");
  const auto known = [&](const char* name) { return knownArgument(node, op, name).value_or(c10::IValue()); };
  const int64_t mode = known("mode").toInt();
  require(mode == 0 || mode == 1, " of maxima");
  require(known("padding_idx").isNone(), " with rows that are left out");
  const Value &index = *node.input(rule.index), &offsets = *node.input(rule.offsets);
  const Value* weights = argumentNamed(node, op, "per_sample_weights");
  const bool is_weighted = weights && weights->type()->kind() == c10::TypeKind::TensorType;
  require(is_weighted || known("per_sample_weights").isNone(), " with weights that may be None");
  require(dtypeOf(index) && dtypeOf(offsets) && rankOf(index) == 1 && rankOf(offsets) == 1, " of such dimensions");
  require(dtypeOf(offsets) == at::kLong || dtypeOf(offsets) == at::kInt, " with offsets of another dtype");
  const at::ScalarType dtype = *dtypeOf(*node.output(0));
  require(dtypeOf(*node.input(rule.source)) == dtype, " without the weight's dtype");
  require(!is_weighted || (mode == 0 && dtypeOf(*weights) == dtype && rankOf(*weights) == 1), " with such weights");
  require(c10::isFloatingType(dtype), " of integers");
  return {mode == 1, known("include_last_offset").toBool(), is_weighted ? weights : nullptr};
}

BagBounds boundsOfBags(
    KernelBuilder& builder, const IndexedRead& read, at::ScalarType dtype, const std::array<Register, 3>& numbers) {
  const auto [num_ends, stride, last] = numbers;
  const Register zero = builder.constant(at::kLong, int64_t{0}), one = builder.constant(at::kLong, int64_t{1});
  const Register where = builder.where(read.offsets);
  const Register is_last = builder.add(Opcode::Eq, where, last), is_first = builder.add(Opcode::Eq, where, zero);
  const Register begin = builder.convert(builder.load(read.offsets, dtype), at::kLong);
  const Register next = read.has_end ? stride : builder.select(is_last, zero, stride);
  Register end = builder.convert(builder.read(read.offsets, next, dtype), at::kLong);
  const Register num_indices = builder.add(Opcode::Sub, num_ends, one);
  if (read.has_end) {
    const Register rest = builder.add(Opcode::Sub, num_indices, end);
    builder.add(Opcode::Index, builder.select(is_last, rest, zero), one);
  } else {
    end = builder.select(is_last, num_indices, end);
  }
  builder.add(Opcode::Index, builder.select(is_first, begin, zero), one);
  const Register from = builder.add(Opcode::Index, begin, num_ends);
  const Register to = builder.add(Opcode::Index, end, num_ends);
  return {from, to, builder.add(Opcode::Index, builder.add(Opcode::Sub, to, from), num_ends)};
}

const Contraction* contractionOf(const ScalarBody& body, const Operator& op, const Node& node) {
  const auto groups = op.schema().argumentIndexWithName("groups");
  const bool has_groups = groups && knownValue(*node.input(static_cast<size_t>(*groups))) != c10::IValue(1);
  const auto fits = [&](const Contraction& contraction) {
    return contraction.is_for_groups == has_groups &&
           std::all_of(contraction.operands.begin(), contraction.operands.end(), [&](const auto& operand) {
             const auto& [name, letters] = operand;
             const auto index = op.schema().argumentIndexWithName(name);
             const auto* type =
                 index ? node.input(static_cast<size_t>(*index))->type()->castRaw<c10::TensorType>() : nullptr;
             if (!type && name == "bias") return knownValue(*node.input(static_cast<size_t>(*index))).has_value();
             if (!type || !type->dim()) return false;
             if (name == contraction.windowed) return *type->dim() + contraction.num_window_dims == letters.size();
             return letters.starts_with('*') ? *type->dim() + 1 >= letters.size() : *type->dim() == letters.size();
           });
  };
  const std::span<const Contraction> all = body.contractions();
  if (all.empty()) return nullptr;
  const auto found = std::find_if(all.begin(), all.end(), fits);
  if (found == all.end()) throw Unsupported{op.fullName() + " of tensors of these ranks"};
  return &*found;
}

void refuseWhatReturnsArguments(
    const Operator& op, std::span<const Fact> facts, std::span<const ScalarArgument> arguments, at::ScalarType result) {
  const bool may_return_self = op.mayReturnSelf() || op.schema().returns()[0].alias_info();
  if (may_return_self && facts[0].dtype == result) throw Unsupported{op.fullName() + " may return its argument"};
  const auto& parameters = op.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (parameters[i].name() == "memory_format" && !arguments[i].known.isNone())
      throw Unsupported{op.fullName() + " in a given memory format"};
  }
}

void refuseOtherResults(
    const Operator& op, std::span<const Fact> facts, std::span<const ScalarArgument> arguments,
    std::span<const at::ScalarType> results) {
  const FactRule* rule = FactRule::of(op);
  const bool has_dtype = rule && results.size() == 1 && rule->evaluate(op, facts)[0].dtype == results[0];
  if (!has_dtype || arguments[0].kind != ScalarArgument::Kind::Element || layoutOrder(op)[0] != 0)
    throw Unsupported{op.fullName() + " in place, of another dtype than its first argument's"};
  // Eager PyTorch rounds the number then (mul_).
  if (registerType(results[0]) != results[0] && findOperatorRow(op.fullName())->scalar.find("exactly(") != kNowhere)
    throw Unsupported{op.fullName() + " in place, of half precision and a number"};
}

void refuseMixedHalves(const Operator& op, std::span<const ScalarArgument> arguments, at::ScalarType computes_in) {
  if (registerType(computes_in) == computes_in) return;
  for (const ScalarArgument& argument : arguments) {
    if (argument.kind == ScalarArgument::Kind::Element && argument.dtype != computes_in && argument.dtype != at::kBool)
      throw Unsupported{op.fullName() + " of half precision and another dtype"};
  }
}

}  // namespace cresset::codegen
