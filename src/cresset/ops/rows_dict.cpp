// Dicts, one family of rows per key type. A dict keeps the order of insertion; keys(), values() and items() are copies.
#include <ATen/core/jit_type.h>

#include <algorithm>

#include "cresset/ops/format.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/support/dict_entries.h"

namespace cresset {

namespace {

auto lookUp(Dict& dict, const IValue& key) {
  auto it = dict.dict.find(key);
  if (it == dict.dict.end()) fail("KeyError: " + toPrinted(key));
  return it;
}

IValue pairOf(const IValue& key, const IValue& value) {
  return c10::ivalue::Tuple::create(key, value);
}

constexpr size_t kPairBytes = 160;  // in a list, rounded up

IValue keysOf(Dict& dict) {
  requireMemory(dict.dict.size() * sizeof(IValue));
  std::vector<IValue> keys;
  keys.reserve(dict.dict.size());
  for (const auto& entry : dict.dict) keys.push_back(entry.first);
  return newList(std::move(keys), dict.elementTypes.keyType);
}
IValue valuesOf(Dict& dict) {
  requireMemory(dict.dict.size() * sizeof(IValue));
  std::vector<IValue> values;
  values.reserve(dict.dict.size());
  for (const auto& entry : dict.dict) values.push_back(entry.second);
  return newList(std::move(values), dict.elementTypes.valueType);
}
IValue itemsOf(Dict& dict) {
  requireMemory(dict.dict.size() * kPairBytes);
  std::vector<IValue> items;
  items.reserve(dict.dict.size());
  for (const auto& entry : dict.dict) items.push_back(pairOf(entry.first, entry.second));
  return newList(std::move(items), c10::TupleType::create({dict.elementTypes.keyType, dict.elementTypes.valueType}));
}

/// As emplaceEntry; the limit is asked before a table is moved to a larger one.
std::pair<DictMap::iterator, bool> emplace(Dict& dict, IValue key, IValue value) {
  if (const size_t bytes = movedTableBytes(dict.dict, key)) requireMemory(bytes);
  return emplaceEntry(dict.dict, std::move(key), std::move(value));
}

/// Whoever had the place before is released when the dict is whole again.
void assign(Dict& dict, const IValue& key, const IValue& value) {
  const auto [entry, is_new] = emplace(dict, key, value);
  if (!is_new) release(std::exchange(entry->second, value));
}
void erase(Dict& dict, decltype(Dict::dict)::iterator entry) {
  IValue value = std::move(entry->second);
  dict.dict.erase(entry);
  release(value);
}
void clear(Dict& dict) {
  std::vector<IValue> values;
  for (auto& entry : dict.dict) {
    if (holdsValues(entry.second)) values.push_back(std::move(entry.second));
  }
  dict.dict.clear();
  releaseAll(values);
}

IValue newDict(c10::TypePtr key, c10::TypePtr value) {
  return IValue(c10::impl::GenericDict(std::move(key), std::move(value)));
}
IValue copyOf(Dict& dict) {
  IValue copy = newDict(dict.elementTypes.keyType, dict.elementTypes.valueType);
  for (const auto& entry : dict.dict) emplace(dictOf(copy), entry.first, entry.second);
  return copy;
}
/// The last pair of a key wins; it keeps the place of the first.
IValue fromPairs(List& pairs) {
  const auto& types = pairs.elementType->expectRef<c10::TupleType>().elements();
  IValue result = newDict(types[0], types[1]);
  for (const IValue& pair : pairs.list) {
    const auto& elements = pair.toTupleRef().elements();
    assign(dictOf(result), elements[0], elements[1]);
  }
  return result;
}

#define FAMILY(K)                                                                                                     \
  {"aten::__getitem__.Dict_" K "(Dict(" K ", t) self, " K " key) -> t(*)",                                            \
   kernel([](Dict& dict, IValue& key) { return IValue(lookUp(dict, key)->second); })},                                \
      {"aten::_set_item." K "(Dict(" K ", t)(a!) l, " K "(b -> *) idx, t(c -> *) v) -> ()",                           \
       kernel([](Dict& dict, IValue& key, IValue& value) { assign(dict, key, value); })},                             \
      {"aten::__contains__." K "(Dict(" K ", t) dict, " K " key) -> bool",                                            \
       kernel([](Dict& dict, IValue& key) { return dict.dict.find(key) != dict.dict.end(); })},                       \
      {"aten::Delete.Dict_" K "(Dict(" K ", t)(a!) self, " K " key) -> ()",                                           \
       kernel([](Dict& dict, IValue& key) { erase(dict, lookUp(dict, key)); })},                                      \
      {"aten::get." K "(Dict(" K ", t) self, " K " key) -> t(*)?", kernel([](Dict& dict, IValue& key) {               \
         auto it = dict.dict.find(key);                                                                               \
         return it == dict.dict.end() ? IValue() : IValue(it->second);                                                \
       })},                                                                                                           \
      {"aten::get.default_" K "(Dict(" K ", t) self, " K " key, t default_value) -> t(*)",                            \
       kernel([](Dict& dict, IValue& key, IValue& otherwise) {                                                        \
         auto it = dict.dict.find(key);                                                                               \
         return it == dict.dict.end() ? std::move(otherwise) : IValue(it->second);                                    \
       })},                                                                                                           \
      {"aten::setdefault." K "(Dict(" K ", t)(a!) self, " K "(b -> *) key, t(c -> *) default_value) -> t(*)",         \
       kernel([](Dict& dict, IValue& key, IValue& value) {                                                            \
         return IValue(emplace(dict, std::move(key), std::move(value)).first->second);                                \
       })},                                                                                                           \
      {"aten::pop.Dict_" K "(Dict(" K ", t)(a!) self, " K " key) -> t(*)", kernel([](Dict& dict, IValue& key) {       \
         auto it = lookUp(dict, key);                                                                                 \
         IValue value = it->second;                                                                                   \
         dict.dict.erase(it);                                                                                         \
         return value;                                                                                                \
       })},                                                                                                           \
      {"aten::pop.Dict_default_" K "(Dict(" K ", t)(a!) self, " K " key, t default_value) -> t(*)",                   \
       kernel([](Dict& dict, IValue& key, IValue& otherwise) {                                                        \
         auto it = dict.dict.find(key);                                                                               \
         if (it == dict.dict.end()) return std::move(otherwise);                                                      \
         IValue value = it->second;                                                                                   \
         dict.dict.erase(it);                                                                                         \
         return value;                                                                                                \
       })},                                                                                                           \
      {"aten::popitem." K "(Dict(" K ", t)(a!) self) -> ((" K ", t))", kernel([](Dict& dict) {                        \
         if (dict.dict.empty()) fail("popitem(): dictionary is empty");                                               \
         auto it = dict.dict.begin();                                                                                 \
         IValue item = pairOf(it->first, it->second);                                                                 \
         dict.dict.erase(it);                                                                                         \
         return item;                                                                                                 \
       })},                                                                                                           \
      {"aten::update." K "(Dict(" K ", t)(a!) self, Dict(" K ", t)(a!) to_add) -> ()",                                \
       kernel([](Dict& dict, Dict& other) {                                                                           \
         if (&dict == &other) return;                                                                                 \
         for (const auto& entry : other.dict) assign(dict, entry.first, entry.second);                                \
       })},                                                                                                           \
      {"aten::clear." K "(Dict(" K ", t)(a!) self) -> ()", kernel([](Dict& dict) { clear(dict); })},                  \
      {"aten::len.Dict_" K "(Dict(" K ", t) self) -> int",                                                            \
       kernel([](Dict& dict) { return static_cast<int64_t>(dict.dict.size()); })},                                    \
      {"aten::keys." K "(Dict(" K ", t) self) -> " K "[](*)", kernel([](Dict& dict) { return keysOf(dict); })},       \
      {"aten::values." K "(Dict(" K ", t) self) -> t[](*)", kernel([](Dict& dict) { return valuesOf(dict); })},       \
      {"aten::items." K "(Dict(" K ", t) self) -> ((" K ", t)[])", kernel([](Dict& dict) { return itemsOf(dict); })}, \
      {"aten::copy.Dict_" K "(Dict(" K ", t)(a) self) -> Dict(" K ", t)",                                             \
       kernel([](Dict& dict) { return copyOf(dict); })},                                                              \
      {"aten::dict.Dict_" K "(Dict(" K ", t)(a) self) -> Dict(" K ", t)",                                             \
       kernel([](Dict& dict) { return copyOf(dict); })},                                                              \
  {                                                                                                                   \
    "aten::dict." K "((" K ", tVal)[] inputs) -> Dict(" K ", tVal)",                                                  \
        kernel([](List& pairs) { return fromPairs(pairs); })                                                          \
  }

constexpr Row kDictRows[] = {
    FAMILY("str"),
    FAMILY("int"),
    FAMILY("bool"),
    FAMILY("float"),
    FAMILY("complex"),
    FAMILY("Tensor"),
    {"aten::dict() -> Dict(str, Tensor)",
     kernel([]() { return newDict(c10::StringType::get(), c10::TensorType::get()); })},
};
#undef FAMILY

}  // namespace

std::span<const Row> dictRows() {
  return kDictRows;
}

}  // namespace cresset
