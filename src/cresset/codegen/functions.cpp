#include "cresset/codegen/functions.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cresset/support/error.h"

namespace cresset::codegen {

namespace {

struct Row {
  std::string_view name, parameters;
  at::ScalarType type;
  std::string_view body;
};

constexpr Row kRows[] = {
#define FUNCTION(name, parameters, type, body) {#name, parameters, at::ScalarType::type, body},
#include "cresset/codegen/functions.def"
};

std::vector<std::string_view> split(std::string_view names) {
  std::vector<std::string_view> list;
  for (;;) {
    const size_t comma = names.find(", ");
    list.push_back(names.substr(0, comma));
    if (comma == std::string_view::npos) return list;
    names.remove_prefix(comma + 2);
  }
}

}  // namespace

const MathFunction* mathFunction(std::string_view name, at::ScalarType type) {
  using Key = std::pair<std::string_view, at::ScalarType>;
  static const auto* functions = [] {
    auto* map = new std::map<Key, MathFunction>;
    for (const Row& row : kRows) {
      MathFunction function{split(row.parameters), parseExpressions(row.body)};
      CRESSET_CHECK(function.body.results.size() == 1, "a function has one result");
      const bool is_new = map->emplace(Key{row.name, row.type}, std::move(function)).second;
      CRESSET_CHECK(is_new, "a function that is in the table twice");
    }
    return map;
  }();
  const auto found = functions->find({name, type});
  return found == functions->end() ? nullptr : &found->second;
}

bool isMathFunction(std::string_view name) {
  return std::ranges::any_of(kRows, [&](const Row& row) { return row.name == name; });
}

}  // namespace cresset::codegen
