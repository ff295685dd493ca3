// Output, exceptions, devices, generators, enums, optionals, identity.
#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Generator.h>
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Exception.h>

#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cresset/ops/awaitables.h"
#include "cresset/ops/entered_modes.h"
#include "cresset/ops/format.h"
#include "cresset/ops/host_callable.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/object_slots.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/ops/type_parts.h"
#include "cresset/ops/value_file.h"
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
  requireShallow(v, "hashing a value");
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

IValue enumValue(const IValue& member, bool (IValue::*is)() const, const char* wanted) {
  const auto holder = member.toEnumHolder();
  if (!(holder->value().*is)())
    fail("the value of " + holder->qualifiedClassName() + "." + holder->name() + " is not " + wanted);
  return holder->value();
}

/// The submodule called `name` of a ModuleList or ModuleDict.
IValue submodule(const IValue& container, const std::string& name) {
  const auto& object = *container.toObject();
  const auto slot = object.type()->findAttributeSlot(name);
  if (slot && object.type()->getAttribute(*slot)->is_module()) return readSlot(object, *slot);
  throw ScriptRaise("builtins.KeyError", "'" + name + "'");
}

/// By position; as in Python, a negative one counts from the end.
IValue submoduleAt(const IValue& container, int64_t index) {
  const auto& object = *container.toObject();
  const auto type = object.type();
  std::vector<size_t> slots;
  for (size_t slot = 0; slot < type->numAttributes(); ++slot) {
    if (type->getAttribute(slot)->is_module()) slots.push_back(slot);
  }
  const auto size = static_cast<int64_t>(slots.size());
  if (index < -size || index >= size)
    throw ScriptRaise("builtins.IndexError", "index " + std::to_string(index) + " is out of range");
  return readSlot(object, slots[static_cast<size_t>(index < 0 ? index + size : index)]);
}

/// What an Await of scripts is: the one argument of c10's, which has no place of its own for a call that can be looked
/// into. Chains of them may be longer than the stack, so what one holds goes when the outermost has gone.
struct Awaited : torch::CustomClassHolder {
  ~Awaited() override {
    thread_local std::vector<IValue>* open = nullptr;
    if (has_result) inputs.push_back(std::move(result));
    if (open) {
      std::move(inputs.begin(), inputs.end(), std::back_inserter(*open));
      return;
    }
    std::vector<IValue> held = std::move(inputs);
    open = &held;
    while (!held.empty()) {
      std::vector<IValue> next = std::exchange(held, {});
      releaseAll(next);
    }
    open = nullptr;
  }

  std::shared_ptr<void> owner;
  c10::intrusive_ptr<AwaitedCall> call;
  std::mutex mutex;  // of what follows
  std::vector<IValue> inputs;
  IValue result;
  bool has_result = false;
};

AwaitPtr awaitOf(c10::intrusive_ptr<Awaited> awaited, c10::TypePtr type) {
  auto awaitable = c10::make_intrusive<c10::ivalue::Await>(std::move(type));
  awaitable->setArgs({IValue::make_capsule(std::move(awaited))});
  return awaitable;
}

c10::intrusive_ptr<Awaited> awaitedOf(c10::ivalue::Await& awaitable) {
  if (awaitable.args().size() != 1 || !awaitable.args()[0].isCapsule()) return {};
  return c10::dynamic_intrusive_pointer_cast<Awaited>(awaitable.args()[0].toCapsule());
}

constexpr Row kMiscRows[] = {
    {"prim::Print(...) -> ()",
     [](Stack& stack, size_t count) {
       printText(printedLine({stack.data() + (stack.size() - count), count}));
       drop(stack, count);
     },
     kEffect},
    {"prim::RaiseException(str msg, str? cls=None) -> ()",
     kernel([](const std::string& message, const std::optional<std::string>& cls) {
       throw ScriptRaise(cls.value_or("RuntimeError"), message);
     }),
     kEffect},
    // The interpreter has an instruction for this, which knows the place.
    {"aten::warn(str message, int stacklevel=2) -> ()",
     kernel([](const std::string& message, int64_t) { warn({.message = message}); }), kEffect},
    {"aten::save(t item, str filename) -> ()",
     kernel([](IValue& item, const std::string& file) { saveValue(item, file); }), kEffect, Restriction::Files},
    {"aten::_unwrap_optional(t(a)? optional) -> t(a)", kernel([](IValue& v) { return unwrapped(v); })},
    {"prim::unchecked_unwrap_optional(t(a)? optional) -> t(a)", kernel([](IValue& v) { return unwrapped(v); })},
    {"prim::IfThenElse(bool cond, Any(a) x, Any(b) y) -> Any(b|a)",
     kernel([](bool condition, IValue& x, IValue& y) { return condition ? std::move(x) : std::move(y); })},
    {"aten::hash.generic(t value) -> int", kernel([](IValue& v) { return hashOf(v); })},
    {"prim::id(AnyClassType? x) -> int", kernel([](IValue& v) {
       return v.isNone() ? int64_t(0) : static_cast<int64_t>(std::hash<const void*>()(v.internalToPointer()));
     })},
    // Attributes may be set between two reads, so that equal arguments need not have equal results.
    {"prim::ModuleContainerIndex.list(Any self, int ind) -> Any",
     kernel([](IValue& self, int64_t index) { return submoduleAt(self, index); }), Trait::Nondeterministic},
    {"prim::ModuleContainerIndex.dict(Any self, str ind) -> Any",
     kernel([](IValue& self, const std::string& key) { return submodule(self, key); }), Trait::Nondeterministic},
    {"prim::EnumName(AnyEnumType enum) -> str", kernel([](IValue& v) { return v.toEnumHolder()->name(); })},
    {"prim::EnumValue.int(AnyEnumType enum) -> int",
     kernel([](IValue& v) { return enumValue(v, &IValue::isInt, "an int"); })},
    {"prim::EnumValue.float(AnyEnumType enum) -> float",
     kernel([](IValue& v) { return enumValue(v, &IValue::isDouble, "a float"); })},
    {"prim::EnumValue.str(AnyEnumType enum) -> str",
     kernel([](IValue& v) { return enumValue(v, &IValue::isString, "a string"); })},
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
    {"prim::PythonOp(Capsule host, ...) -> Any",
     [](Stack& stack, size_t count) {
       const auto host = c10::dynamic_intrusive_pointer_cast<HostCallable>(stack[stack.size() - count].toCapsule());
       if (!host) fail("prim::PythonOp expects a function of the host");
       stack.erase(stack.end() - static_cast<std::ptrdiff_t>(count));
       host->call(stack, count - 1);
     },
     kEffect | Trait::ChangesState, Restriction::Foreign},
    {"prim::awaitable_wait(...) -> Any",
     [](Stack& stack, size_t count) {
       if (count != 1) fail("prim::awaitable_wait takes one awaitable");
       stack.back() = resultOf(*stack.back().toAwait());
     },
     kEffect | Trait::ChangesState},
    {"prim::awaitable_nowait(t self) -> Await(t)", kernel([](IValue& self) {
       c10::TypePtr type = typeOf(self, "making an awaitable");
       return IValue(makeAwaitable(std::move(self), std::move(type)));
     })},
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
    // What the prelude's torch.autocast and torch.inference_mode are made of.
    {"cresset::enter_autocast(str device_type, int? dtype, bool enabled, bool? cache_enabled) -> int[]",
     kernel([](const std::string& type, IValue& dtype, bool enabled, IValue& caches) {
       return EnteredModes::enterAutocast(type, dtype, enabled, caches);
     }),
     kEffect},
    {"cresset::exit_autocast(str device_type, int[] previous) -> ()",
     kernel([](const std::string& type, const std::vector<int64_t>& previous) {
       EnteredModes::exitAutocast(type, previous);
     }),
     kEffect},
    // As autocast casts the arguments of operators: parameters only once while it is on.
    {"cresset::cached_cast(Tensor(a) self, ScalarType dtype, Device device) -> Tensor(a)",
     kernel([](const at::Tensor& self, int64_t dtype, c10::Device device) {
       return at::autocast::cached_cast(static_cast<at::ScalarType>(dtype), self, device.type());
     }),
     Trait::None, Restriction::Internal},
    {"cresset::enter_inference_mode(bool mode) -> ()",
     kernel([](bool mode) { EnteredModes::enterInferenceMode(mode); }), kEffect},
    {"cresset::exit_inference_mode() -> ()", kernel([]() { EnteredModes::exitInferenceMode(); }), kEffect},
    {"prim::TimePoint() -> int", kernel([]() {
       auto now = std::chrono::steady_clock::now().time_since_epoch();
       return static_cast<int64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
     }),
     kRandom},
};

}  // namespace

AwaitPtr makeAwaitable(c10::intrusive_ptr<AwaitedCall> call, std::vector<IValue> inputs) {
  auto awaited = c10::make_intrusive<Awaited>();
  c10::TypePtr type = call->resultType();
  awaited->owner = call->owner();
  awaited->call = std::move(call);
  awaited->inputs = std::move(inputs);
  return awaitOf(std::move(awaited), std::move(type));
}

AwaitPtr makeAwaitable(IValue result, c10::TypePtr result_type) {
  auto awaited = c10::make_intrusive<Awaited>();
  awaited->result = std::move(result);
  awaited->has_result = true;
  return awaitOf(std::move(awaited), std::move(result_type));
}

bool hasResult(c10::ivalue::Await& awaitable) {
  const auto awaited = awaitedOf(awaitable);
  if (!awaited) return awaitable.completed();
  const std::unique_lock lock(awaited->mutex);
  return awaited->has_result;
}

IValue resultOf(c10::ivalue::Await& awaitable) {
  const auto awaited = awaitedOf(awaitable);
  if (!awaited) return awaitable.wait();
  std::unique_lock lock(awaited->mutex);
  if (awaited->has_result) return awaited->result;
  std::vector<IValue> inputs = awaited->inputs;
  lock.unlock();
  IValue result = awaited->call->run(std::move(inputs));
  lock.lock();
  if (awaited->has_result) return awaited->result;  // it has waited for itself, or another thread has asked
  awaited->result = result;
  awaited->has_result = true;
  inputs = std::exchange(awaited->inputs, {});
  lock.unlock();
  releaseAll(inputs);
  return result;
}

std::vector<IValue> heldBy(c10::ivalue::Await& awaitable) {
  const auto awaited = awaitedOf(awaitable);
  if (!awaited) return {};
  const std::lock_guard lock(awaited->mutex);
  return awaited->has_result ? std::vector<IValue>{awaited->result} : awaited->inputs;
}

std::span<const Row> miscRows() {
  return kMiscRows;
}

}  // namespace cresset
