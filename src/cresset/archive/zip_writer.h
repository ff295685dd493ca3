// Writes the zip container of an archive.
//
// Entries are stored, not compressed, and their bytes start at multiples of 64, so that a reader can map the file and
// use tensors where they lie. Nothing of the time or the place of writing goes into the file: the same entries make the
// same bytes. zip64 records appear where a size or an offset needs them and nowhere else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cresset {

class ZipWriter {
 public:
  static constexpr size_t kAlignment = 64;
  /// Takes the next bytes of the file; throws if it can't.
  using Sink = std::function<void(const void* data, size_t size)>;

  /// All entries stand in `folder`. `zip64_from`: the size or offset from which on zip64 records are used; a test may
  /// lower it.
  ZipWriter(Sink sink, std::string folder, uint64_t zip64_from = 0xffffffff)
      : sink_(std::move(sink)), folder_(std::move(folder)), zip64_from_(zip64_from) {}

  /// Adds a record. Throws UserError if there is one of that name.
  void add(const std::string& record, const void* data, size_t size);
  void add(const std::string& record, std::string_view bytes) { add(record, bytes.data(), bytes.size()); }
  bool contains(const std::string& record) const { return names_.contains(record); }
  /// A number that depends on the names and contents of all records so far.
  uint64_t fingerprint() const { return fingerprint_; }
  /// Writes the directory. Nothing can be added then.
  void finish();

 private:
  struct Entry {
    std::string name;
    uint64_t size, offset;
    uint32_t crc;
  };
  bool needsZip64(uint64_t number) const { return number >= zip64_from_; }
  void write(const std::string& bytes);

  Sink sink_;
  std::string folder_;
  uint64_t zip64_from_;
  uint64_t at_ = 0;
  uint64_t fingerprint_ = 0xcbf29ce484222325;
  std::vector<Entry> entries_;
  std::unordered_set<std::string> names_;
};

}  // namespace cresset
