#include "cresset/analysis/alias.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ops/operator.h"

namespace cresset {

using c10::AliasInfo;

namespace {

const Symbol kMemory = Symbol::attr("memory");

bool shareSet(const AliasInfo& a, const AliasInfo& b) {
  const auto has = [](const AliasInfo& info, Symbol set) {
    return info.beforeSets().contains(set) || info.afterSets().contains(set);
  };
  return std::any_of(b.beforeSets().begin(), b.beforeSets().end(), [&](Symbol set) {
    return set != AliasInfo::wildcardSet() && has(a, set);
  });
}

const AliasInfo* elementInfo(const AliasInfo* info) {
  return info && info->containedTypes().size() == 1 ? &info->containedTypes().front() : nullptr;
}

}  // namespace

void setMemory(Node& node, const std::vector<int64_t>& numbers) {
  if (numbers.empty()) {
    if (node.hasAttribute(kMemory)) node.removeAttribute(kMemory);
  } else {
    node.setAttribute(kMemory, Attribute(numbers));
  }
}

AliasDb::AliasDb(Graph& graph, When when) : graph_(graph) {
  const bool writes = mayWriteIn(graph.block());
  writers_known_ = !writes;
  if (writes || when == When::AtOnce) analyze();
}

void AliasDb::analyze() {
  analyzed_ = true;
  variables_.assign(graph_.numValues(), PointsTo::kNone);
  memory_.reserve(graph_.numNodes());
  for (Value* input : graph_.inputs()) {
    const Variable variable = define(input);
    if (!giveKnownMemory(input)) memory_.addWorld(variable);
  }
  analyze(graph_.block());
  memory_.solve();
}

AliasDb::~AliasDb() = default;

void AliasDb::analyzeNow() {
  if (!analyzed_) analyze();
}

Variable* AliasDb::placeOf(const Value* value) {
  std::vector<Variable>* variables = &variables_;
  if (&value->graph() != &graph_) [[unlikely]] {
    const auto found = inner_variables_.find(&value->graph());
    if (found == inner_variables_.end()) return nullptr;
    variables = &found->second;
  }
  return value->unique() < variables->size() ? &(*variables)[value->unique()] : nullptr;
}

Variable AliasDb::variableOf(const Value* value) {
  analyzeNow();
  const Variable* place = placeOf(value);
  return place ? *place : PointsTo::kNone;
}

Variable AliasDb::define(Value* value) {
  Variable& variable = *placeOf(value);
  if (variable == PointsTo::kNone) variable = memory_.newVariable(value->type());
  return variable;
}

void AliasDb::makeFresh(Value* value) {
  addFresh(define(value), value->type(), {value});
}

bool AliasDb::giveKnownMemory(const Value* value) {
  const Node* node = value->node();
  const int64_t number = node->hasAttribute(kMemory) ? node->is(kMemory).at(value->offset()) : -1;
  if (number < 0) return false;
  const bool is_attribute = node->kind() == prim::GetAttr;
  const c10::TypePtr type = is_attribute ? value->type() : c10::TensorType::get();
  for (ClassId id : std::vector<ClassId>(memory_.classes().of(type))) {
    const auto [entry, added] = known_memory_.try_emplace({number, id});
    if (added) {
      entry->second = memory_.newLocation(id);
      sites_.emplace_back(entry->second, Site{value});
    }
    memory_.addLocation(variableOf(value), entry->second);
  }
  if (!is_attribute) memory_.addEscape(variableOf(value));  // the world holds it, too
  return true;
}

void AliasDb::addFresh(Variable to, const c10::TypePtr& type, Site site) {
  if (to == PointsTo::kNone) return;
  for (ClassId id : std::vector<ClassId>(memory_.classes().of(type))) {
    const Location location = memory_.newLocation(id);
    sites_.emplace_back(location, site);
    memory_.addLocation(to, location);
  }
}

void AliasDb::addFreshInside(Variable holder, const c10::TypePtr& type, Variable reached, Site site) {
  if (auto optional = type->cast<c10::OptionalType>())
    return addFreshInside(holder, optional->getElementType(), reached, site);
  if (!type->cast<c10::ListType>() && !type->cast<c10::DictType>() && !type->cast<c10::TupleType>()) return;
  Field field = 0;
  for (const c10::TypePtr& inner : type->containedTypes()) {
    const Variable held = inner->kind() == c10::TypeKind::TensorType ? PointsTo::kNone : memory_.newVariable(inner);
    if (held != PointsTo::kNone) {
      addFresh(held, inner, site.inside());
      memory_.addStoreAnywhere(held, reached);
      memory_.addStore(holder, field, held);
      addFreshInside(held, inner, reached, site.inside());
    }
    ++field;
  }
}

Field AliasDb::attributeSlot(const Node* node) {
  const auto type = node->input(0)->type()->cast<c10::ClassType>();
  const auto slot = type ? type->findAttributeSlot(node->s(attr::name)) : std::nullopt;
  return slot ? static_cast<Field>(*slot) : 0;
}

void AliasDb::analyze(Block* block) {
  for (Node* node : block->nodes()) analyzeNode(node);
}

void AliasDb::analyzeNode(Node* node) {
  for (Value* output : node->outputs()) define(output);
  for (Block* block : node->blocks()) {
    for (Value* input : block->inputs()) define(input);
  }
  if (const Structure* structure = structureOf(node->kind())) return analyzeStructural(node, *structure);
  const Operator* op = operatorOf(*node);
  if (!op || op->schema().is_vararg() || op->schema().is_varret()) {
    // prim::Print, aten::format: they read, and return nothing that is memory. Anything else is unknown, functions of
    // the host before all.
    const auto outputs = node->outputs();
    const bool returns_memory = std::any_of(
        outputs.begin(), outputs.end(), [&](const Value* output) { return variableOf(output) != PointsTo::kNone; });
    if (op && op->kernel() && op->restriction() != Restriction::Foreign && !returns_memory) return;
    return analyzeUnknown(node);
  }
  if (op->kernel()) return analyzeRow(node, *op);
  if (op->schema().aliasAnalysis() == c10::AliasAnalysisKind::CONSERVATIVE) return analyzeUnknown(node);
  analyzeOperator(node, *op);
}

void AliasDb::analyzeUnknown(Node* node) {
  for (Value* input : node->inputs()) memory_.addEscape(variableOf(input));
  for (Value* output : node->outputs()) memory_.addWorld(variableOf(output));
  for (Block* block : node->blocks()) {
    for (Value* input : block->inputs()) memory_.addWorld(variableOf(input));
    analyze(block);
    for (Value* output : block->outputs()) memory_.addEscape(variableOf(output));
  }
}

void AliasDb::analyzeRow(Node* node, const Operator& op) {
  const auto& arguments = op.schema().arguments();
  const auto& returns = op.schema().returns();
  const auto inputs = node->inputs();
  // What a row returns or stores was reached from its arguments: it has no other source.
  Variable reached = PointsTo::kNone;
  const auto reach = [&] {
    if (reached != PointsTo::kNone) return reached;
    reached = memory_.newUntypedVariable();
    for (Value* input : inputs) memory_.addReach(variableOf(input), reached);
    return reached;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const AliasInfo* info = arguments[i].alias_info();
    if (info && info->isWrite()) memory_.addStoreAnywhere(variableOf(inputs[i]), reach());
  }
  for (size_t i = 0; i < returns.size() && i < node->outputs().size(); ++i) {
    Value* output = node->outputs()[i];
    const Variable variable = variableOf(output);
    if (variable == PointsTo::kNone) continue;
    const AliasInfo* info = returns[i].alias_info();
    bool named = false;
    for (size_t k = 0; k < arguments.size(); ++k) {
      const AliasInfo* other = arguments[k].alias_info();
      // `aten::add_(t[](a!) self, t[] b) -> t[]` returns self, though its schema does not say so.
      const bool returns_written = other && other->isWrite() && *arguments[k].type() == *returns[i].type();
      if (!(info && other && shareSet(*other, *info)) && !returns_written) continue;
      memory_.addCopy(variableOf(inputs[k]), variable);
      named = true;
    }
    if (named) continue;
    if (info && info->isWildcardBefore()) {
      memory_.addCopy(reach(), variable);
      if (output->type()->kind() == c10::TypeKind::TensorType) continue;
      // `aten::values(Dict(str, t) self) -> t[](*)` returns a new list of what it found.
    }
    makeFresh(output);
    memory_.addStoreAnywhere(variable, reach());
    addFreshInside(variable, output->type(), reach(), {output});
  }
}

bool AliasDb::shareWithArguments(const Node* node, const Operator& op, const AliasInfo& info, Variable to) {
  const auto& arguments = op.schema().arguments();
  bool shared = false;
  for (size_t k = 0; k < arguments.size(); ++k) {
    const AliasInfo* own = arguments[k].alias_info();
    if (!own) continue;
    const Variable argument = variableOf(node->input(k));
    if (shareSet(*own, info)) {
      memory_.addCopy(argument, to);
      shared = true;
    } else if (const AliasInfo* element = elementInfo(own); element && shareSet(*element, info)) {
      memory_.addLoad(argument, 0, to);
      shared = true;
    }
  }
  return shared;
}

void AliasDb::analyzeOperator(Node* node, const Operator& op) {
  const auto& arguments = op.schema().arguments();
  const auto& returns = op.schema().returns();
  const auto inputs = node->inputs();
  for (size_t i = 0; i < returns.size() && i < node->outputs().size(); ++i) {
    Value* output = node->outputs()[i];
    const Variable variable = variableOf(output);
    if (variable == PointsTo::kNone) continue;
    const AliasInfo* info = returns[i].alias_info();
    const AliasInfo* element = elementInfo(info);
    if (info && info->isWildcardBefore()) {
      memory_.addWorld(variable);
      continue;
    }
    const bool shares = info && shareWithArguments(node, op, *info, variable);
    if (!shares) makeFresh(output);
    if (op.mayShareArguments()) {
      const Variable reached = memory_.newUntypedVariable();
      for (Value* input : inputs) memory_.addReach(variableOf(input), reached);
      memory_.addCopy(reached, variable);
      memory_.addStoreAnywhere(variable, reached);
    }
    if (shares) continue;
    if (output->type()->kind() != c10::TypeKind::ListType) {
      if (output->type()->kind() != c10::TypeKind::TensorType) memory_.addWorld(variable);
      continue;
    }
    // A new list: of new tensors, or of some that its elements' set names.
    const c10::TypePtr element_type = output->type()->castRaw<c10::ListType>()->getElementType();
    const Variable held = memory_.newVariable(element_type);
    if (held == PointsTo::kNone) continue;
    if (!element || !shareWithArguments(node, op, *element, held)) addFresh(held, element_type, Site{output}.inside());
    memory_.addStore(variable, 0, held);
  }
  // What an argument is kept in.
  for (size_t i = 0; i < arguments.size(); ++i) {
    const AliasInfo* info = arguments[i].alias_info();
    // Of `Tensor(a!)[]` only the tensors are written to.
    if (!info || !info->isWrite() || elementInfo(info) || inputs[i]->type()->kind() == c10::TypeKind::TensorType)
      continue;
    for (Value* input : inputs) memory_.addStoreAnywhere(variableOf(inputs[i]), variableOf(input));
  }
}

bool AliasDb::mayAlias(const Value* a, const Value* b) {
  return memory_.overlap(memory_.locations(variableOf(a)), memory_.locations(variableOf(b)));
}

bool AliasDb::mayAlias(std::span<Value* const> a, std::span<Value* const> b) {
  std::vector<Location> first, second;
  for (const Value* value : a) addLocations(first, value);
  for (const Value* value : b) addLocations(second, value);
  return memory_.overlap(first, second);
}

bool AliasDb::mayContainAlias(const Value* a, const Value* b) {
  return memory_.overlap(
      memory_.reach(memory_.locations(variableOf(a))), memory_.reach(memory_.locations(variableOf(b))));
}

bool AliasDb::mayContainAlias(std::span<Value* const> a, std::span<Value* const> b) {
  std::vector<Location> first, second;
  for (const Value* value : a) addReached(first, value);
  for (const Value* value : b) addReached(second, value);
  return memory_.overlap(first, second);
}

bool AliasDb::mayBe(const Value* value, const Value* made) {
  const std::vector<Location> own = memory_.locations(variableOf(made));
  const std::vector<Location>& others = memory_.locations(variableOf(value));
  return std::any_of(own.begin(), own.end(), [&](Location location) {
    return std::binary_search(others.begin(), others.end(), location);
  });
}

bool AliasDb::mayAliasWorld(const Value* value) {
  const auto& locations = memory_.locations(variableOf(value));
  return std::any_of(
      locations.begin(), locations.end(), [&](Location location) { return memory_.isEscaped(location); });
}

bool AliasDb::escapes(const Value* value) {
  const std::vector<Location> locations = reached(value);
  return std::any_of(locations.begin(), locations.end(), [&](Location location) {
    return memory_.isEscaped(location) || returned().contains(location);
  });
}

const std::unordered_set<Location>& AliasDb::returned() {
  if (!returned_) {
    std::vector<Location> locations;
    for (const Value* output : graph_.outputs()) addReached(locations, output);
    for (const Value* value : bailout_inputs_) addReached(locations, value);
    returned_.emplace(locations.begin(), locations.end());
  }
  return *returned_;
}

namespace {

enum class KeyKind : uint8_t { Same, OfEscaped, OfWorld, Count };

MemoryKey keyOf(KeyKind kind, uint32_t number) {
  return static_cast<MemoryKey>(number) * static_cast<MemoryKey>(KeyKind::Count) + static_cast<MemoryKey>(kind);
}

}  // namespace

std::vector<MemoryKey> AliasDb::keys(Location location) {
  location = memory_.find(location);
  std::vector<MemoryKey> keys{keyOf(KeyKind::Same, location)};
  const ClassId own = memory_.classOf(location);
  if (memory_.isEscaped(location)) keys.push_back(keyOf(KeyKind::OfEscaped, own));
  if (memory_.isWorld(location)) keys.push_back(keyOf(KeyKind::OfWorld, own));
  return keys;
}

std::vector<MemoryKey> AliasDb::partners(Location location) {
  location = memory_.find(location);
  std::vector<MemoryKey> partners{keyOf(KeyKind::Same, location)};
  if (!memory_.isEscaped(location)) return partners;
  const ClassId own = memory_.classOf(location);
  for (ClassId id = 0; id < memory_.classes().size(); ++id) {
    if (!memory_.classes().compatible(own, id)) continue;
    partners.push_back(keyOf(KeyKind::OfWorld, id));
    if (memory_.isWorld(location)) partners.push_back(keyOf(KeyKind::OfEscaped, id));
  }
  return partners;
}

std::vector<Location> AliasDb::reached(const Value* value) {
  return memory_.reach(memory_.locations(variableOf(value)));
}

void AliasDb::addLocations(std::vector<Location>& to, const Value* value) {
  const auto& locations = memory_.locations(variableOf(value));
  to.insert(to.end(), locations.begin(), locations.end());
}

void AliasDb::addReached(std::vector<Location>& to, const Value* value) {
  const auto reached = memory_.reach(memory_.locations(variableOf(value)));
  to.insert(to.end(), reached.begin(), reached.end());
}

}  // namespace cresset
