// Entries of dicts and lists at constant keys: who may change them.
#pragma once

#include <optional>
#include <string>

#include "cresset/analysis/alias.h"
#include "cresset/ir/graph.h"

namespace cresset {

/// The key of a dict or the index of a list as text, different for different keys of one container; nothing if it is
/// not a constant string, int or bool.
std::optional<std::string> constantKey(const Value* key);

/// `d[key]` of a dict, or `l[index]` of a list.
bool readsEntry(const Node* node);

/// Whether the node may change which values some list or dict holds: in-place operators on tensors do not.
bool mayChangeEntries(const Node* node);

/// The key of the only entry that the node changes: `d[key] = value`, with a constant key. Nothing if it may change
/// others, too: to set an element of a list counts as that, since an index may be negative.
std::optional<std::string> changedKey(const Node* node);

/// Whether the node, one that may change entries, may change those of this dict or list.
bool mayChangeEntriesOf(AliasDb& memory, const Node* node, Value* container);

}  // namespace cresset
