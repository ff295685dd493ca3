// The registry of passes.
#include "cresset/passes/pass.h"

#include <algorithm>
#include <vector>

namespace cresset {

namespace {

std::vector<PassInfo>& registry() {
  static auto* passes = new std::vector<PassInfo>;
  return *passes;
}

}  // namespace

RegisteredPass::RegisteredPass(const PassInfo& pass) {
  const auto place = std::upper_bound(
      registry().begin(), registry().end(), pass, [](const auto& a, const auto& b) { return a.name < b.name; });
  registry().insert(place, pass);
}

std::span<const PassInfo> allPasses() {
  return registry();
}

const PassInfo* findPass(std::string_view name) {
  const auto passes = allPasses();
  const auto it = std::find_if(passes.begin(), passes.end(), [&](const PassInfo& p) { return p.name == name; });
  return it == passes.end() ? nullptr : &*it;
}

std::string_view nameOf(Preserves preserves) {
  static constexpr std::string_view kNames[] = {"Nothing", "Derivatives", "Bits", "All"};
  return kNames[static_cast<size_t>(preserves)];
}

}  // namespace cresset
