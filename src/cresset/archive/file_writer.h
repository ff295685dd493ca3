// A file that appears as a whole or not at all.
#pragma once

#include <cstddef>
#include <string>

namespace cresset {

/// Writes to a temporary file beside `path` and renames it when all is written. So a reader never sees half a file, a
/// failure leaves the old one, and whoever has the old one mapped (a module that was loaded from it, and that is being
/// saved to it now) keeps the old bytes. Permissions of a file that is replaced stay. What is no regular file (a
/// device, a pipe) is written in place. Throws UserError.
class FileWriter {
 public:
  explicit FileWriter(const std::string& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void write(const void* data, size_t size);
  /// Makes the file appear.
  void commit();

 private:
  void flush();
  void put(const char* data, size_t size);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;       // as the user gave it
  std::string target_;     // where symbolic links lead
  std::string temporary_;  // empty if the file is written in place, or has appeared
  std::string buffer_;
  int descriptor_ = -1;
};

}  // namespace cresset
