// Text that is being written, and which place of the original program each part of it comes from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cresset/support/source.h"

namespace cresset {

class CodeText {
 public:
  /// From `offset` on, up to the next tag, the text is what the program says at `range`.
  struct Tag {
    size_t offset;
    SourceRange range;
  };

  CodeText& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  size_t size() const { return text_.size(); }
  const std::string& text() const { return text_; }
  const std::vector<Tag>& tags() const { return tags_; }

  /// What is written while this lives comes from `range`, which outlives it. A range without text changes nothing.
  class Place {
   public:
    Place(CodeText& text, const SourceRange& range) : text_(text), outer_(text.current_) {
      if (range) text_.enter(&range);
    }
    ~Place() {
      if (outer_) text_.enter(outer_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

   private:
    CodeText& text_;
    const SourceRange* outer_;
  };

 private:
  void enter(const SourceRange* range) {
    current_ = range;
    if (!tags_.empty()) {
      const SourceRange& last = tags_.back().range;
      if (last.source == range->source && last.begin == range->begin && last.end == range->end) return;
      if (tags_.back().offset == text_.size()) tags_.pop_back();
    }
    tags_.push_back({text_.size(), *range});
  }

  std::string text_;
  std::vector<Tag> tags_;
  const SourceRange* current_ = nullptr;
};

}  // namespace cresset
