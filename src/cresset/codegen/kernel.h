// Kernels: loops that compute tensors element by element, before they are machine code. Sizes and strides are arguments
// of a kernel; what it is specialized to is how each buffer steps along each dimension.
//
//   kernel(b0: f32[any, next], b1: bf16[none, next], n0: f64) -> (b2: f32[next, next])
//   for d0
//     for d1
//       %0 = load b0 : f32
//       %1 = load b1 : f32
//       %2 = mul %0, %1 : f32
//       store b2, %2
//
// Registers are assigned once, and hold Bool, Byte, Char, Short, Int, Long, Float or Double; float16 and bfloat16 are
// converted where they are loaded and stored, and rounded to by `roundto`. One loop becomes vectors, the innermost or
// the one around it.
//
// A kernel that reduces goes over the last dimension in several loops; instructions between them take what the loops
// before them have accumulated:
//
//   for d0
//     for d1
//       %2 = load b0 : f32
//       %3 = max %2 : f32
//     for d1
//       %6 = load b0 : f32
//       %7 = sub %6, %3 : f32
//       …
//
// What is carried from iteration to iteration (a cumulative sum) stands in loops without reductions:
//
//   %0 = constant 0 : f64
//   for d0
//     for d1
//       %3 = load b0 : f32
//       %4 = convert %3 : f64
//       %5 = previous %0 : f64
//       %6 = add %5, %4 : f64
//       %7 = carry %5, %6 : f64
//       …
//
// Elements that are read by index lie at an offset that is computed; strides and sizes of the dimensions that indices
// go along are numbers. An index that is out of range is not read through: the kernel fails.
//
//   kernel(b0: f32[none, next], b1: i64[any, none], n0: i64, n1: i64) -> (b2: f32[any, next])
//   for d0
//     %3 = load b1 : i64
//     %4 = index %3, %0 : i64
//     %5 = mul %4, %1 : i64
//     for d1
//       %7 = read b0, %5 : f32
//       …
//
// What is added to elements by index (`addto b2, %5, %7`) is added in the order of the iterations: results hold what is
// added to before. Then the iterations of a dimension along which such a result does not step are not divided.
#pragma once

#include <c10/core/ScalarType.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cresset::codegen {

enum class Opcode : uint8_t {
#define OPCODE(Name, text, operands, kind) Name,
#include "cresset/codegen/opcodes.def"
};

std::string_view toString(Opcode opcode);
/// Whether it accumulates over the iterations of a loop.
constexpr bool isReduction(Opcode opcode) {
  return opcode >= Opcode::Sum && opcode <= Opcode::Dot;
}
size_t numOperands(Opcode opcode);

/// "f32", "bf16", "i64", "bool"
std::string_view shortName(at::ScalarType type);

/// The index of the instruction that assigns it.
using Register = uint32_t;

struct Instruction {
  Opcode opcode;
  /// Of the result.
  at::ScalarType type = at::kFloat;
  std::array<Register, 3> operands{};
  /// Constant: its bits; Number, Load, Read, Where, Store, AddTo: which number or buffer; For: the dimension; RoundTo:
  /// the dtype; Select: see isMostly.
  uint64_t immediate = 0;

  bool operator==(const Instruction&) const = default;
};

/// Of a loop: whether it goes from its first operand to before its second, Longs, instead of over all of its dimension.
/// Then it is of this type.
constexpr bool hasBounds(const Instruction& loop) {
  return loop.opcode == Opcode::For && loop.type == at::kLong;
}

/// How a buffer moves when an index grows by one.
enum class Step : uint8_t {
  None,  // not at all: it is broadcast
  Next,  // to the next element in memory
  Any,   // by the stride that the caller passes
};

struct Buffer {
  at::ScalarType dtype;
  std::vector<Step> steps;  // one per dimension

  bool operator==(const Buffer&) const = default;
};

struct Kernel {
  size_t num_dims = 0;
  size_t num_reduced = 0;  // of them, the last: those that are reduced, each by itself
  size_t vector_dim = 0;   // the dimension whose loop becomes vectors: the last, or, around reductions, the one before
  std::vector<Buffer> inputs, outputs;  // numbered in this order, and then scratch
  /// What one loop over the reduced dimension keeps for the next: `scratchSize` bytes each.
  std::vector<Buffer> scratch;
  std::vector<at::ScalarType> numbers;  // Bool, Long or Double
  std::vector<Instruction> code;

  const Buffer& buffer(uint64_t i) const {
    if (i < inputs.size()) return inputs[i];
    return isScratch(i) ? scratch[i - inputs.size() - outputs.size()] : outputs[i - inputs.size()];
  }
  bool isScratch(uint64_t i) const { return i >= inputs.size() + outputs.size(); }
  /// Whether vectors hold elements that are reduced to one.
  bool reducesVectors() const { return vector_dim + num_reduced >= num_dims; }
  /// Whether parts of the first dimension may be computed by several threads: no two add to one element.
  bool isDivisible() const;
  bool operator==(const Kernel&) const = default;

  /// Equal for kernels that are equal; the form above.
  std::string toString() const;
};

/// Of a `select` whose condition is nearly always true.
constexpr bool isMostly(const Instruction& instruction) {
  return instruction.opcode == Opcode::Select && instruction.immediate != 0;
}

inline constexpr size_t kNotRare = SIZE_MAX;
/// Per instruction which such `select` of the same loop alone needs it, for its third operand; else kNotRare.
std::vector<size_t> rareInstructions(const Kernel& kernel);

/// The type of the register that holds an element of this dtype: Float for half precision.
constexpr at::ScalarType registerType(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16 ? at::kFloat : dtype;
}
constexpr bool isFloating(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble;
}
/// Whether kernels compute with tensors of this dtype.
bool isSupported(at::ScalarType dtype);

/// Where vectors go across reductions, scratch has a row of so many elements for each element that is reduced.
constexpr int64_t kScratchRow = 64;

/// Of one buffer, for this size of the reduced dimension. Loops may go beyond its end by less than a row.
int64_t scratchSize(const Kernel& kernel, const Buffer& scratch, int64_t num_reduced);

/// What compiled kernels are called by. `buffers`: the first element of each, inputs first, then outputs and scratch,
/// which only one thread may use at a time. `sizes`: per dimension.
/// `strides`: in bytes, per buffer and dimension, read where the step is Any. `numbers`: each in eight bytes. Computes
/// the indices from `begin` to `end` of the first dimension. Returns 0, or 1 if an index was out of range: then the
/// outputs hold anything. Thread-safe; neither allocates nor raises.
using KernelFunction = int (*)(
    void* const* buffers, const int64_t* sizes, const int64_t* strides, const uint64_t* numbers, int64_t begin,
    int64_t end);

}  // namespace cresset::codegen
