#include "cresset/codegen/kernel_builder.h"

#include <algorithm>
#include <bit>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "cresset/support/error.h"

namespace cresset::codegen {

namespace {

enum class ResultKind : uint8_t { Same, Bool, Own };

constexpr ResultKind kResultKinds[] = {
#define OPCODE(Name, text, operands, kind) ResultKind::kind,
#include "cresset/codegen/opcodes.def"
};

}  // namespace

size_t KernelBuilder::Hash::operator()(const Instruction& i) const {
  size_t hash = size_t(i.opcode) * 31 + size_t(i.type);
  for (const Register operand : i.operands) hash = hash * 0x9e3779b97f4a7c15 + operand;
  return (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9 + i.immediate;
}

Register KernelBuilder::append(const Instruction& instruction) {
  const auto [known, is_new] = known_.try_emplace(instruction, static_cast<Register>(code_.size()));
  if (is_new) {
    code_.push_back(instruction);
    holds_.push_back(instruction.type);
  }
  return known->second;
}

Register KernelBuilder::bits(at::ScalarType type, uint64_t bits) {
  return append({Opcode::Constant, type, {}, bits});
}

Register KernelBuilder::constant(at::ScalarType type, double value) {
  if (type == at::kFloat) return bits(type, std::bit_cast<uint32_t>(static_cast<float>(value)));
  if (type == at::kDouble) return bits(type, std::bit_cast<uint64_t>(value));
  if (type == at::kBool) return bits(type, value != 0);
  return convert(bits(at::kDouble, std::bit_cast<uint64_t>(value)), type);
}

Register KernelBuilder::constant(at::ScalarType type, int64_t value) {
  switch (type) {
    case at::kFloat:
      return bits(type, std::bit_cast<uint32_t>(static_cast<float>(value)));
    case at::kDouble:
      return bits(type, std::bit_cast<uint64_t>(static_cast<double>(value)));
    case at::kBool:
      return bits(type, value != 0);
    case at::kByte:
      return bits(type, static_cast<uint8_t>(value));
    case at::kChar:
      return bits(type, static_cast<uint64_t>(int64_t{static_cast<int8_t>(value)}));
    case at::kShort:
      return bits(type, static_cast<uint64_t>(int64_t{static_cast<int16_t>(value)}));
    case at::kInt:
      return bits(type, static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)}));
    default:
      return bits(type, static_cast<uint64_t>(value));
  }
}

Register KernelBuilder::number(size_t index, at::ScalarType type) {
  return append({Opcode::Number, type, {}, index});
}

Register KernelBuilder::count() {
  return append({Opcode::Count, at::kLong, {}, 0});
}

Register KernelBuilder::place() {
  return append({Opcode::Place, at::kLong, {}, 0});
}

Register KernelBuilder::load(size_t buffer, at::ScalarType dtype) {
  const Register value = append({Opcode::Load, registerType(dtype), {}, buffer});
  holds_[value] = dtype;
  return value;
}

Register KernelBuilder::read(size_t buffer, Register offset, at::ScalarType dtype) {
  const Register value = append({Opcode::Read, registerType(dtype), {offset}, buffer});
  holds_[value] = dtype;
  return value;
}

Register KernelBuilder::where(size_t buffer) {
  return append({Opcode::Where, at::kLong, {}, buffer});
}

void KernelBuilder::store(size_t buffer, Register value) {
  code_.push_back({Opcode::Store, typeOf(value), {value}, buffer});
  holds_.push_back(typeOf(value));
}

void KernelBuilder::addTo(size_t buffer, Register offset, Register value) {
  code_.push_back({Opcode::AddTo, typeOf(value), {offset, value}, buffer});
  holds_.push_back(typeOf(value));
}

Register KernelBuilder::previous(Register initial) {
  CRESSET_CHECK(code_[initial].opcode == Opcode::Constant, "a scan begins with a constant");
  return append({Opcode::Previous, typeOf(initial), {initial}, code_.size()});
}

bool KernelBuilder::isSlowScan() const {
  return std::any_of(code_.begin(), code_.end(), [&](const Instruction& carry) {
    if (carry.opcode != Opcode::Carry) return false;
    const Instruction& next = code_[carry.operands[1]];
    const bool is_direct = next.operands[0] == carry.operands[0] || next.operands[1] == carry.operands[0];
    return !is_direct || (next.opcode != Opcode::Add && next.opcode != Opcode::Mul);
  });
}

Register KernelBuilder::addSame(Opcode opcode, std::initializer_list<Register> operands) {
  CRESSET_CHECK(operands.size() == numOperands(opcode), "an instruction of a kernel takes other operands");
  Instruction instruction{opcode, typeOf(*operands.begin())};
  std::copy(operands.begin(), operands.end(), instruction.operands.begin());
  for (const Register operand : operands)
    CRESSET_CHECK(typeOf(operand) == instruction.type, "operands of different types in a kernel");
  if (kResultKinds[size_t(opcode)] == ResultKind::Bool) instruction.type = at::kBool;
  return append(instruction);
}

bool KernelBuilder::isOtherThanZero(Register value) const {
  return code_[value].opcode == Opcode::Constant && code_[value].immediate != 0;
}

std::optional<bool> KernelBuilder::constantTruth(Register value) const {
  const Instruction& maker = code_[value];
  return maker.opcode == Opcode::Constant && maker.type == at::kBool ? std::optional(maker.immediate != 0)
                                                                     : std::nullopt;
}

Register KernelBuilder::scale(Register value, Register power) {
  CRESSET_CHECK(c10::elementSize(typeOf(value)) == c10::elementSize(typeOf(power)), "a power of another width");
  return append({Opcode::Scale, typeOf(value), {value, power}, 0});
}

Register KernelBuilder::select(Register condition, Register then, Register otherwise, bool mostly) {
  CRESSET_CHECK(
      typeOf(condition) == at::kBool && typeOf(then) == typeOf(otherwise), "operands of different types in a kernel");
  if (const auto truth = constantTruth(condition)) return *truth ? then : otherwise;
  if (then == otherwise) return then;
  return append({Opcode::Select, typeOf(then), {condition, then, otherwise}, mostly ? 1U : 0U});
}

Register KernelBuilder::convert(Register value, at::ScalarType type) {
  if (typeOf(value) == type) return value;
  if (type == at::kBool) return toBool(value);
  return append({Opcode::Convert, type, {value}, 0});
}

Register KernelBuilder::bitcast(Register value, at::ScalarType type) {
  CRESSET_CHECK(c10::elementSize(typeOf(value)) == c10::elementSize(type), "bits of another width");
  return append({Opcode::Bits, type, {value}, 0});
}

Register KernelBuilder::roundTo(Register value, at::ScalarType dtype) {
  if (registerType(dtype) == dtype || holds(value, dtype)) return value;
  CRESSET_CHECK(typeOf(value) == at::kFloat, "only a float is rounded to half precision");
  const Register rounded = append({Opcode::RoundTo, at::kFloat, {value}, uint64_t(dtype)});
  holds_[rounded] = dtype;
  return rounded;
}

/// Whether rounding would leave it as it is.
bool KernelBuilder::holds(Register value, at::ScalarType dtype) const {
  const Instruction& maker = code_[value];
  switch (maker.opcode) {
    case Opcode::Constant: {
      if (maker.type != at::kFloat) return false;
      const auto number = std::bit_cast<float>(static_cast<uint32_t>(maker.immediate));
      return number == (dtype == at::kHalf ? float(c10::Half(number)) : float(c10::BFloat16(number)));
    }
    case Opcode::Select:
      return holds(maker.operands[1], dtype) && holds(maker.operands[2], dtype);
    case Opcode::Neg:
    case Opcode::Abs:
    case Opcode::Max:
    case Opcode::Min:
      return holds(maker.operands[0], dtype);
    default:
      return holds_[value] == dtype;
  }
}

KernelBuilder::Sources KernelBuilder::sourcesOf(Register value, std::span<const Register> elements) const {
  Sources sources;
  std::vector<bool> seen(code_.size());
  std::vector<Register> queue = {value};
  while (!queue.empty()) {
    const Register next = queue.back();
    queue.pop_back();
    if (seen[next]) continue;
    seen[next] = true;
    if (std::find(elements.begin(), elements.end(), next) != elements.end()) {
      sources.elements = true;
      continue;
    }
    if (isReduction(code_[next].opcode) || code_[next].opcode == Opcode::Place) {
      sources.reductions = true;
      continue;
    }
    if (code_[next].opcode == Opcode::Previous) sources.scans = sources.elements = true;
    for (size_t i = 0; i < numOperands(code_[next].opcode); ++i) queue.push_back(code_[next].operands[i]);
  }
  return sources;
}

Register KernelBuilder::toBool(Register value) {
  const at::ScalarType type = typeOf(value);
  return type == at::kBool ? value : add(Opcode::Ne, value, constant(type, int64_t{0}));
}

}  // namespace cresset::codegen
