// The stack of frames. See environment.h.
#include "cresset/frontend/environment.h"

#include <algorithm>

#include "cresset/support/error.h"

namespace cresset {

FramePtr Environment::pop() {
  CRESSET_CHECK(!frames_.empty(), "no frame to close");
  FramePtr frame = std::move(frames_.back());
  frames_.pop_back();
  return frame;
}

Binding* Environment::findBelow(const std::string& name, size_t depth) {
  for (size_t i = depth; i-- > 0;) {
    auto it = frames_[i]->bindings.find(name);
    if (it != frames_[i]->bindings.end()) return &it->second;
  }
  return nullptr;
}

Binding* Environment::find(const std::string& name) {
  return findBelow(name, frames_.size());
}

Binding* Environment::findOuter(const std::string& name) {
  size_t depth = frames_.size() - 1;
  while (frames_[depth]->continues && !frames_[depth]->isolated && depth > 0) --depth;
  return frames_[depth]->isolated ? nullptr : findBelow(name, depth);
}

std::vector<std::string> Environment::names() const {
  std::vector<std::string> all;
  for (const FramePtr& frame : frames_) {
    for (const auto& [name, binding] : frame->bindings) all.push_back(name);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace cresset
