#include "cresset/passes/pipeline.h"

#include <utility>

#include "cresset/support/error.h"

namespace cresset {

bool Pipeline::run(std::string_view name) {
  const PassInfo* pass = findPass(name);
  if (!pass) throw UserError("there is no pass '" + std::string(name) + "'");
  return run(name, pass->run);
}

bool Pipeline::run(std::string_view, const std::function<bool(Graph&)>& with) {
  const bool changed = with(graph_);
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
