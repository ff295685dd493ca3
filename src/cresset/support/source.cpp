// Line arithmetic over a Source, and the pictures that errors show of it.
//
// Line starts are found once, on the first question, since most sources are never asked. Offsets past the end count as
// the end, so that a range at the end of the text needs no special case.
#include "cresset/support/source.h"

#include <algorithm>
#include <utility>

#include "cresset/support/source_part.h"

namespace cresset {

Source::Source(std::string text, std::string name, size_t first_line, size_t first_column)
    : text_(std::move(text)), name_(std::move(name)), first_line_(first_line), first_column_(first_column) {}

Source::~Source() = default;

std::optional<SourceRange> Source::origin(const SourceRange&) const {
  return std::nullopt;
}

SourcePart::SourcePart(std::string text, std::shared_ptr<const Source> whole, size_t offset)
    : Source(std::move(text), whole->name(), whole->lineNumber(offset), whole->column(offset)),
      whole_(std::move(whole)),
      offset_(offset) {}

SourceRange SourcePart::inWhole(const SourceRange& range) const {
  auto place = [this](uint32_t at) { return static_cast<uint32_t>(std::min(offset_ + at, whole_->text().size())); };
  return {whole_, place(range.begin), place(range.end)};
}

std::optional<SourceRange> SourcePart::origin(const SourceRange& range) const {
  return whole_->origin(inWhole(range));
}

size_t Source::lineIndex(size_t offset) const {
  std::call_once(lines_once_, [this] {
    line_starts_.push_back(0);
    for (size_t i = text_.find('\n'); i != std::string::npos; i = text_.find('\n', i + 1)) {
      line_starts_.push_back(static_cast<uint32_t>(i + 1));
    }
  });
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  return static_cast<size_t>(after - line_starts_.begin()) - 1;
}

size_t Source::lineNumber(size_t offset) const {
  return first_line_ + lineIndex(offset);
}

size_t Source::column(size_t offset) const {
  size_t index = lineIndex(offset);
  return std::min(offset, text_.size()) - line_starts_[index] + (index == 0 ? first_column_ : 0);
}

std::string_view Source::line(size_t offset) const {
  size_t index = lineIndex(offset);  // fills line_starts_
  size_t begin = line_starts_[index];
  return std::string_view(text_).substr(begin, text_.find('\n', begin) - begin);
}

std::string_view SourceRange::text() const {
  if (!source || begin >= source->text().size()) return {};
  return std::string_view(source->text()).substr(begin, std::max(begin, end) - begin);
}

SourceRange SourceRange::cover(const SourceRange& a, const SourceRange& b) {
  if (!a) return b;
  if (!b || a.source != b.source) return a;
  return {a.source, std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

std::string SourceRange::position() const {
  if (!source) return "";
  if (auto original = source->origin(*this)) return original->position();
  return (source->name().empty() ? "<string>" : source->name()) + ":" + std::to_string(source->lineNumber(begin)) +
         ":" + std::to_string(source->column(begin));
}

namespace {

/// The start of the line that lies `count` lines before the one that starts at `line_start`, or the text's start.
size_t linesBefore(const std::string& text, size_t line_start, size_t count) {
  for (; count > 0 && line_start > 0; --count) {
    size_t previous_break = line_start < 2 ? std::string::npos : text.rfind('\n', line_start - 2);
    line_start = previous_break == std::string::npos ? 0 : previous_break + 1;
  }
  return line_start;
}

size_t lineEnd(const std::string& text, size_t offset) {
  return std::min(text.find('\n', offset), text.size());
}

}  // namespace

std::string SourceRange::highlight(size_t context, std::string_view function) const {
  if (!source) return "";
  if (auto original = source->origin(*this)) return original->highlight(context, function);
  return highlightItself(*this, context, function);
}

namespace {

// A picture stays readable, and short, whatever the program: a line may hold a literal of a million elements, and a
// range a whole function.
constexpr size_t kShownColumns = 400, kShownLines = 12;

bool isContinuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

/// The part of the line [begin, end) that is shown: all of it, or some of it around `focus`.
std::pair<size_t, size_t> shownPart(const std::string& text, size_t begin, size_t end, size_t focus) {
  if (end - begin <= kShownColumns) return {begin, end};
  size_t from = focus - begin > kShownColumns / 4 ? focus - kShownColumns / 4 : begin;
  size_t to = std::min(end, from + kShownColumns);
  while (from > begin && isContinuation(text[from])) --from;
  while (to < end && isContinuation(text[to])) ++to;
  return {from, to};
}

size_t indentOf(std::string_view line) {
  return std::min(line.find_first_not_of(" \t\r"), line.size());
}

bool isBlank(std::string_view line) {
  return indentOf(line) == line.size();
}

bool isDefinition(std::string_view line) {
  line.remove_prefix(indentOf(line));
  return line.starts_with("def ") || line.starts_with("class ") || line.starts_with("async def ");
}

/// The function or class whose text a line stands in, as far as its lines tell: a picture shows nothing around it.
class Definition {
 public:
  Definition(const std::string& text, size_t line_start) : text_(text) {
    constexpr size_t kFurthest = 2000;  // lines
    size_t indent = indentOf(lineAt(line_start));
    for (size_t start = line_start, steps = 0; steps < kFurthest; ++steps) {
      const std::string_view line = lineAt(start);
      if (!isBlank(line) && (start == line_start || indentOf(line) < indent)) {
        indent = indentOf(line);
        if (isDefinition(line)) {
          begin_ = start;
          indent_ = indent;
          return;
        }
      }
      if (start == 0 || indent == 0) return;
      start = linesBefore(text_, start, 1);
    }
  }

  size_t begin() const { return begin_; }
  /// Whether the line, which comes later, is after its end. Blank lines belong to what follows them.
  bool endsBefore(size_t line_start) const {
    if (!indent_) return false;
    while (line_start < text_.size() && isBlank(lineAt(line_start))) line_start = lineEnd(text_, line_start) + 1;
    if (line_start >= text_.size()) return true;
    const std::string_view line = lineAt(line_start);
    return indentOf(line) <= *indent_ && line[indentOf(line)] != ')';
  }

 private:
  std::string_view lineAt(size_t start) const {
    return std::string_view(text_).substr(start, lineEnd(text_, start) - start);
  }
  const std::string& text_;
  size_t begin_ = 0;
  std::optional<size_t> indent_;  // none if it is in no definition
};

/// Appends the shown part of a line; returns how much further right it stands than in the text.
size_t appendLine(std::string& out, const std::string& text, size_t begin, size_t end, std::pair<size_t, size_t> part) {
  if (part.first > begin) out += "…";
  out.append(text, part.first, part.second - part.first);
  out += part.second < end ? "…\n" : "\n";
  return part.first > begin ? 1 : 0;
}

std::string picture(const SourceRange& range, size_t context, std::string_view function, bool in_archive) {
  if (!range) return "";
  // Files of archives are shown with whatever stands around, as torch.jit shows them.
  if (const auto* part = dynamic_cast<const SourcePart*>(range.source.get()))
    return picture(part->inWhole(range), context, function, true);
  const auto& [source, begin, end] = range;
  const std::string& text = source->text();
  std::string name = source->name().empty() ? "<string>" : source->name();
  std::string out = "  File \"" + name + "\", line " + std::to_string(source->lineNumber(begin));
  if (!function.empty()) out.append(", in ").append(function);
  out += "\n";
  if (text.empty()) return out;

  size_t first = std::min<size_t>(begin, text.size());
  size_t last = std::clamp<size_t>(end, first, text.size());
  size_t line_start = first == 0 ? 0 : text.rfind('\n', first - 1) + 1;  // npos + 1 is 0
  const Definition definition(text, line_start);
  size_t before = linesBefore(text, line_start, context);
  if (!in_archive) before = std::max(before, definition.begin());
  while (before < line_start) {
    size_t line_end = lineEnd(text, before);
    appendLine(out, text, before, line_end, shownPart(text, before, line_end, before));
    before = line_end + 1;
  }
  for (size_t shown = 1;; ++shown) {
    size_t line_end = lineEnd(text, line_start);
    size_t from = line_start;
    while (from < line_end && (text[from] == ' ' || text[from] == '\t')) ++from;
    from = std::clamp(first, from, line_end);
    const auto part = shownPart(text, line_start, line_end, from);
    const size_t shift = appendLine(out, text, line_start, line_end, part);
    size_t to = std::min(last, part.second);
    bool is_last = last <= line_end || shown == kShownLines;
    // A range of no characters, such as the end of the text, still gets one mark.
    size_t marks = to > from ? to - from : (is_last ? 1 : 0);
    if (marks > 0) {
      out.append(shift, ' ');
      for (size_t i = part.first; i < from; ++i) out += text[i] == '\t' ? '\t' : ' ';
      out.append(marks, '~').append(is_last ? " <--- HERE\n" : "\n");
    }
    line_start = line_end + 1;
    if (is_last) break;
  }
  for (; context > 0 && line_start < text.size(); --context) {
    if (!in_archive && definition.endsBefore(line_start)) break;
    size_t line_end = lineEnd(text, line_start);
    appendLine(out, text, line_start, line_end, shownPart(text, line_start, line_end, line_start));
    line_start = line_end + 1;
  }
  return out;
}

}  // namespace

std::string highlightItself(const SourceRange& range, size_t context, std::string_view function) {
  return picture(range, context, function, /*in_archive=*/false);
}

InlinedCall::~InlinedCall() {
  // Each step releases one entry whose own caller has been taken out already, so no destructor calls another.
  for (auto next = std::move(caller); next && next.use_count() == 1;) {
    auto after = std::move(next->caller);
    next = std::move(after);
  }
}

}  // namespace cresset
