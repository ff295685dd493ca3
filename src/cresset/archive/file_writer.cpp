// See file_writer.h.
#include "cresset/archive/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr size_t kBufferSize = size_t(1) << 18;
constexpr size_t kMaxWrite = size_t(1) << 30;  // the system takes no more than 2 GiB at once

std::string followLinks(const std::string& path) {
  std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

void FileWriter::fail(const std::string& what) const {
  const int error = errno;
  throw UserError("Can't save to '" + path_ + "': " + what + ": " + std::strerror(error) + ".");
}

FileWriter::FileWriter(const std::string& path) : path_(path), target_(followLinks(path)) {
  struct stat old;
  const bool exists = ::stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) {
    errno = EISDIR;
    fail("it names a folder");
  }
  if (exists && !S_ISREG(old.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("it can't be opened");
    return;
  }
  // A name that no other writer takes; the file gets the permissions that new files have here.
  static std::atomic<unsigned> serial{0};
  const size_t slash = target_.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  const std::string stem =
      target_.substr(0, name) + "." + target_.substr(name) + "." + std::to_string(::getpid()) + ".";
  do {
    temporary_ = stem + std::to_string(serial++);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0 && errno == ENOENT) fail("Parent directory " + target_.substr(0, slash) + " does not exist.");
  if (descriptor_ < 0) fail("no file can be made in its folder");
  // What is replaced hands on its own; where the system forbids that, those of a new file do.
  if (exists) static_cast<void>(::fchmod(descriptor_, old.st_mode & 07777));
  buffer_.reserve(kBufferSize);
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void FileWriter::put(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, data, std::min(size, kMaxWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("writing failed");
    data += written;
    size -= static_cast<size_t>(written);
  }
}

void FileWriter::flush() {
  put(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void FileWriter::write(const void* data, size_t size) {
  const char* bytes = static_cast<const char*>(data);
  if (buffer_.size() + size > kBufferSize) flush();
  if (size > kBufferSize)
    put(bytes, size);
  else
    buffer_.append(bytes, size);
}

void FileWriter::commit() {
  flush();
  // Closing is where some file systems report that the disk is full.
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("writing failed");
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("the file can't be put in place");
  temporary_.clear();
}

}  // namespace cresset
