// What plans that check facts do beside their program (executor/fact_checks.h): a fact that is false ends the call.
#include <algorithm>
#include <optional>
#include <sstream>

#include "cresset/ops/contiguity.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

void checkFacts(
    const at::Tensor& value, int64_t dtype, int64_t rank, std::optional<c10::Device> device, int64_t requires_grad,
    const std::string& what) {
  std::string found;
  if (!value.defined()) {
    if (dtype >= 0 || rank >= 0 || device) found = "an undefined tensor";
  } else if (
      (dtype >= 0 && value.scalar_type() != static_cast<at::ScalarType>(dtype)) || (rank >= 0 && value.dim() != rank) ||
      (device && value.device() != *device) || (requires_grad >= 0 && value.requires_grad() != (requires_grad != 0))) {
    found = std::string(c10::toString(value.scalar_type())) + " of rank " + std::to_string(value.dim()) + " on " +
            value.device().str() + ", requires_grad=" + std::to_string(int(value.requires_grad()));
  }
  if (!found.empty()) throw InternalError("a plan assumed " + what + "; it is " + found);
}

void checkSizes(const at::Tensor& value, at::IntArrayRef sizes, const std::string& what) {
  if (value.defined() && value.sizes() == sizes) return;
  std::ostringstream found;
  found << "a plan assumed " << what << ", which are " << sizes << "; they are ";
  if (value.defined()) {
    found << value.sizes();
  } else {
    found << "undefined";
  }
  throw InternalError(found.str());
}

void checkInt(int64_t value, int64_t expected, const std::string& what) {
  if (value == expected) return;
  throw InternalError(
      "a plan assumed " + what + ", which is " + std::to_string(expected) + "; it is " + std::to_string(value));
}

void checkLayout(const at::Tensor& value, int64_t contiguity, at::IntArrayRef strides, const std::string& what) {
  if (value.defined() && holds(static_cast<Contiguity>(contiguity), value)) {
    if (strides.empty() || value.numel() == 0) return;
    bool holds = static_cast<size_t>(value.dim()) == strides.size();
    for (size_t i = 0; holds && i < strides.size(); ++i) {
      const auto dim = static_cast<int64_t>(i);
      holds = strides[i] < 0 || value.size(dim) == 1 || value.stride(dim) == strides[i];
    }
    if (holds) return;
  }
  std::ostringstream found;
  found << "a plan assumed " << what << ", which are " << strides << " (-1: any); ";
  if (value.defined() && value.layout() != at::kStrided) {
    found << "its layout is " << value.layout();
  } else if (value.defined()) {
    found << "it has the sizes " << value.sizes() << " and strides " << value.strides();
  } else {
    found << "it is undefined";
  }
  throw InternalError(found.str());
}

/// Whether the tensor's memory is that of `other`, or of what a list in it holds.
bool sharesMemory(const at::Tensor& tensor, const IValue& other) {
  if (other.isTensor()) {
    const at::Tensor& one = other.toTensor();
    return one.defined() && one.has_storage() && one.storage().is_alias_of(tensor.storage());
  }
  if (!other.isList()) return false;
  const auto elements = other.toListRef();
  return std::any_of(elements.begin(), elements.end(), [&](const IValue& one) { return sharesMemory(tensor, one); });
}

void checkNew(const at::Tensor& value, const IValue& other, const std::string& what) {
  if (value.defined() && value.has_storage() && sharesMemory(value, other))
    throw InternalError("a plan assumed " + what + " to be new; it shares memory with what it was made of");
}

/// What a branch that was left by a `return` outputs arrives, but nothing reads it: it need not be a tensor. None is an
/// undefined one.
std::optional<at::Tensor> tensorIn(const IValue& value) {
  if (value.isNone()) return at::Tensor();
  return value.isTensor() ? std::optional(value.toTensor()) : std::nullopt;
}

constexpr Row kFactCheckRows[] = {
    // What plans assume of a tensor, asserted (executor/fact_checks.h); -1 and None stand for what is not known.
    {"cresset::check_facts(Tensor? value, int dtype, int rank, Device? device, int requires_grad, str what) -> ()",
     kernel([](IValue& value, int64_t dtype, int64_t rank, std::optional<c10::Device> device, int64_t requires_grad,
               const std::string& what) {
       if (const auto tensor = tensorIn(value)) checkFacts(*tensor, dtype, rank, device, requires_grad, what);
     }),
     kEffect, Restriction::Internal},
    {"cresset::check_sizes(Tensor? value, int[] sizes, str what) -> ()",
     kernel([](IValue& value, const std::vector<int64_t>& sizes, const std::string& what) {
       if (const auto tensor = tensorIn(value)) checkSizes(*tensor, sizes, what);
     }),
     kEffect, Restriction::Internal},
    // What a branch that was left by a `return` outputs need not be an int.
    {"cresset::check_int(Any value, int expected, str what) -> ()",
     kernel([](IValue& value, int64_t expected, const std::string& what) {
       if (value.isInt()) checkInt(value.toInt(), expected, what);
     }),
     kEffect, Restriction::Internal},
    // 0 for what a branch that was left by a `return` outputs.
    {"cresset::size_if_tensor(Tensor? value, int dim) -> int", kernel([](IValue& value, int64_t dim) {
       const bool has = value.isTensor() && value.toTensor().defined() && dim < value.toTensor().dim();
       return has ? value.toTensor().size(dim) : int64_t(0);
     }),
     Trait::None, Restriction::Internal},
    // Of dimensions that are broadcast against each other.
    {"cresset::broadcast_size(int a, int b) -> int", kernel([](int64_t a, int64_t b) { return a == 1 ? b : a; }),
     Trait::NeverRaises, Restriction::Internal},
    // The strides that tell where elements are: not those of dimensions of size 1, none if there are no elements.
    {"cresset::check_layout(Tensor? value, int contiguity, int[] strides, str what) -> ()",
     kernel([](IValue& value, int64_t contiguity, const std::vector<int64_t>& strides, const std::string& what) {
       if (const auto tensor = tensorIn(value)) checkLayout(*tensor, contiguity, strides, what);
     }),
     kEffect, Restriction::Internal},
    {"cresset::check_new(Tensor? value, Any other, str what) -> ()",
     kernel([](IValue& value, IValue& other, const std::string& what) {
       if (const auto tensor = tensorIn(value)) checkNew(*tensor, other, what);
     }),
     kEffect, Restriction::Internal},
    {"cresset::stride_if_tensor(Tensor? value, int dim) -> int", kernel([](IValue& value, int64_t dim) {
       const auto tensor = tensorIn(value);
       const bool has = tensor && tensor->defined() && tensor->layout() == at::kStrided && dim < tensor->dim();
       return has ? tensor->stride(dim) : int64_t(0);
     }),
     Trait::None, Restriction::Internal},
};

}  // namespace

std::span<const Row> factCheckRows() {
  return kFactCheckRows;
}

}  // namespace cresset
