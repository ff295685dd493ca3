// JSON texts, as far as archives hold them: a tree of values that know where they stand. nlohmann's reader does the
// reading; nesting is limited, and memory is charged, before either can hurt.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/archive/budget.h"

namespace cresset {

struct JsonMember;

struct JsonValue {
  enum Kind { Null, Bool, Number, String, Array, Object };
  Kind kind = Null;
  size_t offset = 0;  // in the text
  std::string text;   // of a Number or String; "true" or "false"
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;

  /// The member of this name; null if there is none, or if this is no object.
  const JsonValue* find(std::string_view name) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

/// Throws ArchiveError, at the byte of `site`'s entry where the text is wrong. `budget` stays charged.
JsonValue parseJson(std::string_view text, const ArchiveSite& site, LoadBudget& budget);

}  // namespace cresset
