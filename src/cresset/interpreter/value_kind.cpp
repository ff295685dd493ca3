#include "cresset/interpreter/value_kind.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace cresset {

namespace {

/// Numbers of texts, for the life of the process.
struct Texts {
  static constexpr size_t kMaxTexts = 4096, kMaxLength = 64;
  std::shared_mutex mutex;
  std::unordered_map<std::string, uint32_t> numbers;
  std::deque<std::string> texts;  // by number

  static Texts& get() {
    static auto* texts = new Texts;
    return *texts;
  }
};

}  // namespace

ValueKind ValueKind::ofText(const std::string& text) {
  ValueKind kind;
  if (text.size() > Texts::kMaxLength) return kind;
  Texts& all = Texts::get();
  const auto known = [&](const auto& found) {
    kind.kind = Kind::Text;
    kind.text = found->second;
    return kind;
  };
  {
    const std::shared_lock lock(all.mutex);
    if (const auto found = all.numbers.find(text); found != all.numbers.end()) return known(found);
  }
  const std::unique_lock lock(all.mutex);
  if (const auto found = all.numbers.find(text); found != all.numbers.end()) return known(found);
  if (all.texts.size() >= Texts::kMaxTexts) return kind;
  all.texts.push_back(text);
  return known(all.numbers.emplace(text, static_cast<uint32_t>(all.texts.size() - 1)).first);
}

const std::string& ValueKind::textOfNumber() const {
  Texts& all = Texts::get();
  const std::shared_lock lock(all.mutex);
  return all.texts.at(text);
}

ValueKind ValueKind::ofInteger(int64_t value) {
  ValueKind kind;
  if (value != static_cast<int32_t>(value)) return kind;
  kind.kind = Kind::Integer;
  kind.text = static_cast<uint32_t>(value);
  return kind;
}

Layout layoutOf(const at::Tensor& tensor) {
  if (tensor.is_contiguous()) return Layout::Contiguous;
  return tensor.dim() == 4 && tensor.is_contiguous(at::MemoryFormat::ChannelsLast) ? Layout::ChannelsLast
                                                                                   : Layout::Strided;
}

uint64_t ValueKind::word() const {
  if (kind != Kind::Tensor) return uint64_t(kind) | uint64_t(text) << 8;
  return uint64_t(kind) | uint64_t(dtype) << 8 | uint64_t(rank) << 16 | uint64_t(device) << 24 |
         uint64_t(requires_grad) << 32 | uint64_t(layout) << 40;
}

ValueKind ValueKind::of(const at::Tensor& tensor) {
  return {
      Kind::Tensor, tensor.scalar_type(), static_cast<uint8_t>(tensor.dim()), tensor.device().type(),
      tensor.requires_grad()};
}

ValueKind ValueKind::of(uint64_t word) {
  if (Kind(word & 0xff) != Kind::Tensor) return {.kind = Kind(word & 0xff), .text = static_cast<uint32_t>(word >> 8)};
  return {Kind(word & 0xff),          at::ScalarType(word >> 8 & 0xff),
          uint8_t(word >> 16 & 0xff), c10::DeviceType(word >> 24 & 0xff),
          (word >> 32 & 1) != 0,      Layout(word >> 40 & 0xff)};
}

namespace {

std::string textOfTensor(const ValueKind& kind) {
  std::string text = std::string(c10::toString(kind.dtype)) + "(";
  for (int i = 0; i < kind.rank; ++i) text += i ? ", *" : "*";
  if (kind.device != c10::DeviceType::CPU) text += ", device=" + c10::DeviceTypeName(kind.device, true);
  if (kind.requires_grad) text += kind.rank ? ", requires_grad=1" : "requires_grad=1";
  text += ")";
  if (kind.layout == Layout::Contiguous) text += ", contiguous";
  if (kind.layout == Layout::ChannelsLast) text += ", channels last";
  if (kind.layout == Layout::Strided) text += ", not contiguous";
  return text;
}

constexpr uint64_t wordOf(ValueKind::Kind kind) {
  return uint64_t(kind);
}

uint64_t wordWithLayout(const c10::IValue& value) {
  const uint64_t word = wordOfTensor(value);
  return word == kUnreadable ? word : word | uint64_t(layoutOf(value.toTensor())) << 40;
}

}  // namespace

std::string ValueKind::toString() const {
  switch (kind) {
#define KIND(Name, text, constant) \
  case Kind::Name:                 \
    return text;
#include "cresset/interpreter/guards.def"
  }
  return "";
}

std::optional<c10::IValue> ValueKind::constant() const {
  switch (kind) {
#define KIND(Name, text, constant) \
  case Kind::Name:                 \
    return constant;
#include "cresset/interpreter/guards.def"
  }
  return std::nullopt;
}

std::optional<Guard> guardFor(const c10::Type& type, bool with_layout, bool of_attribute) {
  using Type = c10::TypeKind;
  const auto is = [&type](Type kind, std::optional<Type> held = std::nullopt) {
    return type.kind() == kind && (!held || type.containedTypes()[0]->kind() == *held);
  };
#define GUARD(Name, fits, read) \
  if (fits) return Guard::Name;
#include "cresset/interpreter/guards.def"
  return std::nullopt;
}

uint64_t detail::readGuard(Guard guard, const c10::IValue& value) {
  using Kind = ValueKind::Kind;
  switch (guard) {
#define GUARD(Name, fits, read) \
  case Guard::Name:             \
    return read;
#include "cresset/interpreter/guards.def"
  }
  return kUnreadable;
}

}  // namespace cresset
