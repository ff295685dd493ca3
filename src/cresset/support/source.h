// Source text and ranges within it.
//
// Every token, tree, node and error refers to program text through a SourceRange, which keeps its Source alive.
// Thread-safety: a Source is immutable after construction; ranges are values.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cresset {

struct SourceRange;

/// A piece of program text with a name. Offsets are bytes from the start of `text()`.
class Source {
 public:
  /// `text` begins in the file called `name` at the 1-based line `first_line` and the 0-based byte column
  /// `first_column`. A place in a file whose text is not at hand is an empty range of an empty Source that begins
  /// there.
  explicit Source(std::string text, std::string name = "", size_t first_line = 1, size_t first_column = 0);
  virtual ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& text() const { return text_; }
  /// File name, or "" if the text did not come from a file.
  const std::string& name() const { return name_; }

  /// 1-based line number, in the file, of the line that holds `offset`.
  virtual size_t lineNumber(size_t offset) const;
  /// 0-based byte column of `offset` in its line.
  virtual size_t column(size_t offset) const;
  /// The text of the line that holds `offset`, without its line break.
  std::string_view line(size_t offset) const;

  /// Where `range` of this text came from, if this text was itself made from another (code in an archive is printed
  /// from the file that its author wrote, and the archive's debug records say which part came from where).
  virtual std::optional<SourceRange> origin(const SourceRange& range) const;

 private:
  size_t lineIndex(size_t offset) const;

  std::string text_;
  std::string name_;
  size_t first_line_;
  size_t first_column_;
  mutable std::once_flag lines_once_;
  mutable std::vector<uint32_t> line_starts_;  // built on first use, under lines_once_
};

/// The half-open byte range [begin, end) of a Source. A default-constructed range refers to no text.
struct SourceRange {
  std::shared_ptr<const Source> source;
  uint32_t begin = 0;
  uint32_t end = 0;

  explicit operator bool() const { return source != nullptr; }
  std::string_view text() const;
  /// The smallest range that covers both; they must share a source (if either is empty, the other is returned).
  static SourceRange cover(const SourceRange& a, const SourceRange& b);

  /// PyTorch's picture of a place in a program:
  ///   File "model.py", line 7
  ///     return x * name
  ///            ~~~~~~~~ <--- HERE
  /// with up to `context` lines before and after. Shows the original file where the text has an origin. `function`, if
  /// given, is named after the line number: `line 7, in forward`. Ends with a line break; "" for no range.
  std::string highlight(size_t context = 2, std::string_view function = "") const;
  /// "model.py:7:4", in the original file where the text has an origin; the file is "<string>" if the source has no
  /// name. "" for no range.
  std::string position() const;
};

/// One entry of the chain of calls through which code was inlined, innermost first. Immutable and shared.
struct InlinedCall {
  // Null for the outermost. Mutable for the destructor, which destroys the chain in a loop: it may be long.
  mutable std::shared_ptr<const InlinedCall> caller;
  std::string function;  // name of the function whose body was inlined
  SourceRange call_site;
  /// Of a method, its module by the names of attributes ("__module.layers.0"), or what a tracer's user named it; "" if
  /// there is none.
  std::string scope;

  ~InlinedCall();
};
using InlinedCallPtr = std::shared_ptr<const InlinedCall>;

}  // namespace cresset
