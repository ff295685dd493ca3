// What must hold of a text that a part of Cresset reads, whatever the text: it is accepted, or refused by a UserError
// that says where; what was accepted prints, and what it prints reads back as the same.
//
// Each function throws UserError if it refuses the text, and anything else if a rule is broken.
#pragma once

#include <cstdint>
#include <string>

namespace text_readers {

void readSource(const std::string& text);
void readGraph(const std::string& text);
void readType(const std::string& text);
void readSchema(const std::string& text);
/// A source is defined, and all its functions are compiled down to instructions; nothing runs.
void compileSource(const std::string& text);
/// readGraph and compileSource; what is accepted is then called within bounds (bounded_call.h).
void runGraph(const std::string& text);
void runSource(const std::string& text);

}  // namespace text_readers
