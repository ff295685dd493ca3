// See upgraders.h.
#include "cresset/ops/upgraders.h"

namespace cresset {

namespace {

// torch.div divided integers as C does, until format 4. A complex tensor counts as no float, and is refused now as
// then.
constexpr std::string_view kDivTensor = R"(
def div_tensor(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return torch.true_divide(self, other)
  return torch.divide(self, other, rounding_mode="trunc")
)";
constexpr std::string_view kDivScalar = R"(
def div_scalar(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return torch.true_divide(self, other)
  return torch.divide(self, other, rounding_mode="trunc")
)";
constexpr std::string_view kDivOut = R"(
def div_out(self: Tensor, other: Tensor, out: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point() or out.is_floating_point():
    return torch.true_divide(self, other, out=out)
  return torch.divide(self, other, rounding_mode="trunc", out=out)
)";
constexpr std::string_view kDivInPlaceTensor = R"(
def div_in_place_tensor(self: Tensor, other: Tensor) -> Tensor:
  if self.is_floating_point() or other.is_floating_point():
    return self.true_divide_(other)
  return self.divide_(other, rounding_mode="trunc")
)";
constexpr std::string_view kDivInPlaceScalar = R"(
def div_in_place_scalar(self: Tensor, other: number) -> Tensor:
  if self.is_floating_point() or isinstance(other, float):
    return self.true_divide_(other)
  return self.divide_(other, rounding_mode="trunc")
)";

// With a rounding mode, division always meant what it means now; only the schema's defaults are historic.
constexpr std::string_view kDivTensorMode = R"(
def div_tensor_mode(self: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
  return torch.divide(self, other, rounding_mode=rounding_mode)
)";
constexpr std::string_view kDivScalarMode = R"(
def div_scalar_mode(self: Tensor, other: number, rounding_mode: Optional[str]) -> Tensor:
  return torch.divide(self, other, rounding_mode=rounding_mode)
)";
constexpr std::string_view kDivOutMode = R"(
def div_out_mode(self: Tensor, other: Tensor, rounding_mode: Optional[str], out: Tensor) -> Tensor:
  return torch.divide(self, other, rounding_mode=rounding_mode, out=out)
)";
constexpr std::string_view kDivInPlaceTensorMode = R"(
def div_in_place_tensor_mode(self: Tensor, other: Tensor, rounding_mode: Optional[str]) -> Tensor:
  return self.divide_(other, rounding_mode=rounding_mode)
)";
constexpr std::string_view kDivInPlaceScalarMode = R"(
def div_in_place_scalar_mode(self: Tensor, other: number, rounding_mode: Optional[str]) -> Tensor:
  return self.divide_(other, rounding_mode=rounding_mode)
)";

// torch.full made floats of ints and bools unless a dtype was given, until format 5.
constexpr std::string_view kFull = R"(
def full(size: List[int], fill_value: number, dtype: Optional[int], layout: Optional[int], device: Optional[Device],
         pin_memory: Optional[bool]) -> Tensor:
  if dtype is None:
    fill_value = float(fill_value)
  return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)";
constexpr std::string_view kFullOut = R"(
def full_out(size: List[int], fill_value: number, out: Tensor) -> Tensor:
  return torch.full(size, fill_value, out=out)
)";

// The number of steps had a default of 100, until formats 8 and 9.
constexpr std::string_view kLinspace = R"(
def linspace(start: number, end: number, steps: Optional[int], dtype: Optional[int], layout: Optional[int],
             device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
  count = 100 if steps is None else steps
  return torch.linspace(start, end, count, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)";
constexpr std::string_view kLinspaceOut = R"(
def linspace_out(start: number, end: number, steps: Optional[int], out: Tensor) -> Tensor:
  count = 100 if steps is None else steps
  return torch.linspace(start, end, count, out=out)
)";
constexpr std::string_view kLogspace = R"(
def logspace(start: number, end: number, steps: Optional[int], base: float, dtype: Optional[int],
             layout: Optional[int], device: Optional[Device], pin_memory: Optional[bool]) -> Tensor:
  count = 100 if steps is None else steps
  return torch.logspace(start, end, count, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
)";
constexpr std::string_view kLogspaceOut = R"(
def logspace_out(start: number, end: number, steps: Optional[int], base: float, out: Tensor) -> Tensor:
  count = 100 if steps is None else steps
  return torch.logspace(start, end, count, base, out=out)
)";

// torch.gelu had no choice of approximation, until format 10.
constexpr std::string_view kGelu = R"(
def gelu(self: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none")
)";
constexpr std::string_view kGeluOut = R"(
def gelu_out(self: Tensor, out: Tensor) -> Tensor:
  return torch.gelu(self, approximate="none", out=out)
)";

constexpr Upgrader kUpgraders[] = {
    {"aten::div.Tensor", 4, "aten::div.Tensor(Tensor self, Tensor other) -> Tensor", "div_tensor", kDivTensor},
    {"aten::div.Scalar", 4, "aten::div.Scalar(Tensor self, Scalar other) -> Tensor", "div_scalar", kDivScalar},
    {"aten::div.out", 4, "aten::div.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)", "div_out",
     kDivOut},
    {"aten::div.Tensor_mode", 4,
     "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode=None) -> Tensor", "div_tensor_mode",
     kDivTensorMode},
    {"aten::div.Scalar_mode", 4,
     "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode=None) -> Tensor", "div_scalar_mode",
     kDivScalarMode},
    {"aten::div.out_mode", 4,
     "aten::div.out_mode(Tensor self, Tensor other, *, str? rounding_mode=None, Tensor(a!) out) -> Tensor(a!)",
     "div_out_mode", kDivOutMode},
    {"aten::div_.Tensor", 4, "aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "div_in_place_tensor",
     kDivInPlaceTensor},
    {"aten::div_.Scalar", 4, "aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "div_in_place_scalar",
     kDivInPlaceScalar},
    {"aten::div_.Tensor_mode", 4,
     "aten::div_.Tensor_mode(Tensor(a!) self, Tensor other, *, str? rounding_mode=None) -> Tensor(a!)",
     "div_in_place_tensor_mode", kDivInPlaceTensorMode},
    {"aten::div_.Scalar_mode", 4,
     "aten::div_.Scalar_mode(Tensor(a!) self, Scalar other, *, str? rounding_mode=None) -> Tensor(a!)",
     "div_in_place_scalar_mode", kDivInPlaceScalarMode},
    {"aten::full.out", 5, "aten::full.out(int[] size, Scalar fill_value, *, Tensor(a!) out) -> Tensor(a!)", "full_out",
     kFullOut},
    {"aten::full", 5,
     "aten::full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
     "bool? pin_memory=None) -> Tensor",
     "full", kFull},
    {"aten::linspace.out", 8,
     "aten::linspace.out(Scalar start, Scalar end, int? steps=None, *, Tensor(a!) out) -> Tensor(a!)", "linspace_out",
     kLinspaceOut},
    {"aten::linspace", 8,
     "aten::linspace(Scalar start, Scalar end, int? steps=None, *, ScalarType? dtype=None, Layout? layout=None, "
     "Device? device=None, bool? pin_memory=None) -> Tensor",
     "linspace", kLinspace},
    {"aten::logspace.out", 9,
     "aten::logspace.out(Scalar start, Scalar end, int? steps=None, float base=10.0, *, Tensor(a!) out) -> Tensor(a!)",
     "logspace_out", kLogspaceOut},
    {"aten::logspace", 9,
     "aten::logspace(Scalar start, Scalar end, int? steps=None, float base=10.0, *, ScalarType? dtype=None, Layout? "
     "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
     "logspace", kLogspace},
    {"aten::gelu", 10, "aten::gelu(Tensor self) -> Tensor", "gelu", kGelu},
    {"aten::gelu.out", 10, "aten::gelu.out(Tensor self, *, Tensor(a!) out) -> Tensor", "gelu_out", kGeluOut},
};

}  // namespace

std::span<const Upgrader> upgraders() {
  return kUpgraders;
}

}  // namespace cresset
