// The bytes of an archive: a file mapped privately, a stream read to its end, or a caller's buffer.
//
// Pages of a mapped file are copy-on-write, so a tensor that lives in them can be written without the file changing.
// A file that another process truncates while it is mapped raises SIGBUS when the lost part is touched, as any mapped
// file does; replacing a file (write a new one, rename it) is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

namespace cresset {

class ArchiveBytes {
 public:
  /// Maps the file; throws ArchiveError if it is missing, no regular file, or empty.
  static std::shared_ptr<ArchiveBytes> map(const std::string& path);
  /// Reads the stream from its current position to its end.
  static std::shared_ptr<ArchiveBytes> read(std::istream& stream);
  /// Refers to memory that `keep_alive` owns. It is never written.
  static std::shared_ptr<ArchiveBytes> wrap(const void* data, size_t size, std::shared_ptr<void> keep_alive);
  ~ArchiveBytes();
  ArchiveBytes(const ArchiveBytes&) = delete;
  ArchiveBytes& operator=(const ArchiveBytes&) = delete;

  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view view(size_t offset, size_t count) const {
    return {reinterpret_cast<const char*>(data_) + offset, count};
  }
  /// The path, or "<stream>" or "<buffer>".
  const std::string& name() const { return name_; }
  /// The bytes as memory that tensors may live in and write to; null for a caller's buffer.
  uint8_t* privateData() { return private_ ? data_ : nullptr; }

 private:
  ArchiveBytes(std::string name, uint8_t* data, size_t size, bool is_private);
  std::string name_;
  uint8_t* data_;
  size_t size_;
  bool private_;
  size_t mapped_size_ = 0;  // what munmap gets; 0 if nothing is to be unmapped
  std::shared_ptr<void> keep_alive_;
};

}  // namespace cresset
