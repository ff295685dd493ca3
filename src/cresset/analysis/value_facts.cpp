#include "cresset/analysis/value_facts.h"

#include <ATen/core/jit_type.h>

#include "cresset/analysis/graph_analyses.h"

namespace cresset {

using c10::TypeKind;

bool isTensor(const Value* value) {
  return value->type()->kind() == TypeKind::TensorType;
}

ValueFacts::ValueFacts(Graph& graph, bool with_sizes)
    : graph_(graph),
      memory_(aliasesOf(graph, AliasDb::When::WhenNeeded)),
      facts_{std::vector<TensorFacts>(graph.numValues()), {}, {}, {}, {}},
      with_sizes_(with_sizes),
      writes_(tensorWrites(graph)) {
  if (!with_sizes) return;
  facts_.sizes.resize(graph.numValues());
  facts_.strides.resize(graph.numValues());
  facts_.ints.resize(graph.numValues());
}

Fact ValueFacts::tensorFact(const Value* value) const {
  Fact fact = Fact::tensor(get(value));
  if (!hasSizes(value)) return fact;
  const auto sizes = facts_.sizesOf(value), strides = facts_.stridesOf(value);
  for (size_t i = 0; i < sizes.size() && i < fact.elements.size(); ++i) {
    fact.elements[i] = Fact::integer(sizes[i]);
    fact.elements[i].stride = strides[i];
  }
  return fact;
}

bool ValueFacts::isFollowed(const Value* value) const {
  return isTensor(value) || (hasSizes(value) && value->type()->kind() == TypeKind::IntType);
}

void ValueFacts::set(Value* value, const Fact& fact) {
  if (hasSizes(value) && value->type()->kind() == TypeKind::IntType) return setInt(value, fact.asSize());
  if (!isTensor(value)) return;
  if (hasSizes(value)) facts_.sizes[value->unique()].clear(), facts_.strides[value->unique()].clear();
  TensorFacts facts = fact.asTensor();
  const TensorFacts known = TensorFacts::of(*value->type());
  if (!facts.dtype) facts.dtype = known.dtype;
  if (!facts.rank) facts.rank = known.rank;
  if (!facts.device) facts.device = known.device;
  if (!facts.requires_grad) facts.requires_grad = known.requires_grad;
  if (facts.rank == 0) facts.contiguity = Contiguity::Contiguous;
  const bool has_writers = memory_->hasWriters(value);
  if (has_writers) {
    if (writes_ == TensorWrites::Anything) return;
    if (writes_ != TensorWrites::Elements)
      facts.rank = std::nullopt, facts.contiguity = common(facts.contiguity, Contiguity::Strided);
    facts.requires_grad = std::nullopt;
  }
  facts_.tensorsOf(value->graph())[value->unique()] = facts;
  if (hasSizes(value) && facts.rank) setSizes(value, fact, *facts.rank);
}

void ValueFacts::setNew(const Value* value) {
  const bool may_be_replaced = writes_ == TensorWrites::Anything && memory_->hasWriters(value);
  if (!may_be_replaced) facts_.tensorsOf(value->graph())[value->unique()].is_new = true;
}

/// A size or stride that is not known is a variable of its own.
void ValueFacts::setSizes(const Value* value, const Fact& fact, size_t rank) {
  Fact whole = Fact::tensor(get(value));
  for (size_t i = 0; i < rank; ++i) {
    Size size = fact.rank() == rank ? fact.elements[i].asSize() : Size();
    whole.elements[i] = Fact::integer(size.isKnown() ? std::move(size) : Size::ofDimension(value->unique(), i));
    facts_.sizes[value->unique()].push_back(whole.elements[i].asSize());
  }
  std::vector<Size>& strides = facts_.strides[value->unique()];
  strides = whole.contiguousStrides();
  for (size_t i = 0; i < rank; ++i) {
    if (!strides[i].isKnown() && fact.rank() == rank) strides[i] = fact.elements[i].stride;
    if (!strides[i].isKnown()) strides[i] = Size::ofStride(value->unique(), i);
  }
  blocks_[value->unique()] = value->node()->owningBlock();
}

void ValueFacts::setInt(const Value* value, const Size& size) {
  facts_.ints[value->unique()] = size.isKnown() ? size : Size::ofInt(value->unique());
  blocks_[value->unique()] = value->node()->owningBlock();
}

Fact ValueFacts::outside(Fact fact, const Node* owner) const {
  if (!with_sizes_) return fact;
  const auto hide = [&](Fact& number) {
    for (Size* size : {&number.size, &number.stride}) {
      bool is_inside = false;
      size->visitVariables([&](const Size::Variable& v) { is_inside |= isInside(v.value, owner); });
      if (is_inside) *size = Size();
    }
  };
  if (fact.isTensor()) {
    for (Fact& size : fact.elements) hide(size);
  } else {
    hide(fact);
  }
  return fact;
}

/// Whether the value, after which a variable is named, is defined in a block of `owner`.
bool ValueFacts::isInside(size_t value, const Node* owner) const {
  for (const Block* block = blocks_.at(value); block; block = block->owningNode()->owningBlock()) {
    if (block->owningNode() == owner) return true;
    if (!block->owningNode()) return false;
  }
  return false;
}

}  // namespace cresset
