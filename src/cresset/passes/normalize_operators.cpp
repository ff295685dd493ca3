// One name for operators that PyTorch has under several: `torch.absolute` becomes `aten::abs`, so that whoever reads or
// rewrites graphs has to know one of them.
//
// The other name calls the same kernel with the same arguments. A call is renamed only if the table has an overload
// whose schema takes and returns the same; so numbers, of which one name may be a builtin, stay.
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cresset/ops/operator.h"
#include "cresset/passes/pass.h"

namespace cresset {
namespace {

struct Alias {
  std::string_view name, normal;
  bool has_in_place_form = true;  // `absolute_` beside `absolute`
};

constexpr std::array kAliases = {
    Alias{"absolute", "abs"},
    Alias{"arccos", "acos"},
    Alias{"arccosh", "acosh"},
    Alias{"arcsin", "asin"},
    Alias{"arcsinh", "asinh"},
    Alias{"arctan", "atan"},
    Alias{"arctan2", "atan2"},
    Alias{"arctanh", "atanh"},
    Alias{"clip", "clamp"},
    Alias{"concat", "cat", false},
    Alias{"concatenate", "cat", false},
    Alias{"degrees", "rad2deg"},
    Alias{"divide", "div"},
    Alias{"fix", "trunc"},
    Alias{"ger", "outer", false},
    Alias{"greater", "gt"},
    Alias{"greater_equal", "ge"},
    Alias{"inverse", "linalg_inv", false},
    Alias{"less", "lt"},
    Alias{"less_equal", "le"},
    Alias{"linalg_det", "det", false},
    Alias{"linalg_matmul", "matmul", false},
    Alias{"moveaxis", "movedim", false},
    Alias{"multiply", "mul"},
    Alias{"negative", "neg"},
    Alias{"not_equal", "ne"},
    Alias{"orgqr", "linalg_householder_product", false},
    Alias{"radians", "deg2rad"},
    Alias{"row_stack", "vstack", false},
    Alias{"special_digamma", "digamma", false},
    Alias{"special_erf", "erf", false},
    Alias{"special_erfc", "erfc", false},
    Alias{"special_erfinv", "erfinv", false},
    Alias{"special_exp2", "exp2", false},
    Alias{"special_expit", "sigmoid", false},
    Alias{"special_expm1", "expm1", false},
    Alias{"special_gammaln", "lgamma", false},
    Alias{"special_i0", "i0", false},
    Alias{"special_log1p", "log1p", false},
    Alias{"special_psi", "digamma", false},
    Alias{"special_sinc", "sinc", false},
    Alias{"subtract", "sub"},
    Alias{"swapaxes", "transpose"},
    Alias{"swapdims", "transpose"},
    Alias{"true_divide", "div"},
};

const std::unordered_map<std::string, std::string>& aliases() {
  static const auto* table = [] {
    auto* names = new std::unordered_map<std::string, std::string>();
    for (const Alias& alias : kAliases) {
      const std::string name = "aten::" + std::string(alias.name), normal = "aten::" + std::string(alias.normal);
      names->emplace(name, normal);
      if (alias.has_in_place_form) names->emplace(name + "_", normal + "_");
    }
    return names;
  }();
  return *table;
}

/// Whether calls of one are calls of the other: arguments of the same types and order, what is left out the same.
bool takesTheSame(const c10::FunctionSchema& a, const c10::FunctionSchema& b) {
  const auto same = [](const std::vector<c10::Argument>& x, const std::vector<c10::Argument>& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (*x[i].real_type() != *y[i].real_type() || isWritten(x[i]) != isWritten(y[i])) return false;
    }
    return true;
  };
  return same(a.arguments(), b.arguments()) && same(a.returns(), b.returns());
}

/// The overload of `kind` that takes the same as `op`; null if there is none. Overloads of one operator may have other
/// names than those of the other.
const Operator* sameOverload(Symbol kind, const Operator& op) {
  for (const Operator* candidate : OperatorTable::get().overloads(kind)) {
    if (takesTheSame(op.schema(), candidate->schema())) return candidate;
  }
  return nullptr;
}

bool normalize(Node* node) {
  const auto found = aliases().find(node->kind().toQualString());
  const Operator* op = found == aliases().end() ? nullptr : operatorOf(*node);
  if (!op) return false;
  const Symbol kind = Symbol::fromQualString(found->second);
  const Operator* normal = sameOverload(kind, *op);
  if (!normal) return false;
  node->setKind(kind);
  node->bindOperator(normal);
  return true;
}

bool normalizeIn(Block* block) {
  bool changed = false;
  for (Node* node : block->nodes()) {
    for (Block* inner : node->blocks()) changed |= normalizeIn(inner);
    if (!isStructural(node->kind())) changed |= normalize(node);
  }
  return changed;
}

}  // namespace

bool normalizeOperators(Graph& graph) {
  return normalizeIn(graph.block());
}

}  // namespace cresset
