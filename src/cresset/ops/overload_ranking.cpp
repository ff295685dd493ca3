// The order in which overloads of one name are tried.
//
// It matters only where one call fits several overloads in the same round of matching; then the first wins, and the
// winner has to be the one that TorchScript picks. The rules: a variant with an `out` argument comes after all others,
// Cresset's own rows come after the dispatcher's, in the order of the tables (rows.h), and the dispatcher's come by
// kRanks where the order decides anything, else by overload name, which makes the order the same in every process
// whatever order libraries registered in.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "cresset/ops/operator.h"
#include "cresset/ops/rows.h"

namespace cresset {

namespace {

struct Rank {
  std::string_view name;
  std::string_view overloads;  // separated by spaces; '-' is the overload without a name
};

constexpr Rank kRanks[] = {
    {"aten::__and__", "bool int"},
    {"aten::__or__", "bool int"},
    {"aten::__xor__", "bool int"},
    {"aten::__contains__", "int_list str_list str int bool float complex Tensor float_list"},
    {"aten::__getitem__", "t str"},
    {"aten::as_tensor", "bool float int complex - list"},
    {"aten::count", "-"},
    {"aten::dict",
     "- str Dict_str int Dict_int bool Dict_bool float Dict_float complex Dict_complex Tensor Dict_Tensor"},
    {"aten::index", "Tensor Tensor_hacked_twin str"},
    {"aten::len", "t Tensor str Dict_str Dict_int Dict_bool Dict_float Dict_complex Dict_Tensor any"},
    {"aten::list", "- t"},
    {"aten::log", "int float complex Scalar"},
    {"aten::sort", "- int float Tensor bool str any"},
    {"aten::sorted", "int float Tensor bool str any"},
    {"aten::tensor", "bool float int complex -"},
    {"prim::max", "int float int_float float_int -"},
    {"prim::min", "int float int_float float_int -"},
    // Where both fit in one round of matching.
    {"aten::_foreach_clamp_max", "Scalar List ScalarList"},
    {"aten::_foreach_clamp_max_", "Scalar List ScalarList"},
    {"aten::_foreach_clamp_min", "Scalar List ScalarList"},
    {"aten::_foreach_clamp_min_", "Scalar List ScalarList"},
    {"aten::_foreach_maximum", "Scalar List ScalarList"},
    {"aten::_foreach_maximum_", "Scalar List ScalarList"},
    {"aten::_foreach_minimum", "Scalar List ScalarList"},
    {"aten::_foreach_minimum_", "Scalar List ScalarList"},
    {"aten::_foreach_sub", "Scalar List ScalarList"},
    {"aten::_foreach_sub_", "Scalar List ScalarList"},
    {"aten::_sparse_log_softmax", "int -"},
    {"aten::_sparse_softmax", "int -"},
    {"aten::dsplit", "int array"},
    {"aten::hsplit", "int array"},
    {"aten::vsplit", "int array"},
    {"aten::linalg_matrix_rank", "- tol_tensor atol_rtol_tensor atol_rtol_float"},
    {"aten::sparse_coo_tensor", "size indices indices_size"},
    {"aten::std", "- dim correction"},
    {"aten::std_mean", "- dim correction"},
    {"aten::var", "- dim correction"},
    {"aten::var_mean", "- dim correction"},
    {"aten::max", "other - dim"},
    {"aten::min", "other - dim"},
    {"aten::linspace", "Tensor_Tensor Tensor_Scalar Scalar_Tensor -"},
    {"aten::logspace", "Tensor_Tensor Tensor_Scalar Scalar_Tensor -"},
    {"aten::normal", "Tensor_float float_Tensor Tensor_Tensor float_float"},
    {"aten::pow", "Tensor_Tensor Tensor_Scalar Scalar"},
    {"aten::range", "step -"},
    {"aten::result_type", "Tensor Scalar Scalar_Tensor Scalar_Scalar"},
    {"aten::split", "Tensor sizes"},
    {"aten::sum", "dim_IntList -"},
    {"aten::to", "device dtype other dtype_layout"},
    {"aten::where", "self ScalarOther ScalarSelf Scalar -"},
};

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

bool hasOutArgument(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  return std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& a) { return a.is_out(); });
}

}  // namespace

void rankOverloads(std::string_view name, std::vector<const Operator*>& overloads) {
  if (overloads.size() < 2) return;
  std::string_view ranks;
  for (const Rank& rank : kRanks) {
    if (rank.name == name) ranks = rank.overloads;
  }
  auto key = [&](const Operator* op) {
    bool own = !op->isOfDispatcher();
    const std::string& overload = op->schema().overload_name();
    // Where no rank is given, what takes tensors goes first.
    bool tensor = overload.empty() || overload.starts_with("Tensor");
    return std::tuple(
        own, hasOutArgument(op->schema()), positionIn(ranks, overload), own || !tensor,
        own ? std::string_view() : std::string_view(overload));
  };
  std::stable_sort(overloads.begin(), overloads.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
}

}  // namespace cresset
