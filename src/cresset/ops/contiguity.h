// How the elements of a tensor lie in its memory, as far as one word can say it.
//
// Dimensions of size 1, and the strides of tensors without elements, address nothing: they decide nothing here.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

namespace cresset {

enum class Contiguity : uint8_t {
  Unknown,       // perhaps sparse or nested
  Strided,       // each dimension has a stride
  Dense,         // without gaps, each element at a place of its own, in some order of the dimensions
  Contiguous,    // dense, in the order of torch.contiguous_format
  ChannelsLast,  // dense, in that of torch.channels_last or, of five dimensions, torch.channels_last_3d
};

constexpr std::string_view nameOf(Contiguity contiguity) {
  constexpr std::string_view kNames[] = {"unknown", "strided", "dense", "contiguous", "channels-last"};
  return kNames[static_cast<size_t>(contiguity)];
}

/// What holds of both.
constexpr Contiguity common(Contiguity a, Contiguity b) {
  if (a == b) return a;
  if (a == Contiguity::Unknown || b == Contiguity::Unknown) return Contiguity::Unknown;
  return a == Contiguity::Strided || b == Contiguity::Strided ? Contiguity::Strided : Contiguity::Dense;
}

constexpr bool isStrided(Contiguity contiguity) {
  return contiguity != Contiguity::Unknown;
}

constexpr bool isDense(Contiguity contiguity) {
  return contiguity != Contiguity::Unknown && contiguity != Contiguity::Strided;
}

/// Whether it is true of the tensor.
inline bool holds(Contiguity contiguity, const at::Tensor& tensor) {
  if (contiguity == Contiguity::Unknown) return true;
  if (tensor.layout() != at::kStrided || tensor.is_nested()) return false;
  if (contiguity == Contiguity::Strided || tensor.numel() == 0) return true;
  switch (contiguity) {
    case Contiguity::Dense:
      return tensor.is_non_overlapping_and_dense();
    case Contiguity::ChannelsLast:
      return (tensor.dim() == 4 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast)) ||
             (tensor.dim() == 5 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast3d));
    default:
      return tensor.is_contiguous();
  }
}

/// The most that can be said.
inline Contiguity contiguityOf(const at::Tensor& tensor) {
  for (Contiguity one : {Contiguity::Contiguous, Contiguity::ChannelsLast, Contiguity::Dense, Contiguity::Strided}) {
    if (holds(one, tensor)) return one;
  }
  return Contiguity::Unknown;
}

}  // namespace cresset
