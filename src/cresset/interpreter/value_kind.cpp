#include "cresset/interpreter/value_kind.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <c10/util/hash.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace cresset {

namespace {

/// Numbers of values that programs choose by, for the life of the process.
template <typename T, typename Hash, typename Equal>
class Numbered {
 public:
  /// The same number for equal values, of which `copy` makes one to keep; nothing if there are thousands of others.
  template <typename Given, typename Copy>
  std::optional<uint32_t> numberOf(const Given& value, const Copy& copy) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = numbers_.find(value); found != numbers_.end()) return found->second;
    }
    const std::unique_lock lock(mutex_);
    if (const auto found = numbers_.find(value); found != numbers_.end()) return found->second;
    if (values_.size() >= kMost) return std::nullopt;
    values_.push_back(copy());
    return numbers_.emplace(values_.back(), static_cast<uint32_t>(values_.size() - 1)).first->second;
  }

  const T& valueOf(uint32_t number) {
    const std::shared_lock lock(mutex_);
    return values_.at(number);
  }

 private:
  static constexpr size_t kMost = 4096;
  std::shared_mutex mutex_;
  std::unordered_map<T, uint32_t, Hash, Equal> numbers_;
  std::deque<T> values_;  // by number
};

constexpr size_t kMaxTextLength = 64;
constexpr size_t kMaxIntegers = 32;  // in a list

auto& texts() {
  static auto* texts = new Numbered<std::string, std::hash<std::string>, std::equal_to<>>;
  return *texts;
}

int64_t integerOf(const c10::IValue& value) {
  return value.toInt();
}
int64_t integerOf(int64_t value) {
  return value;
}

/// Lists of integers are looked for without being copied.
struct IntegersHash {
  using is_transparent = void;
  template <typename List>
  size_t operator()(const List& list) const {
    size_t hash = 0;
    for (const auto& element : list) hash = c10::hash_combine(hash, static_cast<size_t>(integerOf(element)));
    return hash;
  }
};

struct IntegersEqual {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    const auto isEqual = [](const auto& x, const auto& y) { return integerOf(x) == integerOf(y); };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), isEqual);
  }
};

auto& integerLists() {
  static auto* lists = new Numbered<std::vector<int64_t>, IntegersHash, IntegersEqual>;
  return *lists;
}

}  // namespace

ValueKind ValueKind::ofText(const std::string& text) {
  if (text.size() > kMaxTextLength) return {};
  const auto number = texts().numberOf(text, [&] { return text; });
  return number ? ValueKind{.kind = Kind::Text, .text = *number} : ValueKind();
}

const std::string& ValueKind::textOfNumber() const {
  return texts().valueOf(text);
}

ValueKind ValueKind::ofIntegers(c10::ArrayRef<c10::IValue> list) {
  if (list.size() > kMaxIntegers) return {};
  const auto number = integerLists().numberOf(list, [&] {
    std::vector<int64_t> integers;
    for (const c10::IValue& element : list) integers.push_back(integerOf(element));
    return integers;
  });
  return number ? ValueKind{.kind = Kind::Integers, .text = *number} : ValueKind();
}

const std::vector<int64_t>& ValueKind::integersOfNumber() const {
  return integerLists().valueOf(text);
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

std::string textOfIntegers(const std::vector<int64_t>& integers) {
  std::string text;
  for (const int64_t element : integers) text += (text.empty() ? "" : ", ") + std::to_string(element);
  return "[" + text + "]";
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
