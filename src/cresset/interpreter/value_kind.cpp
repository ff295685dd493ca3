#include "cresset/interpreter/value_kind.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <c10/util/hash.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <type_traits>
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
constexpr size_t kMaxElements = 32;  // of a list

auto& texts() {
  static auto* texts = new Numbered<std::string, std::hash<std::string>, std::equal_to<>>;
  return *texts;
}

/// An element of a list as the program has it: lists are looked for without being copied.
template <typename T>
using ElementView = std::conditional_t<std::is_same_v<T, std::string>, std::string_view, T>;
template <typename T>
ElementView<T> elementAs(const c10::IValue& element) {
  if constexpr (std::is_same_v<T, std::string>) {
    return element.toStringRef();
  } else {
    return element.toInt();
  }
}
template <typename T>
ElementView<T> elementAs(const T& element) {
  return element;
}

template <typename T>
struct ListHash {
  using is_transparent = void;
  template <typename List>
  size_t operator()(const List& list) const {
    size_t hash = 0;
    for (const auto& element : list) hash = c10::hash_combine(hash, std::hash<ElementView<T>>()(elementAs<T>(element)));
    return hash;
  }
};

template <typename T>
struct ListEqual {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    const auto isEqual = [](const auto& x, const auto& y) { return elementAs<T>(x) == elementAs<T>(y); };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), isEqual);
  }
};

template <typename T>
auto& listsOf() {
  static auto* lists = new Numbered<std::vector<T>, ListHash<T>, ListEqual<T>>;
  return *lists;
}

template <typename T>
ValueKind kindOfList(ValueKind::Kind kind, c10::ArrayRef<c10::IValue> list) {
  if (list.size() > kMaxElements) return {};
  const auto number = listsOf<T>().numberOf(list, [&] {
    std::vector<T> elements;
    for (const c10::IValue& element : list) elements.emplace_back(elementAs<T>(element));
    return elements;
  });
  return number ? ValueKind{.kind = kind, .text = *number} : ValueKind();
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
  return kindOfList<int64_t>(Kind::Integers, list);
}

const std::vector<int64_t>& ValueKind::integersOfNumber() const {
  return listsOf<int64_t>().valueOf(text);
}

ValueKind ValueKind::ofTexts(c10::ArrayRef<c10::IValue> list) {
  const bool is_short = std::all_of(
      list.begin(), list.end(), [](const c10::IValue& text) { return text.toStringRef().size() <= kMaxTextLength; });
  return is_short ? kindOfList<std::string>(Kind::Texts, list) : ValueKind();
}

const std::vector<std::string>& ValueKind::textsOfNumber() const {
  return listsOf<std::string>().valueOf(text);
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

std::string textOfList(const std::vector<std::string>& elements) {
  std::string text;
  for (const std::string& element : elements) text += (text.empty() ? "" : ", ") + element;
  return "[" + text + "]";
}

std::string textOfIntegers(const std::vector<int64_t>& integers) {
  std::vector<std::string> elements;
  for (const int64_t element : integers) elements.push_back(std::to_string(element));
  return textOfList(elements);
}

std::string textOfTexts(std::vector<std::string> texts) {
  for (std::string& text : texts) text = "'" + text + "'";
  return textOfList(texts);
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
