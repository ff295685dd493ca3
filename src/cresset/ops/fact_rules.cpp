#include "cresset/ops/fact_rules.h"

namespace cresset {

namespace {

constexpr FactRow kRows[] = {
#define FACTS(operator_name, rule) {operator_name, rule},
#include "cresset/ops/facts_backward.def"
#include "cresset/ops/facts_creation.def"
#include "cresset/ops/facts_indexing.def"
#include "cresset/ops/facts_linalg.def"
#include "cresset/ops/facts_nn.def"
#include "cresset/ops/facts_pointwise.def"
#include "cresset/ops/facts_reductions.def"
#include "cresset/ops/facts_views.def"
#undef FACTS
};

}  // namespace

std::span<const FactRow> factRows() {
  return kRows;
}

}  // namespace cresset
