#include "cresset/analysis/points_to.h"

#include <algorithm>
#include <map>

namespace cresset {

Variable PointsTo::newVariable(const c10::TypePtr& type) {
  const std::vector<ClassId>& classes = classes_.of(type);
  if (classes.empty()) return kNone;
  const Variable result = newUntypedVariable();
  variables_[result].classes = classes;
  variables_[result].typed = true;
  return result;
}

Variable PointsTo::newUntypedVariable() {
  const auto result = static_cast<Variable>(variables_.size());
  variables_.emplace_back();
  variables_.back().merged_into = result;
  variables_.back().classes = {MemoryClasses::kAny};
  variables_.back().typed = false;
  return result;
}

Location PointsTo::newLocation(ClassId memory_class) {
  const auto result = static_cast<Location>(locations_.size());
  LocationState& added = locations_.emplace_back();
  added.merged_into = result;
  added.memory_class = memory_class;
  return result;
}

Location PointsTo::world(ClassId memory_class) {
  const auto [entry, added] = worlds_.try_emplace(memory_class);
  if (added) {
    const Location result = newLocation(memory_class);
    locations_[result].world = locations_[result].escaped = true;
    worlds_[memory_class] = result;
    return result;
  }
  return entry->second;
}

Location PointsTo::find(Location location) {
  Location root = location;
  while (locations_[root].merged_into != root) root = locations_[root].merged_into;
  while (locations_[location].merged_into != root) location = std::exchange(locations_[location].merged_into, root);
  return root;
}

Variable PointsTo::findVariable(Variable variable) {
  Variable root = variable;
  while (variables_[root].merged_into != root) root = variables_[root].merged_into;
  while (variables_[variable].merged_into != root) variable = std::exchange(variables_[variable].merged_into, root);
  return root;
}

void PointsTo::queue(Variable variable) {
  VariableState& it = variables_[variable];
  if (std::exchange(it.queued, true)) return;
  queue_.push_back(variable);
}

bool PointsTo::takes(const VariableState& variable, ClassId memory_class) const {
  return !variable.typed || std::any_of(variable.classes.begin(), variable.classes.end(), [&](ClassId own) {
    return classes_.compatible(own, memory_class);
  });
}

void PointsTo::accept(Variable to, Location location) {
  ++steps_;
  to = findVariable(to);
  location = find(location);
  const LocationState& given = locations_[location];
  if (!takes(variables_[to], given.memory_class)) return;
  if (given.world && given.memory_class == MemoryClasses::kAny && variables_[to].typed) {
    const std::vector<ClassId>& own = variables_[to].classes;
    if (std::find(own.begin(), own.end(), MemoryClasses::kAny) == own.end()) return addWorld(to);
  }
  if (!given.world) {
    const ClassId memory_class = given.memory_class;
    if (!variables_[to].full.empty()) {
      for (const auto& [full_class, into] : std::vector(variables_[to].full)) {
        if (full_class == memory_class) merge(into, location);
      }
      location = find(location);
      to = findVariable(to);
    }
  }
  std::vector<Location>& all = variables_[to].locations;
  const auto place = std::lower_bound(all.begin(), all.end(), location);
  if (place != all.end() && *place == location) return;
  all.insert(place, location);
  variables_[to].fresh.push_back(location);
  queue(to);
  if (all.size() > kMaxLocations) mergeLargest(to);
}

void PointsTo::addLocation(Variable to, Location location) {
  if (to != kNone) accept(to, location);
}

void PointsTo::addWorld(Variable to) {
  if (to == kNone) return;
  const std::vector<ClassId> own = state(to).classes;
  for (ClassId id : own) accept(to, world(id));
}

void PointsTo::addCopy(Variable from, Variable to) {
  if (from == kNone || to == kNone) return;
  from = findVariable(from);
  to = findVariable(to);
  if (from == to || !edges_.insert(uint64_t(from) << 32 | to).second) return;
  variables_[from].copies.push_back(to);
  const std::vector<Location> known = variables_[from].locations;
  for (Location location : known) accept(to, location);
}

void PointsTo::addLoad(Variable container, Field field, Variable to) {
  if (container == kNone || to == kNone) return;
  state(container).loads.push_back({field, to});
  const std::vector<Location> known = state(container).locations;
  for (Location location : known) addCopy(content(location, field), to);
}

void PointsTo::addStore(Variable container, Field field, Variable value) {
  if (container == kNone || value == kNone) return;
  state(container).stores.push_back({field, value});
  const std::vector<Location> known = state(container).locations;
  for (Location location : known) addCopy(value, content(location, field));
}

void PointsTo::addReach(Variable from, Variable to) {
  if (from == kNone || to == kNone) return;
  from = findVariable(from);
  to = findVariable(to);
  // The highest bit tells these edges from copies.
  if (!edges_.insert(uint64_t(1) << 63 | uint64_t(from) << 32 | to).second) return;
  variables_[from].reaches.push_back(to);
  const std::vector<Location> known = variables_[from].locations;
  for (Location location : known) reachThrough(location, to);
}

void PointsTo::reachThrough(Location location, Variable to) {
  accept(to, location);
  const size_t fields = classes_.numFields(classOf(location));
  for (size_t i = 0; i < fields; ++i) addReach(content(location, static_cast<Field>(i)), to);
}

void PointsTo::addStoreAnywhere(Variable container, Variable value) {
  if (container == kNone || value == kNone) return;
  container = findVariable(container);
  variables_[container].stores_anywhere.push_back(value);
  const std::vector<Location> known = variables_[container].locations;
  for (Location location : known) storeAnywhere(location, value);
}

void PointsTo::storeAnywhere(Location location, Variable value) {
  const size_t fields = classes_.numFields(classOf(location));
  for (size_t i = 0; i < fields; ++i) addCopy(value, content(location, static_cast<Field>(i)));
}

void PointsTo::addEscape(Variable value) {
  if (value == kNone || std::exchange(state(value).escapes, true)) return;
  const std::vector<Location> known = state(value).locations;
  for (Location location : known) escape(location);
}

void PointsTo::escape(Location location) {
  location = find(location);
  if (std::exchange(locations_[location].escaped, true)) return;
  const auto fields = locations_[location].fields;
  for (const auto& [field, variable] : fields) {
    addEscape(variable);
    addWorld(variable);
  }
}

Variable PointsTo::content(Location location, Field field) {
  location = find(location);
  if (locations_[location].memory_class == MemoryClasses::kAny) field = 0;
  for (const auto& [known, variable] : locations_[location].fields) {
    if (known == field) return variable;
  }
  const c10::TypePtr type = classes_.fieldType(locations_[location].memory_class, field);
  if (!type) return kNone;
  const Variable result = newVariable(type);
  locations_[location].fields.emplace_back(field, result);
  if (result != kNone && locations_[location].escaped) {
    addEscape(result);
    addWorld(result);
  }
  return result;
}

void PointsTo::handOn(Variable variable) {
  const std::vector<Location> fresh = std::move(variables_[variable].fresh);
  variables_[variable].fresh.clear();
  variables_[variable].queued = false;
  // Copies, since the rules below add variables and constraints.
  const auto copies = variables_[variable].copies;
  const auto loads = variables_[variable].loads, stores = variables_[variable].stores;
  const auto reaches = variables_[variable].reaches, anywhere = variables_[variable].stores_anywhere;
  const bool escapes = variables_[variable].escapes;
  for (Location location : fresh) {
    for (Variable to : copies) accept(to, location);
    for (const auto& [field, to] : loads) addCopy(content(location, field), to);
    for (const auto& [field, value] : stores) addCopy(value, content(location, field));
    for (Variable to : reaches) reachThrough(location, to);
    for (Variable value : anywhere) storeAnywhere(location, value);
    if (escapes) escape(location);
  }
}

void PointsTo::solve() {
  while (!queue_.empty()) {
    const Variable next = queue_.back();
    queue_.pop_back();
    if (findVariable(next) == next) handOn(next);
  }
}

void PointsTo::mergeLargest(Variable variable) {
  std::map<ClassId, std::vector<Location>> by_class;
  for (Location location : variables_[variable].locations) {
    location = find(location);
    if (!locations_[location].world) by_class[locations_[location].memory_class].push_back(location);
  }
  const auto largest = std::max_element(
      by_class.begin(), by_class.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (largest == by_class.end() || largest->second.size() < 2) return;
  const std::vector<Location> members = largest->second;
  const ClassId memory_class = largest->first;
  for (size_t i = 1; i < members.size(); ++i) merge(members[0], members[i]);
  state(variable).full.emplace_back(memory_class, members[0]);
  std::vector<Location>& all = state(variable).locations;
  for (Location& location : all) location = find(location);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

void PointsTo::merge(Location a, Location b) {
  a = find(a);
  b = find(b);
  if (a == b) return;
  if (locations_[a].escaped != locations_[b].escaped) {
    escape(a);
    escape(b);
  }
  locations_[b].merged_into = a;
  const auto fields = std::move(locations_[b].fields);
  for (const auto& [field, variable] : fields) {
    Variable own = kNone;
    bool known = false;
    for (const auto& [own_field, own_variable] : locations_[a].fields) {
      if (own_field == field) {
        own = own_variable;
        known = true;
      }
    }
    if (!known)
      locations_[a].fields.emplace_back(field, variable);
    else if (own != kNone)
      mergeVariables(own, variable);
  }
}

void PointsTo::mergeVariables(Variable a, Variable b) {
  a = findVariable(a);
  b = findVariable(b);
  if (a == b) return;
  variables_[b].merged_into = a;
  VariableState from = std::move(variables_[b]);
  variables_[b] = VariableState();
  variables_[b].merged_into = a;
  VariableState& into = variables_[a];
  const auto append = [](auto& to, const auto& what) { to.insert(to.end(), what.begin(), what.end()); };
  append(into.copies, from.copies);
  append(into.loads, from.loads);
  append(into.stores, from.stores);
  append(into.reaches, from.reaches);
  append(into.stores_anywhere, from.stores_anywhere);
  append(into.full, from.full);
  append(into.locations, from.locations);
  std::sort(into.locations.begin(), into.locations.end());
  into.locations.erase(std::unique(into.locations.begin(), into.locations.end()), into.locations.end());
  into.escapes |= from.escapes;
  into.typed &= from.typed;
  append(into.classes, from.classes);
  std::sort(into.classes.begin(), into.classes.end());
  into.classes.erase(std::unique(into.classes.begin(), into.classes.end()), into.classes.end());
  // Each has constraints that have not seen the other's locations.
  into.fresh = into.locations;
  queue(a);
}

const std::vector<Location>& PointsTo::locations(Variable variable) {
  static const std::vector<Location> kNowhere;
  if (variable == kNone) return kNowhere;
  std::vector<Location>& all = state(variable).locations;
  bool merged = false;
  for (Location& location : all) {
    const Location root = find(location);
    merged |= root != location;
    location = root;
  }
  if (merged) {
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
  }
  return all;
}

bool PointsTo::overlap(Location a, Location b) {
  a = find(a);
  b = find(b);
  if (a == b) return true;
  const LocationState &first = locations_[a], &second = locations_[b];
  return first.escaped && second.escaped && (first.world || second.world) &&
         classes_.compatible(first.memory_class, second.memory_class);
}

bool PointsTo::overlap(const std::vector<Location>& a, const std::vector<Location>& b) {
  for (Location first : a) {
    for (Location second : b) {
      if (overlap(first, second)) return true;
    }
  }
  return false;
}

std::vector<Location> PointsTo::reach(std::vector<Location> from) {
  const bool hold_nothing = std::all_of(
      from.begin(), from.end(), [&](Location location) { return classes_.numFields(classOf(location)) == 0; });
  if (hold_nothing) {  // tensors
    for (Location& location : from) location = find(location);
    std::sort(from.begin(), from.end());
    from.erase(std::unique(from.begin(), from.end()), from.end());
    return from;
  }
  std::unordered_set<Location> seen;
  std::vector<Location> result;
  while (!from.empty()) {
    const Location location = find(from.back());
    from.pop_back();
    if (!seen.insert(location).second) continue;
    result.push_back(location);
    const size_t fields = classes_.numFields(classOf(location));
    for (size_t i = 0; i < fields; ++i) {
      const Variable inner = content(location, static_cast<Field>(i));
      solve();
      const std::vector<Location>& held = locations(inner);
      from.insert(from.end(), held.begin(), held.end());
    }
  }
  for (Location& location : result) location = find(location);
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

}  // namespace cresset
