// The state of the thread that decides what operators do: whether gradients are recorded, inference mode, autocast.
// Some nodes change it on their way: `with torch.no_grad()`, `with torch.autocast(...)`.
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "cresset/ir/graph.h"

namespace cresset {

/// To which dtypes torch.autocast casts tensors of a device; nothing where it is off.
struct AutocastState {
  std::optional<c10::ScalarType> cpu, cuda;
  bool caches = false;  // casts of parameters are kept as long as it is on

  bool operator==(const AutocastState&) const = default;

  bool isOn() const { return cpu || cuda; }
  std::optional<c10::ScalarType> of(c10::DeviceType device) const {
    return device == c10::DeviceType::CPU ? cpu : device == c10::DeviceType::CUDA ? cuda : std::nullopt;
  }
};

/// Whether the node may change the state, until another one changes it back.
bool changesState(const Node& node);

/// Which nodes of a graph run in one state. Takes time in proportion to the graph. Describes the graph as it was.
class StateScopes {
 public:
  enum class Of { AllState, AllButGradMode };
  explicit StateScopes(const Graph& graph, Of what = Of::AllState);

  /// Nodes of the same number surely run in the same state; 0 is the one in which the graph is entered. A node that
  /// changes the state has the number of the state before it.
  uint32_t of(const Node* node) const {
    const auto found = scopes_.find(node);
    return found == scopes_.end() ? 0 : found->second;
  }

  /// Whether the first state surely is the second one, or differs from it in that gradients are off.
  bool isWithoutGradients(uint32_t scope, uint32_t outer) const {
    while (scope != outer) {
      const auto found = without_gradients_.find(scope);
      if (found == without_gradients_.end()) return false;
      scope = found->second;
    }
    return true;
  }

  /// Whether the block, and all in it, surely leaves the thread in the state in which it was entered.
  bool isBalanced(const Block* block) const { return !unbalanced_.contains(block); }

 private:
  bool findUnbalanced(const Block* block);
  void visit(const Block* block);
  bool matters(const Node& node) const;

  const Of what_;
  std::unordered_map<const Node*, uint32_t> scopes_;  // those that are not 0
  std::unordered_set<const Block*> unbalanced_;
  std::unordered_map<uint32_t, uint32_t> without_gradients_;  // of blocks with torch.no_grad(), which one is around it
  uint32_t now_ = 0, last_ = 0;
};

/// Says of a node prim::Enter or prim::Exit that the object's method does no more than change the state, and remember
/// what it was in attributes of the object; `of_gradients`: of the state, no more than whether gradients are recorded.
void markChangesStateOnly(Node& node, bool of_gradients);
bool changesStateOnly(const Node& node);
/// Whether the node changes, of the state, no more than whether gradients are recorded.
bool changesGradModeOnly(const Node& node);
/// Whether the node begins or ends `with torch.no_grad()`.
bool isOfNoGrad(const Node& node);

}  // namespace cresset
