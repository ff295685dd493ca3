// Functions of rules for facts that compute dtypes.
#include <c10/core/DefaultDtype.h>
#include <c10/core/ScalarType.h>

#include "cresset/analysis/fact_functions.h"

namespace cresset::fact_functions {

namespace {

at::ScalarType defaultDtype() {
  return c10::typeMetaToScalarType(c10::get_default_dtype());
}

/// What PyTorch's type promotion looks at: the highest dtype among tensors with dimensions, among those without, and
/// among numbers. A lower class counts only if its category (bool, integer, float, complex) is a higher one.
struct Promotion {
  at::ScalarType with_dims = at::ScalarType::Undefined, without = at::ScalarType::Undefined,
                 numbers = at::ScalarType::Undefined;
  bool known = true;
  bool ranks_known = true;
  std::optional<at::ScalarType> of_unknown_rank;

  at::ScalarType highest(at::ScalarType a, at::ScalarType b) {
    if (a == at::ScalarType::Undefined) return b;
    if (b == at::ScalarType::Undefined) return a;
    try {
      return c10::promoteTypes(a, b);
    } catch (const c10::Error&) {  // some have no common type: the program raises, if it gets here
      known = false;
      return a;
    }
  }

  at::ScalarType combine(at::ScalarType higher, at::ScalarType lower) {
    if (higher == at::ScalarType::Undefined) return lower;
    if (c10::isBarebonesUnsignedType(higher) && c10::isComplexType(lower)) return lower;
    if (lower == at::ScalarType::Undefined || c10::isComplexType(higher)) return higher;
    if (c10::isFloatingType(higher))
      return c10::isComplexType(lower) ? highest(higher, c10::ScalarType::ComplexHalf) : higher;
    if (higher == at::kBool || c10::isFloatingType(lower) || c10::isComplexType(lower)) return highest(higher, lower);
    return higher;
  }

  void add(const Fact& operand) {
    const auto addNumber = [&](at::ScalarType dtype) { numbers = highest(numbers, dtype); };
    switch (operand.kind) {
      case Kind::None:
        return;
      case Kind::Int:
        return addNumber(at::kLong);
      case Kind::Float:
        return addNumber(defaultDtype());
      case Kind::Bool:
        return addNumber(at::kBool);
      case Kind::Complex:
        return addNumber(c10::toComplexType(defaultDtype()));
      case Kind::List:
      case Kind::ListOf:
        if (operand.elements.empty()) known = false;
        for (const Fact& element : operand.elements) add(element);
        return;
      case Kind::Tensor:
        return addTensor(operand);
      default:
        known = false;
    }
  }

  void addTensor(const Fact& tensor) {
    if (!tensor.dtype) {
      known = false;
    } else if (!tensor.has_sizes) {
      ranks_known &= !of_unknown_rank || *of_unknown_rank == *tensor.dtype;
      of_unknown_rank = tensor.dtype;
    } else {
      at::ScalarType& dtype = tensor.elements.empty() ? without : with_dims;
      dtype = highest(dtype, *tensor.dtype);
    }
  }

  std::optional<at::ScalarType> result() {
    if (!known || !ranks_known) return std::nullopt;
    const auto total = [&](at::ScalarType dims, at::ScalarType no_dims) {
      return combine(dims, combine(no_dims, numbers));
    };
    auto found = total(with_dims, without);
    if (of_unknown_rank) {
      found = total(highest(with_dims, *of_unknown_rank), without);
      if (found != total(with_dims, highest(without, *of_unknown_rank))) return std::nullopt;
    }
    return !known || found == at::ScalarType::Undefined ? std::nullopt : std::optional(found);
  }
};

/// promote(x, …): of tensors, lists of tensors and numbers.
Fact promote(Facts a) {
  Promotion promotion;
  for (const Fact& operand : a) promotion.add(operand);
  return Fact::ofDtype(promotion.result());
}

/// Calls `visit` with the dtype of each operand, and of each element of lists; false if one is unknown.
template <typename F>
bool visitDtypes(Facts operands, F visit) {
  for (const Fact& operand : operands) {
    if (operand.kind == Kind::None) continue;
    if (operand.kind == Kind::List || operand.kind == Kind::ListOf) {
      if (operand.elements.empty() || !visitDtypes(operand.elements, visit)) return false;
      continue;
    }
    const auto dtype = dtypeOf(operand);
    if (!dtype) return false;
    visit(*dtype);
  }
  return true;
}

/// widest(x, …): as promote, for operators to which tensors without dimensions are like others.
Fact widest(Facts a) {
  Promotion promotion;
  auto widest = at::ScalarType::Undefined;
  const bool known = visitDtypes(a, [&](at::ScalarType dtype) { widest = promotion.highest(widest, dtype); });
  return known && promotion.known && widest != at::ScalarType::Undefined ? Fact::ofDtype(widest) : Fact();
}

/// agreed(x, …): the dtype that all have. Operators which mix dtypes in ways of their own have no other rule.
Fact agreed(Facts a) {
  auto one = at::ScalarType::Undefined;
  bool agree = true;
  const bool known = visitDtypes(a, [&](at::ScalarType dtype) {
    agree &= one == at::ScalarType::Undefined || one == dtype;
    one = dtype;
  });
  return known && agree && one != at::ScalarType::Undefined ? Fact::ofDtype(one) : Fact();
}

template <typename F>
Fact mapDtype(Facts a, F map) {
  const auto dtype = dtypeOf(argument(a, 0));
  return dtype ? Fact::ofDtype(map(*dtype)) : Fact();
}

/// floating(t): integers and bools compute in the default dtype.
Fact floating(Facts a) {
  return mapDtype(a, [](at::ScalarType t) { return c10::isIntegralType(t, true) ? defaultDtype() : t; });
}

/// accumulated(t): integers and bools add up to int64.
Fact accumulated(Facts a) {
  return mapDtype(a, [](at::ScalarType t) { return c10::isIntegralType(t, true) ? at::kLong : t; });
}

/// summed_dtype(self, dtype): of a sum along dimensions. Sums of sparse tensors may be of int64 where another dtype of
/// integers was asked for.
Fact summedDtype(Facts a) {
  const Fact asked = argument(a, 1);
  if (asked.kind == Kind::None) return accumulated(a);
  const auto dtype = dtypeOf(asked);
  return dtype && (*dtype == at::kLong || !c10::isIntegralType(*dtype, true)) ? Fact::ofDtype(dtype) : Fact();
}

/// real(t): of the parts of complex numbers.
Fact real(Facts a) {
  return mapDtype(a, [](at::ScalarType t) { return c10::toRealValueType(t); });
}

/// complex(t): the complex dtype of which t is the dtype of the parts.
Fact complexOf(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  const bool has =
      dtype == at::kFloat || dtype == at::kDouble || dtype == at::kHalf || (dtype && c10::isComplexType(*dtype));
  return has ? Fact::ofDtype(c10::toComplexType(*dtype)) : Fact();
}

Fact isFloating(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype ? std::optional(c10::isFloatingType(*dtype)) : std::nullopt);
}

/// Of a tensor of unknown dtype: no. Those that are quantized come from arguments, or from operators whose rules say
/// so.
Fact isQuantized(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype && c10::isQIntType(*dtype));
}

Fact isComplex(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype ? std::optional(c10::isComplexType(*dtype)) : std::nullopt);
}

Fact isIntegral(Facts a) {
  const auto dtype = dtypeOf(argument(a, 0));
  return Fact::boolean(dtype ? std::optional(c10::isIntegralType(*dtype, true)) : std::nullopt);
}

/// same(t, u): whether the dtypes are one.
Fact sameDtype(Facts a) {
  const auto x = dtypeOf(argument(a, 0)), y = dtypeOf(argument(a, 1));
  return Fact::boolean(x && y ? std::optional(*x == *y) : std::nullopt);
}

constexpr Function kDtypeFunctions[] = {
    {"promote", promote},
    {"widest", widest},
    {"agreed", agreed},
    {"floating", floating},
    {"accumulated", accumulated},
    {"summed_dtype", summedDtype},
    {"real", real},
    {"complex", complexOf},
    {"is_floating", isFloating},
    {"is_complex", isComplex},
    {"is_quantized", isQuantized},
    {"is_integral", isIntegral},
    {"same", sameDtype},
};

}  // namespace

std::span<const Function> ofDtypes() {
  return kDtypeFunctions;
}

}  // namespace cresset::fact_functions
