#include "cresset/codegen/kernel.h"

#include <bit>
#include <charconv>
#include <sstream>

#include "cresset/support/error.h"

namespace cresset::codegen {

namespace {

struct OpcodeRow {
  std::string_view text;
  size_t operands;
};

constexpr OpcodeRow kOpcodes[] = {
#define OPCODE(Name, text, operands, kind) {text, operands},
#include "cresset/codegen/opcodes.def"
};

void printBuffer(std::ostream& out, const Buffer& buffer, size_t number) {
  static constexpr std::string_view kSteps[] = {"none", "next", "any"};
  out << "b" << number << ": " << shortName(buffer.dtype) << "[";
  for (size_t i = 0; i < buffer.steps.size(); ++i) out << (i ? ", " : "") << kSteps[size_t(buffer.steps[i])];
  out << "]";
}

/// As short as it can be read back.
std::string textOfConstant(const Instruction& constant) {
  if (!isFloating(constant.type)) return std::to_string(static_cast<int64_t>(constant.immediate));
  char text[32];
  const auto end = constant.type == at::kFloat
                       ? std::to_chars(text, text + sizeof text, std::bit_cast<float>(uint32_t(constant.immediate)))
                       : std::to_chars(text, text + sizeof text, std::bit_cast<double>(constant.immediate));
  return std::string(text, end.ptr);
}

void printInstruction(std::ostream& out, const Kernel& kernel, size_t number) {
  const Instruction& instruction = kernel.code[number];
  switch (instruction.opcode) {
    case Opcode::For:
      out << "for d" << instruction.immediate;
      if (hasBounds(instruction)) out << " from %" << instruction.operands[0] << " to %" << instruction.operands[1];
      if (instruction.immediate == kernel.vector_dim && !kernel.reducesVectors() && kernel.num_reduced > 0)
        out << " in vectors";
      return;
    case Opcode::Store:
      out << "store b" << instruction.immediate << ", %" << instruction.operands[0];
      return;
    default:
      break;
  }
  out << "%" << number << " = " << toString(instruction.opcode);
  if (instruction.opcode == Opcode::Constant) out << " " << textOfConstant(instruction);
  if (instruction.opcode == Opcode::Number) out << " n" << instruction.immediate;
  const bool is_read = instruction.opcode == Opcode::Read;
  if (instruction.opcode == Opcode::Load || instruction.opcode == Opcode::Where || is_read)
    out << " b" << instruction.immediate;
  for (size_t i = 0; i < numOperands(instruction.opcode); ++i)
    out << (i || is_read ? ", %" : " %") << instruction.operands[i];
  out << " : "
      << shortName(
             instruction.opcode == Opcode::RoundTo ? static_cast<at::ScalarType>(instruction.immediate)
                                                   : instruction.type);
}

}  // namespace

std::string_view toString(Opcode opcode) {
  return kOpcodes[size_t(opcode)].text;
}

size_t numOperands(Opcode opcode) {
  return kOpcodes[size_t(opcode)].operands;
}

std::string_view shortName(at::ScalarType type) {
  switch (type) {
    case at::kBool:
      return "bool";
    case at::kByte:
      return "u8";
    case at::kChar:
      return "i8";
    case at::kShort:
      return "i16";
    case at::kInt:
      return "i32";
    case at::kLong:
      return "i64";
    case at::kHalf:
      return "f16";
    case at::kBFloat16:
      return "bf16";
    case at::kFloat:
      return "f32";
    case at::kDouble:
      return "f64";
    default:
      return "";
  }
}

bool isSupported(at::ScalarType dtype) {
  return !shortName(dtype).empty();
}

int64_t scratchSize(const Kernel& kernel, const Buffer& scratch, int64_t num_reduced) {
  const int64_t elements = kernel.reducesVectors() ? num_reduced + kScratchRow : num_reduced * kScratchRow;
  return elements * static_cast<int64_t>(c10::elementSize(scratch.dtype));
}

std::string Kernel::toString() const {
  std::ostringstream out;
  out << "kernel(";
  size_t number = 0;
  for (const Buffer& input : inputs) {
    if (number) out << ", ";
    printBuffer(out, input, number++);
  }
  for (size_t i = 0; i < numbers.size(); ++i) out << (number || i ? ", n" : "n") << i << ": " << shortName(numbers[i]);
  out << ") -> (";
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (i) out << ", ";
    printBuffer(out, outputs[i], number++);
  }
  out << ")";
  for (size_t i = 0; i < scratch.size(); ++i) {
    out << (i ? ", " : " with scratch ");
    printBuffer(out, scratch[i], number++);
  }
  out << "\n";
  size_t depth = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].opcode == Opcode::End) {
      --depth;
      continue;
    }
    out << std::string(2 * depth, ' ');
    printInstruction(out, *this, i);
    out << "\n";
    if (code[i].opcode == Opcode::For) ++depth;
  }
  return out.str();
}

}  // namespace cresset::codegen
