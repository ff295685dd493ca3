// Code's tables: names of instructions, which operators are scalar instructions, methods found by call sites.
#include "cresset/interpreter/code.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cresset/ir/printer.h"
#include "cresset/ops/policy.h"
#include "cresset/program/class_methods.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

constexpr OpInfo kInfos[] = {
#define INST(Name, Layout, Doc) {#Name, Format::Layout, nullptr},
#define SCALAR1(Name, Operator, ...) {#Name, Format::Unary, Operator},
#define SCALAR2(Name, Operator, ...) {#Name, Format::Binary, Operator},
#define COMPARE_JUMP(Name, ...) {#Name, Format::JumpCompare, nullptr},
#define FLOAT_JUMP(Name, Compare, Negation, Relation) \
  {#Name, Format::JumpCompare, nullptr}, {#Negation, Format::JumpCompare, nullptr},
#include "cresset/interpreter/instructions.def"
};
static_assert(std::size(kInfos) == static_cast<size_t>(Op::Count));

constexpr std::pair<Op, const char*> kStandsFor[] = {
#define STANDS_FOR(Name, Operator) {Op::Name, Operator},
#include "cresset/interpreter/instructions.def"
};

/// Built once, from names alone: a first call pays for the schemas of the operators that it uses, not of all.
struct ScalarTable {
  using Name = std::pair<std::string_view, std::string_view>;  // an operator's name and its overload's
  struct Hash {
    size_t operator()(const Name& name) const {
      const std::hash<std::string_view> hash;
      return hash(name.first) * 31 + hash(name.second);
    }
  };

  std::array<const char*, static_cast<size_t>(Op::Count)> names{};
  std::array<std::atomic<const Operator*>, static_cast<size_t>(Op::Count)> operators{};
  std::unordered_map<Name, Op, Hash> instructions;

  void add(const char* full_name, Op op) {
    const std::string_view text = full_name;
    const size_t dot = std::min(text.find('.'), text.size());
    instructions.emplace(Name(text.substr(0, dot), text.substr(std::min(dot + 1, text.size()))), op);
    names[static_cast<size_t>(op)] = full_name;
  }

  ScalarTable() {
    for (size_t i = 0; i < names.size(); ++i) {
      if (kInfos[i].operator_name) add(kInfos[i].operator_name, static_cast<Op>(i));
    }
    for (const auto& [op, full_name] : kStandsFor) add(full_name, op);
  }
  static ScalarTable& get() {
    static auto* table = new ScalarTable;
    return *table;
  }
};

}  // namespace

const OpInfo& opInfo(Op op) {
  return kInfos[static_cast<size_t>(op)];
}

Op scalarInstruction(const Operator& op) {
  if (op.isOfDispatcher()) return Op::Count;  // Scalar instructions stand for rows of Cresset's own.
  const auto& table = ScalarTable::get().instructions;
  const auto it = table.find({op.schema().name(), op.schema().overload_name()});
  return it == table.end() ? Op::Count : it->second;
}

const Operator& operatorOfScalar(Op op) {
  auto& table = ScalarTable::get();
  auto& known = table.operators[static_cast<size_t>(op)];
  const Operator* found = known.load(std::memory_order_acquire);
  if (!found) {
    found = OperatorTable::get().find(table.names[static_cast<size_t>(op)]);
    CRESSET_CHECK(found, "a scalar instruction stands for no operator");
    known.store(found, std::memory_order_release);
  }
  return *found;
}

MethodSite::~MethodSite() {
  const Target* target = first_.load(std::memory_order_relaxed);
  while (target) delete std::exchange(target, target->next);
}

MethodSite::Found MethodSite::find(const c10::ivalue::Object& object) const {
  const c10::ClassTypePtr type = object.type();
  size_t count = 0;
  for (const Target* t = first_.load(std::memory_order_acquire); t; t = t->next, ++count) {
    if (t->type == type) return {t->function, t};
  }
  torch::jit::Function* function = findMethodOf(*type, name_);
  if (!function) {
    throw ScriptRaise(
        "builtins.AttributeError", "'" + cresset::toString(*type) + "' object has no method '" + name_ + "'");
  }
  if (count >= kMaxTargets) return {function, nullptr};
  // Newest first. Two threads may both add the same class, which does no harm.
  auto* target = new Target{type, function};
  target->next = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(target->next, target, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return {function, target};
}

SourceRange Code::origin(const Instruction* instruction) const {
  const SourceRange& range = location(instruction).range;
  if (!range) return range;
  return range.source->origin(range).value_or(range);
}

std::string Code::attributeName(const Instruction* instruction) const {
  const auto index = static_cast<uint32_t>(instruction - instructions.data());
  const auto it = std::lower_bound(attributes.begin(), attributes.end(), index, [](const AttributeName& a, uint32_t i) {
    return a.instruction < i;
  });
  if (it == attributes.end() || it->instruction != index) return "an attribute";
  return cresset::toString(*it->type) + "." + it->type->getAttributeName(it->slot);
}

}  // namespace cresset
