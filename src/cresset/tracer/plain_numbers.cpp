// Arguments of operators that came as plain numbers: traced numbers that PyTorch's parser of arguments unpacked, and
// tensors of one element that it read because a number was wanted (`x.narrow(0, 0, n)`, `add(x, y, alpha=a)`).
//
// Whoever calls a function of PyTorch's tells which of its arguments may be such. Which argument of an operator each
// one became is told by position and name, with the value as a condition; only where those don't fit (the function
// renames its arguments, or calls an operator of another form) by the value alone, and then only if no other argument
// has it.
#include <ATen/core/function_schema.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <cmath>

#include "cresset/ops/operator_forms.h"
#include "cresset/tracer/computed_sizes.h"
#include "cresset/tracer/recorder.h"

namespace cresset::tracer {

IValue numberIn(const at::Tensor& tensor) {
  const ClientPause pause;
  return IValue(tensor.item());
}

namespace {

using c10::TypeKind;

bool equalDoubles(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

double rounded(double number, at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return static_cast<double>(static_cast<float>(number));
    case at::kHalf:
      return static_cast<double>(static_cast<c10::Half>(static_cast<float>(number)));
    case at::kBFloat16:
      return static_cast<double>(static_cast<c10::BFloat16>(static_cast<float>(number)));
    default:
      return at::isIntegralType(type, false) ? std::trunc(number) : number;
  }
}

/// Where a number stands among an operator's arguments.
struct Place {
  size_t argument;
  int element;
  TypeKind kind;  // Int, Float, Bool, Number; Tensor for a number in a tensor
  IValue value;
  at::ScalarType type = at::kDouble;  // of a tensor
};

bool holds(const Place& place, const Number& number) {
  if (place.value.isBool() || place.value.isComplexDouble() || std::holds_alternative<bool>(number)) return false;
  const double wanted = std::visit([](auto v) { return static_cast<double>(v); }, number);
  if (place.kind == TypeKind::TensorType) {
    // In a tensor it has the tensor's type.
    return equalDoubles(place.value.toScalar().toDouble(), rounded(wanted, place.type));
  }
  if (place.value.isInt()) return std::holds_alternative<int64_t>(number) && place.value.toInt() == std::get<0>(number);
  return std::holds_alternative<double>(number) && equalDoubles(place.value.toDouble(), wanted);
}

/// Whether a tensor that was read as `contents` may stand here.
bool holds(const Place& place, const at::Tensor& tensor, const IValue& contents) {
  if (place.kind == TypeKind::TensorType) return false;
  if (place.value.isBool() ? !contents.isBool() : contents.isBool() && tensor.scalar_type() != at::kBool) return false;
  const c10::Scalar number = contents.toScalar();
  if (place.value.isComplexDouble()) {
    return place.value.toComplexDouble() == number.toComplexDouble();
  }
  if (number.isComplex()) return false;
  if (place.value.isBool()) return place.value.toBool() == number.toBool();
  if (place.value.isDouble()) return equalDoubles(place.value.toDouble(), number.toDouble());
  return equalDoubles(static_cast<double>(place.value.toInt()), std::trunc(number.toDouble()));
}

/// Python's functions have NumPy's names too.
std::string nameInSchemas(const std::string& keyword) {
  if (keyword == "axis") return "dim";
  if (keyword == "keepdims") return "keepdim";
  return keyword == "input" ? "self" : keyword;
}

TypeKind kindOf(const TypePtr& type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType()->kind() : type->kind();
}

bool isNumber(const IValue& value) {
  return value.isInt() || value.isDouble() || value.isBool() || value.isComplexDouble();
}

/// Dtypes, layouts and memory formats are ints on the stack, and none of the program's numbers.
bool isCode(const c10::Argument& argument) {
  switch (kindOf(argument.real_type())) {
    case TypeKind::ScalarTypeType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
    case TypeKind::QSchemeType:
      return true;
    default:
      return false;
  }
}

/// Where plain numbers stand among the arguments.
template <typename IsKnown>
std::vector<Place> placesIn(
    const c10::FunctionSchema& schema, std::span<const IValue> arguments, const IsKnown& is_known) {
  std::vector<Place> result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const IValue& value = arguments[i];
    const TypePtr& type = schema.arguments()[i].type();
    if (isCode(schema.arguments()[i])) continue;
    if (isNumber(value)) {
      result.push_back({i, -1, kindOf(type), value});
    } else if (
        value.isTensor() && value.toTensor().defined() && value.toTensor().dim() == 0 &&
        value.toTensor().device().is_cpu() && !value.toTensor().requires_grad() && !is_known(value.toTensor())) {
      const at::Tensor& tensor = value.toTensor();
      result.push_back({i, -1, TypeKind::TensorType, numberIn(tensor), tensor.scalar_type()});
    } else if (value.isList()) {
      int element = 0;
      for (const IValue& item : value.toListRef()) {
        if (isNumber(item)) {
          const TypeKind kind = item.isInt()      ? TypeKind::IntType
                                : item.isDouble() ? TypeKind::FloatType
                                : item.isBool()   ? TypeKind::BoolType
                                                  : TypeKind::NumberType;
          result.push_back({i, element, kind, item});
        }
        ++element;
      }
    }
  }
  return result;
}

}  // namespace

LibraryCall Recorder::beginCall(LibraryCall call) {
  // Of a float PyTorch gets the plain number.
  for (PlainNumber& plain : call.numbers) plain.read = plain.number && plain.number->is_float();
  return std::exchange(call_, std::move(call));
}

void Recorder::noteRead(const TracedNumber& number) {
  bool found = false;
  for (PlainNumber& plain : call_.numbers) {
    if (plain.number.get() == &number) found = plain.read = true;
  }
  if (!found) warn(kFrozenNumber);
}

bool Recorder::endCall(LibraryCall outer) {
  const auto isLost = [&](const PlainNumber& plain) {
    if (plain.placed || (plain.number ? !plain.read : plain.contents.isNone())) return false;
    // A tensor that is several arguments (`add(x, n, alpha=n)`) may be a number in one of them only.
    return std::none_of(call_.numbers.begin(), call_.numbers.end(), [&](const PlainNumber& other) {
      return other.placed && plain.tensor.defined() && other.tensor.is_same(plain.tensor);
    });
  };
  const bool lost = std::any_of(call_.numbers.begin(), call_.numbers.end(), isLost);
  call_ = std::move(outer);
  return !lost;
}

void Recorder::noteConversion(const at::Tensor& tensor, const IValue& number) {
  for (PlainNumber& plain : call_.numbers) {
    if (plain.tensor.is_same(tensor)) plain.contents = number;
  }
}

namespace {

/// Finds out which arguments of one operator the plain numbers are.
class Placement {
 public:
  Placement(std::span<const c10::Argument> formal, std::vector<Place> open, std::vector<PlainNumber*> waiting)
      : formal_(formal), open_(std::move(open)), waiting_(std::move(waiting)) {}

  std::vector<PlacedNumber> run() {
    placeBy([&](const Place& place, const PlainNumber& plain) {
      return place.element == plain.element && isArgument(place, plain);
    });
    // Of `x.view(a, b)` the sizes are one list.
    placeBy([&](const Place& place, const PlainNumber& plain) {
      return place.element >= 0 && plain.element < 0 && !formal_[place.argument].N() &&
             static_cast<int>(place.argument) + place.element == plain.position;
    });
    // One number stands for all of an int[2].
    for (PlainNumber*& plain : waiting_) placeInAll(plain);
    placeBy([&](const Place&, const PlainNumber& plain) { return isOnly(plain); });
    return std::move(result_);
  }

 private:
  static bool fits(const Place& place, const PlainNumber& plain) {
    return plain.number ? holds(place, asTraced(plain.number)->number()) : holds(place, plain.tensor, plain.contents);
  }

  bool isArgument(const Place& place, const PlainNumber& plain) const {
    return plain.position >= 0 ? place.argument == static_cast<size_t>(plain.position)
                               : formal_[place.argument].name() == nameInSchemas(plain.keyword);
  }

  void put(PlainNumber& plain, const Place& place) {
    plain.placed = true;
    result_.push_back({plain, place.argument, place.element, place.kind});
  }

  template <typename IsThere>
  void placeBy(const IsThere& is_there) {
    for (PlainNumber*& plain : waiting_) {
      if (!plain) continue;
      const auto found = std::find_if(open_.begin(), open_.end(), [&](const Place& place) {
        return fits(place, *plain) && is_there(place, *plain);
      });
      if (found == open_.end()) continue;
      put(*plain, *found);
      open_.erase(found);
      plain = nullptr;
    }
  }

  void placeInAll(PlainNumber*& plain) {
    if (!plain || plain->element >= 0) return;
    const auto isHere = [&](const Place& place) {
      return place.element >= 0 && formal_[place.argument].N() && fits(place, *plain) && isArgument(place, *plain);
    };
    const auto count = std::count_if(open_.begin(), open_.end(), isHere);
    const auto first = std::find_if(open_.begin(), open_.end(), isHere);
    if (first == open_.end() || count != *formal_[first->argument].N()) return;
    for (const Place& place : open_) {
      if (isHere(place)) put(*plain, place);
    }
    std::erase_if(open_, isHere);
    plain = nullptr;
  }

  /// Whether no place is left for a number of this value that isn't one of those that wait.
  bool isOnly(const PlainNumber& plain) const {
    const auto fitsHere = [&](const Place& place) { return fits(place, plain); };
    const auto isAlike = [&](const PlainNumber* other) {
      return other && std::any_of(open_.begin(), open_.end(), [&](const Place& place) {
               return fits(place, plain) && fits(place, *other);
             });
    };
    return std::count_if(open_.begin(), open_.end(), fitsHere) <=
           std::count_if(waiting_.begin(), waiting_.end(), isAlike);
  }

  std::span<const c10::Argument> formal_;
  std::vector<Place> open_;
  std::vector<PlainNumber*> waiting_;  // null where placed
  std::vector<PlacedNumber> result_;
};

/// Whether the number itself is among the arguments, as a symbolic one.
bool isAmong(std::span<const IValue> arguments, const c10::SymNode& number) {
  const auto is = [&](const IValue& value) {
    return (value.isSymInt() && value.toSymInt().is_symbolic() &&
            value.toSymInt().toSymNodeImplUnowned() == number.get()) ||
           (value.isSymFloat() && value.toSymFloat().is_symbolic() &&
            value.toSymFloat().toSymNodeImpl().get() == number.get());
  };
  return std::any_of(arguments.begin(), arguments.end(), [&](const IValue& value) {
    if (!value.isSymIntList()) return is(value);
    const auto items = value.toListRef();
    return std::any_of(items.begin(), items.end(), is);
  });
}

}  // namespace

std::vector<PlacedNumber> Recorder::placePlainNumbers(const Operator& op, std::span<const IValue> arguments) {
  if (call_.numbers.empty()) return {};
  // Where views are removed, its form that copies.
  static const Symbol kSelect = aten::select;
  static const Symbol kSelectCopy = [] {
    for (const Operator* select : OperatorTable::get().overloads(kSelect)) {
      if (const Operator* copy = copyForm(select->schema())) return copy->kind();
    }
    return kSelect;
  }();
  if (op.kind() == kSelect || op.kind() == kSelectCopy) {
    if (auto placed = placeIndex(op, arguments); !placed.empty()) return placed;
  }
  std::vector<PlainNumber*> waiting;
  for (PlainNumber& plain : call_.numbers) {
    if (plain.isIndex()) continue;
    const TracedNumber* traced = plain.number ? asTraced(plain.number) : nullptr;
    if (plain.number && isAmong(arguments, plain.number)) {
      plain.placed = true;
    } else if (plain.number ? traced && traced->valueIn(serial_) : !plain.contents.isNone()) {
      waiting.push_back(&plain);
    }
  }
  if (waiting.empty()) return {};
  std::vector<Place> open = placesIn(op.schema(), arguments, [&](const at::Tensor& tensor) { return isKnown(tensor); });
  return Placement(op.schema().arguments(), std::move(open), std::move(waiting)).run();
}

/// The next of the ints that an index was made of.
std::vector<PlacedNumber> Recorder::placeIndex(const Operator& op, std::span<const IValue> arguments) {
  const auto next = std::find_if(call_.numbers.begin(), call_.numbers.end(), [](const PlainNumber& plain) {
    return plain.isIndex() && !plain.placed;
  });
  const auto index = op.schema().argumentIndexWithName("index");
  if (next == call_.numbers.end() || !index) return {};
  next->placed = true;
  return {{*next, static_cast<size_t>(*index), -1, TypeKind::IntType}};
}

Value* Recorder::plainNumberValue(const PlacedNumber& placed) {
  if (placed.plain.number) return numberValue(placed.plain.number);
  // No ScalarImplicit and its like: those refuse tensors that require grad, which these may where the traced program
  // was in no_grad.
  readContents(placed.plain.tensor);
  Value* tensor = tensorValue(placed.plain.tensor);
  switch (placed.kind) {
    case TypeKind::IntType:
      return compute(Basic::ToInt, {tensor});
    case TypeKind::FloatType:
      return compute(Basic::ToFloat, {tensor});
    case TypeKind::BoolType:
      return compute(Basic::ToBool, {tensor});
    default:
      return insert(aten::item, std::array{tensor}, c10::NumberType::get());
  }
}

c10::SymNode Recorder::item(const at::Tensor& tensor, bool as_float) {
  readContents(tensor);
  graph_->setLocation(location());
  Value* value = tensorValue(tensor);
  const c10::Scalar number = numberIn(tensor).toScalar();
  const Number converted =
      as_float ? Number(number.toDouble())
               : Number(number.isFloatingPoint() ? static_cast<int64_t>(number.toDouble()) : number.toLong());
  Value* read = compute(as_float ? Basic::ToFloat : Basic::ToInt, {value});
  return c10::make_intrusive<TracedNumber>(converted, read, serial_);
}

/// The traced number that was given to the PyTorch function that runs, if it is what this tensor was made of.
Value* Recorder::plainNumberIn(const at::Tensor& tensor) {
  if (call_.numbers.empty() || tensor.dim() != 0 || !tensor.device().is_cpu()) return nullptr;
  const Place place{0, -1, TypeKind::TensorType, numberIn(tensor), tensor.scalar_type()};
  for (PlainNumber& plain : call_.numbers) {
    const TracedNumber* traced = plain.number ? asTraced(plain.number) : nullptr;
    if (traced && traced->valueIn(serial_) && holds(place, traced->number())) {
      plain.placed = true;
      return numberValue(plain.number);
    }
  }
  return nullptr;
}

}  // namespace cresset::tracer
