// A code file of an archive, cut into its definitions without being parsed.
//
// Code is most of what there is to read in many archives, and a program uses a small part of it before its first
// call. So files are cut at the lines that start definitions, and each piece is parsed when something asks for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cresset/archive/debug_records.h"
#include "cresset/support/source_part.h"

namespace cresset {

/// A piece of a code file: the bytes [begin, end).
struct CodeBlock {
  enum Kind { Class, Function };
  Kind kind = Function;
  std::string_view name;
  size_t begin = 0, end = 0;
};

class CodeFile {
 public:
  CodeFile(std::string text, std::string record, std::shared_ptr<const DebugRecords> debug);
  /// What the tables of a file with this text take in memory, at most.
  static size_t tableBytes(std::string_view text);

  /// The definition of this name at the file's top level; null if there is none.
  const CodeBlock* find(std::string_view name) const;
  const std::vector<CodeBlock>& blocks() const { return blocks_; }
  /// The `def`s of a class, and what is left of it: the class line and its attributes.
  struct ClassParts {
    size_t header_end = 0;  // [block.begin, header_end)
    std::vector<CodeBlock> methods;
  };
  /// Empty methods and the whole block as header if the class is not of the form "attributes, then methods".
  ClassParts split(const CodeBlock& block) const;
  /// Where the `:` that ends the signature of a `def` is; npos if it can't be told.
  size_t signatureEnd(const CodeBlock& block) const;

  std::string_view text(size_t begin, size_t end) const { return text().substr(begin, end - begin); }
  /// The bytes as a source of their own (a SourcePart) that knows where it stands, followed by `suffix`.
  std::shared_ptr<const Source> source(size_t begin, size_t end, std::string_view suffix = "") const;
  const std::string& record() const { return file_->name(); }

 private:
  std::string_view text() const { return file_->text(); }

  std::shared_ptr<const CodeFileSource> file_;
  std::vector<CodeBlock> blocks_;
  std::unordered_map<std::string_view, size_t> index_;
};

}  // namespace cresset
