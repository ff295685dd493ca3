// Output, exceptions, devices, generators, enums, optionals, identity.
#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Generator.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <chrono>

#include "cresset/ops/format.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/support/print_handler.h"

namespace cresset {

namespace {

IValue unwrapped(IValue& v) {
  if (v.isNone()) fail("Unwrapping null optional");
  return std::move(v);
}

int64_t hashOf(const IValue& v) {
  if (v.isEnum()) {
    auto holder = v.toEnumHolder();
    return static_cast<int64_t>(std::hash<std::string>()(holder->qualifiedClassName() + "." + holder->name()));
  }
  if (v.isObject()) {
    auto object = v.toObject();
    if (auto* method = object->type()->findMethod("__hash__")) {
      Stack stack{v};
      method->run(stack);
      return stack.back().toInt();
    }
  }
  if (v.isList() || v.isGenericDict()) fail("unhashable type: '" + v.type()->repr_str() + "'");
  return v.hash().toInt();
}

at::Generator makeGenerator(const IValue& device, const IValue& seed) {
  if (!device.isNone() && !device.toDevice().is_cpu()) {
    fail(
        "Unsupported device for at::make_generator_for_device found: " + device.toDevice().str() +
        " (generators of scripts are on the CPU)");
  }
  auto generator = at::globalContext().defaultGenerator(at::kCPU).clone();
  generator.set_current_seed(
      seed.isNone() ? c10::detail::getNonDeterministicRandom() : static_cast<uint64_t>(seed.toInt()));
  return generator;
}

constexpr Row kMiscRows[] = {
    {"prim::Print(...) -> ()",
     [](Stack& stack, size_t count) {
       printText(printedLine({stack.data() + (stack.size() - count), count}));
       drop(stack, count);
     },
     kEffect},
    {"prim::RaiseException(str msg, str? cls=None) -> ()",
     kernel([](const std::string& message, std::optional<std::string> cls) {
       throw ScriptRaise(cls.value_or("RuntimeError"), message);
     }),
     kEffect},
    // The interpreter has an instruction for this, which knows the place.
    {"aten::warn(str message, int stacklevel=2) -> ()",
     kernel([](const std::string& message, int64_t) { warn({.message = message}); }), kEffect},
    {"aten::_unwrap_optional(t(a)? optional) -> t(a)", kernel([](IValue& v) { return unwrapped(v); })},
    {"prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", kernel([](IValue& v) { return std::move(v); })},
    {"prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)",
     kernel([](bool condition, IValue& x, IValue& y) { return condition ? std::move(x) : std::move(y); })},
    {"aten::hash.generic(t value) -> int", kernel([](IValue& v) { return hashOf(v); })},
    {"prim::id(AnyClassType? x) -> int", kernel([](IValue& v) {
       return v.isNone() ? int64_t(0) : static_cast<int64_t>(std::hash<const void*>()(v.internalToPointer()));
     })},
    {"prim::EnumName(AnyEnumType enum) -> str", kernel([](IValue& v) { return v.toEnumHolder()->name(); })},
    {"prim::EnumValue.int(AnyEnumType enum) -> int", kernel([](IValue& v) { return v.toEnumHolder()->value(); })},
    {"prim::EnumValue.float(AnyEnumType enum) -> float", kernel([](IValue& v) { return v.toEnumHolder()->value(); })},
    {"prim::EnumValue.str(AnyEnumType enum) -> str", kernel([](IValue& v) { return v.toEnumHolder()->value(); })},
    {"aten::device(str a) -> Device", kernel([](const std::string& name) { return c10::Device(name); })},
    {"aten::device.with_index(str type, int index) -> Device", kernel([](const std::string& type, int64_t index) {
       c10::Device device(type);
       if (device.has_index()) fail("type must not include an index because index was passed explicitly: " + type);
       return c10::Device(device.type(), static_cast<c10::DeviceIndex>(index));
     })},
    {"prim::type(Device self) -> str",
     kernel([](c10::Device device) { return c10::DeviceTypeName(device.type(), /*lower_case=*/true); })},
    {"prim::index(Device self) -> int?", kernel([](c10::Device device) {
       return device.has_index() ? IValue(static_cast<int64_t>(device.index())) : IValue();
     })},
    {"aten::Generator(*, Device? device=None, int? seed=None) -> Generator",
     kernel([](IValue& device, IValue& seed) { return makeGenerator(device, seed); }), kRandom},
    {"aten::manual_seed(int seed) -> ()", kernel([](int64_t seed) { at::manual_seed(static_cast<uint64_t>(seed)); }),
     kRandom},
    {"aten::manual_seed.generator(Generator(a!) self, int seed) -> Generator(a!)",
     kernel([](IValue& self, int64_t seed) {
       self.toGenerator().set_current_seed(static_cast<uint64_t>(seed));
       return std::move(self);
     }),
     kRandom},
    {"aten::seed(Generator(a!) self) -> int", kernel([](IValue& self) {
       at::Generator generator = self.toGenerator();
       std::lock_guard lock(generator.mutex());
       return static_cast<int64_t>(generator.seed());
     }),
     kRandom},
    {"aten::initial_seed(Generator self) -> int",
     kernel([](IValue& self) { return static_cast<int64_t>(self.toGenerator().current_seed()); }), kRandom},
    {"aten::is_scripting() -> bool", kernel([]() { return true; })},
    {"aten::has_torch_function(...) -> bool",
     [](Stack& stack, size_t count) {
       drop(stack, count);
       stack.emplace_back(false);
     }},
    {"aten::_get_tracing_state() -> bool", kernel([]() { return false; })},
    {"aten::_get_cpu_capability() -> str", kernel([]() { return at::get_cpu_capability(); })},
    {"aten::is_autocast_enabled() -> bool", kernel([]() { return at::autocast::is_autocast_enabled(at::kCUDA); }),
     kEffect},
    {"aten::is_autocast_cpu_enabled() -> bool", kernel([]() { return at::autocast::is_autocast_enabled(at::kCPU); }),
     kEffect},
    {"aten::get_autocast_dtype(str device_type) -> ScalarType", kernel([](const std::string& type) {
       return static_cast<int64_t>(at::autocast::get_autocast_dtype(c10::Device(type).type()));
     }),
     kEffect},
    {"prim::TimePoint() -> int", kernel([]() {
       auto now = std::chrono::steady_clock::now().time_since_epoch();
       return static_cast<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
     }),
     kRandom},
};

}  // namespace

std::span<const Row> miscRows() {
  return kMiscRows;
}

}  // namespace cresset
