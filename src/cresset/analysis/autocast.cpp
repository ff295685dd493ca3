#include "cresset/analysis/autocast.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

namespace cresset {

namespace {

enum class Holds { No, Tensors, Others };

/// Whether autocast looks at what the argument holds: it passes by lists whose tensors may be None.
Holds holdsTensors(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return Holds::Tensors;
    case c10::TypeKind::OptionalType:
      return holdsTensors(*type.expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType: {
      const c10::Type& element = *type.expectRef<c10::ListType>().getElementType();
      if (element.kind() == c10::TypeKind::TensorType) return Holds::Tensors;
      return element.kind() == c10::TypeKind::OptionalType && holdsTensors(element) != Holds::No ? Holds::Others
                                                                                                 : Holds::No;
    }
    default:
      return Holds::No;
  }
}

bool isEligible(const Fact& tensor) {
  return at::isFloatingType(*tensor.dtype) && *tensor.dtype != at::kDouble;
}

/// The tensors of a call, with the arguments that hold them.
class Tensors {
 public:
  Tensors(const c10::FunctionSchema& schema, std::span<const Fact> arguments) {
    for (size_t i = 0; i < arguments.size() && i < schema.arguments().size(); ++i) {
      const Holds holds = holdsTensors(*schema.arguments()[i].type());
      if (holds != Holds::No) add(arguments[i], holds == Holds::Tensors);
    }
  }

  bool areKnown() const { return known_; }
  const std::vector<const Fact*>& all() const { return all_; }
  const std::vector<const Fact*>& castable() const { return castable_; }

 private:
  void add(const Fact& fact, bool castable) {
    if (fact.kind == Fact::Kind::None) return;
    if (fact.kind == Fact::Kind::List) {
      for (const Fact& element : fact.elements) add(element, castable);
      return;
    }
    known_ &= fact.isTensor() && fact.dtype && fact.device;
    all_.push_back(&fact);
    if (castable) castable_.push_back(&fact);
  }

  bool known_ = true;
  std::vector<const Fact*> all_, castable_;
};

/// The dtype to which autocast promotes; nothing where it raises.
std::optional<at::ScalarType> promoted(const Tensors& tensors, at::ScalarType lower) {
  if (lower == at::kDouble) return std::nullopt;
  at::ScalarType to = lower;
  for (const Fact* tensor : tensors.castable()) {
    if (!isEligible(*tensor)) continue;
    if (to == at::kFloat || *tensor->dtype == at::kFloat) {
      to = at::kFloat;
    } else if (*tensor->dtype != lower) {
      return std::nullopt;
    }
  }
  return to;
}

}  // namespace

bool AutocastCall::casts(const c10::Argument& argument, const Fact& tensor) const {
  return to && holdsTensors(*argument.type()) == Holds::Tensors && tensor.isTensor() && isEligible(tensor) &&
         *tensor.dtype != *to;
}

Fact AutocastCall::apply(const c10::Argument& argument, size_t index, Fact fact) const {
  if (dtype_argument == index) return Fact::integer(static_cast<int64_t>(at::kFloat));
  if (casts(argument, fact)) fact.dtype = to;
  if (fact.kind == Fact::Kind::List) {
    for (Fact& element : fact.elements) element = apply(argument, index, std::move(element));
  }
  return fact;
}

std::optional<AutocastCall> autocastCall(
    const Operator& op, std::span<const Fact> arguments, const AutocastState& state) {
  AutocastCall call;
  if (op.autocast(c10::DeviceType::CPU) == Autocast::None && op.autocast(c10::DeviceType::CUDA) == Autocast::None)
    return call;
  const Tensors tensors(op.schema(), arguments);
  if (!tensors.areKnown() || tensors.all().empty()) return std::nullopt;
  call.device = tensors.all()[0]->device->type();
  for (const Fact* tensor : tensors.all()) {
    if (tensor->device->type() != call.device) return std::nullopt;
  }
  const auto lower = state.of(call.device);
  if (!lower) return call;
  switch (op.autocast(call.device)) {
    case Autocast::None:
      return call;
    case Autocast::Lower:
      call.to = lower;
      return call;
    case Autocast::Float:
      call.to = at::kFloat;
      return call;
    case Autocast::Promote:
      call.to = promoted(tensors, *lower);
      return call.to ? std::optional(call) : std::nullopt;
    case Autocast::FloatDtype: {
      if (!arguments[0].isTensor() || !isEligible(arguments[0])) return call;
      const auto& parameters = op.schema().arguments();
      const auto found =
          std::find_if(parameters.begin(), parameters.end(), [](const auto& p) { return p.name() == "dtype"; });
      const auto index = static_cast<size_t>(found - parameters.begin());
      if (index >= arguments.size()) return std::nullopt;
      if (arguments[index].kind == Fact::Kind::None) {
        call.dtype_argument = index;
      } else if (arguments[index].kind == Fact::Kind::Unknown) {
        return std::nullopt;
      }
      return call;
    }
    // Left to autocast itself.
    case Autocast::Unknown:
    case Autocast::Inside:
    case Autocast::AppendFloat:
    case Autocast::Refused:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace cresset
