// The zip container of an archive: finds records, checks their headers, inflates the compressed ones.
//
// Nothing is read but the directory until a record is asked for, and every number of the file is checked against the
// file's size before it is used. Names are exact (no folding of case), unique, and equal in both headers; so what is
// read under a name is what the directory lists under it. No two entries share a byte: tensors are written in place,
// and must reach neither code nor the directory. docs/decisions/0001-zip-container.md tells why this does not stand on
// caffe2::serialize. Thread-safety: const members may be called from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cresset/archive/budget.h"
#include "cresset/archive/mapped_file.h"

namespace cresset {

struct ZipEntry {
  std::string_view name;  // in full, top folder included
  uint64_t size = 0;
  uint64_t stored_size = 0;  // compressed size
  uint64_t header_offset = 0;
  uint64_t limit = 0;  // where the next entry starts, or the directory
  uint32_t crc = 0;
  uint16_t method = 0;
  uint16_t flags = 0;
  bool compressed() const { return method != 0; }
};

/// The contents of a record: the archive's own bytes, or inflated ones that it owns.
class Record {
 public:
  Record(std::string_view bytes, std::string owned, size_t offset)
      : owned_(std::move(owned)), bytes_(bytes), is_owned_(bytes.data() == nullptr), offset_(offset) {}
  std::string_view bytes() const { return is_owned_ ? std::string_view(owned_) : bytes_; }
  std::string take() && { return is_owned_ ? std::move(owned_) : std::string(bytes_); }
  /// Where in the file the record's (perhaps compressed) bytes start.
  size_t fileOffset() const { return offset_; }

 private:
  std::string owned_;
  std::string_view bytes_;
  bool is_owned_;
  size_t offset_;
};

class ZipReader {
 public:
  /// Reads the directory. Throws ArchiveError.
  ZipReader(std::shared_ptr<ArchiveBytes> bytes, LoadBudget& budget);

  const std::string& file() const { return bytes_->name(); }
  const std::shared_ptr<ArchiveBytes>& bytes() const { return bytes_; }
  /// The folder that holds all records.
  std::string_view folder() const { return folder_; }

  /// The record of this name (without the folder); null if there is none.
  const ZipEntry* find(std::string_view record) const;
  const std::vector<ZipEntry>& entries() const { return entries_; }
  std::string_view recordName(const ZipEntry& entry) const { return entry.name.substr(folder_.size()); }

  /// Where the record's bytes start in the file; checks its local header.
  size_t dataOffset(const ZipEntry& entry) const;
  /// The record's bytes, inflated if need be, and their checksum compared. Inflated bytes are charged to `budget`.
  Record read(const ZipEntry& entry, LoadBudget& budget) const;
  /// The same as a text of its own, which is charged too.
  std::string readOwned(const ZipEntry& entry, LoadBudget& budget) const;
  /// Compares the checksums of all records, of which reading compares only those that it reads whole: tensors are
  /// mapped. Throws ArchiveError.
  void verify(LoadBudget& budget) const;
  /// Inflates into `out`, which has entry.size bytes.
  void inflateTo(const ZipEntry& entry, void* out) const;
  ArchiveSite site(const ZipEntry& entry, size_t offset = static_cast<size_t>(-1)) const {
    return {bytes_->name(), recordName(entry), offset};
  }

 private:
  struct Directory {
    uint64_t offset, size, count;
  };
  Directory findDirectory() const;
  void readDirectory(const Directory& directory);
  void setLimits(const Directory& directory);
  [[noreturn]] void fail(size_t offset, const std::string& reason) const;
  uint16_t u16(size_t at) const;
  uint32_t u32(size_t at) const;
  uint64_t u64(size_t at) const;

  std::shared_ptr<ArchiveBytes> bytes_;
  std::string_view folder_;  // with its slash
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, uint32_t> index_;  // by name without the folder
};

}  // namespace cresset
