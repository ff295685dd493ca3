// What neither schemas nor the dispatcher's tags say of operators, by name.
#include <string_view>
#include <unordered_map>

#include "cresset/ops/operator.h"

namespace cresset {

namespace {

using std::string_view;

struct NamedTrait {
  string_view name;  // with an overload, or without for all overloads
  Trait trait;
};

constexpr Trait kTotal = Trait::NeverRaises;
constexpr Trait kFloats = Trait::NeverRaisesOnFloats;
constexpr Trait kShares = Trait::MayShareArguments;

constexpr NamedTrait kNamedTraits[] = {
    // Integers wrap around, floats have infinities: these give a result for all numbers.
    {"aten::add.int", kTotal},
    {"aten::add.float", kTotal},
    {"aten::add.complex", kTotal},
    {"aten::add.int_float", kTotal},
    {"aten::add.float_int", kTotal},
    {"aten::add.str", kTotal},
    {"aten::sub.int", kTotal},
    {"aten::sub.float", kTotal},
    {"aten::sub.complex", kTotal},
    {"aten::sub.int_float", kTotal},
    {"aten::sub.float_int", kTotal},
    {"aten::mul.int", kTotal},
    {"aten::mul.float", kTotal},
    {"aten::mul.complex", kTotal},
    {"aten::mul.int_float", kTotal},
    {"aten::mul.float_int", kTotal},
    {"aten::neg.int", kTotal},
    {"aten::neg.float", kTotal},
    {"aten::neg.complex", kTotal},
    {"prim::min.int", kTotal},
    {"prim::min.float", kTotal},
    {"prim::min.int_float", kTotal},
    {"prim::min.float_int", kTotal},
    {"prim::max.int", kTotal},
    {"prim::max.float", kTotal},
    {"prim::max.int_float", kTotal},
    {"prim::max.float_int", kTotal},
    {"prim::abs.int", kTotal},
    {"prim::abs.float", kTotal},
    {"aten::__and__.int", kTotal},
    {"aten::__or__.int", kTotal},
    {"aten::__xor__.int", kTotal},
    {"aten::__and__.bool", kTotal},
    {"aten::__or__.bool", kTotal},
    {"aten::__xor__.bool", kTotal},
    {"aten::__not__", kTotal},
    {"aten::eq.int", kTotal},
    {"aten::eq.float", kTotal},
    {"aten::eq.bool", kTotal},
    {"aten::eq.int_float", kTotal},
    {"aten::eq.float_int", kTotal},
    {"aten::eq.str", kTotal},
    {"aten::eq.device", kTotal},
    {"aten::eq.int_list", kTotal},
    {"aten::ne.int", kTotal},
    {"aten::ne.float", kTotal},
    {"aten::ne.bool", kTotal},
    {"aten::ne.int_float", kTotal},
    {"aten::ne.float_int", kTotal},
    {"aten::ne.str", kTotal},
    {"aten::ne.device", kTotal},
    {"aten::ne.int_list", kTotal},
    {"aten::lt.int", kTotal},
    {"aten::lt.float", kTotal},
    {"aten::lt.int_float", kTotal},
    {"aten::lt.float_int", kTotal},
    {"aten::gt.int", kTotal},
    {"aten::gt.float", kTotal},
    {"aten::gt.int_float", kTotal},
    {"aten::gt.float_int", kTotal},
    {"aten::le.int", kTotal},
    {"aten::le.float", kTotal},
    {"aten::le.int_float", kTotal},
    {"aten::le.float_int", kTotal},
    {"aten::ge.int", kTotal},
    {"aten::ge.float", kTotal},
    {"aten::ge.int_float", kTotal},
    {"aten::ge.float_int", kTotal},
    {"aten::__is__", kTotal},
    {"aten::__isnot__", kTotal},
    {"aten::Bool.int", kTotal},
    {"aten::Bool.float", kTotal},
    {"aten::Int.bool", kTotal},
    {"aten::Float.int", kTotal},
    {"aten::Float.bool", kTotal},
    {"aten::isnan.float", kTotal},
    {"aten::isinf.float", kTotal},
    {"aten::isfinite.float", kTotal},
    {"aten::__derive_index", kTotal},
    // Containers.
    {"aten::len.t", kTotal},
    {"aten::len.any", kTotal},
    {"aten::len.str", kTotal},
    {"aten::append.t", kTotal},
    {"aten::extend.t", kTotal},
    {"aten::clear.t", kTotal},
    {"aten::reverse.t", kTotal},
    {"aten::copy.t", kTotal},
    {"aten::list.t", kTotal},
    {"aten::add.t", kTotal},
    {"aten::list", kTotal},
    {"aten::Size", kTotal},
    {"prim::unchecked_unwrap_optional", kTotal},
    {"prim::IfThenElse", kTotal},
    {"prim::EnumName", kTotal},
    {"prim::EnumValue.int", kTotal},
    {"prim::EnumValue.float", kTotal},
    {"prim::EnumValue.str", kTotal},
    // What every tensor has.
    {"aten::dim", kTotal},
    {"prim::device", kTotal},
    {"prim::dtype", kTotal},
    {"prim::layout", kTotal},
    {"prim::requires_grad", kTotal},
    {"prim::is_cuda", kTotal},
    {"prim::is_cpu", kTotal},
    {"prim::is_sparse", kTotal},
    {"prim::is_quantized", kTotal},
    {"aten::is_floating_point", kTotal},
    {"aten::is_complex", kTotal},
    {"aten::is_scripting", kTotal},
    {"aten::_get_tracing_state", kTotal},
    {"aten::detach", kTotal},
    {"aten::alias", kTotal},

    // One tensor of floats, element by element.
    {"aten::abs", kFloats},
    {"aten::neg", kFloats},
    {"aten::exp", kFloats},
    {"aten::exp2", kFloats},
    {"aten::expm1", kFloats},
    {"aten::log", kFloats},
    {"aten::log2", kFloats},
    {"aten::log10", kFloats},
    {"aten::log1p", kFloats},
    {"aten::sqrt", kFloats},
    {"aten::rsqrt", kFloats},
    {"aten::sin", kFloats},
    {"aten::cos", kFloats},
    {"aten::tan", kFloats},
    {"aten::asin", kFloats},
    {"aten::acos", kFloats},
    {"aten::atan", kFloats},
    {"aten::sinh", kFloats},
    {"aten::cosh", kFloats},
    {"aten::tanh", kFloats},
    {"aten::asinh", kFloats},
    {"aten::acosh", kFloats},
    {"aten::atanh", kFloats},
    {"aten::sigmoid", kFloats},
    {"aten::relu", kFloats},
    {"aten::relu6", kFloats},
    {"aten::silu", kFloats},
    {"aten::gelu", kFloats},
    {"aten::mish", kFloats},
    {"aten::hardswish", kFloats},
    {"aten::hardsigmoid", kFloats},
    {"aten::selu", kFloats},
    {"aten::log_sigmoid", kFloats},
    {"aten::erf", kFloats},
    {"aten::erfc", kFloats},
    {"aten::erfinv", kFloats},
    {"aten::reciprocal", kFloats},
    {"aten::square", kFloats},
    {"aten::sign", kFloats},
    {"aten::floor", kFloats},
    {"aten::ceil", kFloats},
    {"aten::trunc", kFloats},
    {"aten::frac", kFloats},
    {"aten::round", kFloats},
    {"aten::isnan", kFloats},
    {"aten::isinf", kFloats},
    {"aten::isfinite", kFloats},
    {"aten::logical_not", kFloats},
    {"aten::add.Scalar", kFloats},
    {"aten::sub.Scalar", kFloats},
    {"aten::mul.Scalar", kFloats},
    {"aten::div.Scalar", kFloats},
    {"aten::rsub.Scalar", kFloats},
    {"aten::pow.Tensor_Scalar", kFloats},
    {"aten::eq.Scalar", kFloats},
    {"aten::ne.Scalar", kFloats},
    {"aten::lt.Scalar", kFloats},
    {"aten::le.Scalar", kFloats},
    {"aten::gt.Scalar", kFloats},
    {"aten::ge.Scalar", kFloats},

    // Composites that give an argument itself, or a view of it, for some arguments, and whose schemas say "fresh".
    // tests/python/test_alias_annotations.py finds such operators.
    {"aten::dropout", kShares},
    {"aten::alpha_dropout", kShares},
    {"aten::feature_dropout", kShares},
    {"aten::feature_alpha_dropout", kShares},
    {"aten::type_as", kShares},
    {"aten::broadcast_tensors", kShares},
    {"aten::meshgrid", kShares},
    {"aten::atleast_1d", kShares},
    {"aten::atleast_2d", kShares},
    {"aten::atleast_3d", kShares},
    {"aten::einsum", kShares},
    {"aten::_unsafe_view", kShares},
    {"aten::_reshape_alias", kShares},
    {"aten::sum_to_size", kShares},
    {"aten::chain_matmul", kShares},
    {"aten::conj_physical", kShares},
    {"aten::histogramdd", kShares},
    {"aten::unsafe_chunk", kShares},
    {"aten::unsafe_split", kShares},
    {"aten::unsafe_split_with_sizes", kShares},
};

}  // namespace

Trait namedTraits(string_view full_name) {
  static const auto* index = [] {
    auto* map = new std::unordered_map<string_view, Trait>;
    for (const NamedTrait& entry : kNamedTraits) {
      Trait& traits = (*map)[entry.name];
      traits = traits | entry.trait;
    }
    return map;
  }();
  Trait found = Trait::None;
  const auto look = [&](string_view name) {
    if (auto it = index->find(name); it != index->end()) found = found | it->second;
  };
  look(full_name);
  if (const size_t dot = full_name.find('.'); dot != string_view::npos) look(full_name.substr(0, dot));
  return found;
}

}  // namespace cresset
