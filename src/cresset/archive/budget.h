// How much memory loading an archive may take.
//
// An archive of a few bytes can claim, or deflate, terabytes, and name what it has a thousand times over. What loading
// allocates is charged here first, by whoever allocates it, and refused beyond the limit, so that a hostile file is an
// error and never an exhausted machine: copies and conversions, tables, values, tensors beside their elements, types
// and names. Not charged: the archive's own bytes, and what stays a small multiple of the part of the file that it is
// read from and is read once. The limit is generous to honest files: their tensors are mapped and cost nothing.
// docs/archives.md lists what is charged where.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "cresset/ops/limits.h"

namespace cresset {

/// A place in an archive, for errors. The strings must outlive it.
struct ArchiveSite {
  std::string_view file;
  std::string_view entry;
  size_t offset = static_cast<size_t>(-1);  // ArchiveError::kNoOffset

  ArchiveSite at(size_t where) const { return {file, entry, where}; }
  /// Throws ArchiveError.
  [[noreturn]] void fail(const std::string& reason) const;
};

class LoadBudget {
 public:
  static constexpr const char* kDefaultBound = "4 times its size and 48 MiB, if nothing else was said";
  /// `advice`: what the message of the error says in the end; `bound`: where the limit comes from.
  explicit LoadBudget(size_t limit, std::string advice = "", std::string bound = kDefaultBound)
      : limit_(limit), advice_(std::move(advice)), bound_(std::move(bound)) {}

  /// Throws ArchiveError if `bytes` more would exceed the limit. A limit of time is looked at, too.
  void charge(size_t bytes, const ArchiveSite& site, std::string_view what) {
    checkTimeLimit();
    if (bytes > limit_ - used_) refuse(bytes, site, what);
    used_ += bytes;
  }
  /// Releases what a finished step no longer holds.
  void release(size_t bytes) { used_ -= bytes < used_ ? bytes : used_; }
  size_t used() const { return used_; }
  size_t limit() const { return limit_; }
  /// After loading: what code compiles to later is the program's business, no longer the archive's.
  void finishLoading() {
    used_ = 0;
    limit_ = std::numeric_limits<size_t>::max();
  }

  /// Four times the file and 48 MiB on top: what is too small to be charged one by one (objects' headers, a second copy
  /// of a text) then stays within 64 MiB.
  static size_t defaultLimit(size_t file_size) {
    constexpr size_t kSlack = size_t(48) << 20;
    return file_size > (std::numeric_limits<size_t>::max() - kSlack) / 4 ? std::numeric_limits<size_t>::max()
                                                                         : 4 * file_size + kSlack;
  }

 private:
  [[noreturn]] void refuse(size_t bytes, const ArchiveSite& site, std::string_view what) const;
  size_t limit_, used_ = 0;
  std::string advice_, bound_;
};

}  // namespace cresset
