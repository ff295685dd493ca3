// Parts of composite operators that gradients need one by one, and that the dispatcher does not have: decompositions
// for gradients (ops/table) are made of them.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_sdp_choice_ops.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_ops.h>
#include <ATen/ops/batch_norm_update_stats_ops.h>
#include <ATen/ops/bernoulli_ops.h>
#include <ATen/ops/div_ops.h>
#include <ATen/ops/empty_like_ops.h>
#include <ATen/ops/full_like_ops.h>
#include <ATen/ops/masked_fill_ops.h>
#include <ATen/ops/new_empty_ops.h>
#include <ATen/ops/new_zeros_ops.h>
#include <ATen/ops/scaled_dot_product_attention_ops.h>
#include <ATen/ops/zeros_ops.h>

#include "cresset/ops/argument_checks_impl.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

using at::Tensor;

/// What dropout multiplies its input by, drawn as PyTorch's dropout draws it: zeros and 1 / (1 - p), per element or per
/// channel.
Tensor dropoutNoise(const Tensor& input, double p, bool channels) {
  Tensor noise;
  if (channels) {
    std::vector<c10::SymInt> sizes(static_cast<size_t>(std::max<int64_t>(input.dim(), 2)), 1);
    sizes[0] = input.sym_size(0);
    sizes[1] = input.sym_size(1);
    noise = at::_ops::new_empty::call(input, sizes, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  } else {
    noise = at::_ops::empty_like::call(input, std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
  }
  at::_ops::bernoulli__float::call(noise, 1 - p, std::nullopt);
  at::_ops::div__Scalar::call(noise, 1 - p);
  return noise;
}

/// The dimensions that rms_norm takes means over, the last first, or its errors: none of its parts would see sizes that
/// differ where one is 1.
c10::List<int64_t> normalizedDims(
    const Tensor& input, const std::vector<int64_t>& sizes, const std::optional<Tensor>& weight) {
  const auto count = static_cast<int64_t>(sizes.size());
  TORCH_CHECK(
      count >= 1,
      "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
      "normalized_shape = ",
      at::IntArrayRef(sizes));
  TORCH_CHECK(
      !weight || !weight->defined() || weight->sizes() == at::IntArrayRef(sizes),
      "Expected weight to be of same shape as normalized_shape, but got weight of shape ", weight->sizes(),
      " and normalized_shape = ", at::IntArrayRef(sizes));
  TORCH_CHECK_VALUE(
      input.dim() >= count, "Input tensor must have at least ", count, " dimensions, but got ", input.dim());
  if (input.sizes().slice(static_cast<size_t>(input.dim() - count)) != at::IntArrayRef(sizes)) {
    std::string text;
    for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
    TORCH_CHECK(
        false, "Given normalized_shape=", at::IntArrayRef(sizes), ", expected input with shape [*", text,
        "], but got input of size", input.sizes());
  }
  c10::List<int64_t> dims;
  for (int64_t d = 1; d <= count; ++d) dims.push_back(input.dim() - d);
  return dims;
}

/// A mask as the number that is added to the scores.
std::optional<Tensor> additiveMask(const std::optional<Tensor>& mask, at::ScalarType dtype) {
  if (!mask || mask->scalar_type() != at::kBool) return mask;
  const Tensor zeros = at::_ops::zeros::call(mask->sym_sizes(), dtype, std::nullopt, mask->device(), std::nullopt);
  Tensor hidden = at::_ops::full_like::call(
      zeros, -std::numeric_limits<double>::infinity(), std::nullopt, std::nullopt, std::nullopt, std::nullopt,
      std::nullopt);
  return at::_ops::masked_fill_Tensor::call(hidden, *mask, at::_ops::zeros::call({}, dtype, {}, mask->device(), {}));
}

/// Attention, and the logarithms of the sums of its weights where the fused kernel computes it; they are empty where it
/// does not.
std::tuple<Tensor, Tensor> attention(
    const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask, bool causal,
    const std::optional<double>& scale, bool grouped) {
  if (grouped) checks::requireHeads(key, value);
  constexpr int64_t kFused = 1;  // sdp::SDPBackend::flash_attention
  const int64_t choice =
      at::_ops::_fused_sdp_choice::call(query, key, value, mask, /*dropout_p=*/0.0, causal, scale, grouped);
  // The fused kernel divides by the number of heads, and its backward pass takes no empty sums.
  const bool is_empty = query.numel() == 0 || key.numel() == 0 || value.numel() == 0;
  if (query.is_cpu() && choice == kFused && !is_empty) {
    return at::_ops::_scaled_dot_product_flash_attention_for_cpu::call(
        query, key, value, 0.0, causal, additiveMask(mask, query.scalar_type()), scale);
  }
  const Tensor result =
      at::_ops::scaled_dot_product_attention::call(query, key, value, mask, 0.0, causal, scale, grouped);
  return {result, at::_ops::new_empty::call(result, {0}, std::nullopt, std::nullopt, std::nullopt, std::nullopt)};
}

/// The number of elements of a channel of an image, if they follow each other, and channels and images do: of `input`
/// and `other`. 0 if they don't, or a vector is not a number per channel.
int64_t imageSize(
    const Tensor& input, const std::optional<Tensor>& other,
    std::initializer_list<const std::optional<Tensor>*> vectors) {
  const auto isPlain = [](const Tensor& tensor) { return tensor.is_cpu() && tensor.layout() == at::kStrided; };
  if (!isPlain(input) || input.dim() < 3 || input.numel() == 0 || !input.is_contiguous()) return 0;
  const auto fits = [&](const std::optional<Tensor>* vector) {
    if (!*vector || !(*vector)->defined()) return true;
    return isPlain(**vector) && (*vector)->dim() == 1 && (*vector)->size(0) == input.size(1);
  };
  if (!std::all_of(vectors.begin(), vectors.end(), fits)) return 0;
  if (other && (!isPlain(*other) || other->sizes() != input.sizes() || !other->is_contiguous())) return 0;
  return input.numel() / (input.size(0) * input.size(1));
}

/// The mean and variance of each channel, by PyTorch's kernel, which updates the running ones; or the errors of its
/// batch norm.
std::tuple<Tensor, Tensor> batchStatistics(
    const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
    const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var, double momentum) {
  TORCH_CHECK(input.dim() >= 2, "batch norm: the input must have at least 2 dimensions, not ", input.dim());
  if (input.sym_numel() == 0) {
    const auto zeros = [&] {
      return at::_ops::new_zeros::call(
          input, {input.sym_size(1)}, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
    };
    return {zeros(), zeros()};
  }
  const std::pair<const char*, const std::optional<Tensor>&> vectors[] = {
      {"running_mean", running_mean}, {"running_var", running_var}, {"weight", weight}, {"bias", bias}};
  for (const auto& [name, vector] : vectors) {
    TORCH_CHECK(
        !vector || !vector->defined() || vector->sym_numel() == input.sym_size(1), name, " should contain ",
        input.sym_size(1), " elements not ", vector->sym_numel());
  }
  return at::_ops::batch_norm_update_stats::call(input, running_mean, running_var, momentum);
}

template <typename T>
void updateRunning(const Tensor& running, const Tensor& value, double momentum, double factor) {
  const auto from = value.accessor<const T, 1>();
  auto to = running.accessor<T, 1>();
  for (int64_t i = 0; i < from.size(0); ++i)
    to[i] = static_cast<T>(
        momentum * (static_cast<double>(from[i]) * factor) + (1 - momentum) * static_cast<double>(to[i]));
}

/// As batch norm does it: autograd does not see it.
void updateStatistics(
    const Tensor& mean, const Tensor& var, const std::optional<Tensor>& running_mean,
    const std::optional<Tensor>& running_var, double momentum, int64_t count) {
  const auto update = [&](const std::optional<Tensor>& running, const Tensor& value, double factor) {
    if (!running || !running->defined()) return;
    TORCH_CHECK(
        running->is_cpu() && value.is_cpu() && running->scalar_type() == value.scalar_type() && running->dim() == 1 &&
            running->sizes() == value.sizes(),
        "batch norm: the running statistics must be like those of the batch");
    const bool is_double = value.scalar_type() == at::kDouble;
    (is_double ? updateRunning<double> : updateRunning<float>)(*running, value, momentum, factor);
  };
  const auto n = static_cast<double>(count);
  update(running_mean, mean, 1);
  update(running_var, var, n / (n - 1));
}

constexpr Row kTrainingRows[] = {
    {"cresset::image_size(Tensor input, Tensor? other, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? var) -> int",
     kernel([](const Tensor& input, const std::optional<Tensor>& other, const std::optional<Tensor>& weight,
               const std::optional<Tensor>& bias, const std::optional<Tensor>& mean, const std::optional<Tensor>& var) {
       return imageSize(input, other, {&weight, &bias, &mean, &var});
     }),
     Trait::NeverRaises},
    {"cresset::batch_statistics(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
     "float momentum) -> (Tensor, Tensor)",
     kernel([](const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
               const std::optional<Tensor>& mean, const std::optional<Tensor>& var,
               double momentum) { return batchStatistics(input, weight, bias, mean, var, momentum); })},
    {"cresset::update_statistics(Tensor mean, Tensor var, Tensor? running_mean, Tensor? running_var, float momentum, "
     "int count) -> ()",
     kernel([](const Tensor& mean, const Tensor& var, const std::optional<Tensor>& running_mean,
               const std::optional<Tensor>& running_var, double momentum,
               int64_t count) { updateStatistics(mean, var, running_mean, running_var, momentum, count); })},
    {"cresset::dropout_noise(Tensor input, float p, bool channels) -> Tensor",
     kernel([](const Tensor& input, double p, bool channels) { return dropoutNoise(input, p, channels); }),
     Trait::SideEffect | Trait::Nondeterministic},
    {"cresset::normalized_dims(Tensor input, int[] normalized_shape, Tensor? weight) -> int[]",
     kernel([](const Tensor& input, const std::vector<int64_t>& sizes, const std::optional<Tensor>& weight) {
       return normalizedDims(input, sizes, weight);
     })},
    {"cresset::mm(Tensor self, Tensor mat2, bool transposed) -> Tensor",
     kernel([](const Tensor& self, const Tensor& mat2, bool transposed) {
       return transposed ? mat2.t().mm(self.t()).t() : self.mm(mat2);
     })},
    {"cresset::letters_in(str letters, str others) -> str", kernel([](std::string letters, const std::string& others) {
       std::erase_if(letters, [&](char letter) { return others.find(letter) == std::string::npos; });
       return letters;
     }),
     Trait::NeverRaises},
    {"cresset::common_size(int a, int b, int dim_a, int dim_b) -> int",
     kernel([](int64_t a, int64_t b, int64_t dim_a, int64_t dim_b) -> int64_t {
       if (a == 1 || b == 1) return 1;
       if (a != b) {
         fail(
             "contracted dimensions need to match, but first has size " + std::to_string(a) + " in dim " +
             std::to_string(dim_a) + " and second has size " + std::to_string(b) + " in dim " + std::to_string(dim_b));
       }
       return a;
     })},
    {"cresset::is_column_major(Tensor self) -> bool", kernel([](const Tensor& self) {
       return self.dim() == 2 && self.stride(0) == 1 && self.stride(1) == self.size(0);
     })},
    {"cresset::is_row_major(Tensor self) -> bool", kernel([](const Tensor& self) {
       return self.dim() == 2 && self.stride(1) == 1 && self.stride(0) == self.size(1);
     })},
    {"cresset::attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, float? scale, "
     "bool enable_gqa) -> (Tensor, Tensor)",
     kernel([](const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
               bool causal, std::optional<double> scale,
               bool grouped) { return attention(query, key, value, mask, causal, scale, grouped); })},
};

}  // namespace

std::span<const Row> trainingRows() {
  return kTrainingRows;
}

}  // namespace cresset
