// Debug records: where the code of an archive came from. debug_records.h reads them.
#pragma once

#include <string>

#include "cresset/archive/code_text.h"

namespace cresset {

/// The `.debug_pkl` record of a code file. Of each original file it holds the lines that the code came from, and a few
/// around them.
std::string debugRecords(const CodeText& code);
/// The same as PyTorch wrote it before 1.10: each source in full, without a table of lines.
std::string oldDebugRecords(const CodeText& code);

}  // namespace cresset
