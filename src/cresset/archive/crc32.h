// CRC-32 as zip defines it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cresset {

/// Of `size` bytes that follow those whose checksum is `before`.
uint32_t crc32(const void* data, size_t size, uint32_t before = 0);

}  // namespace cresset
