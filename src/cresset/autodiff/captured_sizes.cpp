#include "cresset/autodiff/captured_sizes.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ir/constants.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"

namespace cresset {

namespace {

const Symbol kIsColumnMajor = Symbol::fromQualString("cresset::is_column_major");
const Symbol kIsRowMajor = Symbol::fromQualString("cresset::is_row_major");

bool isMajor(const Node* node) {
  return node->kind() == kIsColumnMajor || node->kind() == kIsRowMajor;
}

/// Whether the node asks a tensor for what it has besides its elements.
bool isFact(const Node* node) {
  return node->inputs().size() == 1 && (isMajor(node) || hasTrait(*node, Trait::AsksForKind));
}

class SizeCapture {
 public:
  SizeCapture(
      Graph& forward, Graph& backward, const std::vector<Value*>* kept,
      std::unordered_map<Value*, Value*>& placeholders)
      : forward_(forward), backward_(backward), kept_(kept), placeholders_(placeholders) {}

  void run() {
    std::vector<std::pair<Value*, Value*>> facts;
    // In the order of the program: what is kept must not depend on addresses.
    std::vector<std::pair<Value*, Value*>> in_order(placeholders_.begin(), placeholders_.end());
    std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
      return a.first->unique() < b.first->unique();
    });
    for (const auto& [value, placeholder] : in_order) {
      askBehindTranspose(placeholder);
      takeSizesApart(placeholder);
      const auto uses = placeholder->uses();
      if (uses.empty() || !std::all_of(uses.begin(), uses.end(), [](const Use& use) { return isFact(use.user); }))
        continue;
      std::vector<std::pair<Symbol, Value*>> kinds;
      for (const Use& use : uses) {
        const Symbol kind = use.user->kind();
        const bool is_known = std::any_of(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == kind; });
        if (!is_known) kinds.emplace_back(kind, factOf(forward_, value, kind, kept_));
      }
      if (kept_ && std::any_of(kinds.begin(), kinds.end(), [&](const auto& fact) {
            return std::find(kept_->begin(), kept_->end(), fact.second) == kept_->end();
          }))
        continue;  // the tensor is kept
      std::unordered_map<Symbol, Value*> inputs;
      for (const auto& [kind, fact] : kinds) {
        Value* input = inputs[kind] = backward_.addInput()->setType(fact->type());
        facts.emplace_back(fact, input);
      }
      for (const Use& use : placeholder->uses().vec()) {
        use.user->output()->replaceAllUsesWith(inputs.at(use.user->kind()));
        use.user->destroy();
      }
    }
    for (const auto& [fact, input] : facts) {
      Value*& placeholder = placeholders_[fact];
      if (placeholder) {
        input->replaceAllUsesWith(placeholder);
      } else {
        placeholder = input;
      }
    }
  }

 private:
  /// `x.t().size(0)` becomes `x.size(1)`, and the like.
  void askBehindTranspose(Value* placeholder) {
    const auto type = placeholder->type()->cast<c10::TensorType>();
    if (!type || type->dim() != 2) return;
    static const Symbol kTranspose = Symbol::fromQualString("aten::t");
    const auto isPlain = [&](const Use& use) {
      if (isMajor(use.user)) return true;
      if (!isBasic(use.user, Basic::Size)) return false;
      const auto dim = constantAs<int64_t>(use.user->input(1));
      return dim == 0 || dim == 1;
    };
    for (const Use& transposed : placeholder->uses().vec()) {
      if (transposed.user->kind() != kTranspose) continue;
      const auto uses = transposed.user->output()->uses().vec();
      if (!std::all_of(uses.begin(), uses.end(), isPlain)) continue;
      for (const Use& use : uses) {
        if (isMajor(use.user)) {
          use.user->setKind(use.user->kind() == kIsRowMajor ? kIsColumnMajor : kIsRowMajor);
          operatorOf(*use.user);
        } else {
          const int64_t dim = 1 - *constantAs<int64_t>(use.user->input(1));
          use.user->replaceInput(1, insertConstantBefore(use.user, dim));
        }
        use.user->replaceInput(0, placeholder);
      }
      transposed.user->destroy();
    }
  }

  /// `x.size(d)` becomes `x.size()[d]`.
  void takeSizesApart(Value* placeholder) {
    for (const Use& use : placeholder->uses().vec()) {
      Node* node = use.user;
      if (!isBasic(node, Basic::Size) || use.offset != 0) continue;  // or it is the dimension
      const InsertPointGuard guard(backward_, node);
      Node* sizes = insertBasic(backward_, Basic::Sizes, {placeholder})->copyLocation(node);
      Node* element = insertBasic(backward_, Basic::Element, {sizes->output(), node->input(1)})->copyLocation(node);
      node->output()->replaceAllUsesWith(element->output());
      node->destroy();
    }
  }

  Graph& forward_;
  Graph& backward_;
  const std::vector<Value*>* kept_;
  std::unordered_map<Value*, Value*>& placeholders_;
};

}  // namespace

Value* factOf(Graph& forward, Value* value, Symbol kind, const std::vector<Value*>* kept) {
  for (const Use& use : value->uses()) {
    if (use.user->kind() == kind && use.user->inputs().size() == 1 && use.user->owningBlock() == forward.block())
      return use.user->output();
  }
  if (kept) return nullptr;
  Node* fact = forward.create(kind, {value});
  if (value->node()->isParam()) {
    forward.block()->prependNode(fact);
  } else {
    fact->insertAfter(value->node());
  }
  fact->output()->setType(operatorOf(*fact)->schema().returns()[0].type());
  return fact->output();
}

void captureSizesInstead(
    Graph& forward, Graph& backward, const std::vector<Value*>* kept,
    std::unordered_map<Value*, Value*>& placeholders) {
  SizeCapture(forward, backward, kept, placeholders).run();
}

}  // namespace cresset
