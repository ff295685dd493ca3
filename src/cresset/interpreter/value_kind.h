// Kinds of values: what plans are specialized to and what guards look at. Sizes are no part of a kind.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <string>

namespace cresset {

/// Whether a tensor is a dense one on the CPU or a GPU and no more than that: no subclass, none that is sparse,
/// quantized, nested, conjugated, or wrapped by a transformation.
bool isPlain(const at::Tensor& tensor);

/// How the elements of a tensor lie in memory.
enum class Layout : uint8_t {
  Unknown,       // nobody has looked
  Contiguous,    // row after row
  ChannelsLast,  // of four dimensions, images with the channels innermost (torch.channels_last), and not contiguous
  Strided,       // in another way
};
Layout layoutOf(const at::Tensor& tensor);

/// A kind as a word. The fields behind the first are meaningful for tensors only.
struct ValueKind {
  enum class Kind : uint8_t { Other, None, True, False, Tensor, Text } kind = Kind::Other;
  at::ScalarType dtype = at::ScalarType::Undefined;
  uint8_t rank = 0;
  c10::DeviceType device = c10::DeviceType::CPU;
  bool requires_grad = false;
  Layout layout = Layout::Unknown;
  uint32_t text = 0;  // of a Text: its number

  /// A string as a kind: the same number for the same text, in this process. Of kind Other if the text is long, or if
  /// there are thousands of others: kinds are for texts that programs choose by, which are few.
  static ValueKind ofText(const std::string& text);
  const std::string& textOfNumber() const;

  uint64_t word() const;
  static ValueKind of(uint64_t word);
  static ValueKind of(const at::Tensor& tensor);  // of unknown layout
  std::string toString() const;                   // "Float(*, *)", "None"
};

}  // namespace cresset
