// See debug_writer.h; the format is described in debug_records.cpp.
#include "cresset/archive/debug_writer.h"

#include <algorithm>
#include <unordered_map>

#include "cresset/archive/pickler.h"
#include "cresset/support/source_part.h"

namespace cresset {

namespace {

constexpr int kContextLines = 3;

/// The place in the file that a person wrote.
SourceRange originalOf(SourceRange range) {
  while (auto origin = range.source->origin(range)) range = *origin;
  if (auto part = std::dynamic_pointer_cast<const SourcePart>(range.source)) range = part->inWhole(range);
  return range;
}

/// Lines of an original file. One has many where what is called stands far apart, as in torch/nn/functional.py.
struct Excerpt {
  std::shared_ptr<const Source> source;
  size_t begin, end;
  std::string padding = {};  // what stands before a text that begins in the middle of a line

  /// To whole lines, and some around them.
  void widen() {
    const std::string& text = source->text();
    for (int i = 0; i <= kContextLines && begin > 0; ++i) {
      const size_t at = begin < 2 ? std::string::npos : text.rfind('\n', begin - (i == 0 ? 1 : 2));
      begin = at == std::string::npos ? 0 : at + 1;
    }
    for (int i = 0; i <= kContextLines && end < text.size(); ++i) {
      const size_t at = text.find('\n', end);
      end = at == std::string::npos ? text.size() : at + 1;
    }
    if (begin == 0) padding = std::string(source->column(0), ' ');
  }
};

class DebugWriter {
 public:
  explicit DebugWriter(bool with_table) : with_table_(with_table) {}

  std::string write(const CodeText& code) {
    for (const CodeText::Tag& tag : code.tags()) add(tag);
    makeExcerpts();
    addString("");
    std::vector<std::vector<size_t>> lines;
    std::vector<size_t> files;
    for (const Excerpt& excerpt : excerpts_) {
      lines.push_back(addLines(excerpt));
      files.push_back(addString(excerpt.source->name()));
    }

    if (with_table_) {
      out_.mark();
      out_.string("FORMAT_WITH_STRING_TABLE");
      out_.mark();
      for (const std::string* string : strings_) out_.string(*string);
      out_.tuple();
    }
    out_.mark();
    std::vector<std::optional<uint32_t>> written(excerpts_.size());
    for (const Record& record : records_) {
      const Excerpt& excerpt = excerpts_[record.excerpt];
      const size_t shift = excerpt.padding.size();
      out_.mark();
      out_.integer(static_cast<int64_t>(record.offset));
      out_.mark();
      if (written[record.excerpt])
        out_.get(*written[record.excerpt]);
      else
        written[record.excerpt] = writeExcerpt(excerpt, lines[record.excerpt], files[record.excerpt]);
      out_.integer(static_cast<int64_t>(record.range.begin - excerpt.begin + shift));
      out_.integer(static_cast<int64_t>(record.range.end - excerpt.begin + shift));
      out_.tuple();
      if (with_table_) out_.integer(-1);  // torch.jit numbers ranges of Mobile's bytecode here
      out_.tuple();
    }
    out_.tuple();
    if (with_table_) out_.tuple();
    return out_.finish();
  }

 private:
  struct Record {
    size_t offset, excerpt;
    SourceRange range;
  };

  void add(const CodeText::Tag& tag) {
    SourceRange range = originalOf(tag.range);
    if (!records_.empty()) {  // what came in between may have left no text
      const SourceRange& last = records_.back().range;
      if (last.source == range.source && last.begin == range.begin && last.end == range.end) return;
    }
    files_.try_emplace(range.source.get(), files_.size());
    records_.push_back({tag.offset, 0, std::move(range)});
  }

  /// Places whose lines meet share one.
  void makeExcerpts() {
    std::vector<Record*> sorted;
    for (Record& record : records_) sorted.push_back(&record);
    std::stable_sort(sorted.begin(), sorted.end(), [&](const Record* a, const Record* b) {
      const size_t of_a = files_.at(a->range.source.get()), of_b = files_.at(b->range.source.get());
      return of_a != of_b ? of_a < of_b : a->range.begin < b->range.begin;
    });
    for (Record* record : sorted) {
      Excerpt lines = {record->range.source, record->range.begin, record->range.end};
      lines.widen();
      Excerpt* last = excerpts_.empty() ? nullptr : &excerpts_.back();
      if (last && last->source == lines.source && lines.begin <= last->end)
        last->end = std::max(last->end, lines.end);
      else
        excerpts_.push_back(std::move(lines));
      record->excerpt = excerpts_.size() - 1;
    }
  }

  size_t addString(const std::string& text) {
    const auto [it, fresh] = string_index_.try_emplace(text, strings_.size());
    if (fresh) strings_.push_back(&it->first);
    return it->second;
  }

  std::vector<size_t> addLines(const Excerpt& excerpt) {
    std::vector<size_t> numbers;
    std::string line = excerpt.padding;
    const std::string& text = excerpt.source->text();
    for (size_t at = excerpt.begin; at < excerpt.end;) {
      const size_t end = std::min(text.find('\n', at), excerpt.end - 1) + 1;
      line.append(text, at, end - at);
      numbers.push_back(addString(line));
      line.clear();
      at = end;
    }
    return numbers;
  }

  uint32_t writeExcerpt(const Excerpt& excerpt, const std::vector<size_t>& lines, size_t file) {
    out_.mark();
    if (with_table_) {
      out_.global("torch.jit._pickle", "build_intlist");
      out_.mark();
      out_.emptyList();
      out_.mark();
      for (size_t line : lines) out_.integer(static_cast<int64_t>(line));
      out_.appends();
      out_.tuple();
      out_.reduce();
      out_.integer(static_cast<int64_t>(file));
    } else {
      std::string text;
      for (size_t line : lines) text += *strings_[line];
      out_.string(text);
      out_.string(*strings_[file]);
    }
    out_.integer(static_cast<int64_t>(excerpt.source->lineNumber(excerpt.begin)));
    out_.tuple();
    return out_.put();
  }

  bool with_table_;
  PickleWriter out_;
  std::vector<Excerpt> excerpts_;
  std::vector<Record> records_;
  std::unordered_map<const Source*, size_t> files_;  // in the order in which they come first
  std::vector<const std::string*> strings_;
  std::unordered_map<std::string, size_t> string_index_;
};

}  // namespace

std::string debugRecords(const CodeText& code) {
  return DebugWriter(true).write(code);
}

std::string oldDebugRecords(const CodeText& code) {
  return DebugWriter(false).write(code);
}

}  // namespace cresset
