// A part of a longer text that is parsed by itself, and yet is shown as the part of the whole that it is.
//
// Archives hold whole files of code, of which a program needs a function here and there. Each is parsed as a text of
// its own; errors in it show the file's lines around it, and its originals are those of the file.
// Thread-safety: as Source.
#pragma once

#include "cresset/support/source.h"

namespace cresset {

class SourcePart final : public Source {
 public:
  /// `text` is what `whole` has from byte `offset` on, perhaps followed by more that `whole` does not have.
  SourcePart(std::string text, std::shared_ptr<const Source> whole, size_t offset);
  /// The same range of the whole text.
  SourceRange inWhole(const SourceRange& range) const;
  std::optional<SourceRange> origin(const SourceRange& range) const override;

 private:
  std::shared_ptr<const Source> whole_;
  size_t offset_;
};

/// As SourceRange::highlight, but shows the text that the range is of even where it has an origin.
std::string highlightItself(const SourceRange& range, size_t context, std::string_view function);

}  // namespace cresset
