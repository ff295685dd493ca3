#include "cresset/support/options.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>

#include "cresset/support/error.h"
#include "cresset/support/suggest.h"

namespace cresset {

constinit std::atomic<int64_t> detail::option_values[] = {
#define CHOICE(name, enumeration, initial, variable, texts, help) static_cast<int64_t>(enumeration::initial),
#define INTEGER(name, initial, least, most, variable, help) initial,
#define TEXT(name, initial, variable, allowed, help) 0,
#include "cresset/support/options.def"
#undef TEXT
#undef INTEGER
#undef CHOICE
};

namespace {

struct Row {
  OptionInfo info;
  std::vector<std::pair<std::string, int64_t>> values;  // of a choice: all texts, also those that mean another
  int64_t least = 0, most = 0;
};

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(mark), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

Row choiceRow(
    std::string_view name, std::string_view variable, int64_t initial, std::string_view texts, std::string_view help) {
  Row row{{name, variable, help, OptionInfo::Kind::Choice, {}, {}, {}}, {}};
  for (const std::string& value : split(texts, ' ')) {
    const std::vector<std::string> names = split(value, '|');
    for (const std::string& each : names) row.values.emplace_back(each, row.info.choices.size());
    row.info.choices.push_back(names[0]);
  }
  const std::vector<std::string>& choices = row.info.choices;
  row.info.initial = choices.at(static_cast<size_t>(initial));
  for (size_t i = 0; i < choices.size(); ++i)
    row.info.allowed += (i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ") + choices[i];
  return row;
}

Row integerRow(
    std::string_view name, std::string_view variable, int64_t initial, int64_t least, int64_t most,
    std::string_view help) {
  const std::string allowed = "an integer from " + std::to_string(least) + " to " + std::to_string(most);
  return {{name, variable, help, OptionInfo::Kind::Integer, std::to_string(initial), {}, allowed}, {}, least, most};
}

const std::vector<Row>& rows() {
  static const auto* all = new std::vector<Row>{
#define CHOICE(name, enumeration, initial, variable, texts, help) \
  choiceRow(#name, variable, static_cast<int64_t>(enumeration::initial), texts, help),
#define INTEGER(name, initial, least, most, variable, help) integerRow(#name, variable, initial, least, most, help),
#define TEXT(name, initial, variable, allowed, help) \
  Row{{#name, variable, help, OptionInfo::Kind::Text, initial, {}, allowed}, {}},
#include "cresset/support/options.def"
#undef TEXT
#undef INTEGER
#undef CHOICE
  };
  return *all;
}

UserError refusal(const OptionInfo& option, std::string_view value) {
  return UserError(
      "The option " + std::string(option.name) + " is " + option.allowed + ", not '" + std::string(value) + "'.");
}

int64_t parseValue(const Row& row, std::string_view text) {
  if (row.info.kind == OptionInfo::Kind::Choice) {
    for (const auto& [name, value] : row.values) {
      if (name == text) return value;
    }
    throw refusal(row.info, text);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < row.least || value > row.most)
    throw refusal(row.info, text);
  return value;
}

/// All but the values that hot paths read.
class Registry {
 public:
  static Registry& get() {
    static auto* registry = new Registry;
    return *registry;
  }

  std::string text(Option option) {
    const std::lock_guard lock(mutex_);
    return textOf(option);
  }

  void set(const std::vector<std::pair<Option, std::string>>& values) {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<Option, std::string>> before;
    try {
      for (const auto& [option, value] : values) {
        before.emplace_back(option, textOf(option));
        setOne(option, value);
      }
    } catch (...) {
      before.pop_back();  // that one has kept its value
      std::for_each(before.rbegin(), before.rend(), [&](const auto& each) { setOne(each.first, each.second); });
      throw;
    }
  }

  void addHook(Option option, OptionHook::Function function) {
    const std::lock_guard lock(mutex_);
    hooks_[size_t(option)] = function;
    // The environment was read before the hook's file was initialized.
    if (const auto& value = from_environment_[size_t(option)]) setFromEnvironment(option, *value);
  }

  void checkEnvironment() {
    const std::lock_guard lock(mutex_);
    if (!problems_.empty()) throw UserError(problems_);
  }

 private:
  Registry() {
    for (size_t i = 0; i < rows().size(); ++i) {
      texts_[i] = rows()[i].info.initial;
      const char* value = std::getenv(std::string(rows()[i].info.variable).c_str());
      if (!value || !*value) continue;
      from_environment_[i] = value;
      // Texts wait for their hooks.
      if (rows()[i].info.kind != OptionInfo::Kind::Text) setFromEnvironment(Option(i), value);
    }
    checkNamesOfEnvironment();
  }

  /// Misspelt variables; those that are like none may belong to another program.
  void checkNamesOfEnvironment() {
    std::vector<std::string> variables;
    for (const Row& row : rows()) variables.emplace_back(row.info.variable);
    for (char** entry = environ; entry && *entry; ++entry) {
      const std::string_view text(*entry);
      const std::string_view name = text.substr(0, text.find('='));
      if (!name.starts_with("CRESSET_") || std::ranges::find(variables, name) != variables.end()) continue;
      const std::string similar = similarName(name, variables);
      if (similar.empty()) continue;
      addProblem("The environment has " + std::string(name) + ", which sets no option; did you mean " + similar + "?");
    }
  }

  void addProblem(const std::string& problem) {
    if (!problems_.empty()) problems_ += "\n";
    problems_ += problem;
  }

  void setFromEnvironment(Option option, const std::string& value) {
    try {
      setOne(option, value);
    } catch (const UserError& error) {
      addProblem(
          "The environment has " + std::string(rows()[size_t(option)].info.variable) + "=" + value + ". " +
          error.message());
    }
  }

  std::string textOf(Option option) const {
    const OptionInfo& info = rows()[size_t(option)].info;
    const int64_t value = detail::option_values[size_t(option)].load(std::memory_order_relaxed);
    switch (info.kind) {
      case OptionInfo::Kind::Choice:
        return info.choices.at(static_cast<size_t>(value));
      case OptionInfo::Kind::Integer:
        return std::to_string(value);
      case OptionInfo::Kind::Text:
        break;
    }
    return texts_[size_t(option)];
  }

  void setOne(Option option, const std::string& text) {
    const size_t i = size_t(option);
    const bool is_text = rows()[i].info.kind == OptionInfo::Kind::Text;
    const int64_t value = is_text ? 0 : parseValue(rows()[i], text);
    if (hooks_[i]) hooks_[i](text);
    if (is_text) {
      texts_[i] = text;
    } else {
      detail::option_values[i].store(value, std::memory_order_relaxed);
    }
  }

  static constexpr size_t kCount = std::size(detail::option_values);
  std::mutex mutex_;
  std::array<std::string, kCount> texts_;
  std::array<OptionHook::Function, kCount> hooks_ = {};
  std::array<std::optional<std::string>, kCount> from_environment_;
  std::string problems_;  // with the environment
};

/// Reads the environment as the library is loaded.
[[maybe_unused]] const Registry& at_load = Registry::get();

}  // namespace

std::span<const OptionInfo> allOptions() {
  static const auto* all = [] {
    auto* infos = new std::vector<OptionInfo>;
    for (const Row& row : rows()) infos->push_back(row.info);
    return infos;
  }();
  return *all;
}

Option findOption(std::string_view name) {
  std::vector<std::string> known;
  for (const OptionInfo& option : allOptions()) {
    if (option.name == name) return Option(known.size());
    known.emplace_back(option.name);
  }
  const std::string hint = didYouMean(name, known);
  std::string message =
      "There is no option '" + std::string(name) + "'" + (hint.empty() ? "." : hint) + " The options are";
  for (const std::string& each : known) message += (each == known.front() ? " " : ", ") + each;
  throw UserError(message + ".");
}

std::string optionText(Option option) {
  return Registry::get().text(option);
}

void setOption(Option option, std::string_view value) {
  Registry::get().set({{option, std::string(value)}});
}

void setOptions(const std::vector<std::pair<Option, std::string>>& values) {
  Registry::get().set(values);
}

std::vector<std::pair<Option, std::string>> parseOptions(const std::vector<std::string>& texts) {
  std::vector<std::pair<Option, std::string>> values;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw UserError("An option is set by NAME=VALUE, not by '" + text + "'.");
    values.emplace_back(findOption(text.substr(0, equals)), text.substr(equals + 1));
  }
  return values;
}

OptionScope::OptionScope(const std::vector<std::pair<Option, std::string>>& values) {
  for (const auto& [option, value] : values) before_.emplace_back(option, optionText(option));
  setOptions(values);
}

OptionScope::~OptionScope() {
  // What an option was it can be again, but for the number of threads that have started meanwhile.
  for (const auto& each : before_) {
    try {
      setOption(each.first, each.second);
    } catch (const UserError&) {  // NOLINT(bugprone-empty-catch)
    }
  }
}

void checkOptionsOfEnvironment() {
  Registry::get().checkEnvironment();
}

OptionHook::OptionHook(Option option, Function function) {
  Registry::get().addHook(option, function);
}

std::string optionsAsHelp() {
  std::string text = "Options of the process, set by --option NAME=VALUE or a variable of the environment:\n";
  for (const OptionInfo& option : allOptions()) {
    text += "  " + std::string(option.name) + ", " + std::string(option.variable) + ": " + option.allowed +
            (option.initial.empty() ? "" : " (" + option.initial + ")") + "\n      " + std::string(option.help) + "\n";
  }
  return text;
}

std::string optionsAsMarkdown() {
  std::string text = "| option | variable | values | default | meaning |\n|---|---|---|---|---|\n";
  for (const OptionInfo& option : allOptions()) {
    text += "| `" + std::string(option.name) + "` | `" + std::string(option.variable) + "` | " + option.allowed +
            " | " + (option.initial.empty() ? "none" : "`" + option.initial + "`") + " | " + std::string(option.help) +
            " |\n";
  }
  return text;
}

}  // namespace cresset
