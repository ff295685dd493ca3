#include "cresset/passes/pipeline.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>

#include "cresset/ir/printer.h"
#include "cresset/ir/verifier.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {
namespace {

const PassInfo& requirePass(std::string_view name) {
  if (const PassInfo* pass = findPass(name)) return *pass;
  std::string message = "there is no pass '" + std::string(name) + "'; the passes are:";
  for (const PassInfo& pass : allPasses())
    message += "\n  " + std::string(pass.name) + "  " + std::string(pass.description);
  throw UserError(message);
}

size_t indexOf(const PassInfo& pass) {
  return static_cast<size_t>(&pass - allPasses().data());
}

/// Options and what was counted under them. Options are replaced as a whole, so that a pass sees one set of them.
struct Watch {
  explicit Watch(PassOptions given) : options(std::move(given)), figures(allPasses().size()) {}
  const PassOptions options;
  std::atomic<int64_t> runs{0};
  std::mutex mutex;
  std::vector<PassFigures> figures;  // under mutex
};

std::atomic<std::shared_ptr<Watch>>& currentWatch() {
  static std::atomic<std::shared_ptr<Watch>> watch = std::make_shared<Watch>(PassOptions());
  return watch;
}

bool names(const std::vector<std::string>& list, std::string_view pass) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& one) { return one == pass || one == "all"; });
}

void check(const PassOptions& options) {
  for (const auto* list : {&options.dump, &options.disable, &options.fail}) {
    for (const std::string& name : *list) {
      if (name != "all") requirePass(name);
    }
  }
  if (options.limit && *options.limit < 0) throw UserError("the limit of passes can't be negative");
}

/// Of processor time: others that run on the machine don't count.
double secondsOfThread() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Whether the run is within the limit; takes one off it.
bool takeOne(Watch& watch, const PassInfo& pass, std::string_view graph_name) {
  if (!watch.options.limit) return true;
  const int64_t number = ++watch.runs;
  if (number > *watch.options.limit) return false;
  if (number == *watch.options.limit)
    std::cerr << "the last pass within the limit, " + std::to_string(number) + ": " + std::string(pass.name) + " on " +
                     std::string(graph_name) + "\n";
  return true;
}

}  // namespace

PassOptions parsePassOptions(std::string_view text) {
  PassOptions options;
  const auto splitAt = [](std::string_view& rest, char mark) {
    const auto end = std::find(rest.begin(), rest.end(), mark);
    const std::string_view part(rest.begin(), end);
    rest = std::string_view(end == rest.end() ? end : end + 1, rest.end());
    return part;
  };
  while (!text.empty()) {
    std::string_view value = splitAt(text, ',');
    const std::string_view name = splitAt(value, '=');
    if (name == "time") {
      options.time = true;
    } else if (name == "verify") {
      options.verify = true;
    } else if (name == "dump" || name == "disable" || name == "fail") {
      if (value.empty()) value = "all";
      auto& list = name == "dump" ? options.dump : name == "disable" ? options.disable : options.fail;
      while (!value.empty()) list.emplace_back(splitAt(value, '+'));
    } else if (name == "limit") {
      int64_t limit = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), limit);
      if (error != std::errc() || end != value.data() + value.size())
        throw UserError("limit takes a number, as in limit=120, not '" + std::string(value) + "'");
      options.limit = limit;
    } else if (!name.empty()) {
      throw UserError(
          "there is no option '" + std::string(name) +
          "' of passes; write dump=PASS+PASS, disable=PASS+PASS, fail=PASS, limit=NUMBER, time, verify, joined by "
          "commas");
    }
  }
  check(options);
  return options;
}

std::string toString(const PassOptions& options) {
  std::vector<std::string> parts;
  const auto addList = [&](const std::string& name, const std::vector<std::string>& passes) {
    std::string part;
    for (const std::string& pass : passes) part += (part.empty() ? name + "=" : "+") + pass;
    if (!part.empty()) parts.push_back(std::move(part));
  };
  addList("dump", options.dump);
  addList("disable", options.disable);
  addList("fail", options.fail);
  if (options.limit) parts.push_back("limit=" + std::to_string(*options.limit));
  if (options.verify) parts.emplace_back("verify");
  if (options.time) parts.emplace_back("time");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

namespace {

const OptionHook passes_hook(Option::passes, [](const std::string& text) {
  currentWatch().store(std::make_shared<Watch>(parsePassOptions(text)));
});

}  // namespace

PassOptions passOptions() {
  return currentWatch().load()->options;
}

void setPassOptions(const PassOptions& options) {
  check(options);
  setOption(Option::passes, toString(options));
}

std::vector<PassFigures> passFigures() {
  const std::shared_ptr<Watch> watch = currentWatch().load();
  const std::lock_guard lock(watch->mutex);
  std::vector<PassFigures> ran;
  for (const PassFigures& one : watch->figures) {
    if (one.runs) ran.push_back(one);
  }
  return ran;
}

std::string passFiguresText() {
  std::ostringstream text;
  text << std::left << std::setw(24) << "pass" << std::right << std::setw(8) << "runs" << std::setw(9) << "changes"
       << std::setw(14) << "nodes removed" << std::setw(12) << "ms"
       << "\n";
  for (const PassFigures& one : passFigures()) {
    text << std::left << std::setw(24) << one.name << std::right << std::setw(8) << one.runs << std::setw(9)
         << one.changes << std::setw(14) << one.nodes_removed << std::setw(12) << std::fixed << std::setprecision(3)
         << one.seconds * 1e3 << "\n";
  }
  return text.str();
}

bool runPass(const PassInfo& pass, Graph& graph, std::string_view graph_name, const TypeAssumptions& assumptions) {
  const std::shared_ptr<Watch> watch = currentWatch().load();
  const PassOptions& options = watch->options;
  if (names(options.disable, pass.name) || !takeOne(*watch, pass, graph_name)) return false;
  if (names(options.fail, pass.name))
    throw InternalError("the pass '" + std::string(pass.name) + "' fails: the options of passes say so");
  const bool dump = names(options.dump, pass.name);
  const std::string before = dump ? toString(graph) : std::string();
  const size_t nodes = graph.numNodes();
  const double start = options.time ? secondsOfThread() : 0;
  const bool changed = pass.run(graph, assumptions);
  if (dump && changed) {
    const std::string title = std::string(pass.name) + " on " + std::string(graph_name);
    std::cerr << "---- before " + title + "\n" + before + "---- after " + title + "\n" + toString(graph);
  }
  if (options.time) {
    const std::lock_guard lock(watch->mutex);
    PassFigures& figures = watch->figures[indexOf(pass)];
    figures.name = pass.name;
    ++figures.runs;
    figures.changes += changed;
    figures.nodes_visited += static_cast<int64_t>(nodes);
    figures.nodes_removed += static_cast<int64_t>(nodes) - static_cast<int64_t>(graph.numNodes());
    figures.seconds += secondsOfThread() - start;
  }
  if (options.verify) {
    try {
      verify(graph);
    } catch (const UserError& error) {
      throw InternalError(
          "the pass " + std::string(pass.name) + " broke the graph of " + std::string(graph_name) + ": " +
          error.what());
    }
  }
  return changed;
}

bool Pipeline::run(std::string_view name) {
  const bool changed = runPass(requirePass(name), graph_, name_, assumptions_);
  changed_ |= changed;
  return changed;
}

void Pipeline::repeat(int times, const std::function<void()>& passes) {
  const bool before = std::exchange(changed_, false);
  bool any = before;
  for (int i = 0; i < times; ++i) {
    changed_ = false;
    passes();
    any |= changed_;
    if (!changed_) break;
  }
  changed_ = any;
}

}  // namespace cresset
