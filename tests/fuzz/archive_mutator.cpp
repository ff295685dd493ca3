// Mutations of archives, and what must hold of each. See archive_mutator.h.
#include "archive_mutator.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iostream>

#include "archive_builder.h"
#include "archive_checks.h"
#include "cresset/archive/archive.h"
#include "cresset/archive/zip_reader.h"
#include "cresset/support/error.h"

extern "C" size_t tdefl_compress_mem_to_mem(void* out, size_t out_size, const void* in, size_t in_size, int flags);

namespace archive_mutator {

namespace {

using cresset::ArchiveBytes;
using cresset::ZipReader;
using namespace archive_builder;
using namespace std::string_literals;
using Random = std::mt19937_64;

size_t below(Random& random, size_t n) {
  return n == 0 ? 0 : random() % n;
}
template <typename T>
const T& pick(Random& random, const std::vector<T>& of) {
  return of[below(random, of.size())];
}

Items readItems(const std::string& archive, size_t most_bytes = size_t(1) << 40) {
  auto bytes = ArchiveBytes::wrap(archive.data(), archive.size(), nullptr);
  cresset::LoadBudget budget(most_bytes);
  ZipReader zip(bytes, budget);
  Items items;
  for (const auto& entry : zip.entries()) items.push_back({std::string(entry.name), zip.read(entry, budget).take()});
  return items;
}

// ---- mutations ----

void flipBytes(Random& random, std::string& data, size_t count) {
  for (size_t i = 0; i < count && !data.empty(); ++i)
    data[below(random, data.size())] =
        static_cast<char>(below(random, 3) == 0 ? random() : uint64_t(1) << below(random, 8));
}

void cutShort(Random& random, std::string& data) {
  data.resize(below(random, data.size()));
}

void movePiece(Random& random, std::string& data) {
  std::string piece = data.substr(below(random, data.size()), 1 + below(random, 200));
  data.insert(below(random, data.size()), piece);
}

uint64_t wildNumber(Random& random) {
  static const std::vector<uint64_t> numbers{
      0,
      1,
      2,
      0x7f,
      0x80,
      0xff,
      0x7fff,
      0x8000,
      0xffff,
      0x10000,
      0x7fffffff,
      0x80000000,
      0xfffffffe,
      0xffffffff,
      0x100000000,
      0x7fffffffffffffff,
      0x8000000000000000,
      0xffffffffffffffff,
      0x1fffffffffffffff,
      1000000};
  return below(random, 4) == 0 ? random() : pick(random, numbers);
}

std::string wildInt(Random& random) {
  std::string op;
  switch (below(random, 3)) {
    case 0:
      op = "J";
      put(op, wildNumber(random), 4);
      break;
    case 1:
      op = "\x8a\x08";
      put(op, wildNumber(random), 8);
      break;
    default:
      op = "\x8a\x08";
      put(op, uint64_t(1) << below(random, 64), 8);
      break;
  }
  return op;
}

Item* pickItem(Random& random, Items& items, const char* suffix) {
  std::vector<Item*> found;
  for (Item& item : items)
    if (item.name.size() >= strlen(suffix) &&
        item.name.compare(item.name.size() - strlen(suffix), std::string::npos, suffix) == 0)
      found.push_back(&item);
  return found.empty() ? nullptr : pick(random, found);
}

std::string nested(Random& random, size_t depth) {
  std::string out = "\x80\x02";
  switch (below(random, 5)) {
    case 0:
      for (size_t i = 0; i < depth; ++i) out += "]";
      for (size_t i = 0; i + 1 < depth; ++i) out += "a";
      break;
    case 1:
      out += ")";
      for (size_t i = 0; i < depth; ++i) out += "\x85";
      break;
    case 2:  // each list holds the one before it twice: exponential if it is ever copied
      out += "]q\x01";
      for (size_t i = 0; i < depth; ++i)
        out +=
            "]h\x01"
            "ah\x01"
            "aq\x01";
      break;
    case 3:  // outside in, through the memo
      out += "]q\x01q\x02";
      for (size_t i = 0; i < depth; ++i)
        out +=
            "h\x01]q\x01"
            "a0";
      break;
    default:  // contains itself
      out +=
          "]q\x01h\x01"
          "a";
      break;
  }
  return out + ".";
}

using Mutation = std::string (*)(Random&, const std::string& archive, const Items& items);

std::string mutateRaw(Random& random, const std::string& archive, const Items&) {
  std::string copy = archive;
  switch (below(random, 4)) {
    case 0:
      flipBytes(random, copy, 1 + below(random, 8));
      break;
    case 1:
      cutShort(random, copy);
      break;
    case 2:
      copy.erase(below(random, copy.size()), 1 + below(random, 100));
      break;
    default:
      copy.insert(below(random, copy.size()), std::string(1 + below(random, 100), static_cast<char>(random())));
      break;
  }
  return copy;
}

// Fields of the directory, of local headers and of the end records.
std::string mutateHeaders(Random& random, const std::string& archive, const Items&) {
  std::string copy = archive;
  static const std::vector<std::string> signatures{
      "PK\x01\x02", "PK\x03\x04", std::string("PK\x05\x06"), std::string("PK\x06\x06"), std::string("PK\x06\x07")};
  const std::string& signature = pick(random, signatures);
  std::vector<size_t> places;
  for (size_t at = copy.find(signature); at != std::string::npos; at = copy.find(signature, at + 1))
    places.push_back(at);
  if (places.empty()) return mutateRaw(random, archive, {});
  for (size_t i = 0; i < 1 + below(random, 3); ++i) {
    size_t at = pick(random, places) + 4 + below(random, 52), width = size_t(1) << below(random, 4);
    uint64_t number = wildNumber(random);
    for (size_t k = 0; k < width && at + k < copy.size(); ++k) copy[at + k] = static_cast<char>(number >> (8 * k));
  }
  return copy;
}

std::string mutateEntries(Random& random, const std::string&, const Items& original) {
  Items items = original;
  Item& item = items[below(random, items.size())];
  Item& other = items[below(random, items.size())];
  switch (below(random, 6)) {
    case 0:
      item.name = other.name;
      break;
    case 1:
      items.push_back(item);
      break;
    case 2:
      std::swap(item.data, other.data);
      break;
    case 3:
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(below(random, items.size())));
      break;
    case 4:
      flipBytes(random, item.name, 1 + below(random, 3));
      break;
    default:
      std::shuffle(items.begin(), items.end(), random);
      break;
  }
  return writeZip(items);
}

std::string mutatePickle(Random& random, const std::string&, const Items& original) {
  Items items = original;
  Item* item = below(random, 4) == 0 ? pickItem(random, items, "_pkl") : pickItem(random, items, ".pkl");
  if (!item) item = pickItem(random, items, ".pkl");
  if (!item) return mutateEntries(random, {}, original);
  std::string& data = item->data;
  switch (below(random, 7)) {
    case 0:
      flipBytes(random, data, 1 + below(random, 6));
      break;
    case 1:
      cutShort(random, data);
      break;
    case 2: {  // a name that must not be
      static const std::vector<std::string> names{
          "cos\nsystem\n(X\x04\0\0\0trueetR"s,
          "cbuiltins\neval\n",
          "cposix\nsystem\n",
          "cbuiltins\ngetattr\n",
          "ctorch.hub\nload\n",
          "c__torch__\nNone\n",
          "c__torch__.torch.classes.quantized\nConv2dPackedParamsBase\n",
          "ctorch._utils\n_rebuild_tensor_v3\n",
          "csubprocess\nPopen\n"};
      size_t at = data.find("c__torch__", below(random, data.size()));
      data.insert(at == std::string::npos ? std::min<size_t>(2, data.size()) : at, pick(random, names));
      break;
    }
    case 3:
      data = nested(random, size_t(1) << (4 + below(random, 17)));
      break;
    case 4: {  // wild numbers for small ints
      for (size_t i = 0; i < 1 + below(random, 3); ++i) {
        size_t at = data.find('K', below(random, data.size()));
        if (at != std::string::npos && at + 2 <= data.size()) data.replace(at, 2, wildInt(random));
      }
      break;
    }
    case 5:
      movePiece(random, data);
      break;
    default: {  // other memo numbers
      for (size_t i = 0; i < 1 + below(random, 8); ++i) {
        size_t at = data.find('h', below(random, data.size()));
        if (at != std::string::npos && at + 1 < data.size()) data[at + 1] = static_cast<char>(below(random, 64));
      }
    }
  }
  return writeZip(items);
}

// The tree of modules of the older layout.
std::string mutateJson(Random& random, const std::string& archive, const Items& original) {
  Items items = original;
  Item* item = pickItem(random, items, "model.json");
  if (!item || item->data.empty()) return mutatePickle(random, archive, original);
  std::string& data = item->data;
  const auto places = [&](const char* of) {
    std::vector<size_t> found;
    for (size_t at = data.find_first_of(of); at != std::string::npos; at = data.find_first_of(of, at + 1))
      found.push_back(at);
    return found.empty() ? std::vector<size_t>{0} : found;
  };
  switch (below(random, 7)) {
    case 0:
      flipBytes(random, data, 1 + below(random, 6));
      break;
    case 1:
      cutShort(random, data);
      break;
    case 2:
      movePiece(random, data);
      break;
    case 3: {  // wild numbers: ids, sizes, offsets
      for (size_t i = 0; i < 1 + below(random, 3); ++i) {
        const size_t at = pick(random, places("0123456789"));
        const std::string number = std::to_string(static_cast<int64_t>(wildNumber(random)));
        data.replace(at, 1, below(random, 4) == 0 ? number + "e300" : number);
      }
      break;
    }
    case 4: {  // deep
      const size_t depth = size_t(1) << (4 + below(random, 17));
      const std::string open = below(random, 2) ? "[" : "{\"\":";
      std::string text;
      for (size_t i = 0; i < depth; ++i) text += open;
      data.insert(pick(random, places(":,[")) + 1, text);
      break;
    }
    case 5: {  // long: a string, or many values
      const size_t count = size_t(1) << (10 + below(random, 13));
      std::string text = "\"";
      if (below(random, 2)) {
        text += std::string(count, below(random, 2) ? 'x' : '\\') + "\"";
      } else {
        text = "[0";
        for (size_t i = 0; i < count; ++i) text += ",0";
        text += "]";
      }
      data.insert(pick(random, places(":,[")) + 1, text + ",");
      break;
    }
    default: {  // one member's value for another's
      const size_t from = pick(random, places(":")), to = pick(random, places(":"));
      const std::string value = data.substr(from, data.find_first_of(",}]", from) - from);
      data.replace(to, data.find_first_of(",}]", to) - to, value);
    }
  }
  return writeZip(items);
}

std::string mutateCode(Random& random, const std::string&, const Items& original) {
  Items items = original;
  Item* item = pickItem(random, items, ".py");
  if (!item || item->data.empty()) return mutatePickle(random, {}, original);
  std::string& data = item->data;
  static const std::vector<std::string> types{
      "int", "Tensor", "str", "List[int]", "Optional[Tensor]", "Dict[str, int]", "float", "Any", "bool"};
  switch (below(random, 6)) {
    case 0:
      flipBytes(random, data, 1 + below(random, 6));
      break;
    case 1:
      cutShort(random, data);
      break;
    case 2: {  // another type of an attribute
      std::vector<size_t> places;
      for (size_t at = data.find(" : "); at != std::string::npos; at = data.find(" : ", at + 1)) places.push_back(at);
      if (places.empty()) break;
      size_t at = pick(random, places) + 3, end = data.find('\n', at);
      data.replace(at, (end == std::string::npos ? data.size() : end) - at, pick(random, types));
      break;
    }
    case 3: {  // lines lost or repeated
      size_t at = data.find('\n', below(random, data.size()));
      if (at == std::string::npos) break;
      size_t end = std::min(data.find('\n', at + 1), data.size() - 1);
      if (below(random, 2))
        data.erase(at, end - at);
      else
        data.insert(at, data.substr(at, end - at));
      break;
    }
    case 4: {  // deep
      size_t depth = size_t(1) << (4 + below(random, 14));
      static const std::vector<std::pair<std::string, std::string>> pairs{{"(", ")"},   {"List[", "]"}, {"-", ""},
                                                                          {"not ", ""}, {"[", "]"},     {"x(", ")"}};
      const auto& [open, close] = pick(random, pairs);
      std::string text;
      for (size_t i = 0; i < depth; ++i) text += open;
      text += "1";
      for (size_t i = 0; i < depth; ++i) text += close;
      size_t at = data.find(below(random, 2) ? " : " : " = ", below(random, data.size()));
      data.insert(at == std::string::npos ? data.size() : at + 3, text);
      break;
    }
    default:
      movePiece(random, data);
  }
  return writeZip(items);
}

std::string mutateBomb(Random& random, const std::string&, const Items& original) {
  Items items = original;
  Item* item = below(random, 2) ? pickItem(random, items, below(random, 2) ? ".pkl" : ".py")
                                : &items[below(random, items.size())];
  if (!item) item = items.data();
  size_t size = size_t(1) << (16 + below(random, 12));
  static const std::vector<std::string> fills{std::string(1, '\0'), "]",           "\x89",      "N", "(", "a",
                                              "class A:\n",         "  x : int\n", "X\0\0\0\0"s};
  const std::string& fill = pick(random, fills);
  std::string plain;
  plain.reserve(size + 16);
  while (plain.size() < size) plain += fill;
  if (below(random, 2)) plain = item->data + plain;
  std::string packed(size / 100 + 65536 + item->data.size(), '\0');
  packed.resize(tdefl_compress_mem_to_mem(packed.data(), packed.size(), plain.data(), plain.size(), 128));
  item->claimed = below(random, 3) == 0 ? wildNumber(random) : plain.size();
  item->data = packed;
  item->deflated = true;
  return writeZip(items);
}

std::string mutateNumbers(Random& random, const std::string&, const Items& original) {
  Items items = original;
  Item* item = pickItem(random, items, below(random, 2) ? "version" : "byteorder");
  if (!item) return mutateEntries(random, {}, original);
  static const std::vector<std::string> texts{
      "", "0", "1", "2", "3", "4", "9", "10", "11", "-1", "99999999999999999999999", "big", "little", "\n", "x"};
  item->data = pick(random, texts);
  return writeZip(items);
}

struct Kind {
  const char* name;
  Mutation mutate;
  size_t weight;
};
constexpr Kind kKinds[] = {
    {"raw bytes", mutateRaw, 15},   {"headers", mutateHeaders, 15},
    {"entries", mutateEntries, 12}, {"pickles", mutatePickle, 30},
    {"code", mutateCode, 20},       {"model.json", mutateJson, 12},
    {"bombs", mutateBomb, 5},       {"version, byte order", mutateNumbers, 3},
};

const Kind& pickKind(Random& random) {
  size_t total_weight = 0;
  for (const Kind& kind : kKinds) total_weight += kind.weight;
  size_t weight = below(random, total_weight);
  const Kind* kind = kKinds;
  while (weight >= kind->weight) weight -= (kind++)->weight;
  return *kind;
}

}  // namespace

std::string mutate(const std::string& archive, Random& random, const std::function<void(std::string&)>& mutate_bytes) {
  // What inflates to more is not worth the time.
  constexpr size_t kMostBytes = size_t(4) << 20;
  Items items;
  try {
    items = readItems(archive, kMostBytes);
  } catch (const cresset::Error&) {  // its directory is damaged, or it is a bomb
  }
  if (items.empty() || below(random, 8) == 0) {
    std::string copy = archive;
    mutate_bytes(copy);
    return copy;
  }
  if (below(random, 3) == 0) return pickKind(random).mutate(random, archive, items);
  mutate_bytes(items[below(random, items.size())].data);
  return writeZip(items);
}

Report run(const std::vector<std::string>& archives, const Options& options) {
  std::vector<Items> items;
  for (const std::string& archive : archives) {
    items.push_back(readItems(archive));
    cresset::loadArchive(archive.data(), archive.size(), nullptr);  // what is mutated must load
  }
  Report report;
  const size_t first = options.only.value_or(0), last = options.only ? first + 1 : options.count;
  for (size_t i = first; i < last; ++i) {
    if (options.current) *options.current = static_cast<int>(i);
    Random random(options.seed * 0x9e3779b97f4a7c15u + i);
    const size_t which = below(random, archives.size());
    const Kind& kind = pickKind(random);
    const std::string mutated = kind.mutate(random, archives[which], items[which]);
    if (!options.save_as.empty()) std::ofstream(options.save_as, std::ios::binary) << mutated;
    alarm(options.seconds_for_one);
    const auto outcome = archive_checks::check(
        mutated, random, {.stream = i % 2 == 0, .call = options.call, .verbose = options.verbose});
    alarm(0);
    Tally& tally = report.tallies[kind.name];
    ++(outcome.loaded ? tally.loaded : tally.refused);
    if (options.verbose && !outcome.loaded) std::cerr << i << " " << kind.name << ": " << outcome.refusal << '\n';
    tally.compile_errors += outcome.compile_errors;
    tally.returned += outcome.calls.returned;
    tally.raised += outcome.calls.raised;
    tally.interrupted += outcome.calls.interrupted;
    report.slowest_load = std::max(report.slowest_load, outcome.load_seconds);
    report.largest_allocation = std::max(report.largest_allocation, outcome.allocated);
    for (const std::string& failure : outcome.failures)
      report.failures.push_back("mutation " + std::to_string(i) + " (" + kind.name + "): " + failure);
  }
  return report;
}

}  // namespace archive_mutator
