// How errors read: the message first, then where, in PyTorch's picture.
#include "cresset/support/error.h"

#include <algorithm>
#include <string_view>

#include "cresset/support/source_part.h"

namespace cresset {

namespace {

/// Lines shown before and after each place of a traceback.
constexpr size_t kTracebackContext = 2;

/// A text without what lies between its first `head` and its last `tail` bytes, apart from characters' remains.
std::string withoutMiddle(std::string_view text, size_t head, size_t tail) {
  const auto starts = [&](size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80; };
  size_t end = head, next = text.size() - tail;
  while (end > 0 && !starts(end)) --end;
  while (next < text.size() && !starts(next)) ++next;
  return std::string(text.substr(0, end)) + "…" + std::string(text.substr(next));
}

/// Messages quote what is wrong, which may be as long as an author likes: names, literals, types, schemas. A long word
/// loses its middle, and so does what is long in spite of that.
std::string shortened(std::string message) {
  constexpr size_t kWord = 400, kMessage = 16'384;
  if (message.size() <= kWord) return message;
  std::string result;
  for (size_t at = 0; at < message.size();) {
    const size_t end = std::min(message.find_first_of(" \n", at), message.size());
    const std::string_view word = std::string_view(message).substr(at, end - at);
    if (word.size() > kWord)
      result += withoutMiddle(word, kWord * 3 / 4, kWord / 8);
    else
      result += word;
    if (end < message.size()) result += message[end];
    at = end + 1;
  }
  return result.size() > kMessage ? withoutMiddle(result, kMessage * 3 / 4, kMessage / 8) : result;
}

using CompilationStack = std::vector<std::pair<std::string, SourceRange>>;

std::string describe(const std::string& message, const SourceRange& range, const CompilationStack& stack) {
  std::string out = message;
  auto addPicture = [&out](const SourceRange& where) {
    std::string picture = where.highlight();
    if (picture.empty()) return;
    if (!out.empty() && out.back() != '\n') out += '\n';
    picture.pop_back();  // the line break; what() ends without one
    out += picture;
  };
  addPicture(range);
  for (size_t i = 0; i < stack.size(); ++i) {
    if (!stack[i].second) continue;  // only the name of the caller of the one before
    out += "\n'" + stack[i].first + "' is being compiled since it was called from";
    // The caller is the next entry; the outermost call comes from outside of all functions.
    out += i + 1 < stack.size() ? " '" + stack[i + 1].first + "'" : std::string(" here");
    addPicture(stack[i].second);
  }
  return out;
}

std::string describeArchive(
    const std::string& file, const std::string& entry, size_t offset, const std::string& reason) {
  std::string out = file;
  if (!entry.empty()) out += (out.empty() ? "" : ": ") + entry;
  if (offset != ArchiveError::kNoOffset)
    out += std::string(out.empty() ? "" : " ") + "at byte " + std::to_string(offset);
  return out + (out.empty() ? "" : ": ") + reason;
}

std::string describeScript(
    const std::string& message, const std::string& python_class, const std::vector<ScriptFrame>& frames) {
  std::string last = (python_class.empty() ? "RuntimeError" : python_class) + ": " + message;
  if (frames.empty()) return last;
  std::string out = "The following operation failed in the TorchScript interpreter.\n";
  auto addTraceback = [&](const char* of, auto&& picture) {
    out.append("Traceback of TorchScript").append(of).append(" (most recent call last):\n");
    for (const ScriptFrame& frame : frames) out += frame.range ? picture(frame) : "  In " + frame.function + "\n";
  };
  auto itself = [](const ScriptFrame& frame) {
    return highlightItself(frame.range, kTracebackContext, frame.function);
  };
  auto original = [](const ScriptFrame& frame) { return frame.range.highlight(kTracebackContext, frame.function); };
  // Code of an archive is shown both as the archive has it and as its author wrote it; a frame without an original
  // stands in both, so that neither has a gap.
  const bool has_originals = std::any_of(frames.begin(), frames.end(), [](const ScriptFrame& frame) {
    return frame.range && frame.range.source->origin(frame.range);
  });
  addTraceback(has_originals ? ", serialized code" : "", itself);
  if (has_originals) {
    out += "\n";
    addTraceback(", original code", original);
  }
  return out + last;
}

}  // namespace

UserError::UserError(std::string message, SourceRange range)
    : UserError(shortened(std::move(message)), std::move(range), {}) {}

UserError::UserError(std::string message, SourceRange range, CompilationStack stack)
    : Error(describe(message, range, stack)),
      message_(std::move(message)),
      range_(std::move(range)),
      stack_(std::move(stack)) {}

UserError UserError::withCaller(std::string function, SourceRange call) const {
  CompilationStack stack = stack_;
  stack.emplace_back(std::move(function), std::move(call));
  return UserError(message_, range_, std::move(stack));
}

ArchiveError::ArchiveError(std::string file, std::string entry, size_t offset, std::string reason)
    : Error(describeArchive(file, shortened(entry), offset, shortened(reason))),
      file_(std::move(file)),
      entry_(std::move(entry)),
      reason_(shortened(std::move(reason))),
      offset_(offset) {}

ScriptError::ScriptError(std::string message, std::string python_class, std::vector<ScriptFrame> frames)
    : Error(describeScript(message, python_class, frames)),
      message_(std::move(message)),
      python_class_(std::move(python_class)),
      frames_(std::move(frames)) {}

void throwInternalError(const char* file, int line, const char* condition, const std::string& detail) {
  std::string where(file);
  size_t root = where.rfind("cresset/");  // paths of the machine that built this tell the reader nothing
  if (root != std::string::npos) where.erase(0, root);
  throw InternalError(
      "Internal error of Cresset at " + where + ":" + std::to_string(line) + ": " + condition + " does not hold" +
      (detail.empty() ? "" : ": " + detail));
}

}  // namespace cresset
