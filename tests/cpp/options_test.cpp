// The options of the process (support/options.h).
#include "cresset/support/options.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include "cresset/executor/mode.h"
#include "cresset/interpreter/bailout.h"
#include "cresset/passes/pipeline.h"
#include "cresset/support/error.h"
#include "test.h"

using namespace cresset;

TEST_CASE("options: every text of a choice is one of its values, and back") {
  for (const OptionInfo& info : allOptions()) {
    const Option option = findOption(info.name);
    CHECK(&info == &allOptions()[size_t(option)]);
    if (info.kind != OptionInfo::Kind::Choice) continue;
    const OptionScope restored({{option, optionText(option)}});
    for (size_t i = 0; i < info.choices.size(); ++i) {
      setOption(option, info.choices[i]);
      CHECK(optionText(option) == info.choices[i]);
      CHECK(detail::option_values[size_t(option)] == int64_t(i));
    }
  }
  const OptionScope restored({{Option::check_facts, "unoptimized"}, {Option::plans, "loops"}});
  CHECK(options::check_facts() == FactChecks::Unoptimized);
  CHECK(options::plans() == PlanMode::Loops);
  setOption(Option::check_facts, "1");  // as the environment of older versions has it
  CHECK(optionText(Option::check_facts) == "plans");
}

TEST_CASE("options: the functions that set modes set options, and the other way round") {
  const OptionScope restored(
      {{Option::execution_mode, "interpret"},
       {Option::plans, "always"},
       {Option::fail_guard, "2:3"},
       {Option::passes, "disable=licm+cse,limit=7,verify"}});
  CHECK(executionMode() == ExecutionMode::Interpret);
  CHECK(plansAlways());
  CHECK(failingGuard().index == 2);
  CHECK(failingGuard().every == 3);
  CHECK(passOptions().disable == std::vector<std::string>{"licm", "cse"});
  CHECK(passOptions().limit == 7);
  CHECK(passOptions().verify);
  setExecutionMode(ExecutionMode::Optimize);
  setPlansAlways(false);
  setFailingGuard({});
  setPassOptions(PassOptions{.dump = {"all"}, .time = true});
  CHECK(optionText(Option::execution_mode) == "optimize");
  CHECK(optionText(Option::plans) == "useful");
  CHECK(optionText(Option::fail_guard).empty());
  CHECK(optionText(Option::passes) == "dump=all,time");
}

TEST_CASE("options: what an option can't be is refused, and changes nothing") {
  const auto refuses = [](Option option, const char* value, const char* message) {
    const std::string before = optionText(option);
    CHECK_THROWS_WITH_AS(setOption(option, value), doctest::Contains(message), UserError);
    CHECK(optionText(option) == before);
  };
  refuses(Option::plans, "often", "The option plans is useful, always or loops, not 'often'.");
  refuses(Option::hot_loop, "0", "The option hot_loop is an integer from 1 to 1000000000, not '0'.");
  refuses(Option::hot_loop, "8x", "not '8x'");
  refuses(Option::hot_loop, "", "not ''");
  refuses(Option::hot_loop, "99999999999999999999", "not '99999999999999999999'");
  refuses(Option::fail_guard, "2:0", "The option fail_guard is INDEX or INDEX:EVERY, as in 2 or 2:3, not '2:0'.");
  refuses(Option::fail_guard, "-1", "not '-1'");
  refuses(Option::passes, "disable=nope", "there is no pass 'nope'");
  CHECK_THROWS_WITH_AS(findOption("plan"), doctest::Contains("did you mean 'plans'?"), UserError);
  CHECK_THROWS_WITH_AS(parseOptions({"plans"}), doctest::Contains("NAME=VALUE"), UserError);
}

TEST_CASE("options: several are set all or not at all, and scopes restore them") {
  const std::string plans = optionText(Option::plans), passes = optionText(Option::passes);
  CHECK_THROWS_AS(
      setOptions({{Option::plans, "always"}, {Option::passes, "verify"}, {Option::hot_loop, "-1"}}), UserError);
  CHECK(optionText(Option::plans) == plans);
  CHECK(optionText(Option::passes) == passes);
  CHECK_THROWS_AS(OptionScope({{Option::plans, "loops"}, {Option::fail_guard, "x"}}), UserError);
  CHECK(optionText(Option::plans) == plans);
  try {
    const OptionScope scope({{Option::hot_loop, "5"}});
    CHECK(options::hot_loop() == 5);
    throw std::runtime_error("out of the scope");
  } catch (const std::runtime_error&) {
  }
  CHECK(options::hot_loop() == 64);
}

TEST_CASE("options: threads that set and read them see values that were set") {
  const OptionScope restored({{Option::hot_loop, "64"}, {Option::passes, ""}});
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!done) {
      const int64_t value = options::hot_loop();
      const std::string text = optionText(Option::passes);
      wrong += value != 64 && value != 3 && value != 5;
      wrong += !text.empty() && text != "limit=3" && text != "limit=5";
    }
  });
  const auto set = [](const char* number) {
    for (int i = 0; i < 2000; ++i)
      setOptions({{Option::hot_loop, number}, {Option::passes, std::string("limit=") + number}});
  };
  std::thread first(set, "3"), second(set, "5");
  first.join();
  second.join();
  done = true;
  reader.join();
  CHECK(wrong == 0);
  // Each call set both.
  CHECK(optionText(Option::passes) == "limit=" + optionText(Option::hot_loop));
}
