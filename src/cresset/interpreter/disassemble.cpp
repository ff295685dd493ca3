// The listing: one instruction per line, "   12  r3 = aten::mm(move r0, move r2)  # model.py:4".
#include <ATen/core/class_type.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <string>

#include "cresset/interpreter/code.h"
#include "cresset/ir/printer.h"

namespace cresset {

namespace {

/// Long constants are cut; the graph shows them whole.
constexpr size_t kMaxConstantText = 60;

std::string constantText(const c10::IValue& value) {
  std::string text;
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return "None";
    std::ostringstream out;
    out << "Tensor" << value.toTensor().sizes();
    text = out.str();
  } else if (value.isString()) {
    text = "\"";
    for (char c : value.toStringRef())
      text += c == '\n' ? std::string("\\n") : c == '"' ? std::string("\\\"") : std::string(1, c);
    text += '"';
  } else if (value.isInt()) {
    text = std::to_string(value.toInt());
  } else if (value.isBool()) {
    text = value.toBool() ? "True" : "False";
  } else if (value.isNone()) {
    text = "None";
  } else if (value.isObject()) {
    text = "<object of " + cresset::toString(*value.toObjectRef().type()) + ">";
  } else if (value.isDouble() || value.isList() || value.isTuple() || value.isDevice()) {
    std::ostringstream out;
    out << value;
    text = out.str();
  } else {
    text = "<" + value.tagKind() + ">";
  }
  if (text.size() > kMaxConstantText) text = text.substr(0, kMaxConstantText) + "…";
  return text;
}

class Listing {
 public:
  explicit Listing(const Code& code) : code_(code) {}

  std::string print() {
    out_ << code_.name << ": " << code_.num_inputs << " inputs, " << code_.num_registers << " registers\n";
    const int width = static_cast<int>(std::to_string(code_.instructions.size()).size());
    for (size_t i = 0; i < code_.instructions.size(); ++i) {
      std::string index = std::to_string(i);
      out_ << "  " << std::string(static_cast<size_t>(width) - index.size(), ' ') << index << "  ";
      instruction(code_.instructions[i]);
      location(code_.instructions[i]);
      out_ << '\n';
    }
    return out_.str();
  }

 private:
  std::string operand(uint32_t operand) const {
    const uint32_t index = operand & kIndexMask;
    if (operand & kConstantBit) return constantText(code_.constants[index]);
    if (operand & kBorrowedBit) return "b" + std::to_string(index);
    return (operand & kMoveBit ? "move r" : "r") + std::to_string(index);
  }
  static std::string reg(uint32_t index) {
    return index == kNoRegister ? "_" : (index & kBorrowedBit ? "b" : "r") + std::to_string(index & kIndexMask);
  }
  static std::string target(uint32_t index) { return "-> " + std::to_string(index); }

  void pool(const Instruction& i, const std::string& what) {
    for (uint32_t k = 0; k < i.n; ++k) out_ << (k ? ", " : "") << reg(code_.pool[i.a + k]);
    if (i.n) out_ << " = ";
    out_ << what << '(';
    for (uint32_t k = 0; k < i.c; ++k) out_ << (k ? ", " : "") << operand(code_.pool[i.a + i.n + k]);
    out_ << ')';
  }

  std::string attribute(const Instruction& i) const { return code_.attributeName(&i); }

  void instruction(const Instruction& i) {
    const OpInfo& info = opInfo(i.op);
    const std::string name = info.operator_name ? info.operator_name : info.name;
    switch (info.format) {
      case Format::None:
        out_ << name;
        break;
      case Format::Unary:
        if (i.op == Op::Copy)
          out_ << reg(i.a) << " = " << operand(i.b);
        else if (i.op == Op::Move)
          out_ << reg(i.a) << " = " << operand(i.b | kMoveBit);
        else
          out_ << reg(i.a) << " = " << name << '(' << operand(i.b) << ')';
        break;
      case Format::Binary:
        out_ << reg(i.a) << " = " << name << '(' << operand(i.b) << ", " << operand(i.c) << ')';
        break;
      case Format::Borrow:
        out_ << name << ' ' << operand(i.b);
        break;
      case Format::Update:
        out_ << name << ' ';
        if (i.op != Op::ListAppend) out_ << operand(i.a) << ", ";
        out_ << operand(i.b) << ", " << operand(i.c);
        break;
      case Format::Drop:
        out_ << name << ' ' << reg(i.a);
        break;
      case Format::Jump:
        out_ << name << ' ' << target(i.a);
        break;
      case Format::JumpOn:
        out_ << name << ' ' << operand(i.b) << ' ' << target(i.a);
        break;
      case Format::JumpCompare:
        out_ << name << ' ' << operand(i.b) << ", " << operand(i.c) << ' ' << target(i.a);
        break;
      case Format::Loop:
        out_ << name << " ++" << reg(i.b) << " < " << operand(i.c) << ' ' << target(i.a);
        break;
      case Format::Slot:
        out_ << reg(i.a) << " = " << name << '(' << operand(i.b) << ", " << attribute(i) << ')';
        break;
      case Format::Element:
        out_ << reg(i.a) << " = " << name << '(' << operand(i.b) << ", " << i.c << ')';
        break;
      case Format::Type:
        out_ << reg(i.a) << " = " << name << '(';
        if (i.op == Op::IsInstance) {
          out_ << operand(i.b);
          for (const auto& type : code_.type_lists[i.c]) out_ << ", " << cresset::toString(*type);
        } else {
          out_ << cresset::toString(*code_.types[i.c]);
        }
        out_ << ')';
        break;
      case Format::Pool:
        if (i.op == Op::Return) {
          out_ << name;
          for (uint32_t k = 0; k < i.c; ++k) out_ << (k ? ", " : " ") << operand(code_.pool[i.a + k]);
        } else {
          pool(i, name);
        }
        break;
      case Format::PoolOperator:
        pool(i, code_.operators[i.b]->fullName());
        break;
      case Format::PoolFunction:
        pool(i, name + ' ' + code_.functions[i.b]->function->qualname().qualifiedName());
        break;
      case Format::PoolMethod:
        pool(i, name + ' ' + code_.methods[i.b]->name());
        break;
      case Format::PoolOut:
        pool(i, "out variant " + std::to_string(i.b));
        break;
      case Format::PoolApart:
      case Format::PoolSubgraph:
      case Format::PoolGuard:
        pool(i, name + ' ' + std::to_string(i.b));
        break;
      case Format::PoolSlot:
        pool(i, name + ' ' + attribute(i));
        break;
      case Format::PoolType:
        pool(
            i, i.op == Op::MakeTuple ? (i.b ? name + ' ' + cresset::toString(*code_.types[i.b - 1]) : name)
                                     : name + ' ' + cresset::toString(*code_.types[i.b]));
        break;
      case Format::PoolSlice:
        out_ << reg(code_.pool[i.a]) << " = " << name << '(' << operand(code_.pool[i.a + 1]) << ", " << i.b << ", "
             << i.c << ')';
        break;
    }
  }

  void location(const Instruction& i) {
    const SourceRange& range = code_.location(&i).range;
    if (!range) return;
    out_ << "  # " << range.source->name() << ':' << range.source->lineNumber(range.begin);
  }

  const Code& code_;
  std::ostringstream out_;
};

}  // namespace

std::string disassemble(const Code& code) {
  std::string text = Listing(code).print();
  for (size_t i = 0; i < code.apart.size(); ++i)
    text += "apart " + std::to_string(i) + ", " + disassemble(*code.apart[i]);
  for (size_t i = 0; i < code.subgraphs.size(); ++i) {
    if (const Code* inner = code.subgraphs[i]->code())
      text += "subgraph " + std::to_string(i) + ", " + disassemble(*inner);
  }
  return text;
}

}  // namespace cresset
