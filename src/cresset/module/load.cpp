// load: modules from archives. See module.h; archive/ does the reading.
#include <caffe2/serialize/read_adapter_interface.h>

#include <istream>
#include <streambuf>

#include "cresset/archive/archive.h"
#include "cresset/module/module.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

using Reader = std::shared_ptr<caffe2::serialize::ReadAdapterInterface>;

/// A reader as a stream that is read once, from its beginning to its end.
class ReaderBuffer final : public std::streambuf {
 public:
  explicit ReaderBuffer(const Reader& reader) : reader_(reader), size_(reader->size()), buffer_(size_t(1) << 20) {}

 protected:
  int_type underflow() override {
    const size_t count = std::min(buffer_.size(), size_ - at_);
    if (count == 0) return traits_type::eof();
    const size_t got = reader_->read(at_, buffer_.data(), count, "reading an archive");
    if (got != count) {
      throw ArchiveError(
          "<reader>", "", at_,
          "the reader gave " + std::to_string(got) + " of " + std::to_string(count) + " bytes; it says that it has " +
              std::to_string(size_));
    }
    at_ += got;
    setg(buffer_.data(), buffer_.data(), buffer_.data() + got);
    return traits_type::to_int_type(buffer_.front());
  }

 private:
  const Reader& reader_;
  const size_t size_;
  std::vector<char> buffer_;
  size_t at_ = 0;
};

template <typename Input>
Module loadFrom(Input& input, std::optional<c10::Device> device, ExtraFilesMap* extra_files, bool load_debug_files) {
  LoadOptions options;
  options.device = device;
  options.extra_files = extra_files;
  options.debug_files = load_debug_files;
  return load(input, options);
}

}  // namespace

Module load(const std::string& path, const LoadOptions& options) {
  return Module(loadArchive(path, options).root);
}
Module load(std::istream& in, const LoadOptions& options) {
  return Module(loadArchive(in, options).root);
}
Module load(const void* data, size_t size, const LoadOptions& options) {
  auto copy =
      std::make_shared<std::vector<char>>(static_cast<const char*>(data), static_cast<const char*>(data) + size);
  return Module(loadArchive(copy->data(), size, copy, options).root);
}
Module load(const Reader& reader, const LoadOptions& options) {
  if (!reader) throw UserError("load() was given no reader.");
  ReaderBuffer buffer(reader);
  std::istream in(&buffer);
  in.exceptions(std::ios::badbit);  // what the reader throws, and our own errors, pass through
  return Module(loadArchive(in, options).root);
}

Module load(const std::string& path, std::optional<c10::Device> device, bool load_debug_files) {
  return loadFrom(path, device, nullptr, load_debug_files);
}
Module load(
    const std::string& path, std::optional<c10::Device> device, ExtraFilesMap& extra_files, bool load_debug_files) {
  return loadFrom(path, device, &extra_files, load_debug_files);
}
Module load(std::istream& in, std::optional<c10::Device> device, bool load_debug_files) {
  return loadFrom(in, device, nullptr, load_debug_files);
}
Module load(std::istream& in, std::optional<c10::Device> device, ExtraFilesMap& extra_files, bool load_debug_files) {
  return loadFrom(in, device, &extra_files, load_debug_files);
}
Module load(const Reader& reader, std::optional<c10::Device> device, bool load_debug_files) {
  return loadFrom(reader, device, nullptr, load_debug_files);
}
Module load(
    const Reader& reader, std::optional<c10::Device> device, ExtraFilesMap& extra_files, bool load_debug_files) {
  return loadFrom(reader, device, &extra_files, load_debug_files);
}

}  // namespace cresset
