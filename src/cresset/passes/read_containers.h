// What is read of a list or dict that the graph makes, of known elements: shared by the pass that reads those that
// nothing writes to ("read-containers") and by those that follow writes ("remove-list-mutation",
// "remove-dict-mutation").
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "cresset/ir/graph.h"

namespace cresset {

/// The place that an index of a list of `size` elements means; nothing if it is not constant or there is none.
std::optional<size_t> placeInList(const Value* index, size_t size);
/// Replaces the outputs of a node that reads the elements of `made`. False if it reads something else.
bool forwardElements(Node* node, const Node* made);

/// Where the values of a dict's keys stand among the inputs of the node that makes it.
using DictPlaces = std::unordered_map<std::string, size_t>;
/// Nothing if a key is no constant, or there twice.
std::optional<DictPlaces> placesOf(const Node* made);
/// Replaces the output of a node that reads the dict. False if it does something else or the key is not there.
bool forwardEntry(Node* node, const Node* made, const DictPlaces& places);

/// Reads those that nothing writes to. Whether anything changed.
bool readLists(Graph& graph);
bool readDicts(Graph& graph);

}  // namespace cresset
