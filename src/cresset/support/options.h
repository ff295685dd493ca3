// The options of the process: one list of them, options.def, and all ways to read and set them.
//
// Each has a value from the start: that of its variable in the environment if there is one, else the default. A value
// that it can't have is an error, however it comes, and changes nothing. Errors of the environment can't be thrown
// while the library is being loaded; they are when the first program is made, by `import cresset`, and by the commands.
//
// Thread-safety: all of it may be called from any thread. Reading a choice or an integer is one relaxed load; calls
// that run already may see the value before or after.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cresset {

// The choices, in the order in which options.def has their texts.

enum class ExecutionMode {
  Interpret,  // the unoptimized program, instruction by instruction
  Optimize,   // plans: graphs that passes have rewritten for the kinds of arguments that calls bring
};
enum class PlanMode { Useful, Always, Loops };
enum class OptimizerErrors { Report, Raise };
enum class Numerics { Default, Exact };
enum class KernelMode {
  Off,
  Background,  // a group runs unfused until its kernel is compiled
  Now,         // the first call with a layout that is new waits for its kernel
  Check,       // as Now; each call also runs unfused, and differences are errors: for tests
};
enum class PerfMap { Off, On };
enum class SourceRanges { Off, On };
enum class FactChecks {
  Off,
  InPlans,      // plans assert what they assume
  Unoptimized,  // types are propagated and asserted, and nothing else is done with them. So facts of values are checked
                // that the optimizer would have removed because of what it knew of them.
};

enum class Option : uint8_t {
#define CHOICE(name, enumeration, initial, variable, texts, help) name,
#define INTEGER(name, initial, least, most, variable, help) name,
#define TEXT(name, initial, variable, allowed, help) name,
#include "cresset/support/options.def"
#undef TEXT
#undef INTEGER
#undef CHOICE
};

namespace detail {
/// Of choices and integers; by Option.
extern std::atomic<int64_t> option_values[];
}  // namespace detail

/// `options::plans() == PlanMode::Always`, `options::hot_loop()`: the values in force. Texts are their owners' to read.
namespace options {
#define CHOICE(name, enumeration, initial, variable, texts, help)                                    \
  inline enumeration name() {                                                                        \
    return enumeration(detail::option_values[size_t(Option::name)].load(std::memory_order_relaxed)); \
  }
#define INTEGER(name, initial, least, most, variable, help)                             \
  inline int64_t name() {                                                               \
    return detail::option_values[size_t(Option::name)].load(std::memory_order_relaxed); \
  }
#define TEXT(name, initial, variable, allowed, help)
#include "cresset/support/options.def"
#undef TEXT
#undef INTEGER
#undef CHOICE
}  // namespace options

struct OptionInfo {
  enum class Kind { Choice, Integer, Text };
  std::string_view name, variable, help;
  Kind kind;
  std::string initial;               // the default
  std::vector<std::string> choices;  // texts of the values of a choice, in their order
  std::string allowed;               // "off, plans or unoptimized", "an integer from 1 to 1024"
};

/// In the order of options.def.
std::span<const OptionInfo> allOptions();
/// Throws UserError, which lists what there is.
Option findOption(std::string_view name);

/// The value in force, as setOption takes it.
std::string optionText(Option option);
/// Throws UserError if the option can't have the value: which it may have, and what was given.
void setOption(Option option, std::string_view value);
/// All of them, or none if one is wrong.
void setOptions(const std::vector<std::pair<Option, std::string>>& values);

/// "plans=always" as setOptions takes it.
std::vector<std::pair<Option, std::string>> parseOptions(const std::vector<std::string>& texts);

/// Sets options until it ends; then they are again what they were.
class OptionScope {
 public:
  explicit OptionScope(const std::vector<std::pair<Option, std::string>>& values);
  ~OptionScope();
  OptionScope(const OptionScope&) = delete;
  OptionScope& operator=(const OptionScope&) = delete;

 private:
  std::vector<std::pair<Option, std::string>> before_;
};

/// Throws UserError if a variable of the environment had a value that its option can't have, or a name CRESSET_… that
/// is nearly one of an option.
void checkOptionsOfEnvironment();

/// For `--help`: the options with their variables, defaults and help.
std::string optionsAsHelp();
/// docs/options.md without its head.
std::string optionsAsMarkdown();

/// Called with each value that the option is to have, before it has it; throws UserError if it can't. One per option,
/// at namespace scope of the file that the option belongs to.
struct OptionHook {
  using Function = void (*)(const std::string& value);
  OptionHook(Option option, Function function);
};

}  // namespace cresset
