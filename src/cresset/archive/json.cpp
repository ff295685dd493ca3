// See json.h.
#include "cresset/archive/json.h"

#include "cresset/ir/parser.h"

namespace cresset {

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

namespace {

class JsonParser {
 public:
  JsonParser(std::string_view text, const ArchiveSite& site, LoadBudget& budget)
      : text_(text), site_(site), budget_(budget) {}

  JsonValue parse() {
    JsonValue value = parseValue(0);
    skipSpace();
    if (at_ != text_.size()) fail("there is more after the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { site_.at(at_).fail("this JSON is wrong: " + what); }

  void skipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }
  bool take(char c) {
    skipSpace();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }
  bool takeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  JsonValue parseValue(int depth) {
    if (depth > kMaxNesting) fail("it nests deeper than " + std::to_string(kMaxNesting) + " levels");
    skipSpace();
    // Vectors that grow hold their elements up to three times for a moment.
    budget_.charge(3 * (sizeof(JsonValue) + sizeof(std::string)), site_.at(at_), "reading this JSON");
    JsonValue value;
    value.offset = at_;
    if (take('{')) {
      value.kind = JsonValue::Object;
      if (take('}')) return value;
      do {
        skipSpace();
        std::string name = parseString();
        expect(':');
        value.members.emplace_back(std::move(name), parseValue(depth + 1));
      } while (take(','));
      expect('}');
    } else if (take('[')) {
      value.kind = JsonValue::Array;
      if (take(']')) return value;
      do value.items.push_back(parseValue(depth + 1));
      while (take(','));
      expect(']');
    } else if (at_ < text_.size() && text_[at_] == '"') {
      value.kind = JsonValue::String;
      value.text = parseString();
    } else if (takeWord("true")) {
      value.kind = JsonValue::Bool;
      value.text = "true";
    } else if (takeWord("false")) {
      value.kind = JsonValue::Bool;
      value.text = "false";
    } else if (!takeWord("null")) {
      value.kind = JsonValue::Number;
      const size_t start = at_;
      while (at_ < text_.size() && std::string_view("+-.eE0123456789").find(text_[at_]) != std::string_view::npos)
        ++at_;
      value.text = std::string(text_.substr(start, at_ - start));
      if (value.text.empty()) fail("expected a value");
    }
    return value;
  }

  std::string parseString() {
    if (at_ >= text_.size() || text_[at_] != '"') fail("expected a string");
    std::string result;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      char c = text_[at_];
      if (c == '\\') {
        ++at_;
        if (at_ >= text_.size()) break;
        appendEscape(result);
      } else {
        result += c;
      }
    }
    if (at_ >= text_.size()) fail("a string has no end");
    ++at_;
    budget_.charge(2 * result.size(), site_.at(at_), "reading this JSON");
    return result;
  }

  void appendEscape(std::string& out) {
    static constexpr std::string_view kLetters = "bfnrt\"\\/", kMeanings = "\b\f\n\r\t\"\\/";
    const size_t letter = kLetters.find(text_[at_]);
    if (letter != std::string_view::npos) {
      out += kMeanings[letter];
      return;
    }
    if (text_[at_] != 'u') fail("an unknown escape");
    uint32_t code = hexDigits();
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u") {
      at_ += 2;
      const uint32_t low = hexDigits();
      if (low < 0xdc00 || low >= 0xe000) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
      static constexpr uint8_t kLead[] = {0, 0xc0, 0xe0, 0xf0};
      out += static_cast<char>(kLead[more] | code >> (6 * more));
      for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> (6 * i) & 0x3f));
    }
  }

  /// The four digits behind the `u` at which this stands; leaves it at the last of them.
  uint32_t hexDigits() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      ++at_;
      const char c = at_ < text_.size() ? text_[at_] : ' ';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) fail("an escape is cut off");
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    return code;
  }

  std::string_view text_;
  ArchiveSite site_;
  LoadBudget& budget_;
  size_t at_ = 0;
};

}  // namespace

JsonValue parseJson(std::string_view text, const ArchiveSite& site, LoadBudget& budget) {
  return JsonParser(text, site, budget).parse();
}

}  // namespace cresset
