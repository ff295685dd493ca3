// Where an archive's bytes come from. See mapped_file.h.
#include "cresset/archive/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <istream>

#include "cresset/archive/budget.h"
#include "cresset/support/error.h"

namespace cresset {

constexpr const char* kOutOfMemory = "out of memory";

void ArchiveSite::fail(const std::string& reason) const {
  throw ArchiveError(std::string(file), std::string(entry), offset, reason);
}

void LoadBudget::refuse(size_t bytes, const ArchiveSite& site, std::string_view what) const {
  site.fail(
      std::string(what) + " would take " + std::to_string(bytes) + " bytes of memory, on top of " +
      std::to_string(used_) + "; loading this archive may take " + std::to_string(limit_) + " (" + bound_ + ")" +
      (advice_.empty() ? "" : ". " + advice_));
}

ArchiveBytes::ArchiveBytes(std::string name, uint8_t* data, size_t size, bool is_private)
    : name_(std::move(name)), data_(data), size_(size), private_(is_private) {}

ArchiveBytes::~ArchiveBytes() {
  if (mapped_size_ != 0) ::munmap(data_, mapped_size_);
}

std::shared_ptr<ArchiveBytes> ArchiveBytes::map(const std::string& path) {
  auto fail = [&](const std::string& reason) { throw ArchiveError(path, "", ArchiveError::kNoOffset, reason); };
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    // torch.jit.load's words for the two mistakes that people make.
    if (errno == ENOENT) fail("The provided filename " + path + " does not exist");
    fail(std::string("can't open: ") + std::strerror(errno));
  }
  struct Close {
    int descriptor;
    ~Close() { ::close(descriptor); }
  } close{descriptor};
  struct stat info;
  if (::fstat(descriptor, &info) != 0) fail(std::string("can't stat: ") + std::strerror(errno));
  if (S_ISDIR(info.st_mode)) fail("The provided filename " + path + " is a directory");
  if (!S_ISREG(info.st_mode)) fail("not a regular file; read it through a stream");
  if (info.st_size == 0) fail("the file is empty");
  size_t size = static_cast<size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
  if (data == MAP_FAILED) fail(std::string("can't map: ") + std::strerror(errno));
  std::shared_ptr<ArchiveBytes> bytes(new ArchiveBytes(path, static_cast<uint8_t*>(data), size, true));
  bytes->mapped_size_ = size;
  return bytes;
}

std::shared_ptr<ArchiveBytes> ArchiveBytes::read(std::istream& stream) {
  // Anonymous pages that grow by remapping: no second copy while growing, and tensors may live in them afterwards.
  std::shared_ptr<ArchiveBytes> bytes(new ArchiveBytes("<stream>", nullptr, 0, true));
  auto fail = [&](const std::string& reason) { throw ArchiveError(bytes->name_, "", ArchiveError::kNoOffset, reason); };
  size_t capacity = size_t(1) << 20;
  void* data = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) fail(kOutOfMemory);
  bytes->data_ = static_cast<uint8_t*>(data);
  bytes->mapped_size_ = capacity;
  while (stream.good()) {
    if (bytes->size_ == capacity) {
      data = ::mremap(bytes->data_, capacity, capacity * 2, MREMAP_MAYMOVE);
      if (data == MAP_FAILED) fail(kOutOfMemory);
      capacity *= 2;
      bytes->data_ = static_cast<uint8_t*>(data);
      bytes->mapped_size_ = capacity;
    }
    stream.read(
        reinterpret_cast<char*>(bytes->data_ + bytes->size_), static_cast<std::streamsize>(capacity - bytes->size_));
    bytes->size_ += static_cast<size_t>(stream.gcount());
  }
  if (stream.bad()) fail("reading the stream failed after " + std::to_string(bytes->size_) + " bytes");
  if (bytes->size_ == 0) fail("the stream is empty");
  return bytes;
}

std::shared_ptr<ArchiveBytes> ArchiveBytes::wrap(const void* data, size_t size, std::shared_ptr<void> keep_alive) {
  if (data == nullptr || size == 0) throw ArchiveError("<buffer>", "", ArchiveError::kNoOffset, "the buffer is empty");
  std::shared_ptr<ArchiveBytes> bytes(
      new ArchiveBytes("<buffer>", const_cast<uint8_t*>(static_cast<const uint8_t*>(data)), size, false));
  bytes->keep_alive_ = std::move(keep_alive);
  return bytes;
}

}  // namespace cresset
