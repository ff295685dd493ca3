// See json.h.
//
// The reader calls back for each value. It keeps no stack of C++ frames, so depth costs nothing until the tree is
// built; what it keeps of a token is charged for the whole text before it begins.
#include "cresset/archive/json.h"

#include <iterator>
#include <nlohmann/json.hpp>

#include "cresset/ir/parser.h"

namespace cresset {

const JsonValue* JsonValue::find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

namespace {

/// The text, with a count of how much of it was read: the reader tells positions of errors only.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

/// Makes the tree of what the reader reports. Errors are thrown through the reader.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, const ArchiveSite& site, LoadBudget& budget)
      : text_(text), site_(site), budget_(budget) {}

  JsonValue build() {
    nlohmann::json::sax_parse(
        CountingIterator(text_.data(), &reached_), CountingIterator(text_.data() + text_.size(), &reached_), this);
    return std::move(root_);
  }

  bool null() override { return add(JsonValue::Null); }
  bool boolean(bool value) override { return add(JsonValue::Bool, value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return add(JsonValue::Number, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(JsonValue::Number, std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override {
    charge(2 * text.size());
    return add(JsonValue::Number, text);
  }
  bool string(string_t& value) override {
    charge(2 * value.size());
    return add(JsonValue::String, std::move(value));
  }
  bool binary(binary_t&) override { return false; }  // has no form in texts
  bool start_object(size_t) override { return open(JsonValue::Object); }
  bool start_array(size_t) override { return open(JsonValue::Array); }
  bool key(string_t& name) override {
    charge(2 * name.size());
    key_ = std::move(name);
    last_end_ = offset();
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while …", with what was read
    // last.
    constexpr size_t kLongest = 300;
    std::string what = error.what();
    if (const size_t end = what.find("] "); what.starts_with("[") && end != std::string::npos) what.erase(0, end + 2);
    if (what.size() > kLongest) what = what.substr(0, kLongest) + "…";
    site_.at(position == 0 ? 0 : position - 1).fail("this JSON is wrong: " + what);
  }

 private:
  size_t offset() const { return static_cast<size_t>(reached_ - text_.data()); }
  /// Where the value begins that was read last: between it and what stood before is only what separates values.
  size_t start() const {
    const size_t found = text_.find_first_not_of(" \t\r\n,:", last_end_);
    return found == std::string_view::npos ? last_end_ : found;
  }
  void charge(size_t bytes) { budget_.charge(bytes, site_.at(start()), "reading this JSON"); }

  JsonValue& append(JsonValue::Kind kind) {
    // Vectors that grow hold their elements up to three times for a moment.
    charge(3 * (sizeof(JsonValue) + sizeof(std::string)));
    JsonValue* value = &root_;
    if (!open_.empty()) {
      JsonValue& parent = *open_.back();
      value = parent.kind == JsonValue::Array ? &parent.items.emplace_back()
                                              : &parent.members.emplace_back(JsonMember{std::move(key_), {}}).value;
    }
    value->kind = kind;
    value->offset = start();
    last_end_ = offset();
    return *value;
  }
  bool add(JsonValue::Kind kind, std::string text = "") {
    append(kind).text = std::move(text);
    return true;
  }
  bool open(JsonValue::Kind kind) {
    if (open_.size() >= static_cast<size_t>(kMaxNesting))
      site_.at(start()).fail("this JSON is wrong: it nests deeper than " + std::to_string(kMaxNesting) + " levels");
    // A parent's vector does not grow while one of its elements is open, so the pointer stays good.
    open_.push_back(&append(kind));
    return true;
  }
  bool close() {
    open_.pop_back();
    last_end_ = offset();
    return true;
  }

  std::string_view text_;
  ArchiveSite site_;
  LoadBudget& budget_;
  const char* reached_ = text_.data();
  size_t last_end_ = 0;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::string key_;
};

}  // namespace

JsonValue parseJson(std::string_view text, const ArchiveSite& site, LoadBudget& budget) {
  // The reader holds a token twice, in strings that grow by doubling, and once more in a message about it.
  const size_t reader_bytes = 6 * text.size();
  budget.charge(reader_bytes, site, "reading this JSON");
  JsonValue result = TreeBuilder(text, site, budget).build();
  budget.release(reader_bytes);
  return result;
}

}  // namespace cresset
