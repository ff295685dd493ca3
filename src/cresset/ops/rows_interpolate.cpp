// torch.nn.functional.interpolate and its older names: from size or scale factor to the upsampling operator of the
// mode.
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/_upsample_bicubic2d_aa_ops.h>
#include <ATen/ops/_upsample_bilinear2d_aa_ops.h>
#include <ATen/ops/_upsample_nearest_exact1d_ops.h>
#include <ATen/ops/_upsample_nearest_exact2d_ops.h>
#include <ATen/ops/_upsample_nearest_exact3d_ops.h>
#include <ATen/ops/adaptive_avg_pool1d_ops.h>
#include <ATen/ops/adaptive_avg_pool2d_ops.h>
#include <ATen/ops/adaptive_avg_pool3d_ops.h>
#include <ATen/ops/upsample_bicubic2d_ops.h>
#include <ATen/ops/upsample_bilinear2d_ops.h>
#include <ATen/ops/upsample_linear1d_ops.h>
#include <ATen/ops/upsample_nearest1d_ops.h>
#include <ATen/ops/upsample_nearest2d_ops.h>
#include <ATen/ops/upsample_nearest3d_ops.h>
#include <ATen/ops/upsample_trilinear3d_ops.h>

#include <algorithm>
#include <cmath>

#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

using at::Tensor;

struct Request {
  const Tensor& input;
  const IValue& size;   // None, int or int[]
  const IValue& scale;  // None, float, int, or a list of them
  std::string mode;
  std::optional<bool> align_corners;
  std::optional<bool> recompute_scale_factor;
  bool antialias = false;
};

std::vector<double> scalesOf(const IValue& scale, size_t dims) {
  auto number = [](const IValue& v) { return v.isInt() ? static_cast<double>(v.toInt()) : v.toDouble(); };
  if (scale.isNone()) return {};
  if (!scale.isList()) return std::vector<double>(dims, number(scale));
  std::vector<double> result;
  for (const IValue& v : listOf(scale).list) result.push_back(number(v));
  if (result.size() != dims) {
    fail(
        "scale_factor shape must match input shape. Input is " + std::to_string(dims) + "D, scale_factor size is " +
        std::to_string(result.size()));
  }
  return result;
}

/// A size that is given wins over a scale factor, as it is: ATen's operator checks how many numbers it has.
std::vector<int64_t> outputSize(const Request& r, const std::vector<double>& scales, size_t dims) {
  if (r.size.isInt()) return std::vector<int64_t>(dims, r.size.toInt());
  if (r.size.isList()) return r.size.toIntVector();
  if (scales.empty()) fail("either size or scale_factor should be defined");
  std::vector<int64_t> result;
  result.reserve(dims);
  for (size_t i = 0; i < dims; ++i) {
    result.push_back(
        static_cast<int64_t>(std::floor(static_cast<double>(r.input.size(static_cast<int64_t>(i) + 2)) * scales[i])));
  }
  return result;
}

/// The mode is checked first, against the number of dimensions, then the sizes.
void checkMode(const Request& r) {
  const std::string& mode = r.mode;
  const int64_t dim = r.input.dim();
  const bool nearest = mode == "nearest" || mode == "nearest-exact" || mode == "area";
  if (nearest && r.align_corners) {
    fail("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear");
  }
  const int64_t needed = mode == "linear"                          ? 3
                         : mode == "bilinear" || mode == "bicubic" ? 4
                         : mode == "trilinear"                     ? 5
                                                                   : 0;
  if (dim < 3 || dim > 5 || (!nearest && needed == 0)) {
    fail(
        "Input Error: Only 3D, 4D and 5D input Tensors supported (got " + std::to_string(dim) +
        "D) for the modes: nearest | linear | bilinear | trilinear (got " + mode + ") ");
  }
  if (needed != 0 && dim != needed) {
    fail("Got " + std::to_string(dim) + "D input, but " + mode + " mode needs " + std::to_string(needed) + "D input");
  }
  if (r.antialias && mode != "bilinear" && mode != "bicubic") {
    fail("Anti-alias option is only supported for bilinear and bicubic modes");
  }
}

Tensor interpolate(const Request& r) {
  checkMode(r);
  const int64_t dim = r.input.dim();
  auto dims = static_cast<size_t>(dim - 2);
  auto scales = scalesOf(r.scale, dims);
  auto sizes = outputSize(r, scales, dims);
  // The scale factors themselves are used only if they are not to be computed again from the sizes.
  bool keep_scales = !r.recompute_scale_factor.value_or(false);
  auto s = [&](size_t i) { return !scales.empty() && keep_scales ? std::optional<double>(scales[i]) : std::nullopt; };
  auto out = c10::fromIntArrayRefSlow(sizes);
  bool corners = r.align_corners.value_or(false);
  namespace ops = at::_ops;
  if (r.mode == "nearest") {
    if (dim == 3) return ops::upsample_nearest1d::call(r.input, out, s(0));
    if (dim == 4) return ops::upsample_nearest2d::call(r.input, out, s(0), s(1));
    return ops::upsample_nearest3d::call(r.input, out, s(0), s(1), s(2));
  }
  if (r.mode == "nearest-exact") {
    if (dim == 3) return ops::_upsample_nearest_exact1d::call(r.input, out, s(0));
    if (dim == 4) return ops::_upsample_nearest_exact2d::call(r.input, out, s(0), s(1));
    return ops::_upsample_nearest_exact3d::call(r.input, out, s(0), s(1), s(2));
  }
  if (r.mode == "area") {
    if (dim == 3) return ops::adaptive_avg_pool1d::call(r.input, sizes);
    if (dim == 4) return ops::adaptive_avg_pool2d::call(r.input, out);
    return ops::adaptive_avg_pool3d::call(r.input, out);
  }
  if (r.mode == "linear") return ops::upsample_linear1d::call(r.input, out, corners, s(0));
  if (r.mode == "bilinear") {
    if (r.antialias) return ops::_upsample_bilinear2d_aa::call(r.input, out, corners, s(0), s(1));
    return ops::upsample_bilinear2d::call(r.input, out, corners, s(0), s(1));
  }
  if (r.mode == "bicubic") {
    if (r.antialias) return ops::_upsample_bicubic2d_aa::call(r.input, out, corners, s(0), s(1));
    return ops::upsample_bicubic2d::call(r.input, out, corners, s(0), s(1));
  }
  return ops::upsample_trilinear3d::call(r.input, out, corners, s(0), s(1), s(2));
}

constexpr Kernel kInterpolate = kernel([](const Tensor& input, IValue& size, IValue& scale, const std::string& mode,
                                          IValue& corners, IValue& recompute, bool antialias) {
  return interpolate(
      {input, size, scale, mode, Arg<std::optional<bool>>::get(corners), Arg<std::optional<bool>>::get(recompute),
       antialias});
});
// The older names never give the kernels a scale factor, only sizes.
constexpr Kernel kUpsample =
    kernel([](const Tensor& input, IValue& size, IValue& scale, const std::string& mode, IValue& corners) {
      return interpolate({input, size, scale, mode, Arg<std::optional<bool>>::get(corners), true});
    });
constexpr Kernel kUpsampleNearest = kernel([](const Tensor& input, IValue& size, IValue& scale) {
  return interpolate({input, size, scale, "nearest", {}, true});
});
constexpr Kernel kUpsampleBilinear = kernel([](const Tensor& input, IValue& size, IValue& scale) {
  return interpolate({input, size, scale, "bilinear", true, true});
});

#define INTERPOLATE(OVERLOAD, SIZE, SCALE)                                                                     \
  {                                                                                                            \
    "aten::__interpolate" OVERLOAD "(Tensor input, " SIZE "? size=None, " SCALE                                \
    "? scale_factor=None, str mode=\"nearest\", bool? align_corners=None, bool? recompute_scale_factor=None, " \
    "bool antialias=False) -> Tensor",                                                                         \
        kInterpolate                                                                                           \
  }

constexpr Row kInterpolateRows[] = {
    INTERPOLATE(".scale_list", "int", "float[]"),
    INTERPOLATE(".size_list_scale_list", "int[]", "float[]"),
    INTERPOLATE("", "int", "float"),
    INTERPOLATE(".size_list", "int[]", "float"),
    {"aten::__upsample(Tensor input, int? size=None, int? scale_factor=None, str mode=\"nearest\", bool? "
     "align_corners=None) -> Tensor",
     kUpsample},
    {"aten::__upsample.size_list(Tensor input, int[]? size=None, int? scale_factor=None, str mode=\"nearest\", bool? "
     "align_corners=None) -> Tensor",
     kUpsample},
    {"aten::__upsample_nearest(Tensor input, int? size=None, int? scale_factor=None) -> Tensor", kUpsampleNearest},
    {"aten::__upsample_nearest.size_list(Tensor input, int[]? size=None, int? scale_factor=None) -> Tensor",
     kUpsampleNearest},
    {"aten::__upsample_bilinear(Tensor input, int? size=None, int? scale_factor=None) -> Tensor", kUpsampleBilinear},
    {"aten::__upsample_bilinear.size_list(Tensor input, int[]? size=None, int? scale_factor=None) -> Tensor",
     kUpsampleBilinear},
    {"aten::__upsample_bilinear.scale_list(Tensor input, int? size=None, int[]? scale_factor=None) -> Tensor",
     kUpsampleBilinear},
    {"aten::__upsample_bilinear.size_list_scale_list(Tensor input, int[]? size=None, int[]? scale_factor=None) -> "
     "Tensor",
     kUpsampleBilinear},
};
#undef INTERPOLATE

}  // namespace

std::span<const Row> interpolateRows() {
  return kInterpolateRows;
}

}  // namespace cresset
