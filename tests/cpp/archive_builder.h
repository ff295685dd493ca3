// Zip files and pickles made by hand, so that tests can make what no writer would.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace archive_builder {

struct Item {
  std::string name, data;
  uint64_t claimed = 0;  // compressed records: the inflated size that is claimed
  bool deflated = false;
};
using Items = std::vector<Item>;

inline uint32_t crcOf(const std::string& data) {
  static const auto table = [] {
    std::vector<uint32_t> t(256);
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[i] = c;
    }
    return t;
  }();
  uint32_t c = ~0u;
  for (unsigned char b : data) c = table[(c ^ b) & 0xff] ^ (c >> 8);
  return ~c;
}

inline void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(i < 8 ? static_cast<char>(value >> (8 * i)) : '\0');
}

/// Records are aligned to 64 bytes, as PyTorch's are, unless `align` says otherwise.
inline std::string writeZip(const Items& items, size_t align = 64) {
  std::string out, directory;
  for (const Item& item : items) {
    size_t header = out.size();
    uint64_t size = item.deflated ? item.claimed : item.data.size();
    uint32_t crc = item.deflated || item.data.size() > 100000 ? 0 : crcOf(item.data);  // 0: none given
    std::string fields;
    put(fields, 20, 2);
    put(fields, 0, 2);
    put(fields, item.deflated ? 8 : 0, 2);
    put(fields, 0, 4);
    put(fields, crc, 4);
    put(fields, item.data.size(), 4);
    put(fields, size, 4);
    put(fields, item.name.size(), 2);
    size_t padding = item.deflated ? 0 : (align - (header + 30 + item.name.size()) % align) % align;
    put(out, 0x04034b50, 4);
    out += fields;
    put(out, padding, 2);
    out += item.name + std::string(padding, 'F') + item.data;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    directory += fields;
    put(directory, 0, 2 + 2 + 2 + 2 + 4);
    put(directory, header, 4);
    directory += item.name;
  }
  size_t at = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, items.size(), 2);
  put(out, items.size(), 2);
  put(out, directory.size(), 4);
  put(out, at, 4);
  put(out, 0, 2);
  return out;
}

// ---- pieces of pickles ----

inline std::string text(const std::string& s) {
  std::string out = "X";
  put(out, s.size(), 4);
  return out + s;
}
inline std::string integer(int64_t i) {
  std::string out = "\x8a\x08";
  put(out, static_cast<uint64_t>(i), 8);
  return out;
}
inline std::string tuple(const std::vector<int64_t>& items) {
  std::string out = "(";
  for (int64_t i : items) out += integer(i);
  return out + "t";
}
inline std::string tensor(
    const std::string& record, int64_t numel, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
    int64_t offset = 0, const std::string& storage = "FloatStorage") {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storage + "\n" + text(record) +
         text("cpu") + integer(numel) + "tQ" + integer(offset) + tuple(sizes) + tuple(strides) +
         "\x89"
         "ccollections\nOrderedDict\n)RtR";
}
inline std::string object(const std::string& attributes, const std::string& cls = "__torch__\nM") {
  return "\x80\x02"
         "c" +
         cls + "\n)\x81}(" + attributes + "ub.";
}

}  // namespace archive_builder
