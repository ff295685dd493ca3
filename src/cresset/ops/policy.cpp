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
    // Sparse tensors whose indices nobody checks against their sizes, and what claims that they are in order.
    {"aten::_sparse_coo_tensor_unsafe", Restriction::RawMemory},
    {"aten::_sparse_compressed_tensor_unsafe", Restriction::RawMemory},
    {"aten::_sparse_csr_tensor_unsafe", Restriction::RawMemory},
    {"aten::_sparse_csc_tensor_unsafe", Restriction::RawMemory},
    {"aten::_sparse_bsr_tensor_unsafe", Restriction::RawMemory},
    {"aten::_sparse_bsc_tensor_unsafe", Restriction::RawMemory},
    {"aten::_sparse_compressed_tensor_with_dims", Restriction::RawMemory},
    {"aten::_sparse_coo_tensor_with_dims_and_tensors", Restriction::RawMemory},
    {"aten::_coalesced*", Restriction::RawMemory},
    // Indices, offsets and lengths that these take as their own forward operators give them, or from sparse tensors.
    // tests/fuzz/wild_tensors.py finds such operators.
    {"aten::max_pool2d_with_indices_backward*", Restriction::RawMemory},
    {"aten::max_pool3d_with_indices_backward*", Restriction::RawMemory},
    {"aten::adaptive_max_pool2d_backward*", Restriction::RawMemory},
    {"aten::adaptive_max_pool3d_backward*", Restriction::RawMemory},
    {"aten::fractional_max_pool2d_backward*", Restriction::RawMemory},
    {"aten::fractional_max_pool3d_backward*", Restriction::RawMemory},
    {"aten::nll_loss_backward*", Restriction::RawMemory},
    {"aten::nll_loss2d_backward*", Restriction::RawMemory},
    {"aten::_ctc_loss*", Restriction::RawMemory},
    {"aten::ctc_loss*", Restriction::RawMemory},
    {"aten::_pad_packed_sequence*", Restriction::RawMemory},
    {"quantized::embedding_bag_*", Restriction::RawMemory},
    {"aten::_embedding_bag_backward", Restriction::RawMemory},
    {"aten::_embedding_bag_dense_backward*", Restriction::RawMemory},
    {"aten::_embedding_bag_per_sample_weights_backward*", Restriction::RawMemory},
    {"aten::_embedding_bag_sparse_backward", Restriction::RawMemory},
    {"aten::_convert_indices_from_csr_to_coo*", Restriction::RawMemory},
    {"aten::_convert_indices_from_coo_to_csr*", Restriction::RawMemory},
    {"aten::_sparse_mm_reduce_impl*", Restriction::RawMemory},
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
    // Indices that stand for compiler-proven ones.
    {"aten::_unsafe_index*", Restriction::RawMemory},
    {"aten::_unsafe_masked_index*", Restriction::RawMemory},
    {"aten::_index_put_impl*", Restriction::RawMemory},
    {"aten::segment_reduce*", Restriction::RawMemory},
    {"aten::_segment_reduce_backward*", Restriction::RawMemory},
    // Views of a buffer whose offsets and sizes are tensors, not checked against it.
    {"aten::_nested_view_from_buffer*", Restriction::RawMemory},
    {"aten::_nested_view_from_jagged*", Restriction::RawMemory},
    {"aten::_nested_from_padded*", Restriction::RawMemory},
    {"aten::_reshape_alias*", Restriction::RawMemory},
    // The smallest integer divided by -1 is a signal of the processor.
    {"aten::lcm*", Restriction::Crashes},
    // Tensors whose bytes are taken for a pointer to a C++ object.
    {"aten::fbgemm_*", Restriction::RawMemory},
    {"aten::quantized_lstm*", Restriction::RawMemory},
    {"aten::quantized_gru*", Restriction::RawMemory},
    {"aten::quantized_rnn*", Restriction::RawMemory},
    {"profiler::_record_function_exit", Restriction::RawMemory},
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
  return Restriction::None;
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
