// Which memory a value may refer to: inclusion constraints between sets of locations, solved without order of execution
// (L. O. Andersen, "Program Analysis and Specialization for the C Programming Language", 1994, chapter 4), with fields.
//
//   Location   memory that comes into being at one place: the result of an operator, or the world outside of the graph
//              (one location per memory class, for all that callers, attributes of modules and other threads hold).
//   Variable   a set of locations. Values of the graph have one; so has each field of each location.
//
// A location whose address left for the world is *escaped*: the world may then write to it and hand it back. The
// world's own locations are escaped from the start, so the two need no separate rules.
//
// Cost: a set holds at most kMaxLocations. Beyond that, the locations of one class in it are merged into one:
// everything stays correct and coarser, and the whole takes time in proportion to the constraints.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cresset/analysis/memory_class.h"

namespace cresset {

using Variable = uint32_t;
using Location = uint32_t;

/// What a location holds: elements of a list 0, keys and values of a dict 0 and 1, elements of a tuple and attributes
/// of an object by index, a future's result 0.
using Field = int;

class PointsTo {
 public:
  static constexpr size_t kMaxLocations = 24;

  /// About how many variables there will be.
  void reserve(size_t count) { variables_.reserve(count); }

  /// A variable that takes only locations of the type's classes. kNone if the type is no memory.
  Variable newVariable(const c10::TypePtr& type);
  static constexpr Variable kNone = UINT32_MAX;
  /// Takes locations of any class.
  Variable newUntypedVariable();
  Location newLocation(ClassId memory_class);

  // Constraints. All of them ignore kNone.
  void addLocation(Variable to, Location location);
  /// `to` may be what the world holds, of to's type.
  void addWorld(Variable to);
  void addCopy(Variable from, Variable to);
  void addLoad(Variable container, Field field, Variable to);
  void addStore(Variable container, Field field, Variable value);
  /// `to` may be whatever is reached from `from` through any number of fields, `from` included.
  void addReach(Variable from, Variable to);
  /// Any field of `container` may hold `value`.
  void addStoreAnywhere(Variable container, Variable value);
  void addEscape(Variable value);

  void solve();

  // Answers, after solve().
  /// What the location was merged into; itself, mostly.
  Location find(Location location);
  /// Sorted, each the representative of what it was merged with.
  const std::vector<Location>& locations(Variable variable);
  bool isEscaped(Location location) { return locations_[find(location)].escaped; }
  ClassId classOf(Location location) { return locations_[find(location)].memory_class; }
  /// Whether the two may be the same memory.
  bool overlap(Location a, Location b);
  bool overlap(const std::vector<Location>& a, const std::vector<Location>& b);
  /// All locations that are reached from these, these included; sorted.
  std::vector<Location> reach(std::vector<Location> from);
  MemoryClasses& classes() { return classes_; }
  size_t numLocations() const { return locations_.size(); }
  /// How often a location came to a variable.
  size_t numSteps() const { return steps_; }
  bool isWorld(Location location) { return locations_[find(location)].world; }

 private:
  struct Access {
    Field field;
    Variable other;
  };
  struct VariableState {
    Variable merged_into = 0;  // itself, unless its location was merged
    std::vector<ClassId> classes;
    bool typed = true;
    bool escapes = false;
    bool queued = false;
    std::vector<Location> locations, fresh;  // fresh: not propagated yet
    std::vector<Variable> copies;
    std::vector<Access> loads, stores;
    std::vector<Variable> reaches, stores_anywhere;
    /// What the set's locations of a class were merged into. Further ones join before they are propagated: else each
    /// would travel all the way to be merged at its end.
    std::vector<std::pair<ClassId, Location>> full;
  };
  struct LocationState {
    Location merged_into = 0;
    ClassId memory_class = 0;
    bool world = false;
    bool escaped = false;
    std::vector<std::pair<Field, Variable>> fields;
  };

  Variable findVariable(Variable variable);
  VariableState& state(Variable variable) { return variables_[findVariable(variable)]; }
  Location world(ClassId memory_class);
  /// The variable of what is in the field; kNone if nothing mutable can be.
  Variable content(Location location, Field field);
  void accept(Variable to, Location location);
  void queue(Variable variable);
  void escape(Location location);
  void mergeLargest(Variable variable);
  void merge(Location a, Location b);
  void mergeVariables(Variable a, Variable b);
  void handOn(Variable variable);
  void reachThrough(Location location, Variable to);
  void storeAnywhere(Location location, Variable value);
  bool takes(const VariableState& variable, ClassId memory_class) const;

  MemoryClasses classes_;
  std::vector<VariableState> variables_;
  std::vector<LocationState> locations_;
  std::unordered_map<ClassId, Location> worlds_;
  std::unordered_set<uint64_t> edges_;  // copies that exist
  std::vector<Variable> queue_;
  size_t steps_ = 0;
};

}  // namespace cresset
