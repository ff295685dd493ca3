// Running passes one after the other: what optimizers write, and where passes are watched.
//
//   Pipeline passes(graph, "forward");
//   passes.run("inline");
//   passes.repeat(4, [&] { passes.run("constant-propagation"); passes.run("simplify-branches"); });
//
// Thread-safety: a Pipeline belongs to one thread, as its graph does; options may be set from any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cresset/passes/pass.h"

namespace cresset {

class Pipeline {
 public:
  /// `name` is what dumps and messages call the graph. Both must outlive the pipeline.
  Pipeline(Graph& graph, std::string name) : graph_(graph), name_(std::move(name)) {}

  /// Whether the pass changed anything. Throws UserError if there is no such pass.
  bool run(std::string_view pass);
  /// Runs `with` in the pass's place: the pass with arguments of its own.
  bool run(std::string_view pass, const std::function<bool(Graph&)>& with);
  /// Runs `passes` until none of them changes anything, at most `times` times.
  void repeat(int times, const std::function<void()>& passes);

 private:
  Graph& graph_;
  std::string name_;
  bool changed_ = false;
};

}  // namespace cresset
