// What is known of a value before a program runs: of a tensor its dtype, rank, sizes, strides, device and whether it
// requires a gradient; of a number its value; of a list its elements.
//
// Facts form a lattice: what is absent is not known, and `common` is what holds of either of two values.
#pragma once

#include <ATen/core/TensorBody.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cresset/analysis/size.h"
#include "cresset/ops/contiguity.h"

namespace c10 {
struct Type;
struct IValue;
}  // namespace c10

namespace cresset {

/// Of a tensor, sizes and strides left out.
struct TensorFacts {
  // What its type can say.
  std::optional<at::ScalarType> dtype;
  std::optional<size_t> rank;
  std::optional<c10::Device> device;
  std::optional<bool> requires_grad;
  // What it can't.
  Contiguity contiguity = Contiguity::Unknown;
  /// Whether the node that returns it makes its memory, which nothing else has then.
  bool is_new = false;

  bool operator==(const TensorFacts&) const = default;

  static TensorFacts of(const c10::Type& type);
  static TensorFacts of(const at::Tensor& tensor);
  static TensorFacts common(const TensorFacts& a, const TensorFacts& b);
};

/// Of any value, as rules compute with it (fact_rule.h).
struct Fact {
  enum class Kind : uint8_t {
    Unknown,
    None,
    Tensor,
    Int,    // also a bool, a dtype or another enumeration; `number` if it is known, else perhaps `size`
    Float,  // `real` if it is known
    Bool,   // `number` if it is known
    Complex,
    Dtype,   // `dtype`
    Device,  // `device`
    String,
    List,    // of known length: `elements`
    ListOf,  // of unknown length: `elements` is one fact that holds of each element; empty if nothing is known
  };

  Kind kind = Kind::Unknown;
  std::optional<int64_t> number;
  std::optional<double> real;
  Size size;
  /// Of the size of a tensor's dimension: the dimension's stride, as far as that addresses anything (ops/contiguity.h).
  Size stride;
  std::optional<at::ScalarType> dtype;
  std::optional<c10::Device> device;
  std::optional<bool> requires_grad;
  std::string text;
  /// Of a list its elements; of a tensor its dimensions, if `has_sizes`.
  std::vector<Fact> elements;
  bool has_sizes = false;
  Contiguity contiguity = Contiguity::Unknown;
  /// Of a tensor that a rule describes: it is on the device of the operator's arguments.
  bool inherits_device = false;

  bool operator==(const Fact&) const = default;

  static Fact unknown() { return {}; }
  static Fact none();
  static Fact integer(std::optional<int64_t> value);
  static Fact integer(Size size);
  static Fact boolean(std::optional<bool> value);
  static Fact ofDtype(std::optional<at::ScalarType> dtype);
  static Fact list(std::vector<Fact> elements);
  static Fact listOf(Fact element);
  static Fact tensor(const TensorFacts& facts);
  /// Of a value that is there; sizes of tensors included.
  static Fact of(const c10::IValue& value);
  /// Of a value of which only the type is known: its kind, for numbers; unknown for others.
  static Fact ofType(const c10::Type& type);
  static Fact common(const Fact& a, const Fact& b);

  bool isTensor() const { return kind == Kind::Tensor; }
  /// Of a tensor, if its rank is known.
  std::optional<size_t> rank() const { return has_sizes ? std::optional(elements.size()) : std::nullopt; }
  TensorFacts asTensor() const;
  /// Forgets how a tensor lies in memory.
  void forgetLayout();
  /// The strides that follow from the contiguity and the sizes; those that don't are unknown.
  std::vector<Size> contiguousStrides() const;
  /// Of an int or bool, if it is known.
  std::optional<int64_t> asNumber() const { return kind == Kind::Int || kind == Kind::Bool ? number : std::nullopt; }
  /// Of an int.
  Size asSize() const;
  /// "tensor(float32, [2, ?])", "[1, ?]", "?"; for messages and tests.
  std::string toString() const;
};

}  // namespace cresset
