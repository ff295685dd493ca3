// Code's tables: names of instructions, which operators are scalar instructions, methods found by call sites.
#include "cresset/interpreter/code.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "cresset/ops/policy.h"
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

/// Built once, on first use. Operators are interned, so that their addresses tell them apart.
struct ScalarTable {
  std::array<const Operator*, static_cast<size_t>(Op::Count)> operators{};
  std::unordered_map<const Operator*, Op> instructions;

  ScalarTable() {
    for (size_t i = 0; i < operators.size(); ++i) {
      if (!kInfos[i].operator_name) continue;
      operators[i] = OperatorTable::get().find(kInfos[i].operator_name);
      if (operators[i]) instructions.emplace(operators[i], static_cast<Op>(i));
    }
    // Lists of any type, dicts with the keys that most have. An instruction stands for all overloads in its rows; what
    // it can't do itself goes to the last one.
    constexpr std::pair<const char*, Op> kContainerRows[] = {
        {"aten::len.t", Op::ListLen},
        {"aten::__getitem__.t", Op::ListGet},
        {"aten::append.t", Op::ListAppend},
        {"aten::_set_item.t", Op::ListSet},
        {"aten::__getitem__.Dict_int", Op::DictGet},
        {"aten::__getitem__.Dict_str", Op::DictGet},
        {"aten::__contains__.int", Op::DictContains},
        {"aten::__contains__.str", Op::DictContains},
        {"aten::_set_item.int", Op::DictSet},
        {"aten::_set_item.str", Op::DictSet},
    };
    for (auto [name, op] : kContainerRows) {
      const Operator* found = OperatorTable::get().find(name);
      operators[static_cast<size_t>(op)] = found;
      if (found) instructions.emplace(found, op);
    }
  }
  static const ScalarTable& get() {
    static const auto* table = new ScalarTable;
    return *table;
  }
};

class CodeExecutable final : public Executable {
 public:
  explicit CodeExecutable(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  void run(Stack& stack) const override { runCode(*code_, stack); }
  const Code* code() const override { return code_.get(); }

 private:
  std::shared_ptr<const Code> code_;
};

}  // namespace

const OpInfo& opInfo(Op op) {
  return kInfos[static_cast<size_t>(op)];
}

Op scalarInstruction(const Operator& op) {
  const auto& table = ScalarTable::get().instructions;
  const auto it = table.find(&op);
  return it == table.end() ? Op::Count : it->second;
}

const Operator& operatorOfScalar(Op op) {
  return *ScalarTable::get().operators[static_cast<size_t>(op)];
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
  torch::jit::Function* function = type->findMethod(name_);
  if (!function) {
    throw ScriptRaise("builtins.AttributeError", "'" + type->repr_str() + "' object has no method '" + name_ + "'");
  }
  if (count >= kMaxTargets) return {function, nullptr};
  // Newest first. Two threads may both add the same class, which does no harm.
  auto* target = new Target{type, function};
  target->next = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(target->next, target, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return {function, target};
}

std::string Code::attributeName(const Instruction* instruction) const {
  const auto index = static_cast<uint32_t>(instruction - instructions.data());
  const auto it = std::lower_bound(attributes.begin(), attributes.end(), index, [](const AttributeName& a, uint32_t i) {
    return a.instruction < i;
  });
  if (it == attributes.end() || it->instruction != index) return "attribute";
  return "attribute '" + it->type->getAttributeName(it->slot) + "' of class " + it->type->repr_str();
}

std::shared_ptr<const Executable> compileFunction(Function& function) {
  if (const auto& policy = function.program().rules().policy) policy->check(*function.graph());
  return std::make_shared<CodeExecutable>(
      emitCode(*function.graph(), function.name(), function.program().weak_from_this()));
}

}  // namespace cresset
