#include "cresset/executor/kernel_check.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <limits>
#include <sstream>
#include <vector>

namespace cresset {

namespace {

at::Tensor bitsOf(const at::Tensor& tensor) {
  if (!tensor.is_floating_point()) return tensor;
  return tensor.contiguous().view(
      tensor.element_size() == 8   ? at::kLong
      : tensor.element_size() == 4 ? at::kInt
                                   : at::kShort);
}

constexpr int64_t kUlps = 4;

}  // namespace

Tolerance toleranceOf(const codegen::Group& group, const at::Tensor& output, std::span<const at::Tensor> inputs) {
  if (group.is_exact || !output.is_floating_point()) return {};
  // What a mean is taken from may be near to it, and so may the terms of a loss be to each other.
  const bool cancels = std::ranges::any_of(group.steps, [](const auto& step) { return step.whole.has_value(); });
  // ATen's functions give 0 for some values that are not normal numbers.
  if (!group.reduces && !cancels) {
    return {kUlps, output.scalar_type() == at::kDouble ? std::numeric_limits<double>::min() : 0x1p-126};
  }
  // Sums of squares are the largest of what reductions add up; errors of adding n numbers grow with n.
  double largest = 1;
  int64_t count = 1;
  for (const at::Tensor& input : inputs) {
    const at::Tensor finite = input.to(at::kDouble).nan_to_num(0, 0, 0).abs();
    if (finite.numel() > 0) largest = std::max(largest, finite.max().item<double>());
    count = std::max(count, finite.numel());
  }
  const at::ScalarType dtype = codegen::registerType(output.scalar_type());
  const double epsilon = dtype == at::kFloat ? 0x1p-23 : 0x1p-52;
  const double rounding = dtype == output.scalar_type() ? 0 : output.scalar_type() == at::kHalf ? 0x1p-10 : 0x1p-7;
  // Products of half precision are rounded to it again and again by ATen.
  const bool multiplies = std::any_of(group.body.code.begin(), group.body.code.end(), [](const auto& instruction) {
    return instruction.opcode == codegen::Opcode::Prod;
  });
  if (multiplies && rounding > 0) return {kUlps, std::numeric_limits<double>::infinity()};
  const double magnitude = std::max(output.to(at::kDouble).nan_to_num(0, 0, 0).abs().max().item<double>(), 1e-300);
  return {
      kUlps, epsilon * (1024 + 8 * static_cast<double>(count)) * std::max(largest * largest, magnitude) +
                 rounding * magnitude};
}

bool isAsAccurate(const at::Tensor& found, const at::Tensor& expected, const at::Tensor& reference) {
  const bool has_reference = found.is_floating_point() && found.scalar_type() != at::kDouble;
  if (!has_reference || found.dtype() != expected.dtype() || found.sizes() != reference.sizes()) return false;
  const at::Tensor exact = reference.to(at::kDouble);
  const auto error = [&](const at::Tensor& values) { return values.to(at::kDouble).sub(exact).abs_(); };
  const double epsilon = found.scalar_type() == at::kFloat  ? 0x1p-23
                         : found.scalar_type() == at::kHalf ? 0x1p-10
                                                            : 0x1p-7;
  const at::Tensor allowed = error(expected).add_(exact.abs().mul_(kUlps * epsilon));
  const at::Tensor are_nan = found.ne(found).logical_and_(expected.ne(expected));
  return error(found).le(allowed).logical_or_(found.eq(expected)).logical_or_(are_nan).all().item<bool>();
}

std::string firstDifference(const at::Tensor& a, const at::Tensor& b, const Tolerance& tolerance) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes() || a.strides() != b.strides()) return "layout";
  at::Tensor differing = bitsOf(a).ne(bitsOf(b)).logical_and_(a.eq(a).logical_or_(b.eq(b)));
  if (tolerance.ulps > 0) {
    differing.logical_and_(bitsOf(a).sub(bitsOf(b)).abs_().gt(tolerance.ulps))
        .logical_and_(a.eq(0).logical_and_(b.eq(0)).logical_not_());
  }
  if (tolerance.absolute > 0)
    differing.logical_and_(a.to(at::kDouble).sub(b.to(at::kDouble)).abs().le(tolerance.absolute).logical_not());
  const at::Tensor differs = differing.nonzero();
  if (differs.size(0) == 0) return "";
  std::vector<int64_t> index;
  at::Tensor found = a, expected = b;
  for (int64_t d = 0; d < a.dim(); ++d) {
    index.push_back(differs.select(0, 0)[d].item<int64_t>());
    found = found.select(0, index.back()), expected = expected.select(0, index.back());
  }
  std::ostringstream text;
  text.precision(17);
  text << differs.size(0) << " values; at " << c10::IntArrayRef(index) << ' ' << found.item<double>() << ", not "
       << expected.item<double>();
  return text.str();
}

}  // namespace cresset
