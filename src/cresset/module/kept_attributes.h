// What freezing must leave: which attributes are written to, share memory with what is, or are of objects that
// code outside of the methods may use.
#pragma once

#include <ATen/core/class_type.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"
#include "cresset/module/module.h"

namespace cresset {

class AliasDb;

/// An attribute of one object: whether it is folded is decided for each.
using AttributeKey = std::pair<const c10::ivalue::Object*, std::string>;
/// And of all objects of a class: what the code of one of them still reads, all of them keep.
using ClassAttribute = std::pair<const c10::ClassType*, std::string>;

/// A method that can be called from outside, and the module that it is of.
struct EntryMethod {
  ObjectPtr object;
  Function* function;
  std::shared_ptr<Graph> graph;
};

/// The graph that the node lets run beside its own (what it forks); null if there is none.
const std::shared_ptr<Graph>* forkedBy(const Node* node);
/// The graph, and what it forks, outermost first.
std::vector<Graph*> withForks(Graph& graph);
/// And in how many forks each stands.
std::vector<std::pair<Graph*, int>> withForkDepths(Graph& graph);

inline bool holdsModule(const IValue& value) {
  return value.isObject() && value.toObject()->type()->is_module();
}

class KeptAttributes {
 public:
  explicit KeptAttributes(const Module& module);

  /// Stays whatever is done with it; a module by preserveWhole with all that it has.
  void preserve(const ObjectPtr& object, const std::string& name) { preserved_.insert({object.get(), name}); }
  void preserveWhole(const ObjectPtr& module) { preserved_modules_.insert(module.get()); }
  const std::set<AttributeKey>& preserved() const { return preserved_; }
  const std::vector<ObjectPtr>& modules() const { return modules_; }

  /// Of the methods' graphs as they are now.
  void analyze(const std::vector<EntryMethod>& methods);
  /// Which module, or object of another class, the value is; null if that can't be told.
  ObjectPtr objectOf(const Value* value) const {
    const auto found = objects_.find(value);
    return found == objects_.end() ? ObjectPtr() : found->second;
  }
  bool contains(const c10::ivalue::Object& object, const std::string& name) const {
    return kept_.contains({&object, name});
  }
  /// Whether the class loses nothing.
  bool isWhole(const c10::ClassType& type) const { return whole_.contains(&type); }

 private:
  void findObjects();
  bool isFollowed(const IValue& value) const;
  bool isShared(const c10::ClassType& type) const;
  void findAssigned(Block* block, bool& assigns_memory);
  void keep(
      const Value* object, const c10::ClassType* type, const std::string& name, std::set<AttributeKey>& where) const;
  void keepAssigned(Block* block);
  void follow(Block* block);
  void keepWhole(const ObjectPtr& object);
  void keepClass(const c10::ClassType& type);
  void setMemoryOfAttributes(Block* block);
  void findWritten(Graph& graph);
  void findWritten(Block* block, AliasDb& memory, std::span<const Node* const> writing);
  void keepWhatShares();
  void keepWhatSharesElements();

  ObjectPtr root_;
  std::vector<ObjectPtr> modules_, objects_with_attributes_;
  std::unordered_set<const void*> in_containers_;
  std::set<AttributeKey> preserved_, kept_;
  std::set<AttributeKey> written_within_;  // of which elements are written to
  std::unordered_set<const void*> preserved_modules_;
  std::set<ClassAttribute> assigned_;
  std::unordered_set<const c10::ivalue::Object*> escaped_;  // objects of which nothing is folded
  std::unordered_set<const c10::ClassType*> whole_;         // classes that lose nothing
  std::map<AttributeKey, size_t> memory_numbers_;
  std::unordered_map<const Value*, ObjectPtr> objects_;
};

}  // namespace cresset
