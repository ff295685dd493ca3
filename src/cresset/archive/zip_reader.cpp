// The zip format, as far as archives use it: stored and deflated entries, zip64. See zip_reader.h.
#include "cresset/archive/zip_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "cresset/archive/crc32.h"
#include "cresset/support/error.h"

// libtorch_cpu carries miniz and exports it, without its header. This one function inflates memory to memory, never
// writes past either end and allocates nothing.
extern "C" size_t tinfl_decompress_mem_to_mem(void* out, size_t out_size, const void* in, size_t in_size, int flags);

namespace cresset {

namespace {

constexpr const char* kWrongChecksum = "the data does not have the checksum that the directory gives";

constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint32_t kDirectorySignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20, kDirectorySize = 46, kLocalSize = 30;
// Deflate can't do better than this; a record that claims more is a lie.
constexpr uint64_t kMaxDeflateRatio = 1032;

bool startsWith(const ArchiveBytes& bytes, std::string_view magic, size_t at = 0) {
  return bytes.size() >= at + magic.size() && bytes.view(at, magic.size()) == magic;
}

// What a file that is no zip may be, for people who mixed up their files.
std::string describeNonZip(const ArchiveBytes& bytes) {
  using namespace std::string_view_literals;
  if (startsWith(bytes, "PTMF"sv, 4))
    return "this is a flatbuffer file for PyTorch Mobile, which holds bytecode instead of TorchScript; save the module "
           "with torch.jit.save";
  if (startsWith(bytes, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv))
    return "this was written by torch.save before PyTorch 1.6 and holds no TorchScript; use torch.load";
  if (startsWith(bytes, "\x80"sv) && bytes.size() > 1 && bytes.data()[1] <= 5)
    return "this is a plain pickle, not a TorchScript archive; if torch.save wrote it, use torch.load";
  if (startsWith(
          bytes,
          "\x7f"
          "ELF"sv))
    return "this is a shared library or program, not a TorchScript archive";
  if (startsWith(bytes, "ustar"sv, 257))
    return "this is a tar file, not a TorchScript archive; if an old torch.save wrote it, use torch.load";
  if (startsWith(bytes, "PK\x03\x04"sv))
    return "the zip archive has no central directory at its end: the file is truncated (PytorchStreamReader failed "
           "reading "
           "zip archive: failed finding central directory)";
  return "not a zip archive: it has no central directory (PytorchStreamReader failed reading zip archive: failed "
         "finding "
         "central directory)";
}

}  // namespace

void ZipReader::fail(size_t offset, const std::string& reason) const {
  throw ArchiveError(bytes_->name(), "", offset, reason);
}

uint16_t ZipReader::u16(size_t at) const {
  const uint8_t* p = bytes_->data() + at;
  return static_cast<uint16_t>(p[0] | p[1] << 8);
}
uint32_t ZipReader::u32(size_t at) const {
  return u16(at) | uint32_t(u16(at + 2)) << 16;
}
uint64_t ZipReader::u64(size_t at) const {
  return u32(at) | uint64_t(u32(at + 4)) << 32;
}

ZipReader::ZipReader(std::shared_ptr<ArchiveBytes> bytes, LoadBudget& budget) : bytes_(std::move(bytes)) {
  Directory directory = findDirectory();
  // An entry takes at least its fixed header, so a wild count can't make the tables larger than the file pays for.
  if (directory.count > directory.size / kDirectorySize)
    fail(
        directory.offset, "the central directory has " + std::to_string(directory.size) + " bytes, too few for the " +
                              std::to_string(directory.count) + " entries that it claims");
  budget.charge(
      directory.count * (sizeof(ZipEntry) + 72), {bytes_->name(), "", directory.offset}, "the central directory");
  readDirectory(directory);
  setLimits(directory);
}

ZipReader::Directory ZipReader::findDirectory() const {
  size_t size = bytes_->size();
  if (size < kEndSize) fail(ArchiveError::kNoOffset, describeNonZip(*bytes_));
  // The end record is followed by a comment of at most 65,535 bytes.
  size_t lowest = size > kEndSize + 0xffff ? size - kEndSize - 0xffff : 0;
  for (size_t at = size - kEndSize;; --at) {
    if (u32(at) == kEndSignature && at + kEndSize + u16(at + 20) <= size) {
      Directory d{u32(at + 16), u32(at + 12), u16(at + 10)};
      uint64_t end = at;
      bool wants64 = d.offset == 0xffffffff || d.size == 0xffffffff || d.count == 0xffff;
      if (at >= kLocator64Size && u32(at - kLocator64Size) == kLocator64Signature) {
        uint64_t at64 = u64(at - kLocator64Size + 8);
        if (at64 > at - kLocator64Size || at - kLocator64Size - at64 < kEnd64Size || u32(at64) != kEnd64Signature)
          fail(at - kLocator64Size, "the zip64 locator points at no zip64 end record");
        d = {u64(at64 + 48), u64(at64 + 40), u64(at64 + 32)};
        end = at64;
      } else if (wants64) {
        fail(at, "the end record refers to a zip64 end record, which is missing");
      }
      if (d.offset > end || d.size > end - d.offset)
        fail(
            at, "the central directory (" + std::to_string(d.size) + " bytes at " + std::to_string(d.offset) +
                    ") does not lie before its end record");
      return d;
    }
    if (at == lowest) break;
  }
  fail(ArchiveError::kNoOffset, describeNonZip(*bytes_));
}

void ZipReader::readDirectory(const Directory& directory) {
  entries_.reserve(directory.count);
  index_.reserve(directory.count);
  size_t at = directory.offset, end = directory.offset + directory.size;
  for (uint64_t i = 0; i < directory.count; ++i) {
    if (end - at < kDirectorySize || u32(at) != kDirectorySignature)
      fail(at, "entry " + std::to_string(i) + " of the central directory is damaged");
    ZipEntry entry;
    entry.flags = u16(at + 8);
    entry.method = u16(at + 10);
    entry.crc = u32(at + 16);
    entry.stored_size = u32(at + 20);
    entry.size = u32(at + 24);
    entry.header_offset = u32(at + 42);
    size_t name_size = u16(at + 28), extra_size = u16(at + 30), comment_size = u16(at + 32);
    if (end - at - kDirectorySize < name_size + extra_size + comment_size)
      fail(at, "entry " + std::to_string(i) + " runs past the end of the central directory");
    entry.name = bytes_->view(at + kDirectorySize, name_size);

    // Sizes that do not fit 32 bits stand in the zip64 extra field, in this order.
    size_t extra = at + kDirectorySize + name_size, extra_end = extra + extra_size;
    while (extra_end - extra >= 4) {
      size_t id = u16(extra), length = u16(extra + 2), p = extra + 4;
      if (length > extra_end - p) break;  // some writers pad with junk; the fields that matter come first
      if (id == 1) {
        size_t stop = p + length;
        for (uint64_t* field : {&entry.size, &entry.stored_size, &entry.header_offset}) {
          if (*field != 0xffffffff) continue;
          if (stop - p < 8) fail(extra, "the zip64 field of entry " + std::to_string(i) + " is too short");
          *field = u64(p);
          p += 8;
        }
      }
      extra += 4 + length;
    }
    at += kDirectorySize + name_size + extra_size + comment_size;

    if (entry.name.empty()) fail(at, "entry " + std::to_string(i) + " has no name");
    if (entry.header_offset > directory.offset || entry.stored_size > directory.offset - entry.header_offset)
      throw ArchiveError(
          bytes_->name(), std::string(entry.name), entry.header_offset,
          "the entry's " + std::to_string(entry.stored_size) + " bytes do not lie in the file");
    if (entry.name.back() == '/' && entry.size == 0) continue;  // a folder
    if (folder_.empty()) {
      size_t slash = entry.name.find('/');
      if (slash == std::string_view::npos)
        fail(
            entry.header_offset, "file in archive is not in a subdirectory: " + std::string(entry.name) +
                                     "; TorchScript archives keep all "
                                     "records in one folder");
      folder_ = entry.name.substr(0, slash + 1);
    }
    if (entry.name.substr(0, folder_.size()) != folder_) continue;  // what other tools add beside the folder
    if (!index_.emplace(recordName(entry), static_cast<uint32_t>(entries_.size())).second)
      throw ArchiveError(
          bytes_->name(), std::string(recordName(entry)), entry.header_offset,
          "the archive has two entries of this name");
    entries_.push_back(entry);
  }
}

void ZipReader::setLimits(const Directory& directory) {
  std::vector<ZipEntry*> in_file_order;
  in_file_order.reserve(entries_.size());
  for (ZipEntry& entry : entries_) in_file_order.push_back(&entry);
  std::sort(in_file_order.begin(), in_file_order.end(), [](const ZipEntry* a, const ZipEntry* b) {
    return a->header_offset < b->header_offset;
  });
  uint64_t limit = directory.offset;
  for (auto it = in_file_order.rbegin(); it != in_file_order.rend(); ++it) {
    (*it)->limit = limit;
    limit = (*it)->header_offset;
  }
}

const ZipEntry* ZipReader::find(std::string_view record) const {
  auto it = index_.find(record);
  return it == index_.end() ? nullptr : &entries_[it->second];
}

size_t ZipReader::dataOffset(const ZipEntry& entry) const {
  auto where = site(entry, entry.header_offset);
  size_t size = bytes_->size(), at = entry.header_offset;
  if (size - at < kLocalSize || u32(at) != kLocalSignature)
    where.fail("no entry starts here, though the directory says so");
  size_t name_size = u16(at + 26), skip = kLocalSize + name_size + u16(at + 28);
  if (size - at < skip || size - at - skip < entry.stored_size) where.fail("the entry runs past the end of the file");
  if (at + skip + entry.stored_size > entry.limit) where.fail("the entry overlaps the one after it, or the directory");
  if (bytes_->view(at + kLocalSize, name_size) != entry.name)
    where.fail("the entry that starts here has another name than the directory gives it");
  if (u16(at + 8) != entry.method) where.fail("the entry's two headers disagree about its compression");
  if (entry.flags & 1) where.fail("the entry is encrypted");
  if (entry.method == 0) {
    if (entry.size != entry.stored_size)
      where.fail(
          "the entry is not compressed, yet claims " + std::to_string(entry.size) + " bytes in " +
          std::to_string(entry.stored_size));
  } else if (entry.method != 8) {
    where.fail("compression method " + std::to_string(entry.method) + " is not supported (archives use deflate)");
  } else if (entry.size / kMaxDeflateRatio > entry.stored_size) {
    where.fail(
        "the entry claims that " + std::to_string(entry.stored_size) + " bytes inflate to " +
        std::to_string(entry.size) + ", which deflate can't do");
  }
  return at + skip;
}

void ZipReader::inflateTo(const ZipEntry& entry, void* out) const {
  size_t offset = dataOffset(entry);
  size_t made =
      tinfl_decompress_mem_to_mem(out, entry.size, bytes_->data() + offset, static_cast<size_t>(entry.stored_size), 0);
  if (made != entry.size) site(entry, offset).fail("the compressed data is damaged");
  if (entry.crc != 0 && crc32(out, made) != entry.crc) site(entry, offset).fail(kWrongChecksum);
}

Record ZipReader::read(const ZipEntry& entry, LoadBudget& budget) const {
  checkTimeLimit();
  size_t offset = dataOffset(entry);
  if (entry.compressed()) {
    budget.charge(entry.size, site(entry, offset), "inflating this entry");
    std::string out;
    out.resize(entry.size);
    inflateTo(entry, out.data());
    return Record({}, std::move(out), offset);
  }
  // A checksum of zero is what writers leave that compute none.
  std::string_view bytes = bytes_->view(offset, entry.size);
  if (entry.crc != 0 && crc32(bytes.data(), bytes.size()) != entry.crc) site(entry, offset).fail(kWrongChecksum);
  return Record(bytes, {}, offset);
}

std::string ZipReader::readOwned(const ZipEntry& entry, LoadBudget& budget) const {
  Record record = read(entry, budget);
  if (!entry.compressed()) budget.charge(entry.size, site(entry, record.fileOffset()), "copying this entry");
  return std::move(record).take();
}

void ZipReader::verify(LoadBudget& budget) const {
  for (const ZipEntry& entry : entries_) {
    read(entry, budget);
    if (entry.compressed()) budget.release(entry.size);
  }
}

}  // namespace cresset
