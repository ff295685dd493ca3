// The rules of the policy. See policy.h, and the decision record for what was weighed.
#include "cresset/ops/policy.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>

#include "cresset/support/error.h"

namespace cresset {

namespace {

using std::string_view;

/// Libraries of operators that are part of PyTorch and compute with their arguments only. Its others run Python code
/// (prims, higher_order), talk to other processes (c10d, symm_mem), or belong to compilers (inductor, export).
constexpr std::array<string_view, 8> kKnownNamespaces = {
    "aten", "prim", "quantized", "_quantized", "sparse", "mkldnn_prepacked", "prepacked", "profiler"};

/// Namespaces of C++ classes: packed weights of the operators above, and the profiler's record.
constexpr std::array<string_view, 5> kKnownClassNamespaces = {"quantized", "sparse", "mkldnn", "xnnpack", "profiler"};

struct NameRule {
  string_view name;  // a `*` at the end stands for any rest; with a `.`, of one overload
  Restriction restriction;
};

constexpr NameRule kRules[] = {
    {"aten::from_file", Restriction::Files},
    {"aten::save", Restriction::Files},
    // Indices and lengths that nobody checks.
    {"aten::ctc_loss*", Restriction::RawMemory},
    {"quantized::embedding_bag_*", Restriction::RawMemory},
    // Tensors that are another's indices or sizes, and constructors that take such without a copy: what a program
    // writes to them later nobody checks.
    {"aten::_indices", Restriction::RawMemory},
    {"aten::indices", Restriction::RawMemory},
    {"aten::_values", Restriction::RawMemory},
    {"aten::crow_indices", Restriction::RawMemory},
    {"aten::col_indices", Restriction::RawMemory},
    {"aten::ccol_indices", Restriction::RawMemory},
    {"aten::row_indices", Restriction::RawMemory},
    {"aten::sparse_coo_tensor.indices*", Restriction::RawMemory},
    {"aten::sparse_compressed_tensor.*", Restriction::RawMemory},
    {"aten::sparse_csr_tensor.*", Restriction::RawMemory},
    {"aten::sparse_csc_tensor.*", Restriction::RawMemory},
    {"aten::sparse_bsr_tensor.*", Restriction::RawMemory},
    {"aten::sparse_bsc_tensor.*", Restriction::RawMemory},
    {"aten::_nested_tensor_size", Restriction::RawMemory},
    {"aten::_nested_tensor_strides", Restriction::RawMemory},
    {"aten::_nested_tensor_storage_offsets", Restriction::RawMemory},
    // Pivots that stand for those of a factorization.
    {"aten::linalg_ldl_solve*", Restriction::RawMemory},
    {"aten::lu_unpack*", Restriction::RawMemory},
    {"aten::segment_reduce*", Restriction::RawMemory},
    // What autograd keeps gets a second name, under which nobody sees it written to: its kernels believe kept indices.
    {"aten::set_.source_Tensor*", Restriction::RawMemory},
    {"aten::set.source_Tensor*", Restriction::RawMemory},
    {"aten::set_data", Restriction::RawMemory},
    // Kernels that believe the sizes of what they write to, or are given, and lengths of lists.
    {"aten::copy", Restriction::RawMemory},
    {"aten::_foreach_copy", Restriction::RawMemory},
    {"aten::col2im.out", Restriction::RawMemory},
    {"aten::reflection_pad1d.out", Restriction::RawMemory},
    {"aten::reflection_pad2d.out", Restriction::RawMemory},
    {"aten::reflection_pad3d.out", Restriction::RawMemory},
    {"aten::replication_pad1d.out", Restriction::RawMemory},
    {"aten::replication_pad2d.out", Restriction::RawMemory},
    {"aten::replication_pad3d.out", Restriction::RawMemory},
    {"aten::batch_norm_*", Restriction::RawMemory},
    {"mkldnn_prepacked::conv2d_run", Restriction::RawMemory},
    {"quantized::linear_prepack_fp16", Restriction::RawMemory},
    {"quantized::make_quantized_cell_params", Restriction::RawMemory},
    // The smallest integer divided by -1 is a signal of the processor.
    {"aten::lcm*", Restriction::Crashes},
    // Tensors whose bytes are taken for a pointer to a C++ object.
    {"aten::quantized_lstm*", Restriction::RawMemory},
    {"aten::quantized_gru*", Restriction::RawMemory},
    {"aten::quantized_rnn*", Restriction::RawMemory},
    {"profiler::_record_function_exit", Restriction::RawMemory},
    {"profiler::_record_function_enter", Restriction::RawMemory},
    {"_quantized::wrapped_*", Restriction::RawMemory},
};

/// What names a kernel that PyTorch's own operators call, and not a function of its Python modules: its schema says
/// nothing of what must hold of its arguments, and the kernel believes them.
constexpr string_view kInternalPrefixes[] = {"_",      "native_",   "mkldnn_", "miopen_",
                                             "cudnn_", "slow_conv", "thnn_",   "fbgemm_"};
constexpr string_view kInternalParts[] = {"_backward", "_forward"};

/// Kernels named so that programs call all the same: functions of `torch` and its modules, and what torch.jit's traces,
/// scripts and frozen modules contain for such functions. Each has stood tests/fuzz/wild_arguments.py, some with a
/// check.
constexpr string_view kCalledByPrograms[] = {
    // Layers of torch.nn and torch.nn.functional.
    "aten::_convolution",
    "aten::_convolution_mode",
    "aten::_native_multi_head_attention",
    "aten::_transformer_encoder_layer_fwd",
    "aten::_nested_tensor_from_mask",
    "aten::_nested_tensor_from_mask_left_aligned",
    "aten::_weight_norm",
    "aten::_pack_padded_sequence",
    "aten::_pad_packed_sequence",
    "aten::_batch_norm_impl_index",
    "aten::_native_batch_norm_legit",
    "aten::_native_batch_norm_legit.no_stats",
    "aten::native_batch_norm",
    "aten::native_layer_norm",
    "aten::native_group_norm",
    "aten::native_dropout",
    "aten::native_channel_shuffle",
    "aten::_embedding_bag",
    "aten::_adaptive_avg_pool2d",
    "aten::_adaptive_avg_pool3d",
    "aten::_upsample_bilinear2d_aa",
    "aten::_upsample_bicubic2d_aa",
    "aten::_upsample_lanczos2d_aa",
    "aten::_upsample_nearest_exact1d",
    "aten::_upsample_nearest_exact2d",
    "aten::_upsample_nearest_exact3d",
    "aten::_pad_circular",
    "aten::_pad_enum",
    "aten::_scaled_dot_product_attention_math",
    "aten::_use_cudnn_rnn_flatten_weight",
    "aten::_nnpack_available",
    "aten::thnn_conv2d",
    "aten::slow_conv3d",
    "aten::_thnn_fused_lstm_cell",
    "aten::_thnn_fused_gru_cell",
    // Softmax and its like.
    "aten::_softmax",
    "aten::_log_softmax",
    "aten::_safe_softmax",
    "aten::_masked_softmax",
    "aten::_trilinear",
    "aten::_euclidean_dist",
    "aten::_cdist_forward",
    "aten::_prelu_kernel",
    // Shapes, dtypes and views.
    "aten::_shape_as_tensor",
    "aten::_reshape_from_tensor",
    "aten::_dim_arange",
    "aten::_cast_*",
    "aten::_to_copy",
    "aten::_unsafe_view",
    "aten::_reshape_copy",
    "aten::_conj",
    "aten::_conj_physical",
    "aten::_neg_view",
    "aten::_local_scalar_dense",
    "aten::_version",
    "aten::_unique",
    "aten::_unique2",
    "aten::_aminmax",
    "aten::_is_all_true",
    "aten::_is_any_true",
    "aten::_assert_async",
    "aten::_assert_scalar",
    "aten::_assert_tensor_metadata",
    "aten::_autocast_to_reduced_precision",
    "aten::_autocast_to_full_precision",
    "aten::_foreach_*",
    "aten::_is_zerotensor",
    "aten::_backward",
    // Sparse tensors.
    "aten::_nnz",
    "aten::_dimI",
    "aten::_dimV",
    "aten::_to_dense",
    "aten::_to_sparse",
    "aten::_to_sparse_csr",
    "aten::_to_sparse_csc",
    "aten::_to_sparse_bsr",
    "aten::_to_sparse_bsc",
    "aten::_sparse_mm",
    "aten::_sparse_sum",
    "aten::_sparse_softmax",
    "aten::_sparse_log_softmax",
    "aten::_sparse_addmm",
    "aten::_sparse_sparse_matmul",
    "aten::_indices_copy",
    "aten::_values_copy",
    "aten::_spdiags",
    // Linear algebra.
    "aten::_linalg_det",
    "aten::_linalg_slogdet",
    "aten::_linalg_eigh",
    "aten::_linalg_svd",
    "aten::_linalg_solve_ex",
    "aten::_lu_with_info",
    "aten::_int_mm",
    "aten::_addmm_activation",
    // Random numbers.
    "aten::_standard_gamma",
    "aten::_standard_gamma_grad",
    "aten::_sample_dirichlet",
    "aten::_dirichlet_grad",
    // Quantization.
    "aten::_empty_affine_quantized",
    "aten::_empty_per_channel_affine_quantized",
    "aten::_make_per_tensor_quantized_tensor",
    "aten::_make_per_channel_quantized_tensor",
    "aten::_choose_qparams_per_tensor",
    "aten::_fake_quantize_learnable_per_tensor_affine",
    "aten::_fake_quantize_learnable_per_channel_affine",
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
};

bool matches(string_view pattern, string_view full_name) {
  if (pattern.ends_with('*')) return full_name.starts_with(pattern.substr(0, pattern.size() - 1));
  // A name without an overload stands for all of them.
  return full_name == pattern || (pattern.find('.') == string_view::npos && full_name.size() > pattern.size() &&
                                  full_name.starts_with(pattern) && full_name[pattern.size()] == '.');
}

bool mentions(const c10::Type& type, c10::TypeKind kind) {
  if (type.kind() == kind) return true;
  for (const auto& inner : type.containedTypes()) {
    if (mentions(*inner, kind)) return true;
  }
  return false;
}

bool isInternal(const c10::FunctionSchema& schema, string_view full_name) {
  const string_view name = string_view(schema.name()).substr(schema.name().find("::") + 2);
  // `__and__` and its like are Python's operators.
  const bool is_named_so = !name.starts_with("__") &&
                           (std::any_of(
                                std::begin(kInternalPrefixes), std::end(kInternalPrefixes),
                                [&](string_view prefix) { return name.starts_with(prefix); }) ||
                            std::any_of(std::begin(kInternalParts), std::end(kInternalParts), [&](string_view part) {
                              return name.find(part) != string_view::npos;
                            }));
  if (!is_named_so) return false;
  // Results that are written to are believed, too, in these.
  const bool has_out = std::any_of(
      schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& a) { return a.is_out(); });
  return has_out || std::none_of(std::begin(kCalledByPrograms), std::end(kCalledByPrograms), [&](string_view known) {
           return matches(known, full_name);
         });
}

/// What an argument is for, by its name: no operator of PyTorch takes such a string for another purpose.
bool namesFile(string_view argument) {
  return argument.find("file") != string_view::npos || argument.find("path") != string_view::npos;
}

}  // namespace

Restriction restrictionOf(const c10::FunctionSchema& schema) {
  const string_view name = schema.name();
  const string_view space = name.substr(0, name.find("::"));
  if (std::find(kKnownNamespaces.begin(), kKnownNamespaces.end(), space) == kKnownNamespaces.end()) {
    return Restriction::Foreign;
  }
  const std::string full_name =
      schema.overload_name().empty() ? schema.name() : schema.name() + "." + schema.overload_name();
  for (const NameRule& rule : kRules) {
    if (matches(rule.name, full_name)) return rule.restriction;
  }
  // Overloads that take packed weights as tensors whose bytes are a pointer.
  if (schema.overload_name().find("legacy") != std::string::npos && space == "quantized") return Restriction::RawMemory;
  if (name.find("data_ptr") != string_view::npos || name.find("from_blob") != string_view::npos) {
    return Restriction::RawMemory;
  }
  for (const c10::Argument& argument : schema.arguments()) {
    if (mentions(*argument.type(), c10::TypeKind::StorageType)) return Restriction::RawMemory;
    if (mentions(*argument.type(), c10::TypeKind::StringType) && namesFile(argument.name())) return Restriction::Files;
  }
  return isInternal(schema, full_name) ? Restriction::Internal : Restriction::None;
}

std::string_view reasonOf(Restriction restriction) {
  switch (restriction) {
    case Restriction::None:
      return "";
    case Restriction::Files:
      return "it reads or writes files";
    case Restriction::RawMemory:
      return "it does not check what its arguments say of memory";
    case Restriction::Crashes:
      return "it ends the process for some arguments";
    case Restriction::Internal:
      return "it is a kernel that PyTorch calls for itself, which does not check its arguments";
    case Restriction::Foreign:
      return "it is not one of PyTorch's own, so nothing is known of it";
  }
  return "";
}

std::string howToTrust(Door door) {
  switch (door) {
    case Door::Cpp:
      return "LoadOptions{.trusted = true}";
    case Door::Python:
      return "trusted=True";
    case Door::Command:
      return "--trusted";
  }
  return "";
}

std::string howToAllow(Door door, string_view name) {
  switch (door) {
    case Door::Cpp:
      return "LoadOptions{.allow_ops = {\"" + std::string(name) + "\"}}";
    case Door::Python:
      return "allow_ops=['" + std::string(name) + "']";
    case Door::Command:
      return "--allow-op " + std::string(name);
  }
  return "";
}

OperatorPolicy::OperatorPolicy(std::vector<std::string> allowed, Door door)
    : allowed_(std::move(allowed)), door_(door) {
  for (const std::string& pattern : allowed_) {
    const size_t star = pattern.find('*');
    const bool is_name =
        pattern == "*" || pattern.find("::") != std::string::npos || pattern.starts_with("torch.classes.");
    if (!is_name || (star != std::string::npos && star + 1 != pattern.size())) {
      throw UserError(
          "'" + pattern +
          "' names no operator to allow: write namespace::name, namespace::name.overload, namespace::* or "
          "torch.classes.namespace.Name");
    }
  }
}

bool OperatorPolicy::isNamed(string_view name) const {
  return std::any_of(
      allowed_.begin(), allowed_.end(), [&](const std::string& pattern) { return matches(pattern, name); });
}

bool OperatorPolicy::allows(const Operator& op) const {
  return op.restriction() == Restriction::None || isNamed(op.fullName());
}

void OperatorPolicy::checkBlock(Block& block) const {
  for (Node* node : block.nodes()) {
    if (const Operator* op = operatorOf(*node); op && !allows(*op)) {
      const std::string name = node->kind().toQualString();
      throw UserError(
          "This program was loaded as untrusted, and may not call " + op->fullName() + ": " +
              std::string(reasonOf(op->restriction())) + ". If you trust where it comes from, load it with " +
              howToTrust(door_) + ", or allow this operator with " + howToAllow(door_, name) + ".",
          node->sourceRange());
    }
    for (Block* inner : node->blocks()) checkBlock(*inner);
    if (node->hasAttribute(attr::Subgraph)) checkBlock(*node->g(attr::Subgraph)->block());
  }
}

void OperatorPolicy::check(Graph& graph) const {
  checkBlock(*graph.block());
}

void OperatorPolicy::checkClass(string_view qualified_name, const SourceRange& range) const {
  constexpr string_view kPrefix = "__torch__.";
  if (qualified_name.starts_with(kPrefix)) qualified_name.remove_prefix(kPrefix.size());
  constexpr string_view kClasses = "torch.classes.";
  const string_view rest = qualified_name.substr(std::min(kClasses.size(), qualified_name.size()));
  const string_view space = rest.substr(0, rest.find('.'));
  if (std::find(kKnownClassNamespaces.begin(), kKnownClassNamespaces.end(), space) != kKnownClassNamespaces.end())
    return;
  if (isNamed(qualified_name)) return;
  throw UserError(
      "This archive was loaded as untrusted, and may not use the C++ class " + std::string(qualified_name) +
          ": it is not one of PyTorch's own, so nothing is known of it. If you trust where the archive comes from, "
          "load it with " +
          howToTrust(door_) + ", or allow this class with " + howToAllow(door_, qualified_name) + ".",
      range);
}

}  // namespace cresset
