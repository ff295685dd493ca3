#include "cresset/passes/propagate_types.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/ambient_state.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

using c10::TypeKind;

/// What is known of a tensor; nothing where absent.
struct Facts {
  std::optional<at::ScalarType> dtype;
  std::optional<size_t> rank;
  std::optional<c10::Device> device;
  std::optional<bool> requires_grad;

  bool operator==(const Facts&) const = default;

  static Facts of(const c10::Type& type) {
    const auto* tensor = type.castRaw<c10::TensorType>();
    if (!tensor) return {};
    return {tensor->scalarType(), tensor->dim(), tensor->device(), tensor->requiresGrad()};
  }
  static Facts common(const Facts& a, const Facts& b) {
    const auto same = [](const auto& x, const auto& y) { return x == y ? x : std::nullopt; };
    return {
        same(a.dtype, b.dtype), same(a.rank, b.rank), same(a.device, b.device), same(a.requires_grad, b.requires_grad)};
  }
};

/// Of all dimensions of the small tensors that operators are asked with: a kernel or an index of a selection mostly
/// fits.
constexpr int64_t kSize = 8;
constexpr size_t kMaxRank = 6;

enum class Rule {
  Asked,         // what the operator gives for small tensors of zeros: it checks them, and its results are small, too
  SameAsFirst,   // dtype, rank and device of the first argument
  RankOfList,    // the rank is the length of the second argument, a list
  NewOfList,     // a new tensor whose rank is the length of the first argument
  DtypeOnly,     // the rank depends on sizes
  Detached,      // as the first, and requires no gradient
  Joined,        // as the elements of the first argument, a list, which are all alike
  Stacked,       // the same with one dimension more
  Like,          // as Asked, and requires no gradient
  Equation,      // as the elements of the second argument; the first one, a text, tells the rank
  NewAsFirst,    // a new tensor of the first argument's dtype, whose rank is the length of the second argument
  NewLikeFirst,  // a new tensor of the first argument's dtype and rank
  Unflattened,   // as the first, with one dimension taken apart into as many as the third argument has elements
  Gradients,     // of the arguments `input`, `weight` and a bias: of those that `output_mask` tells
};

struct NamedRule {
  std::string_view name;  // with an overload, or without for all overloads
  Rule rule;
};

/// Those that PyTorch tags as working element by element may be asked, too, and are not listed.
constexpr NamedRule kTypeRules[] = {
    // Element by element.
    {"aten::where", Rule::Asked},
    {"aten::masked_fill", Rule::Asked},
    {"aten::hardswish", Rule::Asked},
    {"aten::log_sigmoid_forward", Rule::Asked},
    {"aten::prelu", Rule::Asked},
    {"aten::softplus_backward", Rule::Asked},
    {"aten::elu_backward", Rule::Asked},
    {"aten::leaky_relu_backward", Rule::Asked},
    {"aten::hardtanh_backward", Rule::Asked},
    {"aten::hardswish_backward", Rule::Asked},
    {"aten::softshrink_backward", Rule::Asked},
    {"aten::hardshrink_backward", Rule::Asked},
    {"aten::log_sigmoid_backward", Rule::Asked},
    {"aten::rsub", Rule::Asked},
    {"aten::silu_backward", Rule::Asked},
    {"aten::gelu_backward", Rule::Asked},
    // Matrices.
    {"aten::mm", Rule::Asked},
    {"aten::bmm", Rule::Asked},
    {"aten::mv", Rule::Asked},
    {"aten::dot", Rule::Asked},
    {"aten::addmm", Rule::Asked},
    {"aten::baddbmm", Rule::Asked},
    {"aten::addmv", Rule::Asked},
    {"aten::matmul", Rule::Asked},
    {"aten::linear", Rule::Asked},
    {"aten::outer", Rule::Asked},
    {"aten::einsum", Rule::Equation},
    {"aten::tril", Rule::Asked},
    {"aten::triu", Rule::Asked},
    {"aten::diagonal", Rule::Asked},
    {"aten::trace", Rule::Asked},
    {"aten::cross", Rule::Asked},
    {"aten::linalg_norm", Rule::Asked},
    {"aten::linalg_vector_norm", Rule::Asked},
    {"aten::norm", Rule::Asked},
    {"aten::cdist", Rule::Asked},
    {"aten::addbmm", Rule::Asked},
    {"aten::addr", Rule::Asked},
    {"aten::ger", Rule::Asked},
    {"aten::linalg_inv_ex", Rule::Asked},
    {"aten::linalg_cholesky_ex", Rule::Asked},
    {"aten::_linalg_solve_ex", Rule::Asked},
    {"aten::linalg_solve_triangular", Rule::Asked},
    {"aten::_linalg_det", Rule::Asked},
    {"aten::_linalg_slogdet", Rule::Asked},
    {"aten::dist", Rule::Asked},
    {"aten::linalg_slogdet", Rule::Asked},
    {"aten::slogdet", Rule::Asked},
    {"aten::linalg_qr", Rule::Asked},
    {"aten::qr", Rule::Asked},
    {"aten::linalg_eigh", Rule::Asked},
    {"aten::_linalg_eigh", Rule::Asked},
    {"aten::svd", Rule::Asked},
    {"aten::linalg_svd", Rule::Asked},
    {"aten::_linalg_svd", Rule::Asked},
    {"aten::inverse", Rule::SameAsFirst},
    {"aten::linalg_inv", Rule::SameAsFirst},
    {"aten::linalg_cholesky", Rule::SameAsFirst},
    {"aten::cholesky", Rule::SameAsFirst},
    {"aten::scaled_dot_product_attention", Rule::SameAsFirst},
    // Reductions and scans.
    {"aten::sum", Rule::Asked},
    {"aten::mean", Rule::Asked},
    {"aten::prod", Rule::Asked},
    {"aten::amax", Rule::Asked},
    {"aten::amin", Rule::Asked},
    {"aten::max", Rule::Asked},
    {"aten::min", Rule::Asked},
    {"aten::std", Rule::Asked},
    {"aten::var", Rule::Asked},
    {"aten::var_mean", Rule::Asked},
    {"aten::std_mean", Rule::Asked},
    {"aten::all", Rule::Asked},
    {"aten::any", Rule::Asked},
    {"aten::argmax", Rule::Asked},
    {"aten::argmin", Rule::Asked},
    {"aten::logsumexp", Rule::Asked},
    {"aten::cumsum", Rule::Asked},
    {"aten::cumprod", Rule::Asked},
    {"aten::sort", Rule::Asked},
    {"aten::argsort", Rule::Asked},
    {"aten::topk", Rule::Asked},
    {"aten::softmax", Rule::Asked},
    {"aten::log_softmax", Rule::Asked},
    {"aten::_softmax", Rule::Asked},
    {"aten::_log_softmax", Rule::Asked},
    {"aten::glu", Rule::Asked},
    {"aten::median", Rule::Asked},
    {"aten::nanmedian", Rule::Asked},
    {"aten::kthvalue", Rule::Asked},
    {"aten::mode", Rule::Asked},
    {"aten::cummax", Rule::Asked},
    {"aten::cummin", Rule::Asked},
    {"aten::logcumsumexp", Rule::Asked},
    {"aten::nansum", Rule::Asked},
    // Views, copies and conversions.
    {"aten::unsqueeze", Rule::Asked},
    {"aten::transpose", Rule::Asked},
    {"aten::permute", Rule::Asked},
    {"aten::movedim", Rule::Asked},
    {"aten::t", Rule::Asked},
    {"aten::numpy_T", Rule::Asked},
    {"aten::select", Rule::Asked},
    {"aten::flatten", Rule::Asked},
    {"aten::expand_as", Rule::Asked},
    {"aten::view_as", Rule::Asked},
    {"aten::reshape_as", Rule::Asked},
    {"aten::flip", Rule::SameAsFirst},
    {"aten::roll", Rule::SameAsFirst},
    {"aten::to", Rule::Asked},
    {"aten::type_as", Rule::Asked},
    {"aten::view_as_real", Rule::Asked},
    {"aten::view_as_complex", Rule::Asked},
    {"aten::swapaxes", Rule::Asked},
    {"aten::swapdims", Rule::Asked},
    {"aten::mT", Rule::Asked},
    {"aten::mH", Rule::Asked},
    {"aten::adjoint", Rule::Asked},
    {"aten::matrix_H", Rule::Asked},
    {"aten::unfold", Rule::Asked},
    {"aten::rot90", Rule::Asked},
    {"aten::ravel", Rule::Asked},
    {"aten::_to_copy", Rule::Asked},
    {"aten::slice_scatter", Rule::SameAsFirst},
    {"aten::select_scatter", Rule::SameAsFirst},
    {"aten::alias", Rule::SameAsFirst},
    {"aten::contiguous", Rule::SameAsFirst},
    {"aten::clone", Rule::SameAsFirst},
    {"aten::slice.Tensor", Rule::SameAsFirst},
    {"aten::narrow", Rule::SameAsFirst},
    {"aten::view", Rule::RankOfList},
    {"aten::reshape", Rule::RankOfList},
    {"aten::_unsafe_view", Rule::RankOfList},
    {"aten::expand", Rule::RankOfList},
    {"aten::repeat", Rule::RankOfList},
    {"aten::broadcast_to", Rule::RankOfList},
    {"aten::_reshape_alias", Rule::RankOfList},
    {"aten::diagonal_backward", Rule::RankOfList},
    {"aten::index_select_backward", Rule::RankOfList},
    {"aten::gather_backward", Rule::DtypeOnly},
    {"aten::masked_select_backward", Rule::DtypeOnly},
    {"aten::masked_scatter_backward", Rule::DtypeOnly},
    {"aten::embedding_backward", Rule::DtypeOnly},
    {"aten::slice_backward", Rule::RankOfList},
    {"aten::_grad_sum_to_size", Rule::RankOfList},
    {"aten::select_backward", Rule::RankOfList},
    {"aten::diag", Rule::DtypeOnly},
    {"aten::diag_embed", Rule::DtypeOnly},
    {"aten::repeat_interleave.self_int", Rule::DtypeOnly},
    {"aten::take", Rule::DtypeOnly},
    {"aten::embedding_dense_backward", Rule::DtypeOnly},
    {"aten::masked_select", Rule::DtypeOnly},
    {"aten::repeat_interleave.self_Tensor", Rule::DtypeOnly},
    {"aten::unflatten.int", Rule::Unflattened},
    {"aten::unfold_backward", Rule::DtypeOnly},
    {"aten::value_selecting_reduction_backward", Rule::DtypeOnly},
    {"aten::im2col", Rule::DtypeOnly},
    {"aten::col2im", Rule::DtypeOnly},
    {"aten::squeeze", Rule::DtypeOnly},
    {"aten::detach", Rule::Detached},
    // Several to one, and one by indices.
    {"aten::cat", Rule::Joined},
    {"aten::stack", Rule::Stacked},
    {"aten::index_select", Rule::Asked},
    {"aten::index", Rule::Asked},
    {"aten::index_put", Rule::SameAsFirst},
    {"aten::index.Tensor_hacked_twin", Rule::DtypeOnly},
    {"aten::_unsafe_index.Tensor_hacked_twin", Rule::DtypeOnly},
    {"aten::index_add", Rule::Asked},
    {"aten::gather", Rule::Asked},
    {"aten::scatter", Rule::Asked},
    {"aten::scatter_add", Rule::Asked},
    {"aten::embedding", Rule::Asked},
    {"aten::masked_scatter", Rule::SameAsFirst},
    {"aten::scatter_reduce", Rule::SameAsFirst},
    {"aten::put", Rule::SameAsFirst},
    {"aten::index_fill", Rule::SameAsFirst},
    {"aten::index_copy", Rule::SameAsFirst},
    {"aten::_unsafe_index", Rule::Asked},
    // New ones.
    {"aten::zeros_like", Rule::Like},
    {"aten::ones_like", Rule::Like},
    {"aten::full_like", Rule::Like},
    {"aten::empty_like", Rule::Like},
    {"aten::rand_like", Rule::NewLikeFirst},
    {"aten::randn_like", Rule::NewLikeFirst},
    {"aten::new_zeros", Rule::NewAsFirst},
    {"aten::new_ones", Rule::NewAsFirst},
    {"aten::new_full", Rule::NewAsFirst},
    {"aten::new_empty", Rule::NewAsFirst},
    {"aten::zeros", Rule::NewOfList},
    {"aten::ones", Rule::NewOfList},
    {"aten::empty.memory_format", Rule::NewOfList},
    {"aten::rand", Rule::NewOfList},
    {"aten::randn", Rule::NewOfList},
    // Layers and losses.
    {"aten::rnn_tanh_cell", Rule::SameAsFirst},
    {"aten::rnn_relu_cell", Rule::SameAsFirst},
    {"aten::gru_cell", Rule::SameAsFirst},
    {"aten::native_dropout", Rule::SameAsFirst},
    {"aten::native_batch_norm", Rule::SameAsFirst},
    {"aten::_batch_norm_impl_index", Rule::SameAsFirst},
    {"aten::_softmax_backward_data", Rule::SameAsFirst},
    {"aten::_log_softmax_backward_data", Rule::SameAsFirst},
    {"aten::max_pool1d_with_indices", Rule::SameAsFirst},
    {"aten::max_pool2d_with_indices", Rule::SameAsFirst},
    {"aten::max_pool3d_with_indices", Rule::SameAsFirst},
    {"aten::_adaptive_avg_pool2d", Rule::SameAsFirst},
    {"aten::_adaptive_avg_pool3d", Rule::SameAsFirst},
    {"aten::adaptive_max_pool1d", Rule::SameAsFirst},
    {"aten::adaptive_max_pool2d", Rule::SameAsFirst},
    {"aten::adaptive_max_pool3d", Rule::SameAsFirst},
    {"aten::upsample_nearest1d", Rule::SameAsFirst},
    {"aten::upsample_nearest2d", Rule::SameAsFirst},
    {"aten::upsample_nearest3d", Rule::SameAsFirst},
    {"aten::_upsample_nearest_exact1d", Rule::SameAsFirst},
    {"aten::_upsample_nearest_exact2d", Rule::SameAsFirst},
    {"aten::_upsample_nearest_exact3d", Rule::SameAsFirst},
    {"aten::upsample_linear1d", Rule::SameAsFirst},
    {"aten::upsample_bilinear2d", Rule::SameAsFirst},
    {"aten::upsample_trilinear3d", Rule::SameAsFirst},
    {"aten::upsample_bicubic2d", Rule::SameAsFirst},
    {"aten::_upsample_bilinear2d_aa", Rule::SameAsFirst},
    {"aten::_upsample_bicubic2d_aa", Rule::SameAsFirst},
    {"aten::layer_norm", Rule::SameAsFirst},
    {"aten::native_layer_norm", Rule::SameAsFirst},
    {"aten::group_norm", Rule::SameAsFirst},
    {"aten::batch_norm", Rule::SameAsFirst},
    {"aten::instance_norm", Rule::SameAsFirst},
    {"aten::dropout", Rule::SameAsFirst},
    {"aten::feature_dropout", Rule::SameAsFirst},
    {"aten::alpha_dropout", Rule::SameAsFirst},
    {"aten::conv1d", Rule::SameAsFirst},
    {"aten::conv2d", Rule::SameAsFirst},
    {"aten::conv3d", Rule::SameAsFirst},
    {"aten::conv_transpose1d", Rule::SameAsFirst},
    {"aten::conv_transpose2d", Rule::SameAsFirst},
    {"aten::conv_transpose3d", Rule::SameAsFirst},
    {"aten::_convolution", Rule::SameAsFirst},
    {"aten::convolution", Rule::SameAsFirst},
    {"aten::max_pool1d", Rule::SameAsFirst},
    {"aten::max_pool2d", Rule::SameAsFirst},
    {"aten::max_pool3d", Rule::SameAsFirst},
    {"aten::avg_pool1d", Rule::SameAsFirst},
    {"aten::avg_pool2d", Rule::SameAsFirst},
    {"aten::avg_pool3d", Rule::SameAsFirst},
    {"aten::adaptive_avg_pool1d", Rule::SameAsFirst},
    {"aten::adaptive_avg_pool2d", Rule::SameAsFirst},
    {"aten::adaptive_avg_pool3d", Rule::SameAsFirst},
    {"aten::pad", Rule::SameAsFirst},
    {"aten::constant_pad_nd", Rule::SameAsFirst},
    {"aten::pixel_shuffle", Rule::SameAsFirst},
    {"aten::pixel_unshuffle", Rule::SameAsFirst},
    {"aten::channel_shuffle", Rule::SameAsFirst},
    {"aten::reflection_pad1d", Rule::SameAsFirst},
    {"aten::reflection_pad2d", Rule::SameAsFirst},
    {"aten::reflection_pad3d", Rule::SameAsFirst},
    {"aten::replication_pad1d", Rule::SameAsFirst},
    {"aten::replication_pad2d", Rule::SameAsFirst},
    {"aten::replication_pad3d", Rule::SameAsFirst},
    {"aten::_unsafe_index_put", Rule::SameAsFirst},
    {"aten::grid_sampler_2d", Rule::SameAsFirst},
    {"aten::grid_sampler_3d", Rule::SameAsFirst},
    {"aten::glu_backward", Rule::SameAsFirst},
    {"aten::linalg_cross", Rule::SameAsFirst},
    {"aten::native_group_norm", Rule::SameAsFirst},
    {"cresset::attention", Rule::SameAsFirst},
    {"cresset::mm", Rule::SameAsFirst},
    {"cresset::dropout_noise", Rule::Detached},
    {"cresset::select_assign", Rule::SameAsFirst},
    {"cresset::slice_assign", Rule::SameAsFirst},
    {"aten::mse_loss", Rule::Asked},
    {"aten::l1_loss", Rule::Asked},
    {"aten::cosine_similarity", Rule::Asked},
    {"aten::smooth_l1_loss", Rule::Asked},
    {"aten::huber_loss", Rule::Asked},
    {"aten::nll_loss", Rule::DtypeOnly},
    {"aten::nll_loss_forward", Rule::DtypeOnly},
    {"aten::nll_loss2d_forward", Rule::DtypeOnly},
    {"aten::nll_loss2d", Rule::DtypeOnly},
    {"aten::nll_loss_nd", Rule::DtypeOnly},
    {"aten::nll_loss_backward", Rule::DtypeOnly},
    {"aten::nll_loss2d_backward", Rule::DtypeOnly},
    {"aten::soft_margin_loss", Rule::Asked},
    {"aten::mse_loss_backward", Rule::Asked},
    {"aten::smooth_l1_loss_backward", Rule::Asked},
    {"aten::huber_loss_backward", Rule::Asked},
    {"aten::cross_entropy_loss", Rule::DtypeOnly},
    {"aten::binary_cross_entropy", Rule::Asked},
    {"aten::binary_cross_entropy_with_logits", Rule::Asked},
    // What derivative rules call.
    {"aten::reflection_pad1d_backward", Rule::SameAsFirst},
    {"aten::replication_pad1d_backward", Rule::SameAsFirst},
    {"aten::upsample_nearest1d_backward", Rule::SameAsFirst},
    {"aten::_upsample_nearest_exact1d_backward", Rule::SameAsFirst},
    {"aten::reflection_pad2d_backward", Rule::SameAsFirst},
    {"aten::replication_pad2d_backward", Rule::SameAsFirst},
    {"aten::upsample_nearest2d_backward", Rule::SameAsFirst},
    {"aten::_upsample_nearest_exact2d_backward", Rule::SameAsFirst},
    {"aten::reflection_pad3d_backward", Rule::SameAsFirst},
    {"aten::replication_pad3d_backward", Rule::SameAsFirst},
    {"aten::upsample_nearest3d_backward", Rule::SameAsFirst},
    {"aten::_upsample_nearest_exact3d_backward", Rule::SameAsFirst},
    {"aten::upsample_linear1d_backward", Rule::SameAsFirst},
    {"aten::upsample_bilinear2d_backward", Rule::SameAsFirst},
    {"aten::upsample_bicubic2d_backward", Rule::SameAsFirst},
    {"aten::upsample_trilinear3d_backward", Rule::SameAsFirst},
    {"aten::avg_pool2d_backward", Rule::SameAsFirst},
    {"aten::avg_pool3d_backward", Rule::SameAsFirst},
    {"aten::_adaptive_avg_pool2d_backward", Rule::SameAsFirst},
    {"aten::_adaptive_avg_pool3d_backward", Rule::SameAsFirst},
    {"aten::max_pool2d_with_indices_backward", Rule::SameAsFirst},
    {"aten::max_pool3d_with_indices_backward", Rule::SameAsFirst},
    {"aten::native_layer_norm_backward", Rule::Gradients},
    {"aten::native_batch_norm_backward", Rule::Gradients},
    {"aten::_batch_norm_impl_index_backward", Rule::Gradients},
    {"aten::native_group_norm_backward", Rule::Gradients},
    {"aten::convolution_backward", Rule::Gradients},
};

std::optional<Rule> typeRule(const Operator& op) {
  static const auto* rules = [] {
    auto* map = new std::unordered_map<std::string_view, Rule>;
    for (const auto& [name, rule] : kTypeRules) map->emplace(name, rule);
    return map;
  }();
  if (const auto found = rules->find(op.fullName()); found != rules->end()) return found->second;
  if (const auto found = rules->find(op.schema().name()); found != rules->end()) return found->second;
  if (op.isUpdate()) return Rule::SameAsFirst;
  return op.isPointwise() ? std::optional(Rule::Asked) : std::nullopt;
}

bool isTensor(const Value* value) {
  return value->type()->kind() == TypeKind::TensorType;
}

/// What an operator has to say of tensors that nobody gave it.
struct SilentWarnings final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

class TypePropagator {
 public:
  TypePropagator(Graph& graph, const TypeAssumptions& assumptions)
      : graph_(graph), memory_(graph), facts_(graph.numValues()), plain_(assumptions.plain) {
    grad_mode_ = assumptions.grad_mode;
    lookForState(graph.block());
    for (Value* input : graph.inputs()) set(input, Facts::of(*input->type()));
  }

  bool run() {
    visit(graph_.block());
    return writeTypes(graph_.block());
  }

 private:
  void lookForState(Block* block) {
    for (Node* node : block->nodes()) {
      if (changesState(*node)) {
        grad_mode_ = true;  // may be on somewhere
        const bool is_call = node->kind() == prim::CallMethod || node->kind() == prim::CallFunction;
        if (!is_call && !changesGradModeOnly(*node)) plain_ = false;
      }
      for (Block* inner : node->blocks()) lookForState(inner);
    }
  }

  Facts get(const Value* value) const { return facts_[value->unique()]; }

  void set(Value* value, Facts facts) {
    if (!isTensor(value)) return;
    const Facts known = Facts::of(*value->type());
    if (!facts.dtype) facts.dtype = known.dtype;
    if (!facts.rank) facts.rank = known.rank;
    if (!facts.device) facts.device = known.device;
    if (!facts.requires_grad) facts.requires_grad = known.requires_grad;
    if (memory_.hasWriters(value)) {
      if (writes_ == TensorWrites::Anything) return;
      if (writes_ != TensorWrites::Elements) facts.rank = std::nullopt;
      facts.requires_grad = std::nullopt;
    }
    facts_[value->unique()] = facts;
  }

  void visit(Block* block) {
    for (Node* node : block->nodes()) visit(node);
  }

  void visit(Node* node) {
    switch (node->kind()) {
      case prim::If:
        for (Block* block : node->blocks()) visit(block);
        for (size_t i = 0; i < node->outputs().size(); ++i) {
          const Value *a = node->blocks()[0]->outputs()[i], *b = node->blocks()[1]->outputs()[i];
          // What a branch that raises gives never arrives.
          const bool no_a = a->node()->kind() == prim::Uninitialized, no_b = b->node()->kind() == prim::Uninitialized;
          set(node->output(i), no_a ? get(b) : no_b ? get(a) : Facts::common(get(a), get(b)));
        }
        return;
      case prim::Loop:
        return visitLoop(node);
      case prim::Constant:
        if (isTensor(node->output())) {
          if (const auto value = toIValue(node->output()); value && value->isTensor() && value->toTensor().defined()) {
            const at::Tensor& t = value->toTensor();
            set(node->output(), {t.scalar_type(), static_cast<size_t>(t.dim()), t.device(), t.requires_grad()});
          }
        }
        return;
      case prim::unchecked_cast:
        if (!isTensor(node->output())) return;
        set(node->output(), isTensor(node->input(0)) ? get(node->input(0)) : factsOfGradient(node->input(0)->node()));
        return;
      case prim::TupleUnpack:
      case prim::TupleIndex:
      case prim::BailOut:
        for (Value* output : node->outputs()) set(output, Facts::of(*output->type()));
        return;
      case prim::ListUnpack:
        return visitListUnpack(node);
      default:
        for (Block* block : node->blocks()) visit(block);
        if (!isStructural(node->kind())) visitOperator(node);
    }
  }

  /// What `torch.autograd.grad(...)[i]` is like: the i-th input.
  Facts factsOfGradient(const Node* element) {
    static const Symbol kGetItem = Symbol::fromQualString("aten::__getitem__");
    static const Symbol kGrad = Symbol::fromQualString("aten::grad");
    if (element->kind() != kGetItem || element->input(0)->node()->kind() != kGrad) return {};
    const Node* call = element->input(0)->node();
    const Node* inputs = call->input(1)->node();
    const auto index = constantAs<int64_t>(element->input(1));
    if (!index || inputs->kind() != prim::ListConstruct || memory_.hasWriters(call->input(1)) ||
        memory_.hasWriters(call->output()) || *index < 0 || static_cast<size_t>(*index) >= inputs->inputs().size())
      return {};
    Facts facts = get(inputs->input(static_cast<size_t>(*index)));
    const auto create_graph = constantAs<bool>(call->input(4));
    facts.requires_grad = create_graph == std::optional(false) ? create_graph : std::nullopt;
    return facts;
  }

  void visitLoop(Node* node) {
    Block* body = node->blocks()[0];
    const size_t count = node->outputs().size();
    // Loops in loops in loops: assume nothing, rather than go around them again and again.
    std::vector<Facts> carried(count);
    if (loop_depth_ < 3) {
      for (size_t i = 0; i < count; ++i) carried[i] = get(node->input(i + 2));
    }
    ++loop_depth_;
    for (int turn = 0; turn < 3; ++turn) {
      for (size_t i = 0; i < count; ++i) set(body->inputs()[i + 1], carried[i]);
      visit(body);
      bool changed = false;
      for (size_t i = 0; i < count; ++i) {
        const Facts next = turn < 2 ? Facts::common(carried[i], get(body->outputs()[i + 1])) : Facts();
        const bool differs = Facts::common(carried[i], get(body->outputs()[i + 1])) != carried[i];
        if (differs) carried[i] = next, changed = true;
      }
      if (!changed) break;
      if (turn == 2) {  // the last word
        for (size_t i = 0; i < count; ++i) carried[i] = Facts(), set(body->inputs()[i + 1], carried[i]);
        visit(body);
      }
    }
    --loop_depth_;
    for (size_t i = 0; i < count; ++i) set(node->output(i), Facts::common(carried[i], get(node->input(i + 2))));
  }

  /// Tensors broadcast together keep their dtypes.
  void visitBroadcast(Node* unpack, const Node* list) {
    if (list->kind() != prim::ListConstruct || list->inputs().size() != unpack->outputs().size()) return;
    std::optional<size_t> rank = 0;
    for (const Value* element : list->inputs()) {
      const auto own = get(element).rank;
      rank = rank && own ? std::optional(std::max(*rank, *own)) : std::nullopt;
    }
    for (size_t i = 0; i < unpack->outputs().size(); ++i) {
      Facts facts = get(list->input(i));
      facts.rank = rank;
      if (facts.requires_grad != std::optional(false)) facts.requires_grad = std::nullopt;
      set(unpack->output(i), facts);
    }
  }

  void visitListUnpack(Node* node) {
    static const Symbol kUnbind = Symbol::fromQualString("aten::unbind");
    static const Symbol kBroadcast = Symbol::fromQualString("aten::broadcast_tensors");
    static const Symbol kParts[] = {
        Symbol::fromQualString("aten::chunk"),
        Symbol::fromQualString("aten::split"),
        Symbol::fromQualString("aten::split_with_sizes"),
        Symbol::fromQualString("aten::tensor_split"),
        Symbol::fromQualString("aten::unsafe_chunk"),
        Symbol::fromQualString("aten::unsafe_split"),
        Symbol::fromQualString("aten::unsafe_split_with_sizes")};
    const Node* maker = node->input(0)->node();
    if (memory_.hasWriters(node->input(0))) return;
    Facts facts;
    if (maker->kind() == prim::ListConstruct) {
      if (maker->inputs().size() != node->outputs().size()) return;
      for (size_t i = 0; i < node->outputs().size(); ++i) set(node->output(i), get(maker->input(i)));
      return;
    }
    if (maker->kind() == kBroadcast) return visitBroadcast(node, maker->input(0)->node());
    if (std::find(std::begin(kParts), std::end(kParts), maker->kind()) != std::end(kParts)) {
      facts = get(maker->input(0));
    } else if (maker->kind() == kUnbind) {
      facts = get(maker->input(0));
      if (facts.rank) facts.rank = *facts.rank > 0 ? std::optional(*facts.rank - 1) : std::nullopt;
    } else {
      return;
    }
    if (facts.requires_grad != std::optional(false)) facts.requires_grad = std::nullopt;
    for (Value* output : node->outputs()) set(output, facts);
  }

  /// Whether no result of the node can require a gradient.
  bool needsNoGrad(const Node* node) {
    for (const Value* input : node->inputs()) {
      if (isTensor(input)) {
        if (get(input).requires_grad != std::optional(false)) return false;
      } else if (
          input->type()->kind() == TypeKind::ListType || input->type()->kind() == TypeKind::OptionalType ||
          input->type()->kind() == TypeKind::TupleType || input->type()->kind() == TypeKind::AnyType ||
          input->type()->kind() == TypeKind::ClassType) {
        if (isNoneConstant(input)) continue;
        const Node* maker = input->node();
        if (maker->kind() != prim::ListConstruct || memory_.hasWriters(input)) {
          if (!mayHoldTensors(*input->type())) continue;
          return false;
        }
        for (const Value* element : maker->inputs()) {
          if (isTensor(element) ? get(element).requires_grad != std::optional(false) : mayHoldTensors(*element->type()))
            return false;
        }
      }
    }
    return true;
  }

  std::optional<c10::Device> deviceOf(const Node* node) const {
    std::optional<c10::Device> device;
    for (const Value* input : node->inputs()) {
      if (input->type()->kind() == TypeKind::ListType && input->node()->kind() == prim::ListConstruct) {
        for (const Value* element : input->node()->inputs()) {
          if (!isTensor(element)) continue;
          const auto own = get(element).device;
          if (!own || (device && *device != *own)) return std::nullopt;
          device = own;
        }
      }
      if (!isTensor(input)) continue;
      const auto own = get(input).device;
      if (!own || (device && *device != *own)) return std::nullopt;
      device = own;
    }
    return device;
  }

  void visitOperator(Node* node) {
    const auto outputs = node->outputs();
    if (std::none_of(outputs.begin(), outputs.end(), isTensor)) return;
    const Operator* op = operatorOf(*node);
    if (!op) return;
    if (op->fullName() == "prim::unchecked_unwrap_optional" || op->fullName() == "aten::_unwrap_optional") {
      set(node->output(), isTensor(node->input(0)) ? get(node->input(0)) : Facts::of(*node->output()->type()));
      return;
    }
    if (op->isOfDispatcher() && op->isMutable() && op->schema().name().ends_with('_') && isTensor(node->input(0))) {
      if (outputs.size() == 1) set(node->output(), get(node->input(0)));  // which has writers: set() knows what stays
      return;
    }
    const auto rule = typeRule(*op);
    if ((!op->fullName().starts_with("aten::") && !rule) || op->isMutable()) return;
    // With gradients off, what is computed anew requires none; an argument that is handed on keeps its flag.
    const bool no_grad = needsNoGrad(node) || (!grad_mode_ && op->isPure());
    std::vector<Facts> results(outputs.size());
    if (plain_) {
      if (rule == Rule::Asked || rule == Rule::Like) {
        if (op->isOfDispatcher() && op->isDeterministic() && !op->hasSideEffects()) askOperator(node, *op, results);
        if (!results[0].dtype && keepsDtype(*op)) results[0] = applyRule(Rule::DtypeOnly, node, *op);
        if (rule == Rule::Like) results[0].requires_grad = false;
      } else if (rule == Rule::Gradients) {
        addGradients(node, *op, results);
      } else if (rule) {
        results[0] = applyRule(*rule, node, *op);
        addSecondResults(*op, results);
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!isTensor(outputs[i])) continue;
      if (no_grad) results[i].requires_grad = false;
      set(outputs[i], results[i]);
    }
  }

  /// Operators that give one number for a tensor of any rank.
  static bool isOfAllElements(const Operator& op) {
    static const std::unordered_set<std::string_view> kNames = {
        "aten::sum", "aten::mean", "aten::prod", "aten::max", "aten::min",
        "aten::std", "aten::var",  "aten::all",  "aten::any", "aten::norm.Scalar"};
    return kNames.contains(op.fullName());
  }

  /// Operators that give the first argument's dtype whatever its rank is. Masks among indices make the sizes depend on
  /// values.
  static bool keepsDtype(const Operator& op) {
    static const std::unordered_set<std::string_view> kKeep = {
        "aten::index", "aten::_unsafe_index", "aten::select",   "aten::unsqueeze", "aten::transpose", "aten::permute",
        "aten::t",     "aten::movedim",       "aten::swapaxes", "aten::swapdims",  "aten::mT",        "aten::flatten"};
    return kKeep.contains(op.schema().name());
  }

  /// What operators of the rule SameAsFirst give beside their result; none of it has a gradient.
  static void addSecondResults(const Operator& op, std::vector<Facts>& results) {
    const std::string& name = op.schema().name();
    if (results.size() < 2 || !results[0].dtype) return;
    const auto is = [&](std::initializer_list<std::string_view> names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (is({"aten::native_layer_norm", "aten::native_group_norm", "aten::native_batch_norm"})) {
      // Statistics are of the result's dtype, for these.
      if (results[0].dtype != at::kFloat && results[0].dtype != at::kDouble) return;
      for (size_t i = 1; i < results.size(); ++i)
        results[i] = {results[0].dtype, std::nullopt, results[0].device, false};
    } else if (name == "aten::native_dropout") {
      results[1] = {at::kBool, results[0].rank, results[0].device, false};
    } else if (name.ends_with("_with_indices") || name.starts_with("aten::adaptive_max_pool")) {
      results[1] = {at::kLong, results[0].rank, results[0].device, false};
    }
  }

  /// What is not computed is undefined, and requires no gradient.
  void addGradients(const Node* node, const Operator& op, std::vector<Facts>& results) {
    const auto argument = [&](const char* name) {
      const auto index = op.schema().argumentIndexWithName(name);
      return index ? node->input(static_cast<size_t>(*index)) : nullptr;
    };
    const Value *input = argument("input"), *weight = argument("weight"), *mask = argument("output_mask");
    if (!input || !mask || lengthOf(mask) != results.size()) return;
    const Facts given = get(input);
    // Normalizations of numbers of 16 bits may have parameters of 32.
    const bool is_wide = given.dtype == at::kFloat || given.dtype == at::kDouble;
    if (!given.dtype || (!is_wide && op.schema().name() != "aten::convolution_backward")) return;
    for (size_t i = 0; i < results.size(); ++i) {
      results[i] = {given.dtype, std::nullopt, given.device, std::nullopt};
      if (i == 0) results[i].rank = given.rank;
      if (i == 1 && weight && isTensor(weight)) results[i].rank = get(weight).rank;
      const auto computed = elementOf(mask, i);
      if (!computed) results[i] = {};
      if (computed == false) results[i] = {std::nullopt, std::nullopt, std::nullopt, false};
    }
  }

  /// An element of a list of bools of known length, if it is constant.
  static std::optional<bool> elementOf(const Value* list, size_t i) {
    if (list->node()->kind() == prim::ListConstruct) return constantAs<bool>(list->node()->input(i));
    return toIValue(list)->toListRef()[i].toBool();
  }

  Facts applyRule(Rule rule, const Node* node, const Operator& op) {
    Facts facts;
    if (rule == Rule::NewOfList || rule == Rule::NewAsFirst || rule == Rule::NewLikeFirst)
      return newTensor(rule, node, op);
    if (rule == Rule::Joined || rule == Rule::Stacked) return applyToElements(rule, node->input(0));
    if (rule == Rule::Equation) {
      facts = applyToElements(Rule::Joined, node->input(1));
      const auto equation = constantAs<std::string>(node->input(0));
      const size_t arrow = equation ? equation->find("->") : std::string::npos;
      facts.rank = std::nullopt;
      if (arrow != std::string::npos && equation->find('.', arrow) == std::string::npos)
        facts.rank = std::count_if(
            equation->begin() + static_cast<std::ptrdiff_t>(arrow) + 2, equation->end(),
            [](char c) { return c != ' '; });
      return facts;
    }
    if (!isTensor(node->input(0))) return facts;
    const Facts first = get(node->input(0));
    facts = {first.dtype, std::nullopt, first.device, std::nullopt};
    switch (rule) {
      case Rule::SameAsFirst:
        facts.rank = first.rank;
        break;
      case Rule::Detached:
        facts.rank = first.rank;
        facts.requires_grad = false;
        break;
      case Rule::RankOfList:
        facts.rank = lengthOf(node->input(1));
        break;
      case Rule::Unflattened:
        if (const auto length = lengthOf(node->input(2)); length && first.rank) facts.rank = *first.rank + *length - 1;
        break;
      default:
        break;
    }
    return facts;
  }

  Facts newTensor(Rule rule, const Node* node, const Operator& op) {
    const bool has_first = rule != Rule::NewOfList;
    const Facts first = has_first && isTensor(node->input(0)) ? get(node->input(0)) : Facts();
    Facts facts;
    facts.rank = rule == Rule::NewLikeFirst ? first.rank : lengthOf(node->input(has_first ? 1 : 0));
    facts.requires_grad = false;
    const auto usual_dtype =
        has_first ? first.dtype : std::optional(c10::typeMetaToScalarType(c10::get_default_dtype()));
    // torch.set_default_device acts through a mode, under which nothing is specialized.
    const auto usual_device = has_first ? first.device : std::optional(c10::Device(c10::kCPU));
    for (size_t i = 0; i < op.schema().arguments().size(); ++i) {
      const std::string& name = op.schema().arguments()[i].name();
      if (name == "dtype") {
        if (isNoneConstant(node->input(i)))
          facts.dtype = usual_dtype;
        else if (const auto dtype = constantAs<int64_t>(node->input(i)))
          facts.dtype = static_cast<at::ScalarType>(*dtype);
      } else if (name == "device") {
        if (isNoneConstant(node->input(i)))
          facts.device = usual_device;
        else if (const auto device = constantAs<c10::Device>(node->input(i)))
          facts.device = *device;
      }
    }
    return facts;
  }

  Facts applyToElements(Rule rule, const Value* list) {
    const Node* maker = list->node();
    if (maker->kind() != prim::ListConstruct || maker->inputs().empty() || memory_.hasWriters(list)) return {};
    Facts all = get(maker->input(0));
    auto dtype = all.dtype;
    for (const Value* element : maker->inputs()) {
      const Facts own = get(element);
      all = Facts::common(all, own);
      dtype = dtype && own.dtype ? std::optional(c10::promoteTypes(*dtype, *own.dtype)) : std::nullopt;
    }
    all.dtype = dtype;
    if (rule == Rule::Stacked && all.rank) ++*all.rank;
    all.requires_grad = std::nullopt;
    return all;
  }

  std::optional<size_t> lengthOf(const Value* list) {
    const Node* maker = list->node();
    if (maker->kind() == aten::size && maker->inputs().size() == 1 && !memory_.hasWriters(list))
      return get(maker->input(0)).rank;
    if (maker->kind() == prim::ListConstruct && !memory_.hasWriters(list)) return maker->inputs().size();
    if (const auto constant = toIValue(list); constant && constant->isList()) return constant->toListRef().size();
    return std::nullopt;
  }

  /// The argument that an operator is asked with; nothing if it is not known well enough.
  std::optional<c10::IValue> standIn(const Value* value) {
    if (isTensor(value)) {
      const Facts facts = get(value);
      if (!facts.dtype) return std::nullopt;
      if (!facts.rank) rank_known_ = false;
      const size_t rank = facts.rank.value_or(1);
      if (rank > kMaxRank) return std::nullopt;
      auto& tensor = stand_ins_[{*facts.dtype, rank}];
      if (!tensor.defined()) {
        const std::vector<int64_t> sizes(rank, rank > 4 ? 2 : kSize);
        tensor = at::zeros(sizes, at::TensorOptions().dtype(*facts.dtype).device(c10::kCPU));
      }
      return tensor;
    }
    if (auto constant = toIValue(value)) {
      if (constant->isTensor() || constant->isObject()) return std::nullopt;
      return constant;
    }
    if (value->node()->kind() == prim::ListConstruct) {
      if (memory_.hasWriters(value)) return std::nullopt;
      c10::impl::GenericList list(value->type()->expectRef<c10::ListType>().getElementType());
      for (const Value* element : value->node()->inputs()) {
        auto known = standIn(element);
        if (!known) return std::nullopt;
        list.push_back(std::move(*known));
      }
      return c10::IValue(std::move(list));
    }
    return std::nullopt;
  }

  void askOperator(Node* node, const Operator& op, std::vector<Facts>& results) {
    const auto device = deviceOf(node);
    if (!device || !device->is_cpu()) return;
    Stack stack;
    rank_known_ = true;
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      const Value* input = node->input(i);
      std::optional<c10::IValue> known = standIn(input);
      if (op.fullName() == "aten::select.int" && i == 2) known = int64_t(0);  // all are alike
      // Elements' values decide no type where each element of the result comes from the elements at its place.
      if (!known && op.isPointwise()) {
        if (input->type()->kind() == TypeKind::IntType &&
            op.schema().arguments()[i].real_type()->kind() == TypeKind::NumberType)
          known = int64_t(1);
        else if (input->type()->kind() == TypeKind::FloatType)
          known = 1.0;
      }
      if (!known) return;
      stack.push_back(std::move(*known));
    }
    for (const c10::Argument& argument : op.schema().arguments()) {
      // A dtype that a script computes; an operator that makes tensors elsewhere.
      if (argument.name() == "device" &&
          !isNoneConstant(node->input(static_cast<size_t>(&argument - op.schema().arguments().data()))))
        return;
    }
    // Element by element, tensors of one dtype give the same dtype for any ranks.
    const bool gives_number = isOfAllElements(op);
    if (!rank_known_ && !gives_number && !(op.isPointwise() && haveOneDtype(node))) return;
    try {
      const at::NoGradGuard no_grad;
      const at::DisableRecordFunctionGuard no_records;
      SilentWarnings no_warnings;
      const c10::WarningUtils::WarningHandlerGuard warnings(&no_warnings);
      op.call(stack, stack.size());
    } catch (const std::exception&) {
      return;  // sizes or values don't fit
    }
    if (stack.size() != results.size()) return;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!stack[i].isTensor() || !stack[i].toTensor().defined()) continue;
      const at::Tensor& tensor = stack[i].toTensor();
      if (!tensor.is_cpu() || tensor.layout() != c10::kStrided || tensor.is_quantized()) continue;
      results[i] = {tensor.scalar_type(), static_cast<size_t>(tensor.dim()), *device, std::nullopt};
      if (!rank_known_ && !gives_number) results[i].rank = std::nullopt;
    }
  }

  bool haveOneDtype(const Node* node) const {
    std::optional<at::ScalarType> dtype;
    for (const Value* input : node->inputs()) {
      if (!isTensor(input)) continue;
      if (dtype && dtype != get(input).dtype) return false;
      dtype = get(input).dtype;
    }
    return dtype && at::isFloatingType(*dtype);
  }

  bool writeTypes(Block* block) {
    bool changed = false;
    const auto refine = [&](Value* value) {
      if (!isTensor(value)) return;
      const auto& old = value->type()->expectRef<c10::TensorType>();
      const Facts found = get(value), known = Facts::of(old);
      const Facts both = {
          found.dtype ? found.dtype : known.dtype, found.rank ? found.rank : known.rank,
          found.device ? found.device : known.device, found.requires_grad ? found.requires_grad : known.requires_grad};
      if (both == known) return;
      value->setType(c10::TensorType::create(both.dtype, both.device, both.rank, both.requires_grad));
      changed = true;
    };
    for (Node* node : block->nodes()) {
      for (Value* output : node->outputs()) refine(output);
      for (Block* inner : node->blocks()) {
        for (Value* input : inner->inputs()) refine(input);
        changed |= writeTypes(inner);
      }
    }
    return changed;
  }

  Graph& graph_;
  AliasDb memory_;
  std::vector<Facts> facts_;  // by Value::unique()
  std::map<std::pair<at::ScalarType, size_t>, at::Tensor> stand_ins_;
  bool grad_mode_ = true, plain_ = true;
  const TensorWrites writes_ = tensorWrites(graph_);
  int loop_depth_ = 0;
  bool rank_known_ = true;  // of all tensors that stand in for arguments
};

}  // namespace

namespace {

/// Whether an operator that writes leaves the sizes of what it writes to.
bool keepsSizes(const Operator& op) {
  // Rows write to lists and dicts.
  if (!op.isMutable() || op.kernel()) return true;
  const std::string& name = op.schema().name();
  if (!name.ends_with('_')) return false;  // results as arguments
  if (op.isPointwise()) return true;
  static const std::unordered_set<std::string_view> kKeep = {
      "aten::copy_",          "aten::zero_",          "aten::fill_",
      "aten::fill_diagonal_", "aten::index_put_",     "aten::_index_put_impl_",
      "aten::index_add_",     "aten::index_copy_",    "aten::index_fill_",
      "aten::index_reduce_",  "aten::masked_fill_",   "aten::masked_scatter_",
      "aten::scatter_",       "aten::scatter_add_",   "aten::scatter_reduce_",
      "aten::put_",           "aten::addmm_",         "aten::addmv_",
      "aten::addr_",          "aten::baddbmm_",       "aten::addbmm_",
      "aten::dropout_",       "aten::alpha_dropout_", "aten::feature_dropout_",
      "aten::normal_",        "aten::uniform_",       "aten::random_",
      "aten::bernoulli_",     "aten::exponential_",   "aten::geometric_",
      "aten::cauchy_",        "aten::log_normal_",    "aten::cumsum_",
      "aten::cumprod_",       "aten::tril_",          "aten::triu_",
      "aten::relu_",          "aten::relu6_",         "aten::rrelu_",
      "aten::requires_grad_", "aten::detach_",        "aten::lerp_",
      "aten::renorm_",        "aten::clamp_",         "aten::sub_",
      "aten::add_",           "aten::mul_",           "aten::div_"};
  return kKeep.contains(name);
}

TensorWrites tensorWritesIn(const Block* block) {
  static const Symbol kAnything[] = {
      Symbol::fromQualString("aten::set_data"),
      Symbol::fromQualString("aten::set_"),
      prim::CallMethod,
      prim::CallFunction,
      prim::PythonOp,
      prim::Enter,
      prim::Exit,
      prim::fork};
  TensorWrites most = TensorWrites::Elements;
  for (Node* node : block->nodes()) {
    if (std::find(std::begin(kAnything), std::end(kAnything), node->kind()) != std::end(kAnything) &&
        !changesStateOnly(*node))
      return TensorWrites::Anything;
    const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
    if (op && !keepsSizes(*op)) most = std::max(most, TensorWrites::Sizes);
    for (const Block* inner : node->blocks()) most = std::max(most, tensorWritesIn(inner));
    if (most == TensorWrites::Anything) return most;
  }
  return most;
}

}  // namespace

TensorWrites tensorWrites(const Graph& graph) {
  return tensorWritesIn(graph.block());
}

bool propagateTypes(Graph& graph, const TypeAssumptions& assumptions) {
  return TypePropagator(graph, assumptions).run();
}

bool propagateTypesOfPass(Graph& graph) {
  return propagateTypes(graph, {});
}

}  // namespace cresset
