// Cutting code files. See code_file.h.
#include "cresset/archive/code_file.h"

#include <algorithm>

#include "cresset/support/lexer.h"

namespace cresset {

namespace {

// The name after "def " or "class ".
std::string_view nameAfter(std::string_view line, size_t at) {
  while (at < line.size() && line[at] == ' ') ++at;
  size_t end = at;
  while (end < line.size() && isNameCharacter(line[end])) ++end;
  return line.substr(at, end - at);
}

}  // namespace

CodeFile::CodeFile(std::string text, std::string record, std::shared_ptr<const DebugRecords> debug)
    : file_(std::make_shared<CodeFileSource>(std::move(text), std::move(record), std::move(debug))) {
  std::string_view all = this->text();
  size_t decorators = std::string_view::npos;  // where the decorators of the next definition start
  for (size_t at = 0; at < all.size();) {
    size_t end = std::min(all.find('\n', at), all.size());
    std::string_view line = all.substr(at, end - at);
    bool is_class = line.starts_with("class "), is_def = line.starts_with("def ");
    if (is_class || is_def) {
      size_t begin = decorators == std::string_view::npos ? at : decorators;
      decorators = std::string_view::npos;
      if (!blocks_.empty()) blocks_.back().end = std::min(blocks_.back().end, begin);
      blocks_.push_back(
          {is_class ? CodeBlock::Class : CodeBlock::Function, nameAfter(line, is_class ? 6 : 4), begin, all.size()});
    } else if (line.starts_with('@') && decorators == std::string_view::npos) {
      decorators = at;
    }
    at = end + 1;
  }
  for (size_t i = 0; i < blocks_.size(); ++i) index_.emplace(blocks_[i].name, i);
}

size_t CodeFile::tableBytes(std::string_view text) {
  size_t lines = 1, definitions = 0;
  for (size_t at = 0; at < text.size(); ++lines) {
    definitions += text.substr(at).starts_with("class ") || text.substr(at).starts_with("def ");
    at = std::min(text.find('\n', at), text.size() - 1) + 1;
  }
  // Vectors may hold twice what they need, and a third copy while they grow; hash nodes have a header and a bucket.
  return 3 * lines * sizeof(uint32_t) + definitions * (3 * sizeof(CodeBlock) + 96);
}

const CodeBlock* CodeFile::find(std::string_view name) const {
  auto it = index_.find(name);
  return it == index_.end() ? nullptr : &blocks_[it->second];
}

CodeFile::ClassParts CodeFile::split(const CodeBlock& block) const {
  ClassParts parts{block.end, {}};
  std::string_view all = text().substr(0, block.end);
  for (size_t at = block.begin; at < block.end;) {
    size_t end = std::min(all.find('\n', at), block.end);
    std::string_view line = all.substr(at, end - at);
    if (line.starts_with("  def ")) {
      if (parts.methods.empty())
        parts.header_end = at;
      else
        parts.methods.back().end = at;
      // The `def` itself starts after the indentation: the piece is parsed as if it stood at the left edge.
      parts.methods.push_back({CodeBlock::Function, nameAfter(line, 6), at + 2, block.end});
    } else if (
        line.size() > 2 && line.starts_with("  ") && line[2] != ' ' && line[2] != '#' && !parts.methods.empty()) {
      return {block.end, {}};  // a decorator, or an attribute among the methods
    }
    at = end + 1;
  }
  return parts;
}

size_t CodeFile::signatureEnd(const CodeBlock& block) const {
  std::string_view all = text();
  int depth = 0;
  char quote = 0;
  for (size_t i = block.begin; i < block.end; ++i) {
    char c = all[i];
    if (quote != 0) {
      if (c == '\\')
        ++i;
      else if (c == quote || c == '\n')
        quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ':' && depth == 0) {
      return i;
    }
  }
  return std::string::npos;
}

std::shared_ptr<const Source> CodeFile::source(size_t begin, size_t end, std::string_view suffix) const {
  std::string part(text(begin, end));
  part += suffix;
  return std::make_shared<SourcePart>(std::move(part), file_, begin);
}

}  // namespace cresset
