// See zip_writer.h; the names of fields are those of PKWARE's APPNOTE.
#include "cresset/archive/zip_writer.h"

#include <algorithm>
#include <array>

#include "cresset/archive/crc32.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr uint16_t kVersion = 20, kVersionZip64 = 45;
constexpr uint16_t kUtf8Names = 0x0800;
constexpr uint16_t kDate = 0x21;  // 1980-01-01, the first day that the format knows
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kPaddingExtra = 0x4246;  // as PyTorch's writer pads
constexpr uint32_t kFull32 = 0xffffffff;
constexpr uint16_t kFull16 = 0xffff;

/// Numbers in the byte order of the format.
class Bytes {
 public:
  Bytes& u16(uint64_t v) { return number(v, 2); }
  Bytes& u32(uint64_t v) { return number(v, 4); }
  Bytes& u64(uint64_t v) { return number(v, 8); }
  Bytes& text(const std::string& v) {
    bytes_ += v;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Bytes& number(uint64_t v, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>(v >> (8 * i) & 0xff);
    return *this;
  }
  std::string bytes_;
};

uint64_t mix(uint64_t hash, const void* data, size_t size) {
  const auto* p = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < size; ++i) hash = (hash ^ p[i]) * 0x100000001b3;  // FNV-1a
  return hash;
}

}  // namespace

void ZipWriter::write(const std::string& bytes) {
  sink_(bytes.data(), bytes.size());
  at_ += bytes.size();
}

void ZipWriter::add(const std::string& record, const void* data, size_t size) {
  if (!names_.insert(record).second)
    throw UserError("The archive would have two records of the name '" + record + "'.");
  Entry entry{folder_ + "/" + record, size, at_, crc32(data, size)};
  if (entry.name.size() > kFull16) throw UserError("The name of record '" + record.substr(0, 100) + "…' is too long.");
  fingerprint_ = mix(fingerprint_, record.data(), record.size());
  fingerprint_ = mix(fingerprint_, &entry.crc, sizeof(entry.crc));

  const bool large = needsZip64(size);
  Bytes extra;
  if (large) extra.u16(kZip64Extra).u16(16).u64(size).u64(size);
  const uint64_t header = 30 + entry.name.size() + extra.bytes().size() + 4;
  const uint64_t padding = (kAlignment - (at_ + header) % kAlignment) % kAlignment;
  extra.u16(kPaddingExtra).u16(padding).text(std::string(padding, 'Z'));

  Bytes local;
  local.u32(0x04034b50).u16(large ? kVersionZip64 : kVersion).u16(kUtf8Names).u16(0).u16(0).u16(kDate).u32(entry.crc);
  local.u32(large ? kFull32 : size).u32(large ? kFull32 : size);
  local.u16(entry.name.size()).u16(extra.bytes().size()).text(entry.name).text(extra.bytes());
  write(local.bytes());
  sink_(data, size);
  at_ += size;
  entries_.push_back(std::move(entry));
}

void ZipWriter::finish() {
  const uint64_t directory = at_;
  for (const Entry& entry : entries_) {
    const bool large = needsZip64(entry.size), far = needsZip64(entry.offset);
    Bytes extra;
    if (large || far) {
      extra.u16(kZip64Extra).u16((large ? 16 : 0) + (far ? 8 : 0));
      if (large) extra.u64(entry.size).u64(entry.size);
      if (far) extra.u64(entry.offset);
    }
    const uint16_t version = large || far ? kVersionZip64 : kVersion;
    Bytes header;
    header.u32(0x02014b50).u16(version).u16(version).u16(kUtf8Names).u16(0).u16(0).u16(kDate).u32(entry.crc);
    header.u32(large ? kFull32 : entry.size).u32(large ? kFull32 : entry.size);
    header.u16(entry.name.size()).u16(extra.bytes().size()).u16(0).u16(0).u16(0).u32(0);
    header.u32(far ? kFull32 : entry.offset).text(entry.name).text(extra.bytes());
    write(header.bytes());
  }
  const uint64_t size = at_ - directory, count = entries_.size();
  Bytes end;
  if (needsZip64(directory) || needsZip64(size) || count >= std::min<uint64_t>(kFull16, zip64_from_)) {
    end.u32(0x06064b50).u64(44).u16(kVersionZip64).u16(kVersionZip64).u32(0).u32(0);
    end.u64(count).u64(count).u64(size).u64(directory);
    end.u32(0x07064b50).u32(0).u64(at_).u32(1);
  }
  const uint64_t shown_count = std::min<uint64_t>(count, kFull16);
  end.u32(0x06054b50).u16(0).u16(0).u16(shown_count).u16(shown_count);
  end.u32(needsZip64(size) ? kFull32 : size).u32(needsZip64(directory) ? kFull32 : directory).u16(0);
  write(end.bytes());
}

}  // namespace cresset
