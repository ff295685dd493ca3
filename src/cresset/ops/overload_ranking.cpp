// The order in which overloads of one name are tried.
//
// It matters only where one call fits several overloads in the same round of matching; then the first wins, and the
// winner has to be the one that TorchScript picks. The rules: a variant with an `out` argument comes after all others,
// Cresset's own rows come after the dispatcher's, in the order of the tables (rows.h), and the dispatcher's come by
// OVERLOAD_ORDER where the order decides anything, else by overload name, which makes the order the same in every
// process whatever order libraries registered in.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/operator_rows.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

constexpr ColumnCell<std::string_view> kOrders[] = {
#define OPERATOR(name)
#define OVERLOADS(name) {name, {}},
#define OVERLOAD_ORDER(order) {{}, order},
#include "cresset/ops/table/table.def"
};

/// Where an overload stands in a list that spaces separate; '-' is the one without a name.
size_t positionIn(std::string_view list, std::string_view overload) {
  if (overload.empty()) overload = "-";
  size_t position = 0;
  while (!list.empty()) {
    auto word = list.substr(0, list.find(' '));
    if (word == overload) return position;
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    ++position;
  }
  return position;
}

}  // namespace

void rankOverloads(std::string_view name, std::vector<const Operator*>& overloads) {
  if (overloads.size() < 2) return;
  static const auto* orders = new auto(byOperator(kOrders));
  const auto found = orders->find(name);
  const std::string_view order = found == orders->end() ? std::string_view() : found->second;
  auto key = [&](const Operator* op) {
    bool own = !op->isOfDispatcher();
    const std::string& overload = op->schema().overload_name();
    // Where no rank is given, what takes tensors goes first.
    bool tensor = overload.empty() || overload.starts_with("Tensor");
    return std::tuple(
        own, hasOutArgument(op->schema()), positionIn(order, overload), own || !tensor,
        own ? std::string_view() : std::string_view(overload));
  };
  std::stable_sort(overloads.begin(), overloads.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
}

}  // namespace cresset
