// Kinds of values: what plans are specialized to and what guards look at. Sizes are no part of a kind.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cresset {

namespace detail {
inline constexpr auto kPlainKeys =
    c10::DispatchKeySet({c10::DispatchKey::CPU, c10::DispatchKey::CUDA, c10::DispatchKey::ADInplaceOrView}) |
    c10::DispatchKeySet({c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA}) |
    c10::DispatchKeySet({c10::DispatchKey::AutocastCPU, c10::DispatchKey::AutocastCUDA});
}

/// Whether a tensor is a dense one on the CPU or a GPU and no more than that: no subclass, none that is sparse,
/// quantized, nested, conjugated, or wrapped by a transformation; nor an undefined one, which has no keys.
inline bool isPlain(const c10::TensorImpl& tensor) {
  // Not with `-`, which leaves the bits of devices.
  const uint64_t keys = tensor.key_set().raw_repr();
  return keys != 0 && (keys & ~detail::kPlainKeys.raw_repr()) == 0;
}
inline bool isPlain(const at::Tensor& tensor) {
  return isPlain(*tensor.unsafeGetTensorImpl());
}

/// How the elements of a tensor lie in memory.
enum class Layout : uint8_t {
  Unknown,       // not looked at yet
  Contiguous,    // row after row
  ChannelsLast,  // of four dimensions, images with the channels innermost (torch.channels_last), and not contiguous
  Strided,       // in another way
};
Layout layoutOf(const at::Tensor& tensor);

/// A kind as a word. The fields after the first are meaningful for tensors only, but the last.
struct ValueKind {
  enum class Kind : uint8_t {
#define KIND(Name, text, constant) Name,
#include "cresset/interpreter/guards.def"
  } kind = Kind::Other;
  at::ScalarType dtype = at::ScalarType::Undefined;
  uint8_t rank = 0;
  c10::DeviceType device = c10::DeviceType::CPU;
  bool requires_grad = false;
  Layout layout = Layout::Unknown;
  uint32_t text = 0;  // of others, which value it is: of a Text, Texts or Integers its number, of an Integer its bits

  /// A string as a kind: the same number for the same text, in this process. Of kind Other if the text is long, or if
  /// there are thousands of others: kinds are for texts that programs choose by, which are few.
  static ValueKind ofText(const std::string& text);
  const std::string& textOfNumber() const;
  /// A list of integers, likewise: of kind Other if it is long, or if there are thousands of others.
  static ValueKind ofIntegers(c10::ArrayRef<c10::IValue> list);
  const std::vector<int64_t>& integersOfNumber() const;
  /// A list of strings, likewise.
  static ValueKind ofTexts(c10::ArrayRef<c10::IValue> list);
  const std::vector<std::string>& textsOfNumber() const;
  /// Of kind Other if it needs more than 32 bits.
  static ValueKind ofInteger(int64_t value);
  int64_t integer() const {
    return static_cast<int32_t>(text);
  }
  /// What all values of this kind are; nothing if they differ.
  std::optional<c10::IValue> constant() const;

  uint64_t word() const;
  static ValueKind of(uint64_t word);
  static ValueKind of(const at::Tensor& tensor);  // of unknown layout
  std::string toString() const;                   // "Float(*, *)", "None"
};

/// What is looked at in one value; the rows of guards.def.
enum class Guard : uint8_t {
#define GUARD(Name, fits, read) Name,
#include "cresset/interpreter/guards.def"
};
/// For values of this type, if they have kinds worth looking at. Of strings and integers it depends on what programs do
/// with them: those of attributes are mostly chosen when a module is made.
std::optional<Guard> guardFor(const c10::Type& type, bool with_layout = false, bool of_attribute = false);
/// Of a value that has none: a tensor that is not plain.
inline constexpr uint64_t kUnreadable = ~uint64_t(0);

/// Row Tensor of guards.def, inline for signatures and guards, which are mostly about tensors.
inline uint64_t wordOfTensor(const c10::IValue& value) {
  if (!value.isTensor()) return kUnreadable;
  const c10::TensorImpl& tensor = *value.unsafeToTensorImpl();
  if (!isPlain(tensor) || tensor.dim() > 255) return kUnreadable;
  const c10::AutogradMetaInterface* autograd = tensor.autograd_meta();
  return uint64_t(ValueKind::Kind::Tensor) | uint64_t(c10::typeMetaToScalarType(tensor.dtype())) << 8 |
         uint64_t(tensor.dim()) << 16 | uint64_t(tensor.device_type()) << 24 |
         uint64_t(autograd && autograd->requires_grad()) << 32;
}

namespace detail {
uint64_t readGuard(Guard guard, const c10::IValue& value);
}
/// The kind of the value as a word.
inline uint64_t readGuard(Guard guard, const c10::IValue& value) {
  return guard == Guard::Tensor ? wordOfTensor(value) : detail::readGuard(guard, value);
}

}  // namespace cresset
