// Emission: a graph as Code, node by node in program order. See code.h for the invariants and liveness.h for where
// values die; linear in the size of the graph, recursive over block nesting only.
#include "cresset/interpreter/emit.h"

#include <ATen/core/class_type.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "cresset/interpreter/interpreter.h"
#include "cresset/interpreter/operator_call.h"
#include "cresset/ir/constants.h"
#include "cresset/ops/nesting.h"
#include "cresset/ops/without_autocast.h"
#include "cresset/support/error.h"

namespace cresset {

namespace {

bool holdsNoReference(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NoneType:
      return true;
    default:
      return false;
  }
}

bool mayBeNone(const c10::Type& type) {
  return c10::NoneType::get()->isSubtypeOf(type) || type.kind() == c10::TypeKind::AnyType;
}

/// The class whose attributes `object` has.
c10::ClassTypePtr classOf(const Node& node, const Value* object) {
  auto type = object->type()->cast<c10::ClassType>();
  if (!type) {
    throw UserError(
        "attributes belong to objects of a class, but this is a value of type " + object->type()->repr_str(),
        node.sourceRange());
  }
  return type;
}

uint32_t slotOf(const Node& node, const c10::ClassType& type) {
  const std::string& name = node.s(attr::name);
  const auto slot = type.findAttributeSlot(name);
  if (!slot) {
    throw UserError("class " + type.repr_str() + " has no attribute '" + name + "'", node.sourceRange());
  }
  return static_cast<uint32_t>(*slot);
}

void checkFitsCount(size_t count, const Node& node) {
  if (count > std::numeric_limits<uint16_t>::max()) {
    throw UserError("an operation can't have more than 65535 results", node.sourceRange());
  }
}

}  // namespace

Emitter::Emitter(Graph& graph, Code& code, const EmitOptions& options)
    : graph_(graph),
      code_(code),
      compile_subgraph_(options.compile_subgraph),
      out_sites_(options.out_sites),
      inner_views_(options.inner_views),
      lasting_lists_(options.lasting_lists),
      live_(graph),
      registers_(graph.numValues()),
      constant_of_(graph.numValues(), kNoRegister),
      scalar_(graph.numValues()),
      borrowed_of_(graph.numValues()) {
  if (!out_sites_) return;
  for (const auto& [node, site] : *out_sites_) {
    for (const uint32_t slot : site.slots) {
      if (slot != OutSite::kNoSlot) code_.num_borrowed = std::max(code_.num_borrowed, slot + 1);
    }
  }
}

void Emitter::run() {
  code_.num_inputs = graph_.inputs().size();
  code_.num_outputs = graph_.outputs().size();
  code_.instructions.reserve(graph_.numNodes());
  code_.location_of.reserve(graph_.numNodes());
  code_.locations.emplace_back();
  for (const Value* input : graph_.inputs()) {
    define(input);
    registers_.allocate(live_.variable(input));
  }
  emitEntryDrops(0);
  emitBlock(0);
  emitReturn();
  code_.num_registers = registers_.count();
  CRESSET_CHECK(registers_.count() < kIndexMask, code_.name);
}

size_t Emitter::add(Op op, uint32_t a, uint32_t b, uint32_t c, uint16_t n) {
  code_.instructions.push_back({op, n, a, b, c});
  code_.location_of.push_back(location_);
  return code_.instructions.size() - 1;
}

void Emitter::setLocation(const Node& node) {
  const SourceRange& range = node.sourceRange();
  if (!code_.locations.empty()) {
    const auto& last = code_.locations.back();
    if (last.range.source == range.source && last.range.begin == range.begin && last.range.end == range.end &&
        last.inlined == node.inlinedCall()) {
      location_ = static_cast<uint32_t>(code_.locations.size() - 1);
      return;
    }
  }
  location_ = static_cast<uint32_t>(code_.locations.size());
  code_.locations.push_back({range, node.inlinedCall()});
}

uint32_t Emitter::constant(c10::IValue value) {
  code_.constants.push_back(std::move(value));
  return static_cast<uint32_t>(code_.constants.size() - 1);
}

uint32_t Emitter::type(const c10::TypePtr& type) {
  const auto [it, is_new] = type_index_.emplace(type.get(), static_cast<uint32_t>(code_.types.size()));
  if (is_new) code_.types.push_back(type);
  return it->second;
}

uint32_t Emitter::methodSite(std::string name) {
  code_.methods.push_back(std::make_unique<MethodSite>(std::move(name)));
  return static_cast<uint32_t>(code_.methods.size() - 1);
}

void Emitter::define(const Value* value) {
  scalar_[value->unique()] = holdsNoReference(*value->type());
}

uint32_t Emitter::operand(const Value* value, uint32_t flag) {
  const uint32_t variable = live_.variable(value);
  if (live_.isConstant(variable)) {
    if (constant_of_[variable] == kNoRegister) {
      throw UserError(
          "a function can only be called here, not used as a value",
          value->uses().empty() ? SourceRange() : value->uses().front().user->sourceRange());
    }
    return constant_of_[variable] | kConstantBit;
  }
  if (isBorrowed(variable)) return borrowed_of_[variable].index | kBorrowedBit;
  const uint32_t reg = registers_.of(variable);
  CRESSET_CHECK(reg != Registers::kNone && registers_.holder(reg) == variable, "%" + value->debugName());
  return flag != ~0u && live_.isLastUse(flag) ? reg | kMoveBit : reg;
}

void Emitter::drop(uint32_t variable) {
  if (isBorrowed(variable)) {
    const auto [index, holder] = borrowed_of_[variable];
    if (holder == kNoRegister) {
      add(Op::DropBorrowed, index | kBorrowedBit);
    } else if (--elements_needed_.at(holder) == 0) {
      add(Op::Drop, holder);
      registers_.unreserve(holder);
    }
    return;
  }
  if (!scalar_[variable]) add(Op::Drop, registers_.of(variable));
  registers_.release(variable);
}

void Emitter::releaseDying(const Liveness::NodeInfo& info, size_t first_input) {
  const InputRange inputs = info.node->inputs();
  for (size_t k = first_input; k < inputs.size(); ++k) {
    if (live_.isLastUse(info.first_flag + static_cast<uint32_t>(k))) registers_.release(live_.variable(inputs[k]));
  }
}

uint32_t Emitter::defineOutput(const Value* output) {
  define(output);
  if (isBorrowed(live_.variable(output))) return borrowed_of_[live_.variable(output)].index | kBorrowedBit;
  return live_.isUnused(output) ? kNoRegister : registers_.allocate(live_.variable(output));
}

void Emitter::emitPool(Op op, const Liveness::NodeInfo& info, uint32_t b, size_t first_input) {
  const Node& node = *info.node;
  const InputRange inputs = node.inputs();
  const auto outputs = node.outputs();
  checkFitsCount(outputs.size(), node);
  const size_t start = code_.pool.size();
  code_.pool.resize(start + outputs.size());
  for (size_t k = first_input; k < inputs.size(); ++k) {
    code_.pool.push_back(operand(inputs[k], info.first_flag + static_cast<uint32_t>(k)));
  }
  releaseDying(info, first_input);
  for (size_t k = 0; k < outputs.size(); ++k) code_.pool[start + k] = defineOutput(outputs[k]);
  add(op, static_cast<uint32_t>(start), b, static_cast<uint32_t>(inputs.size() - first_input),
      static_cast<uint16_t>(outputs.size()));
}

/// The object stays here until the method has returned: it may be the last of its class, whose code goes with it. The
/// classes of other methods are known, and kept by the program.
void Emitter::emitInterfaceCall(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const InputRange inputs = node.inputs();
  const uint32_t self = live_.variable(inputs[0]);
  bool self_dies = false;
  std::vector<uint32_t> dying;
  const auto start = static_cast<uint32_t>(code_.pool.size());
  code_.pool.push_back(kNoRegister);
  for (size_t k = 0; k < inputs.size(); ++k) {
    const uint32_t flag = info.first_flag + static_cast<uint32_t>(k), variable = live_.variable(inputs[k]);
    code_.pool.push_back(operand(inputs[k], variable == self ? ~0u : flag));
    if (!live_.isLastUse(flag)) continue;
    if (variable == self)
      self_dies = !live_.isConstant(self);
    else
      dying.push_back(variable);
  }
  for (uint32_t variable : dying) registers_.release(variable);
  code_.pool[start] = defineOutput(node.output());
  add(Op::CallMethod, start, methodSite(node.s(attr::name)), static_cast<uint32_t>(inputs.size()), 1);
  if (self_dies) drop(self);
}

void Emitter::emitOperatorCall(Op op, const Liveness::NodeInfo& info, uint32_t b) {
  const Node& node = *info.node;
  const InputRange inputs = node.inputs();
  const auto outputs = node.outputs();
  checkFitsCount(outputs.size(), node);
  const size_t start = code_.pool.size();
  code_.pool.resize(start + outputs.size());
  std::vector<uint32_t> deep;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const uint32_t flag = info.first_flag + static_cast<uint32_t>(k), variable = live_.variable(inputs[k]);
    if (live_.isLastUse(flag) && (isBorrowed(variable) || mayNestDeeply(*inputs[k]->type()))) {
      code_.pool.push_back(borrowed(inputs[k]));
      deep.push_back(variable);
    } else {
      code_.pool.push_back(operand(inputs[k], flag));
    }
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const uint32_t variable = live_.variable(inputs[k]);
    if (live_.isLastUse(info.first_flag + static_cast<uint32_t>(k)) &&
        std::find(deep.begin(), deep.end(), variable) == deep.end())
      registers_.release(variable);
  }
  for (size_t k = 0; k < outputs.size(); ++k) code_.pool[start + k] = defineOutput(outputs[k]);
  add(op, static_cast<uint32_t>(start), b, static_cast<uint32_t>(inputs.size()), static_cast<uint16_t>(outputs.size()));
  for (uint32_t variable : deep) drop(variable);
}

std::vector<uint32_t> Emitter::releaseScalars(const Liveness::NodeInfo& info) {
  const InputRange inputs = info.node->inputs();
  std::vector<uint32_t> owning;
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (!live_.isLastUse(info.first_flag + static_cast<uint32_t>(k))) continue;
    const uint32_t variable = live_.variable(inputs[k]);
    if (scalar_[variable])
      registers_.release(variable);
    else
      owning.push_back(variable);
  }
  return owning;
}

void Emitter::emitBorrowing(Op op, const Liveness::NodeInfo& info, uint32_t b, uint32_t c, uint16_t n) {
  // Scalars need no release, so their registers may take the result. Others must outlive the instruction.
  const std::vector<uint32_t> owning = releaseScalars(info);
  uint32_t a = 0;
  for (const Value* output : info.node->outputs()) {
    define(output);
    // The register is written in any case, since the instruction may raise.
    a = registers_.allocate(live_.variable(output));
  }
  add(op, a, b, c, n);
  for (uint32_t variable : owning) drop(variable);
  for (const Value* output : info.node->outputs()) {
    if (live_.isUnused(output)) drop(live_.variable(output));
  }
}

void Emitter::emitNode(const Liveness::NodeInfo& info) {
  using Emit = void (Emitter::*)(const Liveness::NodeInfo&);
  static constexpr Emit kEmit[] = {
#define STRUCTURE(Name, ...) &Emitter::emit##Name,
#define SUBGRAPH(Name, Kind) &Emitter::emitSubgraph,
#define MARKER(Name, ...) nullptr,
#include "cresset/ir/structural.def"
  };
  const Structure* structure = structureOf(info.node->kind());
  if (!structure) return emitOperator(info);
  const Emit emit = kEmit[static_cast<size_t>(structure->id)];
  CRESSET_CHECK(emit != nullptr, std::string(structure->name) + " is never emitted");
  (this->*emit)(info);
}

void Emitter::emitConstant(const Liveness::NodeInfo& info) {
  const Value* output = info.node->output();
  if (output->type()->kind() == c10::TypeKind::FunctionType) return;  // calls read the type
  auto value = toIValue(output);
  CRESSET_CHECK(value.has_value(), "constant %" + output->debugName());
  if (value->isNone() && output->type()->isSubtypeOf(*c10::TensorType::get())) value = at::Tensor();
  constant_of_[output->unique()] = constant(std::move(*value));
}

void Emitter::emitUninitialized(const Liveness::NodeInfo& info) {
  constant_of_[info.node->output()->unique()] = constant(c10::IValue::uninitialized());
}

void Emitter::emitUncheckedCast(const Liveness::NodeInfo&) {}  // the same variable

namespace {

/// The dynamic type of a tuple of these elements; null if that depends on the elements. Finding it costs as much as a
/// small kernel.
TypePtr typeOfPlainTuple(const c10::TupleType& tuple) {
  std::vector<TypePtr> elements;
  for (const TypePtr& element : tuple.elements()) {
    switch (element->kind()) {
      case c10::TypeKind::TensorType:
        elements.emplace_back(c10::TensorType::get());
        break;
      case c10::TypeKind::IntType:
      case c10::TypeKind::FloatType:
      case c10::TypeKind::BoolType:
      case c10::TypeKind::StringType:
        elements.push_back(element);
        break;
      default:
        return nullptr;
    }
  }
  return c10::TupleType::create(std::move(elements));
}

}  // namespace

void Emitter::emitTupleConstruct(const Liveness::NodeInfo& info) {
  const TypePtr& tuple = info.node->output()->type();
  const auto& declared = tuple->expectRef<c10::TupleType>();
  const TypePtr own = declared.schema() ? tuple : typeOfPlainTuple(declared);
  emitPool(Op::MakeTuple, info, own ? 1 + type(own) : 0);
}

void Emitter::emitListConstruct(const Liveness::NodeInfo& info) {
  emitPool(Op::MakeList, info, type(info.node->output()->type()));
}

void Emitter::emitDictConstruct(const Liveness::NodeInfo& info) {
  emitPool(Op::MakeDict, info, type(info.node->output()->type()));
}

bool Emitter::takesBorrowed(const Node& user) const {
  if (out_sites_->contains(&user)) return true;
  if (isStructural(user.kind())) return false;
  const Operator* op = operatorOf(user);
  if (scalarInstruction(*op) != Op::Count) return false;
  return op->isOfDispatcher() || (inner_views_ && inner_views_->contains(&user));
}

bool Emitter::isOnlyBorrowed(const Value* value, const Block* block) const {
  const auto uses = value->uses();
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
    return takesBorrowed(*use.user) && (!block || use.user->owningBlock() == block);
  });
}

bool Emitter::emitBorrowedElements(const Liveness::NodeInfo& info, Op op) {
  const Node& node = *info.node;
  const auto outputs = node.outputs();
  if (!out_sites_ || live_.isConstant(live_.variable(node.input()))) return false;
  uint32_t needed = 0;
  for (const Value* output : outputs) {
    if (live_.isUnused(output)) continue;
    if (output->type()->kind() != c10::TypeKind::TensorType || !isOnlyBorrowed(output, node.owningBlock()))
      return false;
    ++needed;
  }
  if (needed == 0) return false;
  checkFitsCount(outputs.size() + 1, node);
  const auto start = static_cast<uint32_t>(code_.pool.size());
  code_.pool.resize(start + 1 + outputs.size());
  code_.pool.push_back(operand(node.input(), info.first_flag));
  releaseDying(info);
  const uint32_t holder = registers_.reserve();
  code_.pool[start] = holder;
  for (size_t i = 0; i < outputs.size(); ++i) {
    code_.pool[start + 1 + i] = kNoRegister;
    if (live_.isUnused(outputs[i])) continue;
    borrowed_of_[live_.variable(outputs[i])] = {code_.num_borrowed, holder};
    code_.pool[start + 1 + i] = code_.num_borrowed++ | kBorrowedBit;
  }
  elements_needed_[holder] = needed;
  add(op, start, 0, 1, static_cast<uint16_t>(outputs.size() + 1));
  return true;
}

void Emitter::emitTupleUnpack(const Liveness::NodeInfo& info) {
  if (emitBorrowedElements(info, Op::BorrowTuple)) return;
  emitPool(Op::UnpackTuple, info, 0);
}

void Emitter::emitListUnpack(const Liveness::NodeInfo& info) {
  if (lasting_lists_ && lasting_lists_->contains(info.node) && emitBorrowedElements(info, Op::BorrowList)) return;
  emitPool(Op::UnpackList, info, 0);
}

void Emitter::emitTupleSlice(const Liveness::NodeInfo& info) {
  emitPool(Op::SliceTuple, info, static_cast<uint32_t>(info.node->i(attr::beg)));
  code_.instructions.back().c = static_cast<uint32_t>(info.node->i(attr::end));
}

void Emitter::emitCreateObject(const Liveness::NodeInfo& info) {
  const Value* output = info.node->output();
  classOf(*info.node, output);
  const uint32_t a = defineOutput(output);
  add(Op::CreateObject, a, 0, type(output->type()));
}

void Emitter::emitCallMethod(const Liveness::NodeInfo& info) {
  // A class has no subclasses, so only an interface's methods are found at run time.
  const Node& node = *info.node;
  const auto type = node.input(size_t(0))->type()->cast<c10::ClassType>();
  torch::jit::Function* method = type ? type->findMethod(node.s(attr::name)) : nullptr;
  if (method) return emitPool(Op::CallFunction, info, functionSite(method));
  emitInterfaceCall(info);
}

void Emitter::emitWait(const Liveness::NodeInfo& info) {
  emitBorrowing(Op::Wait, info, borrowed(info.node->input()), 0);
}

bool Emitter::emitOut(const Liveness::NodeInfo& info, const std::shared_ptr<const OutVariant>& variant) {
  if (!out_sites_) return false;
  const auto found = out_sites_->find(info.node);
  if (found == out_sites_->end()) return false;
  OutSite site = found->second;
  if (variant) site.variant = variant;
  if (!site.variant) return false;
  const auto outputs = info.node->outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool is_kept = site.slots[i] != OutSite::kNoSlot && site.keeps[i] && !live_.isUnused(outputs[i]);
    if (is_kept && isOnlyBorrowed(outputs[i], nullptr)) borrowed_of_[live_.variable(outputs[i])].index = site.slots[i];
  }
  emitBorrowingPool(Op::CallOut, info, code_.out_sites.size());
  code_.out_sites.push_back(std::move(site));
  return true;
}

void Emitter::emitBorrowingPool(Op op, const Liveness::NodeInfo& info, size_t b) {
  const Node& node = *info.node;
  const auto outputs = node.outputs();
  checkFitsCount(outputs.size(), node);
  const auto start = static_cast<uint32_t>(code_.pool.size());
  code_.pool.resize(start + outputs.size());
  for (const Value* input : node.inputs()) code_.pool.push_back(borrowed(input));
  const std::vector<uint32_t> owning = releaseScalars(info);
  for (size_t i = 0; i < outputs.size(); ++i) code_.pool[start + i] = defineOutput(outputs[i]);
  add(op, start, static_cast<uint32_t>(b), static_cast<uint32_t>(node.inputs().size()),
      static_cast<uint16_t>(outputs.size()));
  for (uint32_t variable : owning) drop(variable);
}

void Emitter::emitOperator(const Liveness::NodeInfo& info) {
  Node& node = *info.node;
  if (emitOut(info, nullptr)) return;
  const Operator* op = operatorOf(node);
  const Op instruction = scalarInstruction(*op);
  if (instruction != Op::Count && emitInstruction(info, instruction)) return;
  const uint32_t index = operatorIndex(op);
  if (const StridedView view = inner_views_ ? directCallOf(node, *inner_views_) : nullptr) {
    code_.views[index] = view;
    return emitBorrowingPool(Op::CallView, info, index);
  }
  const OperatorCall* by_kernel = OperatorCall::of(op->isFunctionalCall() ? *op->writer() : *op, node);
  if (by_kernel) code_.operator_calls[index] = by_kernel;
  const auto isCast = [&](c10::DeviceType device) { return op->autocast(device) != Autocast::None; };
  emitOperatorCall(
      op->kernel() ? Op::CallKernel
      : isWithoutAutocast(node) && (isCast(c10::DeviceType::CPU) || isCast(c10::DeviceType::CUDA))
          ? Op::CallWithoutAutocast
      : op->isCalledWithCare() || by_kernel ? Op::CallChecked
                                            : Op::CallBoxed,
      info, index);
}

uint32_t Emitter::operatorIndex(const Operator* op) {
  const auto [it, is_new] = operator_index_.emplace(op, static_cast<uint32_t>(code_.operators.size()));
  if (is_new) {
    code_.operators.push_back(op);
    code_.operator_calls.push_back(nullptr);
    code_.views.push_back(nullptr);
  }
  return it->second;
}

void Emitter::emitScalar(const Liveness::NodeInfo& info, Op op) {
  const Node& node = *info.node;
  const uint32_t b = borrowed(node.input(size_t(0)));
  emitBorrowing(op, info, b, node.inputs().size() > 1 ? borrowed(node.input(1)) : 0);
}

void Emitter::emitUpdate(const Liveness::NodeInfo& info, Op op) {
  const InputRange inputs = info.node->inputs();
  const size_t n = inputs.size();
  const uint32_t a = n == 3 ? borrowed(inputs[0]) : 0, b = borrowed(inputs[n - 2]), c = borrowed(inputs[n - 1]);
  const std::vector<uint32_t> owning = releaseScalars(info);
  for (const Value* output : info.node->outputs()) define(output);
  add(op, a, b, c);
  for (uint32_t variable : owning) drop(variable);
}

/// The instruction that stands for the node's operator, if it does for this call.
bool Emitter::emitInstruction(const Liveness::NodeInfo& info, Op op) {
  if (op == Op::IsNone || op == Op::IsNotNone) return emitNoneTest(info, op);
  switch (opInfo(op).format) {
    case Format::Pool:
      emitPool(op, info, 0);
      return true;
    case Format::Update: {
      // These instructions have no output; the operator may return the list itself.
      const auto outputs = info.node->outputs();
      if (std::any_of(outputs.begin(), outputs.end(), [&](const Value* v) { return !live_.isUnused(v); })) return false;
      emitUpdate(info, op);
      return true;
    }
    default:
      emitScalar(info, op);
      return true;
  }
}

/// `x is None` and `x is not None`, by far the most common uses of these operators.
bool Emitter::emitNoneTest(const Liveness::NodeInfo& info, Op op) {
  const Node& node = *info.node;
  for (size_t k = 0; k < 2; ++k) {
    if (!isNoneConstant(node.input(k))) continue;
    emitBorrowing(op, info, borrowed(node.input(1 - k)), 0);
    return true;
  }
  return false;
}

void Emitter::emitTupleIndex(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const uint32_t tuple = borrowed(node.input(size_t(0)));
  const auto index = toIValue(node.input(1));
  const auto size = static_cast<int64_t>(node.input(size_t(0))->type()->containedTypes().size());
  if (index && index->isInt()) {
    int64_t i = index->toInt();
    if (i < 0) i += size;
    if (i >= 0 && i < size) return emitBorrowing(Op::TupleGet, info, tuple, static_cast<uint32_t>(i));
  }
  emitBorrowing(Op::TupleIndex, info, tuple, borrowed(node.input(1)));
}

void Emitter::emitGetAttr(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const auto type = classOf(node, node.input());
  const uint32_t slot = slotOf(node, *type);
  code_.attributes.push_back({static_cast<uint32_t>(code_.instructions.size()), type, slot});
  emitBorrowing(Op::GetSlot, info, borrowed(node.input()), slot, mayBeNone(*type->getAttribute(slot)) ? 0 : 1);
}

void Emitter::emitSetAttr(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const auto type = classOf(node, node.input(size_t(0)));
  const uint32_t slot = slotOf(node, *type);
  code_.attributes.push_back({static_cast<uint32_t>(code_.instructions.size()), type, slot});
  emitPool(Op::SetSlot, info, slot);
}

void Emitter::emitCallFunction(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const auto type = node.input(size_t(0))->type()->cast<c10::FunctionType>();
  if (!type) throw UserError("only a function that is known when code is compiled can be called", node.sourceRange());
  emitPool(Op::CallFunction, info, functionSite(type->function()), 1);
}

uint32_t Emitter::functionSite(torch::jit::Function* function) {
  const auto [it, is_new] = function_index_.emplace(function, static_cast<uint32_t>(code_.functions.size()));
  if (is_new) code_.functions.push_back(std::make_unique<FunctionSite>(function));
  return it->second;
}

void Emitter::emitFork(const Liveness::NodeInfo& info) {
  emitApart(Op::Fork, info, "<forked function>");
}

void Emitter::emitAwaitable(const Liveness::NodeInfo& info) {
  emitApart(Op::MakeAwaitable, info, "<awaitable function>");
}

void Emitter::emitApart(Op op, const Liveness::NodeInfo& info, const char* name) {
  const Node& node = *info.node;
  code_.apart.push_back(
      cresset::emitCode(*node.g(attr::Subgraph), name, code_.program, {.compile_subgraph = compile_subgraph_}));
  code_.apart_types.push_back(node.output()->type()->containedType(0));
  emitPool(op, info, static_cast<uint32_t>(code_.apart.size() - 1));
}

void Emitter::emitSubgraph(const Liveness::NodeInfo& info) {
  auto compiled = compile_subgraph_ ? compile_subgraph_(*info.node) : nullptr;
  if (!compiled) compiled = interpretSubgraph(*info.node->g(attr::Subgraph), code_.program, compile_subgraph_);
  if (const auto out = std::dynamic_pointer_cast<const OutVariant>(compiled); out && emitOut(info, out)) return;
  code_.subgraphs.push_back(std::move(compiled));
  emitOperatorCall(Op::CallSubgraph, info, static_cast<uint32_t>(code_.subgraphs.size() - 1));
}

void Emitter::emitBailOut(const Liveness::NodeInfo& info) {
  const Node& node = *info.node;
  const auto index = static_cast<size_t>(node.i(attr::index));
  if (index >= code_.guards.size() || !code_.guards[index])
    throw UserError("prim::BailOut belongs to the plan that it was made in", node.sourceRange());
  const auto start = static_cast<uint32_t>(code_.pool.size());
  const auto outputs = node.outputs();
  checkFitsCount(outputs.size(), node);
  code_.pool.resize(start + outputs.size());
  for (const Value* input : node.inputs()) code_.pool.push_back(borrowed(input));
  const std::vector<uint32_t> owning = releaseScalars(info);
  for (size_t i = 0; i < outputs.size(); ++i) code_.pool[start + i] = defineOutput(outputs[i]);
  add(Op::BailOut, start, static_cast<uint32_t>(index), static_cast<uint32_t>(node.inputs().size()),
      static_cast<uint16_t>(outputs.size()));
  for (uint32_t variable : owning) drop(variable);
}

void Emitter::emitEnter(const Liveness::NodeInfo& info) {
  // The object stays in its register for PushExit even if this is the last that the graph does with it.
  const Node& node = *info.node;
  const Value* object = node.input();
  const uint32_t variable = live_.variable(object), reg = borrowed(object);
  const auto start = static_cast<uint32_t>(code_.pool.size());
  code_.pool.push_back(kNoRegister);
  code_.pool.push_back(reg);
  const uint32_t site = methodSite("__enter__");
  code_.pool[start] = defineOutput(node.output());
  add(Op::CallMethod, start, site, 1, 1);
  add(Op::PushExit, 0, reg);
  if (live_.isLastUse(info.first_flag)) drop(variable);
}

void Emitter::emitExit(const Liveness::NodeInfo& info) {
  // What __exit__ itself raises does not run it again.
  add(Op::PopExit);
  const Node& node = *info.node;
  if (none_ == kNoRegister) none_ = constant(c10::IValue()) | kConstantBit;
  const auto start = static_cast<uint32_t>(code_.pool.size());
  code_.pool.push_back(kNoRegister);
  code_.pool.push_back(operand(node.input(), info.first_flag));
  code_.pool.insert(code_.pool.end(), {none_, none_, none_});
  releaseDying(info);
  const uint32_t site = methodSite("__exit__");
  code_.pool[start] = defineOutput(node.output());
  add(Op::CallMethod, start, site, 4, 1);
}

void Emitter::emitIsInstance(const Liveness::NodeInfo& info) {
  code_.type_lists.push_back(info.node->tys(attr::types));
  emitBorrowing(Op::IsInstance, info, borrowed(info.node->input()), static_cast<uint32_t>(code_.type_lists.size() - 1));
}

std::shared_ptr<const Code> emitCode(
    Graph& graph, std::string name, std::weak_ptr<Program> program, EmitOptions options) {
  auto code = std::make_shared<Code>();
  code->hot_loops = options.hot_loops;
  code->guards = std::move(options.sites);
  code->name = std::move(name);
  code->limits = limitsOf(graph);
  code->serial_forks = hasPolicy(graph);
  if (auto owner = program.lock()) {  // of parts that the optimizer has made
    code->limits = tightest(code->limits, owner->rules().limits);
    code->serial_forks |= owner->rules().policy != nullptr;
  }
  code->program = std::move(program);
  Emitter(graph, *code, options).run();
  return code;
}

std::shared_ptr<const Code> emitCode(const std::shared_ptr<Graph>& graph, std::string name) {
  return emitCode(*graph, std::move(name), {});
}

}  // namespace cresset
