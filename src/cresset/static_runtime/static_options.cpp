// Options of static modules by name.
#include <algorithm>

#include "cresset/archive/json.h"
#include "cresset/static_runtime/static_module.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr std::pair<const char*, bool StaticModuleOptions::*> kFlags[] = {
    {"enable_out_variant", &StaticModuleOptions::enable_out_variant},
    {"optimize_memory", &StaticModuleOptions::optimize_memory},
    {"manage_output_tensors", &StaticModuleOptions::manage_output_tensors},
    {"cleanup_activations", &StaticModuleOptions::cleanup_activations},
    {"fill_freed_memory", &StaticModuleOptions::fill_freed_memory},
    {"enable_fusion", &StaticModuleOptions::enable_fusion},
    {"strict", &StaticModuleOptions::strict}};
constexpr const char* kPolicy = "memory_policy";
constexpr std::pair<const char*, MemoryPolicy> kPolicies[] = {
    {"standard", MemoryPolicy::Standard}, {"precomputed", MemoryPolicy::Precomputed}};

/// Of the options of an archive.
[[noreturn]] void refuse(const std::string& what) {
  throw UserError("The options of a static module, as its archive has them, are wrong: " + what);
}

}  // namespace

std::span<const std::pair<const char*, bool StaticModuleOptions::*>> staticModuleFlags() {
  return kFlags;
}

MemoryPolicy memoryPolicyOf(std::string_view name) {
  for (const auto& [known, policy] : kPolicies) {
    if (name == known) return policy;
  }
  throw UserError("memory_policy is \"standard\" or \"precomputed\", not " + std::string(name));
}

std::string toJson(const StaticModuleOptions& options) {
  std::string text = "{";
  for (const auto& [name, flag] : kFlags)
    text += "\"" + std::string(name) + "\": " + (options.*flag ? "true" : "false") + ", ";
  const auto* policy = std::find_if(
      std::begin(kPolicies), std::end(kPolicies), [&](const auto& one) { return one.second == options.memory_policy; });
  return text + "\"" + kPolicy + "\": \"" + policy->first + "\"}";
}

StaticModuleOptions staticModuleOptions(std::string_view json, const StaticModuleOptions& defaults) {
  constexpr size_t kMostBytes = 1 << 20;
  LoadBudget budget(kMostBytes);
  const JsonValue value = parseJson(json, {"", "static_module.json"}, budget);
  if (value.kind != JsonValue::Object) refuse("they are no JSON object");
  StaticModuleOptions options = defaults;
  for (const JsonMember& member : value.members) {
    if (member.name == kPolicy) {
      options.memory_policy = memoryPolicyOf(member.value.text);
      continue;
    }
    const auto* flag = std::find_if(
        std::begin(kFlags), std::end(kFlags), [&](const auto& known) { return member.name == known.first; });
    if (flag == std::end(kFlags)) refuse("there is no option '" + member.name + "'");
    if (member.value.kind != JsonValue::Bool) refuse(member.name + " is true or false");
    options.*(flag->second) = member.value.text == "true";
  }
  return options;
}

}  // namespace cresset
