// Values: their names, and use lists.
//
// Every operand of a node is an entry of the doubly linked list of its value's uses, so adding, removing and counting
// uses are O(1). A replaced value's whole list is relabelled and appended to the other's.
#include <ATen/core/jit_type_base.h>

#include <algorithm>

#include "cresset/ir/graph.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

void checkName(std::string_view name) {
  bool valid = isNameStart(name[0]) &&
               std::all_of(name.begin(), name.end(), [](char c) { return isNameStart(c) || isDigit(c) || c == '.'; });
  if (!valid) {
    throw UserError(
        "'" + std::string(name) +
        "' can't name a value: names are letters, digits, '_' and '.', no digit or '.' first.");
  }
}

/// "x.3" -> ("x", 3); (name, 0) without a number. Numbers too long to count with belong to the stem.
std::pair<std::string_view, size_t> splitNumber(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size() || name.size() - dot > 10) return {name, 0};
  size_t number = 0;
  for (char c : name.substr(dot + 1)) {
    if (!isDigit(c)) return {name, 0};
    number = number * 10 + static_cast<size_t>(c - '0');
  }
  return {name.substr(0, dot), number};
}

}  // namespace

Value* InputRange::at(size_t i) const {
  if (i >= size_) {
    throw UserError("Input " + std::to_string(i) + " of a node with " + std::to_string(size_) + " inputs.");
  }
  return begin_[i].value;
}

void Value::checkUsable(const char* action) const {
  if (erased_)
    throw UserError(
        "Can't " + std::string(action) + " the value %" + std::to_string(unique_) + ": it has been erased.");
}

Block* Value::owningBlock() const {
  return node_ ? node_->owningBlock() : nullptr;
}

Value* Value::setType(TypePtr type) {
  checkUsable("set the type of");
  if (!type) throw UserError("A value can't have a null type.");
  type_ = std::move(type);
  return this;
}

std::string Value::debugName() const {
  return name_ ? *name_ : std::to_string(unique_);
}

Value* Value::setDebugName(std::string_view name) {
  checkUsable("name");
  if (name_ && *name_ == name) return this;
  if (!name.empty()) checkName(name);
  std::string wanted(name);  // `name` may be a view of the key that goes away now
  auto& names = graph_->names_;
  if (name_) {
    names.erase(names.find(*name_));
    name_ = nullptr;
  }
  if (wanted.empty()) return this;
  auto [slot, free] = names.try_emplace(wanted, this);
  if (!free) {
    Value* holder = slot->second;
    slot->second = this;
    auto [stem, number] = splitNumber(wanted);
    size_t& next = graph_->name_suffixes_.try_emplace(std::string(stem), 1).first->second;
    next = std::max(next, number);
    std::string renamed;
    do {
      renamed = std::string(stem) + "." + std::to_string(next++);
    } while (!names.try_emplace(renamed, holder).second);
    holder->name_ = &names.find(renamed)->first;
  }
  name_ = &slot->first;  // keys of an unordered_map stay where they are
  return this;
}

Value* Value::copyMetadata(const Value* from) {
  if (!from) throw UserError("Can't copy the name and type of a null value.");
  setType(from->type());
  if (from->hasDebugName()) setDebugName(std::string(splitNumber(*from->name_).first));
  return this;
}

void Value::replaceAllUsesWith(Value* other) {
  checkUsable("replace the uses of");
  if (!other || other->graph_ != graph_)
    throw UserError("Can't replace %" + debugName() + " by a value of another graph.");
  other->checkUsable("use");
  if (other == this || !first_use_) return;
  for (detail::Operand* use = first_use_; use; use = use->next) use->value = other;
  first_use_->prev = other->last_use_;
  (other->last_use_ ? other->last_use_->next : other->first_use_) = first_use_;
  other->last_use_ = last_use_;
  other->use_count_ += use_count_;
  first_use_ = last_use_ = nullptr;
  use_count_ = 0;
}

void Value::replaceAllUsesAfterNodeWith(const Node* node, Value* other) {
  checkUsable("replace the uses of");
  if (!node || node->graph_ != graph_ || !node->block_) {
    throw UserError("Uses can only be replaced after a node that is in a block of the same graph.");
  }
  if (!other || other->graph_ != graph_)
    throw UserError("Can't replace %" + debugName() + " by a value of another graph.");
  other->checkUsable("use");
  if (other == this) return;
  for (detail::Operand *use = first_use_, *next; use; use = next) {
    next = use->next;
    const Node* user = use->user;
    while (user && user->block_ != node->block_) user = user->block_ ? user->block_->owningNode() : nullptr;
    // Uses inside of the node's own blocks come to `user == node`, which isn't after it.
    if (!user || user->order_ <= node->order_) continue;
    use->user->unlinkUse(*use);
    use->value = other;
    use->user->linkUse(*use);
  }
}

}  // namespace cresset
