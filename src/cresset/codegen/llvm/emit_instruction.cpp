#include "cresset/codegen/llvm/emit_instruction.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <stdexcept>

namespace cresset::codegen {

namespace {

using llvm::Intrinsic::ID;

bool isUnsigned(at::ScalarType type) {
  return type == at::kBool || type == at::kByte;
}

unsigned bitsOf(at::ScalarType type) {
  return type == at::kBool ? 1 : static_cast<unsigned>(8 * c10::elementSize(type));
}

/// The type, with as many lanes as the value.
llvm::Type* likeLanes(llvm::Type* element, llvm::Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::VectorType>(value->getType());
  return vector ? llvm::VectorType::get(element, vector->getElementCount()) : element;
}

/// As x86 converts: what does not fit becomes the smallest integer; to small ones by way of 32 bits.
llvm::Value* floatToInteger(llvm::IRBuilder<>& b, llvm::Value* value, at::ScalarType to) {
  const unsigned width = to == at::kLong ? 64 : 32;
  const double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  llvm::Type* type = value->getType();
  llvm::Type* wide = likeLanes(b.getIntNTy(width), value);
  // In float32 the limit below INT_MIN is INT_MIN itself.
  llvm::Value* low = type->getScalarType()->isDoubleTy() && width == 32
                         ? b.CreateFCmpOGT(value, llvm::ConstantFP::get(type, -limit - 1))
                         : b.CreateFCmpOGE(value, llvm::ConstantFP::get(type, -limit));
  llvm::Value* fits = b.CreateAnd(low, b.CreateFCmpOLT(value, llvm::ConstantFP::get(type, limit)));
  llvm::Value* inside = b.CreateSelect(fits, value, llvm::ConstantFP::get(type, 0));
  llvm::Value* smallest = llvm::ConstantInt::get(wide, llvm::APInt::getSignedMinValue(width));
  llvm::Value* converted = b.CreateSelect(fits, b.CreateFPToSI(inside, wide), smallest);
  return b.CreateTrunc(converted, likeLanes(b.getIntNTy(bitsOf(to)), value));
}

llvm::Value* convert(llvm::IRBuilder<>& b, llvm::Value* value, at::ScalarType from, at::ScalarType to) {
  llvm::Type* type = likeLanes(llvmType(b.getContext(), to), value);
  if (isFloating(from)) return isFloating(to) ? b.CreateFPCast(value, type) : floatToInteger(b, value, to);
  if (isFloating(to)) return isUnsigned(from) ? b.CreateUIToFP(value, type) : b.CreateSIToFP(value, type);
  return b.CreateIntCast(value, type, !isUnsigned(from));
}

/// To the nearest, ties to even; all NaNs become one.
llvm::Value* roundToBFloat16(llvm::IRBuilder<>& b, llvm::Value* value) {
  llvm::Type* ints = likeLanes(b.getInt32Ty(), value);
  const auto constant = [&](uint32_t bits) { return llvm::ConstantInt::get(ints, bits); };
  llvm::Value* bits = b.CreateBitCast(value, ints);
  llvm::Value* odd = b.CreateAnd(b.CreateLShr(bits, constant(16)), constant(1));
  llvm::Value* sum = b.CreateAdd(bits, b.CreateAdd(odd, constant(0x7fff)));
  llvm::Value* rounded = b.CreateAnd(sum, constant(0xffff0000));
  llvm::Value* result = b.CreateSelect(b.CreateFCmpUNO(value, value), constant(0x7fc00000), rounded);
  return b.CreateBitCast(result, value->getType());
}

llvm::Value* roundTo(llvm::IRBuilder<>& b, llvm::Value* value, at::ScalarType dtype) {
  if (dtype == at::kBFloat16) return roundToBFloat16(b, value);
  return b.CreateFPExt(b.CreateFPTrunc(value, likeLanes(b.getHalfTy(), value)), value->getType());
}

/// LLVM leaves shifts by the width or more undefined.
llvm::Value* shift(llvm::IRBuilder<>& b, Opcode opcode, llvm::Value* value, llvm::Value* by, at::ScalarType type) {
  const unsigned width = bitsOf(type);
  llvm::Value* fits = b.CreateICmpULT(by, llvm::ConstantInt::get(by->getType(), width));
  if (opcode == Opcode::ShiftLeft) {
    llvm::Value* zero = llvm::ConstantInt::get(by->getType(), 0);
    return b.CreateSelect(fits, b.CreateShl(value, b.CreateSelect(fits, by, zero)), zero);
  }
  llvm::Value* most = llvm::ConstantInt::get(by->getType(), width - 1);
  llvm::Value* amount = b.CreateSelect(fits, by, most);
  return isUnsigned(type) ? b.CreateSelect(fits, b.CreateLShr(value, amount), llvm::ConstantInt::get(by->getType(), 0))
                          : b.CreateAShr(value, amount);
}

llvm::Value* compare(llvm::IRBuilder<>& b, Opcode opcode, llvm::Value* x, llvm::Value* y, at::ScalarType type) {
  using Predicate = llvm::CmpInst::Predicate;
  const bool real = isFloating(type), is_unsigned = isUnsigned(type);
  switch (opcode) {
    case Opcode::Eq:
      return real ? b.CreateFCmpOEQ(x, y) : b.CreateICmpEQ(x, y);
    case Opcode::Ne:
      return real ? b.CreateFCmpUNE(x, y) : b.CreateICmpNE(x, y);
    case Opcode::Lt:
      return real ? b.CreateFCmpOLT(x, y) : b.CreateICmp(is_unsigned ? Predicate::ICMP_ULT : Predicate::ICMP_SLT, x, y);
    default:
      return real ? b.CreateFCmpOLE(x, y) : b.CreateICmp(is_unsigned ? Predicate::ICMP_ULE : Predicate::ICMP_SLE, x, y);
  }
}

/// The processor traps for divisors of 0, and for -1 where the quotient does not fit.
llvm::Value* divideIntegers(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* y, at::ScalarType type) {
  llvm::Value* one = llvm::ConstantInt::get(y->getType(), 1);
  llvm::Value* is_zero = b.CreateICmpEQ(y, llvm::ConstantInt::get(y->getType(), 0));
  if (isUnsigned(type)) return b.CreateUDiv(x, b.CreateSelect(is_zero, one, y));
  llvm::Value* negates = b.CreateICmpEQ(y, llvm::ConstantInt::getSigned(y->getType(), -1));
  llvm::Value* quotient = b.CreateSDiv(x, b.CreateSelect(b.CreateOr(is_zero, negates), one, y));
  return b.CreateSelect(negates, b.CreateNeg(x), quotient);
}

llvm::Value* arithmetic(llvm::IRBuilder<>& b, Opcode opcode, llvm::ArrayRef<llvm::Value*> x, at::ScalarType type) {
  const bool real = isFloating(type), is_bool = type == at::kBool;
  switch (opcode) {
    case Opcode::Add:
      return real ? b.CreateFAdd(x[0], x[1]) : is_bool ? b.CreateOr(x[0], x[1]) : b.CreateAdd(x[0], x[1]);
    case Opcode::Sub:
      return real ? b.CreateFSub(x[0], x[1]) : b.CreateSub(x[0], x[1]);
    case Opcode::Mul:
      return real ? b.CreateFMul(x[0], x[1]) : is_bool ? b.CreateAnd(x[0], x[1]) : b.CreateMul(x[0], x[1]);
    case Opcode::Div:
      return real ? b.CreateFDiv(x[0], x[1]) : is_bool ? nullptr : divideIntegers(b, x[0], x[1], type);
    case Opcode::Neg:
      return real ? b.CreateFNeg(x[0]) : b.CreateNeg(x[0]);
    case Opcode::Fma:
      return real ? b.CreateIntrinsic(llvm::Intrinsic::fma, {x[0]->getType()}, {x[0], x[1], x[2]})
                  : b.CreateAdd(b.CreateMul(x[0], x[1]), x[2]);
    case Opcode::Abs:
      return real ? b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x[0])
                  : b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x[0], b.getFalse());
    default:
      return nullptr;
  }
}

}  // namespace

llvm::Type* llvmType(llvm::LLVMContext& context, at::ScalarType type) {
  if (type == at::kFloat) return llvm::Type::getFloatTy(context);
  if (type == at::kDouble) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, bitsOf(type));
}

llvm::Type* memoryType(llvm::LLVMContext& context, at::ScalarType dtype) {
  if (dtype == at::kBool) return llvm::Type::getInt8Ty(context);
  if (dtype == at::kBFloat16) return llvm::Type::getInt16Ty(context);
  if (dtype == at::kHalf) return llvm::Type::getHalfTy(context);
  return llvmType(context, dtype);
}

llvm::Value* emitConstant(llvm::LLVMContext& context, const Instruction& constant) {
  llvm::Type* type = llvmType(context, constant.type);
  const llvm::APInt bits(bitsOf(constant.type), constant.immediate);
  if (constant.type == at::kFloat) return llvm::ConstantFP::get(type, llvm::APFloat(llvm::APFloat::IEEEsingle(), bits));
  if (constant.type == at::kDouble)
    return llvm::ConstantFP::get(type, llvm::APFloat(llvm::APFloat::IEEEdouble(), bits));
  return llvm::ConstantInt::get(type, bits);
}

/// AVX-512's instruction for one register; null if it has none for this type.
static llvm::Value* scaleRegister(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* power) {
  const bool is_float = x->getType()->getScalarType()->isFloatTy();
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(x->getType())->getNumElements();
  const bool is_whole = lanes == (is_float ? 16 : 8);
  if (!is_whole && lanes != (is_float ? 8 : 4)) return nullptr;
  const ID id = is_whole ? (is_float ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                                     : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512)
                         : (is_float ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                                     : llvm::Intrinsic::x86_avx512_mask_scalef_pd_256);
  llvm::Value* all = is_whole && is_float ? static_cast<llvm::Value*>(b.getInt16(0xffff)) : b.getInt8(0xff);
  llvm::SmallVector<llvm::Value*, 5> arguments = {x, power, x, all};
  if (is_whole) arguments.push_back(b.getInt32(4));  // the processor's rounding mode
  return b.CreateIntrinsic(id, {}, arguments);
}

/// Two factors, as one is not enough for denormals.
static llvm::Value* scaleTwice(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* power) {
  llvm::Type* type = power->getType();
  const bool is_float = x->getType()->getScalarType()->isFloatTy();
  const auto factor = [&](llvm::Value* n) {
    llvm::Value* biased = b.CreateAdd(n, llvm::ConstantInt::get(type, is_float ? 127 : 1023));
    return b.CreateBitCast(b.CreateShl(biased, llvm::ConstantInt::get(type, is_float ? 23 : 52)), x->getType());
  };
  llvm::Value* half = b.CreateAShr(power, llvm::ConstantInt::get(type, 1));
  return b.CreateFMul(b.CreateFMul(x, factor(half)), factor(b.CreateSub(power, half)));
}

llvm::Value* emitScale(llvm::IRBuilder<>& b, llvm::Value* x, llvm::Value* power, CpuLevel level) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x->getType());
  const unsigned whole = 512 / x->getType()->getScalarSizeInBits();
  if (level != CpuLevel::V4 || !vector || (vector->getNumElements() > whole && vector->getNumElements() % whole != 0))
    return scaleTwice(b, x, power);
  llvm::Value* real = b.CreateSIToFP(power, x->getType());
  if (vector->getNumElements() <= whole) {
    llvm::Value* scaled = scaleRegister(b, x, real);
    return scaled ? scaled : scaleTwice(b, x, power);
  }
  llvm::Value* result = llvm::PoisonValue::get(x->getType());
  for (unsigned first = 0; first < vector->getNumElements(); first += whole) {
    auto* part = llvm::FixedVectorType::get(x->getType()->getScalarType(), whole);
    const auto take = [&](llvm::Value* from) { return b.CreateExtractVector(part, from, b.getInt64(first)); };
    result = b.CreateInsertVector(x->getType(), result, scaleRegister(b, take(x), take(real)), b.getInt64(first));
  }
  return result;
}

llvm::Value* emitInstruction(
    llvm::IRBuilder<>& b, const Instruction& instruction, at::ScalarType type, llvm::ArrayRef<llvm::Value*> x) {
  const auto unary = [&](ID id) { return b.CreateUnaryIntrinsic(id, x[0]); };
  switch (instruction.opcode) {
    case Opcode::Sqrt:
      return unary(llvm::Intrinsic::sqrt);
    case Opcode::Floor:
      return unary(llvm::Intrinsic::floor);
    case Opcode::Ceil:
      return unary(llvm::Intrinsic::ceil);
    case Opcode::Trunc:
      return unary(llvm::Intrinsic::trunc);
    case Opcode::Round:
      return unary(llvm::Intrinsic::roundeven);
    case Opcode::CopySign:
      return b.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x[0], x[1]);
    case Opcode::And:
      return b.CreateAnd(x[0], x[1]);
    case Opcode::Or:
      return b.CreateOr(x[0], x[1]);
    case Opcode::Xor:
      return b.CreateXor(x[0], x[1]);
    case Opcode::Not:
      return b.CreateNot(x[0]);
    case Opcode::ShiftLeft:
    case Opcode::ShiftRight:
      return shift(b, instruction.opcode, x[0], x[1], type);
    case Opcode::Eq:
    case Opcode::Ne:
    case Opcode::Lt:
    case Opcode::Le:
      return compare(b, instruction.opcode, x[0], x[1], type);
    case Opcode::Select:
      return b.CreateSelect(x[0], x[1], x[2]);
    case Opcode::Convert:
      return convert(b, x[0], type, instruction.type);
    case Opcode::Bits:
      return b.CreateBitCast(x[0], likeLanes(llvmType(b.getContext(), instruction.type), x[0]));
    case Opcode::RoundTo:
      return roundTo(b, x[0], static_cast<at::ScalarType>(instruction.immediate));
    default:
      break;
  }
  llvm::Value* value = arithmetic(b, instruction.opcode, x, type);
  if (!value) {
    throw std::runtime_error(
        "a kernel has no " + std::string(toString(instruction.opcode)) + " of " + std::string(shortName(type)));
  }
  return value;
}

llvm::Value* fromMemory(llvm::IRBuilder<>& b, llvm::Value* value, at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
      return b.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
    case at::kHalf:
      return b.CreateFPExt(value, likeLanes(b.getFloatTy(), value));
    case at::kBFloat16: {
      llvm::Type* ints = likeLanes(b.getInt32Ty(), value);
      llvm::Value* bits = b.CreateShl(b.CreateZExt(value, ints), llvm::ConstantInt::get(ints, 16));
      return b.CreateBitCast(bits, likeLanes(b.getFloatTy(), value));
    }
    default:
      return value;
  }
}

llvm::Value* toMemory(llvm::IRBuilder<>& b, llvm::Value* value, at::ScalarType dtype) {
  switch (dtype) {
    case at::kBool:
      return b.CreateZExt(value, likeLanes(b.getInt8Ty(), value));
    case at::kHalf:
      return b.CreateFPTrunc(value, likeLanes(b.getHalfTy(), value));
    case at::kBFloat16: {
      llvm::Type* ints = likeLanes(b.getInt32Ty(), value);
      llvm::Value* bits = b.CreateLShr(b.CreateBitCast(value, ints), llvm::ConstantInt::get(ints, 16));
      return b.CreateTrunc(bits, likeLanes(b.getInt16Ty(), value));
    }
    default:
      return value;
  }
}

}  // namespace cresset::codegen
