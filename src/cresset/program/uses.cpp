// Which programs the code of another one refers to: those of the functions that it calls, and of all types that its
// values have. Found by looking at what was defined, so that it does not matter on which way a name led there.
#include <ATen/core/class_type.h>
#include <ATen/core/enum_type.h>

#include <utility>

#include "cresset/program/program.h"

namespace cresset {

namespace {

bool isPlain(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::NoneType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::DeviceObjType:
    case c10::TypeKind::AnyType:
      return true;
    default:
      return false;
  }
}

class ProgramSearch {
 public:
  explicit ProgramSearch(ProgramFamily* family) : family_(family) {}

  /// Types nest, so what they contain waits in a list. A class is not looked into: its program uses what it needs.
  void visit(const c10::TypePtr& type) {
    waiting_.push_back(type.get());
    while (!waiting_.empty()) {
      const c10::Type& next = *std::exchange(waiting_.back(), nullptr);
      waiting_.pop_back();
      if (isPlain(next) || !seen_.insert(&next).second) continue;
      if (const auto* function = next.castRaw<c10::FunctionType>()) {
        add(function->function());
      } else if (const auto* cls = next.castRaw<c10::ClassType>()) {
        add(programOf(*cls));
      } else {
        if (next.castRaw<c10::NamedType>()) addOwner(next);
        for (const c10::TypePtr& inner : next.containedTypes()) waiting_.push_back(inner.get());
      }
    }
  }

  void visit(const c10::FunctionSchema& schema) {
    for (const c10::Argument& argument : schema.arguments()) visit(argument.type());
    for (const c10::Argument& result : schema.returns()) visit(result.type());
  }

  void visit(const Graph& graph) {
    std::vector<const Block*> blocks{graph.block()};
    while (!blocks.empty()) {
      const Block* block = blocks.back();
      blocks.pop_back();
      for (const Value* input : block->inputs()) visit(input->type());
      for (const Node* node : block->nodes()) {
        for (const Value* output : node->outputs()) visit(output->type());
        for (const auto& [name, attribute] : node->attributes()) visit(attribute, blocks);
        for (const Block* inner : node->blocks()) blocks.push_back(inner);
      }
    }
  }

  const std::unordered_set<std::shared_ptr<Program>>& found() const { return found_; }

 private:
  void visit(const Attribute& attribute, std::vector<const Block*>& blocks) {
    switch (attribute.kind()) {
      case Attribute::Kind::Type:
        return visit(attribute.asType());
      case Attribute::Kind::Types:
        for (const c10::TypePtr& type : attribute.asTypes()) visit(type);
        return;
      case Attribute::Kind::Graph:
        return blocks.push_back(attribute.asGraph()->block());
      case Attribute::Kind::Graphs:
        for (const auto& graph : attribute.asGraphs()) blocks.push_back(graph->block());
        return;
      default:  // a value that is an object holds its program itself
        return;
    }
  }

  void add(const torch::jit::Function* function) {
    if (const auto* ours = dynamic_cast<const Function*>(function)) add(ours->program().shared_from_this());
  }
  void add(std::shared_ptr<Program> program) {
    if (program) found_.insert(std::move(program));
  }
  void addOwner(const c10::Type& type) {
    if (!family_) return;
    std::lock_guard lock(family_->mutex);
    const auto it = family_->types.find(&type);
    if (it != family_->types.end()) add(it->second.lock());
  }

  ProgramFamily* family_;
  std::vector<const c10::Type*> waiting_;
  std::unordered_set<const c10::Type*> seen_;
  std::unordered_set<std::shared_ptr<Program>> found_;
};

}  // namespace

void Program::use(const std::shared_ptr<Program>& other) {
  if (other.get() == this) return;
  std::lock_guard lock(mutex_);
  used_.insert(other);
}

void Program::own(std::shared_ptr<void> companion) {
  std::lock_guard lock(mutex_);
  companions_.push_back(std::move(companion));
}

void Program::usePrograms(const Graph& graph) {
  if (!may_use_others_) return;
  ProgramSearch search(family_.get());
  search.visit(graph);
  for (const auto& program : search.found()) use(program);
}

void Program::usePrograms(const c10::NamedType& type) {
  if (!may_use_others_) return;
  ProgramSearch search(family_.get());
  if (const auto* cls = type.castRaw<c10::ClassType>()) {
    for (size_t slot = 0; slot < cls->numAttributes(); ++slot) search.visit(cls->getAttribute(slot));
    for (const torch::jit::Function* method : cls->methods()) {
      const auto* ours = dynamic_cast<const Function*>(method);
      if (ours && ours->hasSchema()) search.visit(ours->getSchema());
    }
  } else if (const auto* interface = type.castRaw<c10::InterfaceType>()) {
    for (const c10::FunctionSchema& schema : interface->methods()) search.visit(schema);
  } else {
    for (const c10::TypePtr& inner : type.containedTypes()) search.visit(inner);
  }
  for (const auto& program : search.found()) use(program);
}

std::vector<std::shared_ptr<Program>> programsOf(const c10::TypePtr& type, ProgramFamily* family) {
  ProgramSearch search(family);
  search.visit(type);
  return {search.found().begin(), search.found().end()};
}

}  // namespace cresset
