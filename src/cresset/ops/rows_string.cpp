// Strings. TorchScript's strings are bytes: indices and lengths count bytes, and character classes are those of ASCII.
//
// A search with `end` of -1, its default, goes to the end of the string; other negative bounds count from the end as
// Python's do, but one further, so that -1 can mean that.
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <array>

#include "cresset/ops/format.h"
#include "cresset/ops/limits.h"
#include "cresset/ops/row_helpers.h"
#include "cresset/ops/rows.h"
#include "cresset/ops/text_search.h"

namespace cresset {

namespace {

using std::string;
constexpr size_t npos = string::npos;

bool isUpper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool isAlpha(char c) {
  return isUpper(c) || isLower(c);
}
bool isDigit(char c) {
  return c >= '0' && c <= '9';
}
bool isSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool isPrint(char c) {
  return c >= ' ' && c <= '~';
}
char toUpper(char c) {
  return isLower(c) ? static_cast<char>(c - 32) : c;
}
char toLower(char c) {
  return isUpper(c) ? static_cast<char>(c + 32) : c;
}

template <bool (*kTest)(char)>
constexpr Kernel allOf() {
  return kernel([](const string& s) { return !s.empty() && std::all_of(s.begin(), s.end(), kTest); });
}
template <char (*kMap)(char)>
constexpr Kernel mapped() {
  return kernel([](const string& s) {
    string result = s;
    std::transform(result.begin(), result.end(), result.begin(), kMap);
    return result;
  });
}

/// All cased characters are upper (or lower), and there is one.
bool isCased(const string& s, bool (*wanted)(char), bool (*other)(char)) {
  return std::any_of(s.begin(), s.end(), wanted) && std::none_of(s.begin(), s.end(), other);
}

bool isTitle(const string& s) {
  bool cased = false, inside = false;
  for (char c : s) {
    if (isUpper(c) ? inside : isLower(c) ? !inside : false) return false;
    inside = isAlpha(c);
    cased |= inside;
  }
  return cased;
}

/// The part of `s` between the bounds; nullopt if they exclude even an empty match.
struct Window {
  size_t begin, end;
};
std::optional<Window> window(const string& s, int64_t start, int64_t end) {
  auto size = static_cast<int64_t>(s.size());
  if (start < 0) start = std::max<int64_t>(0, size + start);
  if (end < 0) end = std::max<int64_t>(0, size + end + 1);
  end = std::min(end, size);
  if (start > end) return std::nullopt;
  return Window{static_cast<size_t>(start), static_cast<size_t>(end)};
}

int64_t find(const string& s, const string& part, int64_t start, int64_t end, bool reverse) {
  auto bounds = window(s, start, end);
  if (!bounds) return -1;
  auto text = std::string_view(s).substr(bounds->begin, bounds->end - bounds->begin);
  TextSearch search(part);
  const size_t found = reverse ? search.last(text) : search.first(text);
  return found == npos ? -1 : static_cast<int64_t>(found + bounds->begin);
}
int64_t index(const string& s, const string& part, int64_t start, int64_t end, bool reverse) {
  int64_t found = find(s, part, start, end, reverse);
  if (found < 0) fail("ValueError: substring not found");
  return found;
}

int64_t count(const string& s, const string& part, int64_t start, int64_t end) {
  auto bounds = window(s, start, end);
  if (!bounds) return 0;
  auto text = std::string_view(s).substr(bounds->begin, bounds->end - bounds->begin);
  if (part.empty()) return static_cast<int64_t>(text.size()) + 1;
  TextSearch search(part);
  int64_t n = 0;
  for (size_t at = 0; (at = search.first(text, at)) != npos; at += part.size()) ++n;
  return n;
}

string replace(const string& s, const string& from, const string& to, int64_t max) {
  TextSearch search(from);
  string result;
  size_t size = s.size();
  if (to.size() > from.size() && RunBudget::current()) {
    size_t times = 0;
    for (size_t at = 0; (at = search.first(s, at)) != npos; at += std::max<size_t>(1, from.size())) ++times;
    if (max >= 0) times = std::min(times, static_cast<size_t>(max));
    size_t added = 0;
    const bool is_huge = __builtin_mul_overflow(times, to.size() - from.size(), &added) || added > npos / 2;
    size = is_huge ? npos / 2 : s.size() + added;
  }
  requireMemory(size);
  result.reserve(size);
  size_t begin = 0;
  if (from.empty()) {  // between all characters and at both ends
    for (size_t i = 0; i <= s.size(); ++i) {
      if (max-- != 0) result += to;
      if (i < s.size()) result += s[i];
    }
    return result;
  }
  for (size_t at; max != 0 && (at = search.first(s, begin)) != npos; begin = at + from.size(), --max) {
    result.append(s, begin, at - begin).append(to);
  }
  return result.append(s, begin);
}

/// A list of strings that a kernel makes. Short strings take many times their text, so a memory limit is looked at
/// while the list grows.
class Pieces {
 public:
  void add(string piece) {
    if (pieces_.size() % 1024 == 1023) requireMemory(pieces_.size() * kPieceBytes + text_bytes_);
    text_bytes_ += piece.size();
    pieces_.emplace_back(std::move(piece));
  }
  size_t size() const { return pieces_.size(); }
  void reverse() { std::reverse(pieces_.begin(), pieces_.end()); }
  IValue list() && { return newList(std::move(pieces_), c10::StringType::get()); }

 private:
  static constexpr size_t kPieceBytes = 96 + sizeof(IValue);
  std::vector<IValue> pieces_;
  size_t text_bytes_ = 0;
};

Pieces splitWhitespace(const string& s, int64_t max) {
  Pieces parts;
  for (size_t i = 0;;) {
    while (i < s.size() && isSpace(s[i])) ++i;
    if (i == s.size()) return parts;
    if (max >= 0 && static_cast<int64_t>(parts.size()) == max) {
      parts.add(s.substr(i));
      return parts;
    }
    size_t begin = i;
    while (i < s.size() && !isSpace(s[i])) ++i;
    parts.add(s.substr(begin, i - begin));
  }
}
void requireSeparator(const string& separator) {
  if (separator.empty()) fail("ValueError: empty separator");
}
IValue split(const string& s, const std::optional<string>& separator, int64_t max) {
  if (!separator) return splitWhitespace(s, max).list();
  requireSeparator(*separator);
  TextSearch search(*separator);
  Pieces parts;
  size_t begin = 0;
  for (size_t at; max != 0 && (at = search.first(s, begin)) != npos; begin = at + separator->size(), --max) {
    parts.add(s.substr(begin, at - begin));
  }
  parts.add(s.substr(begin));
  return std::move(parts).list();
}
IValue splitFromRight(const string& s, const string& separator, int64_t max) {
  requireSeparator(separator);
  TextSearch search(separator);
  Pieces parts;
  size_t end = s.size();
  while (max-- != 0 && end >= separator.size()) {
    const size_t at = search.last(std::string_view(s).substr(0, end));
    if (at == npos) break;
    parts.add(s.substr(at + separator.size(), end - at - separator.size()));
    end = at;
  }
  parts.add(s.substr(0, end));
  parts.reverse();
  return std::move(parts).list();
}

/// At every line break character; "\r\n" counts as two. Kept ends are elements of their own.
IValue splitLines(const string& s, bool keep_ends) {
  constexpr std::string_view kBreaks = "\n\r\v\f\x1c\x1d\x1e";
  Pieces parts;
  size_t begin = 0;
  for (size_t at; (at = s.find_first_of(kBreaks, begin)) != npos; begin = at + 1) {
    parts.add(s.substr(begin, at - begin));
    if (keep_ends) parts.add(s.substr(at, 1));
  }
  if (begin < s.size()) parts.add(s.substr(begin));
  return std::move(parts).list();
}

string strip(const string& s, const string& chars, bool left, bool right) {
  std::array<bool, 256> goes{};
  for (const char c : chars) goes[static_cast<unsigned char>(c)] = true;
  size_t begin = 0, end = s.size();
  while (left && begin < end && goes[static_cast<unsigned char>(s[begin])]) ++begin;
  while (right && begin < end && goes[static_cast<unsigned char>(s[end - 1])]) --end;
  return s.substr(begin, end - begin);
}

char fillCharacter(const string& fill) {
  if (fill.size() != 1) fail("TypeError: The fill character must be exactly one character long");
  return fill[0];
}
size_t paddingFor(const string& s, int64_t width) {
  auto size = static_cast<int64_t>(s.size());
  if (width <= size) return 0;
  requireMemory(static_cast<size_t>(width));
  return static_cast<size_t>(width - size);
}

string titleCased(const string& s) {
  string result;
  bool inside = false;
  for (char c : s) {
    result += inside ? toLower(c) : toUpper(c);
    inside = isAlpha(c);
  }
  return result;
}

string expandTabs(const string& s, int64_t tab) {
  string result;
  size_t column = 0;
  for (char c : s) {
    if (c == '\t') {
      size_t n = tab > 0 ? static_cast<size_t>(tab) - column % static_cast<size_t>(tab) : 0;
      requireMemory(result.size() + n);
      result.append(n, ' ');
      column += n;
    } else {
      result += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return result;
}

using Parts = std::tuple<string, string, string>;
Parts partition(const string& s, const string& separator, bool reverse) {
  TextSearch search(separator);
  const size_t at = reverse ? search.last(s) : search.first(s);
  if (at == npos) return reverse ? Parts("", "", s) : Parts(s, "", "");
  return {s.substr(0, at), separator, s.substr(at + separator.size())};
}

char characterAt(const string& s, int64_t index) {
  int64_t i = wrapIndex(index, s.size());
  if (i < 0 || i >= static_cast<int64_t>(s.size())) raise("IndexError", "string index out of range");
  return s[static_cast<size_t>(i)];
}

string sliceOf(const string& s, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  auto range = sliceRange(s.size(), start, end, step);
  if (range.step == 1)
    return s.substr(static_cast<size_t>(range.count ? range.start : 0), static_cast<size_t>(range.count));
  string result;
  for (int64_t i = 0; i < range.count; ++i) result += s[static_cast<size_t>(range.start + i * range.step)];
  return result;
}

std::span<const IValue> after(const IValue* first, size_t count) {
  return {first + 1, count - 1};
}

/// Variadic: the format string and its arguments.
template <string (*kFormat)(const string&, std::span<const IValue>)>
void format(Stack& stack, size_t count) {
  const IValue* first = stack.data() + (stack.size() - count);
  string result = kFormat(first->toStringRef(), after(first, count));
  drop(stack, count);
  stack.emplace_back(std::move(result));
}

#define TEST(NAME, ...) \
  { "aten::" NAME "(str self) -> bool", __VA_ARGS__ }
#define BOUNDED(NAME, RESULT, CALL)                                                                  \
  {                                                                                                  \
    "aten::" NAME "(str self, str substr, int start=0, int end=-1) -> " RESULT,                      \
        kernel([](const string& s, const string& part, int64_t start, int64_t end) { return CALL; }) \
  }
#define STRIP(NAME, LEFT, RIGHT)                                                                  \
  {                                                                                               \
    "aten::" NAME "(str self, str chars=\" \\n\\t\\f\\v\") -> str",                               \
        kernel([](const string& s, const string& chars) { return strip(s, chars, LEFT, RIGHT); }) \
  }

constexpr Row kStringRows[] = {
    {"aten::add.str(str a, str b) -> str", kernel([](const string& a, const string& b) {
       requireMemory(a.size() + b.size());
       return a + b;
     })},
    {"aten::len.str(str s) -> int", kernel([](const string& s) { return static_cast<int64_t>(s.size()); })},
    {"aten::__getitem__.str(str s, int index) -> str",
     kernel([](const string& s, int64_t i) { return string(1, characterAt(s, i)); })},
    {"prim::StringIndex(str string, int index) -> str",
     kernel([](const string& s, int64_t i) { return string(1, characterAt(s, i)); })},
    {"aten::slice.str(str string, int? start=None, int? end=None, int step=1) -> str",
     kernel([](const string& s, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
       return sliceOf(s, start, end, step);
     })},
    {"aten::list(str t) -> str[]", kernel([](const string& s) {
       Pieces parts;
       for (char c : s) parts.add(string(1, c));
       return std::move(parts).list();
     })},
    {"aten::upper(str self) -> str", mapped<toUpper>()},
    {"aten::lower(str self) -> str", mapped<toLower>()},
    {"aten::swapcase(str self) -> str", kernel([](const string& s) {
       string result = s;
       for (char& c : result) c = isUpper(c) ? toLower(c) : toUpper(c);
       return result;
     })},
    {"aten::capitalize(str self) -> str", kernel([](const string& s) {
       string result = s;
       for (size_t i = 0; i < s.size(); ++i) result[i] = i ? toLower(s[i]) : toUpper(s[i]);
       return result;
     })},
    {"aten::title(str self) -> str", kernel([](const string& s) { return titleCased(s); })},
    {"aten::expandtabs(str self, int tabsize=8) -> str",
     kernel([](const string& s, int64_t tab) { return expandTabs(s, tab); })},
    {"aten::center(str self, int width, str fillchar=\" \") -> str",
     kernel([](const string& s, int64_t width, const string& fill) {
       char c = fillCharacter(fill);
       size_t padding = paddingFor(s, width);
       // The odd one goes to the left if the width is odd, as CPython does.
       size_t left = padding / 2 + (padding & static_cast<size_t>(width) & 1);
       return string(left, c) + s + string(padding - left, c);
     })},
    {"aten::ljust(str self, int width, str fillchar=\" \") -> str",
     kernel([](const string& s, int64_t width, const string& fill) {
       return s + string(paddingFor(s, width), fillCharacter(fill));
     })},
    {"aten::rjust(str self, int width, str fillchar=\" \") -> str",
     kernel([](const string& s, int64_t width, const string& fill) {
       return string(paddingFor(s, width), fillCharacter(fill)) + s;
     })},
    // Zeros go before a sign, unlike in Python.
    {"aten::zfill(str self, int width) -> str",
     kernel([](const string& s, int64_t width) { return string(paddingFor(s, width), '0') + s; })},
    BOUNDED("count", "int", count(s, part, start, end)),
    BOUNDED("find", "int", find(s, part, start, end, false)),
    BOUNDED("rfind", "int", find(s, part, start, end, true)),
    BOUNDED("rindex", "int", index(s, part, start, end, true)),
    {"aten::index.str(str self, str substr, int start=0, int end=-1) -> int",
     kernel([](const string& s, const string& part, int64_t start, int64_t end) {
       return index(s, part, start, end, false);
     })},
    {"aten::startswith(str self, str substr, int start=0, int end=-1) -> bool",
     kernel([](const string& s, const string& part, int64_t start, int64_t end) {
       auto bounds = window(s, start, end);
       return bounds && std::string_view(s).substr(bounds->begin, bounds->end - bounds->begin).starts_with(part);
     })},
    {"aten::endswith(str self, str substr, int start=0, int end=-1) -> bool",
     kernel([](const string& s, const string& part, int64_t start, int64_t end) {
       auto bounds = window(s, start, end);
       return bounds && std::string_view(s).substr(bounds->begin, bounds->end - bounds->begin).ends_with(part);
     })},
    {"aten::partition(str self, str separator) -> (str, str, str)",
     kernel([](const string& s, const string& separator) { return partition(s, separator, false); })},
    {"aten::rpartition(str self, str separator) -> (str, str, str)",
     kernel([](const string& s, const string& separator) { return partition(s, separator, true); })},
    {"aten::split.str(str self, str? separator=None, int max=-1) -> str[]",
     kernel([](const string& s, const std::optional<string>& separator, int64_t max) {
       return split(s, separator, max);
     })},
    {"aten::rsplit(str self, str separator=\" \", int max=-1) -> str[]",
     kernel([](const string& s, const string& separator, int64_t max) { return splitFromRight(s, separator, max); })},
    {"aten::splitlines(str self, bool keepends=False) -> str[]",
     kernel([](const string& s, bool keep_ends) { return splitLines(s, keep_ends); })},
    STRIP("strip", true, true),
    STRIP("lstrip", true, false),
    STRIP("rstrip", false, true),
    {"aten::replace(str self, str old, str new, int max=-1) -> str",
     kernel(
         [](const string& s, const string& from, const string& to, int64_t max) { return replace(s, from, to, max); })},
    {"aten::join(str self, str[] values) -> str", kernel([](const string& separator, List& values) {
       string result;
       size_t size = separator.size() * values.list.size();
       for (const IValue& value : values.list) size += value.toStringRef().size();
       requireMemory(size);
       for (size_t i = 0; i < values.list.size(); ++i) {
         if (i) result += separator;
         result += values.list[i].toStringRef();
       }
       return result;
     })},
    TEST("isdigit", allOf<isDigit>()),
    TEST("isdecimal", allOf<isDigit>()),
    TEST("isnumeric", allOf<isDigit>()),
    TEST("isspace", allOf<isSpace>()),
    TEST("isalpha", allOf<isAlpha>()),
    TEST("isalnum", kernel([](const string& s) {
           return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return isAlpha(c) || isDigit(c); });
         })),
    TEST("isprintable", kernel([](const string& s) { return std::all_of(s.begin(), s.end(), isPrint); })),
    TEST("isupper", kernel([](const string& s) { return isCased(s, isUpper, isLower); })),
    TEST("islower", kernel([](const string& s) { return isCased(s, isLower, isUpper); })),
    TEST("istitle", kernel([](const string& s) { return isTitle(s); })),
    TEST("isidentifier", kernel([](const string& s) {
           // Without '_', unlike in Python: the scripts that TorchScript runs get this answer.
           return !s.empty() && isAlpha(s[0]) &&
                  std::all_of(s.begin(), s.end(), [](char c) { return isAlpha(c) || isDigit(c); });
         })),
    {"aten::format(str self, ...) -> str", &format<formatBraces>},
    {"aten::percentFormat(str self, ...) -> str", &format<formatPercent>},
};
#undef TEST
#undef BOUNDED
#undef STRIP

}  // namespace

std::span<const Row> stringRows() {
  return kStringRows;
}

}  // namespace cresset
