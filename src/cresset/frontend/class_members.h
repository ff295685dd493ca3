// How many members the class of an untrusted program may have.
//
// c10 searches a class's attributes and methods one by one, also before it adds one, so that a class takes the square
// of their number.
#pragma once

#include <string_view>

#include "cresset/program/program.h"

namespace cresset {

/// Of attributes, constants and methods together; docs/decisions/0003-untrusted-programs.md.
constexpr size_t kMaxMembers = 16'384;

/// Throws UserError if a class of this program may not have so many.
inline void requireFewMembers(
    const Program& program, std::string_view class_name, size_t members, const SourceRange& range) {
  if (members <= kMaxMembers || !program.rules().policy) return;
  throw UserError(
      "class '" + std::string(class_name) + "' has " + std::to_string(members) +
          " attributes and methods; a program that is not trusted may have " + std::to_string(kMaxMembers) +
          " in a class",
      range);
}

}  // namespace cresset
