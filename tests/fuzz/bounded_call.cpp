// Arguments made up from types, and calls that stop. See bounded_call.h.
#include "bounded_call.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/ones_ops.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <sstream>

#include "allocation_counter.h"
#include "cresset/interpreter/interpreter.h"
#include "cresset/support/error.h"
#include "cresset/support/print_handler.h"

namespace bounded_call {

namespace {

using c10::IValue;
using c10::TypeKind;
using Random = std::mt19937_64;
using Clock = std::chrono::steady_clock;

size_t below(Random& random, size_t n) {
  return random() % n;
}
template <typename T>
const T& pick(Random& random, const std::vector<T>& of) {
  return of[below(random, of.size())];
}

at::Tensor makeTensor(Random& random) {
  static const std::vector<std::vector<int64_t>> shapes{{},     {1},       {3},       {2, 2},       {1, 512},
                                                        {512},  {2, 3, 4}, {0, 3},    {1, 3, 8, 8}, {5, 1, 3},
                                                        {2, 3}, {1, 256},  {1, 1, 3}, {4, 4}};
  static const std::vector<c10::ScalarType> dtypes{c10::ScalarType::Float, c10::ScalarType::Float,
                                                   c10::ScalarType::Float, c10::ScalarType::Double,
                                                   c10::ScalarType::Long,  c10::ScalarType::Bool};
  return at::_ops::ones::call(
      c10::fromIntArrayRefSlow(pick(random, shapes)), pick(random, dtypes), std::nullopt, std::nullopt, std::nullopt);
}

std::optional<IValue> makeValue(const c10::TypePtr& type, Random& random, int depth = 0) {
  // Few elements and the numbers that programs branch on: sizes, sample rates, what wraps around.
  static const std::vector<int64_t> ints{0,
                                         1,
                                         2,
                                         3,
                                         -1,
                                         7,
                                         512,
                                         8000,
                                         16000,
                                         100000,
                                         std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::min()};
  static const std::vector<double> doubles{0.0, 1.0, -2.5, 1e300, std::numeric_limits<double>::quiet_NaN()};
  static const std::vector<std::string> strings{"", "a", "cpu", "{} {0!r:>5}", "bilinear", "\xff\xfe"};
  if (depth > 4) return std::nullopt;
  switch (type->kind()) {
    case TypeKind::TensorType:
      return IValue(makeTensor(random));
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return IValue(pick(random, ints));
    case TypeKind::FloatType:
      return IValue(pick(random, doubles));
    case TypeKind::NumberType:
      return below(random, 2) ? IValue(pick(random, ints)) : IValue(pick(random, doubles));
    case TypeKind::BoolType:
      return IValue(below(random, 2) == 0);
    case TypeKind::StringType:
      return IValue(pick(random, strings));
    case TypeKind::ComplexType:
      return IValue(c10::complex<double>(1, -2));
    case TypeKind::NoneType:
      return IValue();
    case TypeKind::DeviceObjType:
      return IValue(c10::Device(c10::DeviceType::CPU));
    case TypeKind::AnyType:
      return below(random, 2) ? IValue(makeTensor(random)) : IValue(pick(random, strings));
    case TypeKind::OptionalType:
      if (below(random, 2)) return IValue();
      return makeValue(type->castRaw<c10::OptionalType>()->getElementType(), random, depth + 1);
    case TypeKind::UnionType: {
      auto members = type->containedTypes();
      return makeValue(members[below(random, members.size())], random, depth + 1);
    }
    case TypeKind::ListType: {
      auto element = type->castRaw<c10::ListType>()->getElementType();
      c10::impl::GenericList list(element);
      for (size_t n = below(random, 4); n > 0; --n) {
        auto value = makeValue(element, random, depth + 1);
        if (!value) return std::nullopt;
        list.push_back(*value);
      }
      return IValue(list);
    }
    case TypeKind::DictType: {
      auto of = type->castRaw<c10::DictType>();
      c10::impl::GenericDict dict(of->getKeyType(), of->getValueType());
      for (size_t n = below(random, 3); n > 0; --n) {
        auto key = makeValue(of->getKeyType(), random, depth + 1);
        auto value = makeValue(of->getValueType(), random, depth + 1);
        if (!key || !value) return std::nullopt;
        dict.insert_or_assign(*key, *value);
      }
      return IValue(dict);
    }
    case TypeKind::TupleType: {
      // Named ones mean something: torch.lstm itself crashes, in eager PyTorch too, on a PackedSequence whose
      // batch_sizes are no int64 vector, and nn.LSTM's methods do not check what they take to come from its maker.
      if (type->castRaw<c10::TupleType>()->name()) return std::nullopt;
      std::vector<IValue> elements;
      for (const auto& element : type->containedTypes()) {
        auto value = makeValue(element, random, depth + 1);
        if (!value) return std::nullopt;
        elements.push_back(*value);
      }
      return IValue(c10::ivalue::Tuple::create(std::move(elements)));
    }
    default:  // classes, interfaces, enums, futures: values that only programs make
      return std::nullopt;
  }
}

struct Quiet final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

/// While one exists, scripts of this thread stop when the time or the memory is used up, and say nothing.
class Bounds {
 public:
  explicit Bounds(const Limits& limits) {
    deadline_ =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds));
    most_ = allocatedBytes() + static_cast<int64_t>(limits.bytes);
    refuseAllocationsBeyond(limits.bytes);
    cresset::setInterruptCheck([] { return spent(); });
    printing_ = cresset::setPrintHandler([](const std::string&) {});
  }
  ~Bounds() {
    cresset::setPrintHandler(printing_);
    cresset::setInterruptCheck(nullptr);
    refuseAllocationsBeyond(std::numeric_limits<size_t>::max());
  }
  Bounds(const Bounds&) = delete;
  Bounds& operator=(const Bounds&) = delete;
  static bool spent() { return Clock::now() > deadline_ || allocatedBytes() > most_; }

 private:
  static thread_local Clock::time_point deadline_;
  static thread_local int64_t most_;
  cresset::PrintHandler printing_ = nullptr;
  Quiet quiet_;
  c10::WarningUtils::WarningHandlerGuard warnings_{&quiet_};
};
thread_local Clock::time_point Bounds::deadline_;
thread_local int64_t Bounds::most_ = 0;

/// Tensors by type and sizes alone: what they hold is the same for all.
std::string describe(const IValue& value) {
  std::ostringstream out;
  if (value.isTensor()) {
    out << value.toTensor().scalar_type() << value.toTensor().sizes();
  } else if (value.isTuple() || value.isList()) {
    out << (value.isTuple() ? "(" : "[");
    const std::vector<IValue> elements =
        value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
    for (const IValue& element : elements) out << describe(element) << ", ";
    out << (value.isTuple() ? ")" : "]");
  } else if (value.isObject()) {
    out << "self";
  } else {
    out << value;
  }
  return out.str();
}

void callOnce(cresset::Function& function, const IValue* self, Random& random, const Limits& limits, Tally& tally) {
  try {
    std::vector<IValue> inputs;
    const auto& arguments = function.getSchema().arguments();
    if (self) inputs.push_back(*self);
    for (size_t i = inputs.size(); i < arguments.size(); ++i) {
      if (arguments[i].default_value() && below(random, 2)) {
        inputs.push_back(*arguments[i].default_value());
        continue;
      }
      auto value = makeValue(arguments[i].type(), random);
      if (!value) return;
      inputs.push_back(std::move(*value));
    }
    if (limits.verbose) {
      std::cerr << "calls " << function.qualname().qualifiedName() << '(';
      for (const IValue& input : inputs) std::cerr << describe(input) << ", ";
      std::cerr << ")\n";
    }
    cresset::callFunction(function, std::move(inputs));
    ++tally.returned;
  } catch (const cresset::InternalError& error) {
    tally.failures.push_back("calling " + function.name() + ": " + error.what());
  } catch (const cresset::ScriptError& error) {
    ++(error.pythonClass() == "builtins.KeyboardInterrupt" ? tally.interrupted : tally.raised);
  } catch (const cresset::Error&) {
    ++tally.raised;
  } catch (const std::bad_alloc&) {  // what making the arguments or copying the result may meet
    ++tally.raised;
  } catch (const std::exception& error) {
    tally.failures.push_back(
        "calling " + function.name() + " threw something else than an error of Cresset's: " + error.what());
  }
}

}  // namespace

void call(cresset::Function& function, Random& random, const Limits& limits, Tally& tally) {
  Bounds bounds(limits);
  callOnce(function, nullptr, random, limits, tally);
}

void callMethods(const cresset::Module& module, Random& random, const Limits& limits, Tally& tally) {
  Bounds bounds(limits);
  size_t left = limits.calls;
  for (const cresset::Module& each : module.modules()) {
    for (const cresset::Method& method : each.get_methods()) {
      for (int i = 0; i < 2; ++i) {
        if (left-- == 0 || Bounds::spent()) return;
        const IValue self(each._ivalue());
        callOnce(method.function(), &self, random, limits, tally);
      }
    }
  }
}

}  // namespace bounded_call
