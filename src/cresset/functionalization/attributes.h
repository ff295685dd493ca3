// Tensors that are attributes of the objects which come in, as inputs of the graph.
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

/// While this lives, tensors that the graph reads from attributes come in themselves. They are read at the start of the
/// graph, which is the same, as nothing in it sets an attribute of that name, or calls what may. Objects that come in,
/// and their attributes, hold them; different paths (`self.a.weight`) are different inputs.
class HoistedAttributes {
 public:
  explicit HoistedAttributes(Graph& graph);
  ~HoistedAttributes();
  HoistedAttributes(const HoistedAttributes&) = delete;
  HoistedAttributes& operator=(const HoistedAttributes&) = delete;

 private:
  void collect(Block* block);

  Graph& graph_;
  Node* first_;                          // of those that stay where they are
  std::unordered_set<std::string> set_;  // names of attributes that the graph sets
  std::unordered_set<const Value*> objects_;
  std::map<std::pair<const Value*, std::string>, Value*> known_;
  std::vector<std::pair<Value*, Value*>> tensors_;  // what is read, and the input for it
};

}  // namespace cresset
