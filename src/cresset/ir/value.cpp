// Values: their names, and use lists. Names lie in the graph's arena and are found through one open-addressing table.
//
// Every operand of a node is an entry of the doubly linked list of its value's uses, so adding, removing and counting
// uses are O(1). A replaced value's whole list is relabelled and appended to the other's.
#include <ATen/core/jit_type_base.h>

#include <algorithm>

#include "cresset/ir/graph.h"
#include "cresset/ir/messages.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr uint32_t kMostLength = INT32_MAX;  // of a name: the field has 31 bits

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

namespace detail {

size_t NameTable::slotOf(std::string_view name, size_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t i = hash & mask;
  while (slots_[i].value && !(slots_[i].hash == hash && slots_[i].value->name() == name)) i = (i + 1) & mask;
  return i;
}

Value* NameTable::find(std::string_view name) const {
  if (size_ == 0) return nullptr;
  return slots_[slotOf(name, std::hash<std::string_view>()(name))].value;
}

void NameTable::insert(Value* value) {
  if (2 * (size_ + 1) > slots_.size()) rehash(std::max<size_t>(8, 2 * slots_.size()));
  const size_t hash = std::hash<std::string_view>()(value->name());
  slots_[slotOf(value->name(), hash)] = {value, hash};
  ++size_;
}

void NameTable::replace(Value* value) {
  slots_[slotOf(value->name(), std::hash<std::string_view>()(value->name()))].value = value;
}

void NameTable::erase(std::string_view name) {
  const size_t mask = slots_.size() - 1;
  size_t hole = slotOf(name, std::hash<std::string_view>()(name));
  // What stands after the hole and may not stand after an empty slot moves up.
  for (size_t i = (hole + 1) & mask; slots_[i].value; i = (i + 1) & mask) {
    if (((i - slots_[i].hash) & mask) < ((i - hole) & mask)) continue;
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = {};
  --size_;
}

void NameTable::reserve(size_t n) {
  if (2 * n > slots_.size()) rehash(std::bit_ceil(std::max<size_t>(8, 2 * n)));
}

void NameTable::rehash(size_t capacity) {
  std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(capacity));
  const size_t mask = capacity - 1;
  for (const Slot& slot : old) {
    if (!slot.value) continue;
    size_t i = slot.hash & mask;
    while (slots_[i].value) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

}  // namespace detail

const char* Graph::keepName(std::string_view name) {
  if (name.size() > UINT32_MAX / 2) throw UserError("The name of a value is too long.");
  return std::copy(name.begin(), name.end(), static_cast<char*>(arena_.allocate(name.size()))) - name.size();
}

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
  if (type == type_) return this;
  const bool of_tensors = type->kind() == c10::TypeKind::TensorType && type_->kind() == c10::TypeKind::TensorType;
  ++(of_tensors ? graph_->edits_.tensors : graph_->edits_.structure);
  type_ = std::move(type);
  return this;
}

std::string Value::debugName() const {
  return name_ ? std::string(name()) : std::to_string(unique_);
}

Value* Value::setDebugName(std::string_view wanted) {
  checkUsable("name");
  if (name_ && name() == wanted) return this;
  if (!wanted.empty()) checkName(wanted);
  auto& names = graph_->names_;
  if (name_) {
    names.erase(name());
    name_ = nullptr;  // `wanted` may be a view of it; the arena keeps its text
  }
  if (wanted.empty()) return this;
  Value* holder = names.find(wanted);
  if (!holder) {
    name_ = graph_->keepName(wanted);
    name_length_ = static_cast<uint32_t>(wanted.size()) & kMostLength;
    names.insert(this);
    return this;
  }
  name_ = holder->name_;
  name_length_ = holder->name_length_;
  names.replace(this);
  auto [stem, number] = splitNumber(name());
  std::string renamed(stem);
  size_t& next = graph_->name_suffixes_.try_emplace(renamed, 1).first->second;
  next = std::max(next, number);
  renamed += '.';
  const size_t length = renamed.size();
  do {
    renamed.resize(length);
    renamed += std::to_string(next++);
  } while (names.find(renamed));
  holder->name_ = graph_->keepName(renamed);
  holder->name_length_ = static_cast<uint32_t>(renamed.size()) & kMostLength;
  names.insert(holder);
  return this;
}

Value* Value::copyMetadata(const Value* from) {
  if (!from) throw UserError("Can't copy the name and type of a null value.");
  setType(from->type());
  if (from->hasDebugName()) setDebugName(splitNumber(from->name()).first);
  return this;
}

void Value::replaceAllUsesWith(Value* other) {
  checkUsable("replace the uses of");
  if (!other || other->graph_ != graph_) throw UserError(messages::replacedFromElsewhere(debugName()));
  other->checkUsable("use");
  if (other == this || !first_use_) return;
  ++graph_->edits_.structure;
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
  if (!other || other->graph_ != graph_) throw UserError(messages::replacedFromElsewhere(debugName()));
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
