// See composites.h. One row per builtin: its schema and the expansion. What a composite computes is TorchScript's own
// definition, where that has eager's values: `1 / x` is a reciprocal times 1, with the roundings that follow.
#include "cresset/ops/composites.h"

#include <mutex>
#include <unordered_map>

#include "cresset/ir/parser.h"

namespace cresset {

namespace {

using Inputs = std::span<Value* const>;
using Expand = Value* (*)(Graph&, const SourceRange&, Inputs);

Value* apply(Graph& graph, const SourceRange& range, const char* op, const std::vector<Value*>& inputs) {
  std::vector<NamedValue> args;
  args.reserve(inputs.size());
  for (Value* input : inputs) args.emplace_back(input, range);
  return insertOp(graph, Symbol::aten(op), args, {}, range);
}

Value* swapAdd(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "add", {in[1], in[0]});
}
Value* swapMul(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "mul", {in[1], in[0]});
}
Value* swapEq(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "eq", {in[1], in[0]});
}
Value* swapNe(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "ne", {in[1], in[0]});
}
Value* swapLt(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "gt", {in[1], in[0]});
}
Value* swapLe(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "ge", {in[1], in[0]});
}
Value* swapGt(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "lt", {in[1], in[0]});
}
Value* swapGe(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "le", {in[1], in[0]});
}
/// TorchScript's definition, `-b + a`, wraps around where `b` has ints and `a` is a float: 1.5 - 200 of uint8.
Value* subFrom(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "rsub", {in[1], in[0]});
}
Value* divideBy(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "mul", {apply(g, r, "reciprocal", {in[1]}), in[0]});
}
Value* floorDivide(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "floor_divide", {in[0], in[1]});
}
/// The number becomes a tensor of the dtype that it and `b` have together.
Value* floorDivideInto(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "floor_divide", {apply(g, r, "mul", {apply(g, r, "ones_like", {in[1]}), in[0]}), in[1]});
}
template <const char* kOp>
Value* ofNumberAndTensor(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, kOp, {in[0], in[1]});
}
constexpr char kAnd[] = "bitwise_and", kOr[] = "bitwise_or", kXor[] = "bitwise_xor";
constexpr char kLeftShift[] = "bitwise_left_shift", kRightShift[] = "bitwise_right_shift";
Value* same(Graph& g, const SourceRange& r, Inputs in) {
  return in[0];
}
Value* dim(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "dim", {in[0]});
}
Value* numpyT(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "numpy_T", {in[0]});
}
Value* matrixH(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "matrix_H", {in[0]});
}
Value* size(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "size", {in[0]});
}
Value* toType(Graph& g, const SourceRange& r, Inputs in) {
  return apply(g, r, "to", {in.begin(), in.end()});
}
Value* containsSubstring(Graph& g, const SourceRange& r, Inputs in) {
  Value* length = apply(g, r, "len", {in[0]});
  Value* found = apply(g, r, "find", {in[0], in[1], g.insertConstant(int64_t(0)), length});
  return apply(g, r, "ne", {found, g.insertConstant(int64_t(-1))});
}

struct Text {
  const char* schema;
  Expand expand;
};

#define SWAPPED(NAME, EXPAND)                              \
  {"aten::" NAME "(int a, Tensor b) -> Tensor", EXPAND}, { \
    "aten::" NAME "(float a, Tensor b) -> Tensor", EXPAND  \
  }
#define SWAPPED_COMPLEX(NAME, EXPAND)                       \
  SWAPPED(NAME, EXPAND), {                                  \
    "aten::" NAME "(complex a, Tensor b) -> Tensor", EXPAND \
  }
#define INTEGERS(NAME, EXPAND)                             \
  {"aten::" NAME "(int a, Tensor b) -> Tensor", EXPAND}, { \
    "aten::" NAME "(bool a, Tensor b) -> Tensor", EXPAND   \
  }
#define NTUPLE(NAME, N)                                  \
  {"aten::" NAME "(float[" N "] x) -> float[]", same}, { \
    "aten::" NAME "(int[" N "] x) -> int[]", same        \
  }

constexpr Text kTexts[] = {
    SWAPPED_COMPLEX("add", swapAdd),
    SWAPPED_COMPLEX("mul", swapMul),
    SWAPPED_COMPLEX("eq", swapEq),
    SWAPPED_COMPLEX("ne", swapNe),
    SWAPPED_COMPLEX("sub", subFrom),
    SWAPPED_COMPLEX("div", divideBy),
    SWAPPED("lt", swapLt),
    SWAPPED("le", swapLe),
    SWAPPED("gt", swapGt),
    SWAPPED("ge", swapGe),
    SWAPPED("floordiv", floorDivideInto),
    INTEGERS("__and__", ofNumberAndTensor<kAnd>),
    INTEGERS("__or__", ofNumberAndTensor<kOr>),
    INTEGERS("__xor__", ofNumberAndTensor<kXor>),
    INTEGERS("__lshift__", ofNumberAndTensor<kLeftShift>),
    INTEGERS("__rshift__", ofNumberAndTensor<kRightShift>),
    NTUPLE("_single", "1"),
    NTUPLE("_pair", "2"),
    NTUPLE("_triple", "3"),
    NTUPLE("_quadruple", "4"),
    {"aten::floordiv(Tensor self, Tensor other) -> Tensor", floorDivide},
    {"aten::floordiv(Tensor self, Scalar other) -> Tensor", floorDivide},
    {"aten::ndim(Tensor a) -> int", dim},
    {"aten::T(Tensor a) -> Tensor", numpyT},
    {"aten::H(Tensor a) -> Tensor", matrixH},
    {"aten::shape(Tensor a) -> int[]", size},
    {"aten::type(Tensor self, int dtype, bool non_blocking=False, bool copy=False) -> Tensor", toType},
    {"aten::__contains__(str self, str key) -> bool", containsSubstring},
};
#undef SWAPPED
#undef SWAPPED_COMPLEX
#undef INTEGERS
#undef NTUPLE

}  // namespace

std::span<const Composite> compositesOf(Symbol name) {
  static const auto* table = [] {
    auto* made = new std::unordered_map<Symbol, std::vector<Composite>>();
    for (const Text& text : kTexts) {
      auto schema = parseSchema(text.schema);
      Symbol symbol = Symbol::fromQualString(schema.name());
      (*made)[symbol].push_back({std::move(schema), text.expand});
    }
    return made;
  }();
  auto it = table->find(name);
  return it == table->end() ? std::span<const Composite>() : std::span<const Composite>(it->second);
}

}  // namespace cresset
