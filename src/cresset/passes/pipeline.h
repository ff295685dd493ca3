// Running passes one after the other: what pipelines.cpp is written in, and where passes are watched.
//
//   Pipeline passes(graph, "forward");
//   passes.run("inline");
//   passes.repeat(4, [&] { passes.run("constant-propagation"); passes.run("simplify-branches"); });
//
// Every run of a pass, wherever it is asked for, goes through runPass, which the process-wide PassOptions rule: passes
// can be dumped, timed, verified, disabled, and stopped after a number of runs to find the one that breaks a program.
//
// Thread-safety: a Pipeline belongs to one thread, as its graph does; options and figures may be used from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cresset/analysis/graph_analyses.h"
#include "cresset/passes/pass.h"

namespace cresset {

struct PassOptions {
  /// Passes ("all" for each) whose graphs are written to std::cerr before and after, if they change.
  std::vector<std::string> dump;
  /// These do nothing.
  std::vector<std::string> disable;
  /// These throw an InternalError: what becomes of a program when the optimizer fails can be seen.
  std::vector<std::string> fail;
  /// After so many runs in this process, counted from when the options were set, passes do nothing. The last one that
  /// runs is named on std::cerr.
  std::optional<int64_t> limit;
  /// Verify the graph after each pass: a pass that breaks it is an InternalError that names it.
  bool verify = false;
  /// Keep figures of every run (passFigures).
  bool time = false;
};

/// "dump=cse,time,verify,disable=licm+dce,fail=unroll,limit=120": the option `passes` (support/options.h). Several
/// passes are joined by '+'. Throws UserError, which lists what there is.
PassOptions parsePassOptions(std::string_view text);
std::string toString(const PassOptions& options);
/// The options in force.
PassOptions passOptions();
/// Throws UserError if a pass that they name does not exist. Figures and the count of runs start anew.
void setPassOptions(const PassOptions& options);

/// What the runs of a pass came to since the options were set.
struct PassFigures {
  std::string_view name;
  int64_t runs = 0, changes = 0;  // changes: runs that changed their graph
  int64_t nodes_removed = 0;      // by all runs together; negative if there are more
  int64_t nodes_visited = 0;      // of the graphs as the runs found them: how much work a pipeline asks for
  double seconds = 0;             // of the thread's processor time
};
/// In the order of their names, those that ran; empty unless `time` is on.
std::vector<PassFigures> passFigures();
/// The same as a table, for people.
std::string passFiguresText();

/// Whether the pass changed the graph, which `graph_name` is the name of in what is shown.
bool runPass(const PassInfo& pass, Graph& graph, std::string_view graph_name, const TypeAssumptions& assumptions = {});

class Pipeline {
 public:
  /// `name` is what dumps and messages call the graph, which must outlive the pipeline; as long as that lives, analyses
  /// of the graph are kept from pass to pass. The graph that comes out is for calls that the assumptions hold for.
  Pipeline(Graph& graph, std::string name, const TypeAssumptions& assumptions = {})
      : graph_(graph), kept_(graph), name_(std::move(name)), assumptions_(assumptions) {}

  /// Whether the pass changed anything. Throws UserError if there is no such pass.
  bool run(std::string_view pass);
  /// Runs `passes` until none of them changes anything, at most `times` times.
  void repeat(int times, const std::function<void()>& passes);

 private:
  Graph& graph_;
  KeepAnalyses kept_;
  std::string name_;
  TypeAssumptions assumptions_;
  bool changed_ = false;
};

}  // namespace cresset
