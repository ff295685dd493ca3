// Entries of dicts and lists at constant keys: who may change them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cresset/analysis/alias.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// The key of a dict or the index of a list as text, different for different keys of one container; nothing if it is
/// not a constant string, int or bool.
std::optional<std::string> constantKey(const Value* key);

/// What an operator does with an entry of the list or dict that is its first argument, chosen by the second: a column
/// of the table.
enum class EntryUse : uint8_t {
  None,
  Reads,    // returns it, or raises
  Takes,    // the same, and removes it
  Gets,     // returns it, or a default if there is none
  Asks,     // tells whether a dict has one
  Sets,     // writes it
  Adds,     // puts the second argument after the entries of a list
  Inserts,  // puts the third argument before it
  Extends,  // puts the entries of the second argument after those of a list
  Clears,   // removes all
};

/// What the operator that the node calls does with an entry; None if its first input is no list or dict.
EntryUse entryUse(const Node& node);

/// `d[key]` of a dict, or `l[index]` of a list.
bool readsEntry(const Node* node);

/// Whether the node, which has a list as its first input or among others, only reads what is in it: the list goes
/// nowhere from there.
bool onlyReadsElements(const Node& node);

/// Whether the node may change which values some list or dict holds: in-place operators on tensors do not.
bool mayChangeEntries(const Node* node);

/// The key of the only entry that the node changes: `d[key] = value`, with a constant key. Nothing if it may change
/// others, too: to set an element of a list counts as that, since an index may be negative.
std::optional<std::string> changedKey(const Node* node);

/// Whether the node, one that may change entries, may change those of this dict or list.
bool mayChangeEntriesOf(AliasDb& memory, const Node* node, Value* container);

}  // namespace cresset
