#include "cresset/codegen/kernel.h"

#include <algorithm>
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
    case Opcode::AddTo:
      out << "addto b" << instruction.immediate << ", %" << instruction.operands[0] << ", %" << instruction.operands[1];
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
  if (isMostly(instruction)) out << ", mostly";
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

std::vector<size_t> rareInstructions(const Kernel& kernel) {
  const auto& code = kernel.code;
  std::vector<size_t> needed_by(code.size(), kNotRare), loops(code.size()), open = {0};
  std::vector<std::vector<size_t>> users(code.size());
  bool scans = false;  // then instructions are computed lane by lane
  for (size_t i = 0; i < code.size(); ++i) {
    if (code[i].opcode == Opcode::For) open.push_back(i + 1);
    if (code[i].opcode == Opcode::End) open.pop_back();
    loops[i] = open.back();
    scans = scans || code[i].opcode == Opcode::Previous;
    for (size_t k = 0; k < (hasBounds(code[i]) ? 2 : numOperands(code[i].opcode)); ++k)
      users[code[i].operands[k]].push_back(i);
  }
  for (size_t i = 0; i < code.size() && !scans; ++i) {
    if (!isMostly(code[i])) continue;
    const auto isWithin = [&](size_t user) {
      for (; user != kNotRare; user = needed_by[user]) {
        if (user == i) return true;
      }
      return false;
    };
    for (size_t j = i; j-- > loops[i];) {
      const bool is_other = j == code[i].operands[0] || j == code[i].operands[1];
      const bool computes = code[j].opcode >= Opcode::Add && loops[j] == loops[i];
      if (computes && !is_other && needed_by[j] == kNotRare && !users[j].empty() &&
          std::all_of(users[j].begin(), users[j].end(), isWithin))
        needed_by[j] = i;
    }
  }
  return needed_by;
}

bool Kernel::isDivisible() const {
  return std::none_of(code.begin(), code.end(), [&](const Instruction& instruction) {
    return instruction.opcode == Opcode::AddTo && buffer(instruction.immediate).steps[0] == Step::None;
  });
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
