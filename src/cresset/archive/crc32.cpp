// Eight bytes at a time. See crc32.h.
#include "cresset/archive/crc32.h"

#include <array>
#include <cstring>

namespace cresset {

namespace {

struct CrcTables {
  std::array<std::array<uint32_t, 256>, 8> t;
  constexpr CrcTables() : t() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int k = 0; k < 8; ++k) c = (c & 1) ? 0xedb88320u ^ (c >> 1) : c >> 1;
      t[0][i] = c;
    }
    for (uint32_t i = 0; i < 256; ++i)
      for (size_t k = 1; k < 8; ++k) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  }
};
constexpr CrcTables kCrc;

}  // namespace

uint32_t crc32(const void* data, size_t size, uint32_t before) {
  const auto* p = static_cast<const uint8_t*>(data);
  uint32_t c = ~before;
  const auto& t = kCrc.t;
  for (; size >= 8; size -= 8, p += 8) {
    uint32_t a, b;
    std::memcpy(&a, p, 4);
    std::memcpy(&b, p + 4, 4);
    a ^= c;
    c = t[7][a & 0xff] ^ t[6][(a >> 8) & 0xff] ^ t[5][(a >> 16) & 0xff] ^ t[4][a >> 24] ^ t[3][b & 0xff] ^
        t[2][(b >> 8) & 0xff] ^ t[1][(b >> 16) & 0xff] ^ t[0][b >> 24];
  }
  for (; size > 0; --size, ++p) c = t[0][(c ^ *p) & 0xff] ^ (c >> 8);
  return ~c;
}

}  // namespace cresset
