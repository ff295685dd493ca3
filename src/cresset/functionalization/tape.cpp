#include "cresset/functionalization/tape.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <memory>
#include <optional>
#include <utility>

#include "cresset/functionalization/wrapper.h"
#include "cresset/support/error.h"

namespace cresset::live {

namespace {

namespace autograd = torch::autograd;

/// Hands gradients of a wrapper on to the tensor that it stands for.
class EnterFunctional final : public autograd::Node {
 public:
  explicit EnterFunctional(at::Tensor (*plain)(const at::Tensor&)) : plain_(plain) {}
  autograd::variable_list apply(autograd::variable_list&& gradients) override {
    if (gradients.at(0).defined()) gradients[0] = plain_(gradients[0]);
    return std::move(gradients);
  }
  std::string name() const override { return "EnterFunctional"; }

 private:
  at::Tensor (*plain_)(const at::Tensor&);
};

template <typename Pointer>
struct Nodes {
  static auto make(at::Tensor (*plain)(const at::Tensor&)) { return c10::make_intrusive<EnterFunctional>(plain); }
};
template <>
struct Nodes<std::shared_ptr<autograd::Node>> {
  static auto make(at::Tensor (*plain)(const at::Tensor&)) { return std::make_shared<EnterFunctional>(plain); }
};

autograd::ViewInfo copyOf(const autograd::ViewInfo& info) {
  if (!info.has_view_fn()) return {info.base_, nullptr, nullptr};
  return {info.base_, info.view_fn().clone_and_set(), info.rev_view_fn()};
}

}  // namespace

bool isRecording() {
  return at::GradMode::is_enabled() && !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradCPU);
}

bool hasKnownPlace(const at::Tensor& tensor) {
  const auto* view = autograd::impl::get_view_autograd_meta(tensor);
  return !view || !view->has_bw_view() || view->get_creation_meta() == autograd::CreationMeta::DEFAULT ||
         view->get_attr_version() == tensor.unsafeGetTensorImpl()->version_counter().current_version();
}

void enterTape(const at::Tensor& outside, const at::Tensor& wrapper, at::Tensor (*plain)(const at::Tensor&)) {
  auto node = Nodes<std::decay_t<decltype(outside.grad_fn())>>::make(plain);
  node->add_next_edge(autograd::impl::gradient_edge(outside));
  autograd::set_history(wrapper, node);
}

bool isEntered(const at::Tensor& wrapper) {
  const auto& node = wrapper.grad_fn();
  return node && dynamic_cast<const EnterFunctional*>(node.get());
}

void leaveTape(const at::Tensor& tensor) {
  autograd::AutogradMeta* meta = autograd::impl::get_autograd_meta(tensor);
  meta->grad_fn_ = nullptr;
  meta->output_nr_ = 0;
}

void sharePlace(const at::Tensor& from, const at::Tensor& to) {
  CRESSET_CHECK(from.requires_grad(), "only what requires gradients has a place on the tape");
  if (!hasKnownPlace(from)) return;
  const autograd::Edge edge = autograd::impl::gradient_edge(from);
  const auto before = to.grad_fn();
  if (before == edge.function || to.is_view()) {
    autograd::impl::set_gradient_edge(to, edge);
  } else {
    // Hooks that were set before stay with the place before; but what retains the gradient comes along.
    const bool retains = before && to.retains_grad();
    auto retaining = retains ? before->pop_retains_grad_hook(to.output_nr()) : nullptr;
    autograd::AutogradMeta* meta = autograd::impl::materialize_autograd_meta(to);
    meta->retains_grad_ = false;
    autograd::impl::rebase_history(to, edge);
    meta->retains_grad_ = retains;
    if (retaining) edge.function->add_retains_grad_hook(std::move(retaining), edge.input_nr);
  }
  if (from.retains_grad() && !to.retains_grad()) to.retain_grad();
}

bool recordWrite(const at::Tensor& view, const at::Tensor& wrapper) {
  const auto* of_view = autograd::impl::get_view_autograd_meta(view);
  const autograd::Edge write = autograd::impl::gradient_edge(wrapper);
  const bool can_be_written = of_view && of_view->has_bw_view() &&
                              of_view->get_creation_meta() == autograd::CreationMeta::DEFAULT && !wrapper.is_view();
  if (!can_be_written || write.function->num_inputs() != 1) return false;
  const ShownToFakeModes shown;  // autograd may make the view again
  autograd::impl::rebase_history(view, write);
  return true;
}

bool wasMadeWithoutTape(const at::Tensor& view) {
  const auto* of_view = autograd::impl::get_view_autograd_meta(view);
  return of_view && of_view->has_bw_view() && of_view->get_creation_meta() == autograd::CreationMeta::NO_GRAD_MODE;
}

void markMadeWithoutTape(const at::Tensor& view) {
  auto* of_view = autograd::impl::get_view_autograd_meta(view);
  if (of_view && of_view->has_bw_view()) of_view->set_creation_meta(autograd::CreationMeta::NO_GRAD_MODE);
}

void checkInPlace(const at::Tensor& tensor) {
  auto* view = torch::autograd::impl::get_view_autograd_meta(tensor);
  if (view && view->has_bw_view()) {
    torch::autograd::handle_view_on_rebase(view);
    TORCH_CHECK(
        !(tensor.requires_grad() && tensor._base().is_leaf()),
        "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
  TORCH_CHECK(
      !(tensor.requires_grad() && tensor.is_leaf()),
      "a leaf Variable that requires grad is being used in an in-place operation.");
}

void forgetPlace(const at::Tensor& view) {
  if (auto* of_view = autograd::impl::get_view_autograd_meta(view); of_view && of_view->has_bw_view())
    of_view->set_attr_version(of_view->get_attr_version() - 1);
}

void rebaseView(const at::Tensor& tensor, const at::Tensor& view) {
  const auto* example = autograd::impl::get_view_autograd_meta(view);
  auto* before = autograd::impl::get_view_autograd_meta(tensor);
  if (!example || !before || !example->has_bw_view() || !before->has_bw_view()) return;
  // The place that it has after writes to other views of its base. One that autograd can't make again stays so.
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  autograd::Edge place;
  auto version = static_cast<uint32_t>(impl->version_counter().current_version());
  if (!hasKnownPlace(tensor)) {
    version = before->get_attr_version();
  } else if (tensor.requires_grad() && tensor.grad_fn()) {
    place = autograd::impl::gradient_edge(tensor);
  }
  // A view of one that was made where nothing was recorded is as that one is.
  autograd::CreationMeta creation = before->get_creation_meta();
  if (creation == autograd::CreationMeta::DEFAULT && tensor.requires_grad()) creation = example->get_creation_meta();
  const bool is_separate = example->has_fw_view() && !example->shared_view_info();
  auto after = std::make_unique<autograd::DifferentiableViewMeta>(
      impl, copyOf(example->get_backward_view()),
      is_separate ? std::optional(copyOf(example->get_forward_view())) : std::nullopt, example->shared_view_info(),
      creation);
  after->name_ = std::move(before->name_);
  after->grad_ = std::move(before->grad_);
  after->grad_accumulator_ = std::move(before->grad_accumulator_);
  after->fw_grad_ = std::move(before->fw_grad_);
  after->hooks_ = std::move(before->hooks_);
  after->cpp_hooks_list_ = std::move(before->cpp_hooks_list_);
  after->post_acc_grad_hooks_ = std::move(before->post_acc_grad_hooks_);
  after->requires_grad_ = before->requires_grad_;
  after->retains_grad_ = before->retains_grad_;
  after->grad_fn_ = std::move(place.function);
  after->output_nr_ = place.input_nr;
  after->grad_dtype_ = before->grad_dtype_;
  after->allow_grad_dtype_mismatch_ = before->allow_grad_dtype_mismatch_;
  impl->set_autograd_meta(std::move(after));
  autograd::impl::get_view_autograd_meta(tensor)->set_attr_version(version);
}

at::Tensor tangentOf(const at::Tensor& tensor) {
  // No more than one level of forward gradients can be entered.
  return tensor.unsafeGetTensorImpl()->autograd_meta() ? tensor._fw_grad(/*level=*/0) : at::Tensor();
}

void setTangent(const at::Tensor& tensor, const at::Tensor& tangent, bool replaces) {
  tensor._set_fw_grad(tangent, /*level=*/0, /*is_inplace_op=*/replaces);
}

}  // namespace cresset::live
