// Branches and how they join. See emitter_impl.h, flow.h.
//
// Where two blocks of a prim::If meet, each variable that one of them bound is decided once: it becomes an output of
// the node, or it stays what it was, or its name remembers why it may not be used. A block that raised or returned has
// no say; one that left by break or continue has one only in variables that live on outside the loop.
#include "cresset/frontend/emitter_impl.h"

namespace cresset {

FunctionEmitter::Branch FunctionEmitter::emitBranch(
    Node* node, const Refinements& refinements, const std::function<Flow()>& emit) {
  const SourceRange range = node->sourceRange();
  enterBlock(range);
  Branch branch;
  branch.block = node->addBlock();
  InsertPointGuard at(graph, branch.block);
  env_.push();
  refine(range, refinements);
  branch.flow = emit();
  branch.frame = env_.pop();
  leaveBlock();
  return branch;
}

void FunctionEmitter::resumeBranch(Branch& branch, const std::function<Flow(Flow)>& emit) {
  enterBlock(branch.block->owningNode()->sourceRange());
  InsertPointGuard at(graph, branch.block);
  env_.push(std::move(branch.frame));
  env_.top().continues = true;
  branch.flow = emit(branch.flow);
  branch.frame = env_.pop();
  leaveBlock();
}

Flow FunctionEmitter::emitIf(const If& stmt, const ListView<Stmt>& list, size_t next, size_t end, size_t* consumed) {
  const Condition condition = emitCondition(stmt.cond());
  if (condition.known) {
    // The other branch isn't compiled: it may not even have a meaning for these types.
    refine(stmt.range(), condition.when(*condition.known));
    return emitStatements(*condition.known ? stmt.thenBranch() : stmt.elseBranch());
  }
  graph.setLocation(stmt.range());
  Node* node = graph.insertNode(graph.create(prim::If, {condition.value}, 0));
  Branch a = emitBranch(node, condition.when_true, [&] { return emitStatements(stmt.thenBranch()); });
  Branch b = emitBranch(node, condition.when_false, [&] { return emitStatements(stmt.elseBranch()); });
  // If one branch leaves, what follows the statement belongs to the other: no flag is needed then, and what the
  // condition tells about types continues to hold.
  if (next < end && block_depth_ < kFlatDepth) {
    Branch* other = a.flow.leaves() && !b.flow.ends() ? &b : b.flow.leaves() && !a.flow.ends() ? &a : nullptr;
    if (other) {
      if (!(other == &a ? b : a).flow.forgets()) keepDeclared(*other->frame);
      resumeBranch(*other, [&](const Flow& flow) { return emitStatements(list, next, end, flow); });
      *consumed = end;
    }
  }
  return merge(stmt.range(), node, a, b);
}

Flow FunctionEmitter::guard(const SourceRange& range, const Flow& flow, const std::function<Flow()>& emit) {
  graph.setLocation(range);
  Node* node = graph.insertNode(graph.create(prim::If, {flow.falls.value}, 0));
  Refinements refinements;
  for (const std::string& name : env_.top().order) {
    if (const TypePtr& type = env_.top().bindings.at(name).falls_as) refinements.push_back({name, type});
  }
  Branch a = emitBranch(node, refinements, [&] {
    env_.top().continues = true;
    return emit();
  });
  Branch b = emitBranch(node, {}, [&] {
    // `falls` is false here, and so is what is the same value.
    auto here = [&](const Flag& flag) { return flag == flow.falls ? Flag{false, nullptr} : flag; };
    Flow left = flow;
    left.falls = Flag{false, nullptr};
    left.stays = here(flow.stays);
    left.live = here(flow.live);
    return left;
  });
  return merge(range, node, a, b);
}

Flow FunctionEmitter::merge(const SourceRange& range, Node* node, Branch& a, Branch& b) {
  graph.setLocation(range);
  mergeVariables(range, node, a, b);
  const Flow& fa = a.flow;
  const Flow& fb = b.flow;
  if (fa.dead && fb.dead) return Flow::raised();
  Flow flow;
  flow.falls = mergeFlag(node, a, fa.falls, b, fb.falls);
  // Flags that are equal on both sides share an output.
  const bool stays_is_falls = (fa.dead || fa.stays == fa.falls) && (fb.dead || fb.stays == fb.falls);
  flow.stays = stays_is_falls ? flow.falls : mergeFlag(node, a, fa.stays, b, fb.stays);
  const bool live_is_stays = (fa.dead || fa.live == fa.stays) && (fb.dead || fb.live == fb.stays);
  flow.live = live_is_stays ? flow.stays : mergeFlag(node, a, fa.live, b, fb.live);
  if (fa.result == fb.result) {
    flow.result = fa.result;
  } else if (fa.result || fb.result) {
    TypePtr type = fa.result ? fa.result->type() : fb.result->type();
    if (fa.result && fb.result) {
      auto unified = c10::unifyTypes(fa.result->type(), fb.result->type());
      type = declared_result_ ? declared_result_ : unified ? *unified : merged_result_;
    }
    Value* ra = fa.result ? fa.result : uninitializedIn(a.block, type);
    Value* rb = fb.result ? fb.result : uninitializedIn(b.block, type);
    flow.result = addMergedOutput(node, ra, rb, type);
  }
  return flow;
}

Flag FunctionEmitter::mergeFlag(Node* node, const Branch& a, const Flag& fa, const Branch& b, const Flag& fb) {
  if (a.flow.dead && !fb.value) return fb;
  if (b.flow.dead && !fa.value) return fa;
  if (!a.flow.dead && !b.flow.dead && fa == fb) return fa;
  // `if c: … else: break` continues exactly where c holds.
  if (fa.isTrue() && fb.isFalse() && !a.flow.dead && !b.flow.dead) return Flag{true, node->input(0)};
  auto valueIn = [&](const Branch& branch, const Flag& flag) {
    if (branch.flow.dead) return uninitializedIn(branch.block, c10::BoolType::get());
    return flag.value ? flag.value : boolIn(branch.block, flag.constant);
  };
  Value* va = valueIn(a, fa);
  Value* vb = valueIn(b, fb);
  return Flag{true, addMergedOutput(node, va, vb, c10::BoolType::get())};
}

Value* FunctionEmitter::addMergedOutput(Node* node, Value* a, Value* b, const TypePtr& type) {
  node->blocks()[0]->registerOutput(a);
  node->blocks()[1]->registerOutput(b);
  return node->addOutput()->setType(type);
}

Value* FunctionEmitter::uninitializedIn(Block* block, const TypePtr& type) {
  InsertPointGuard at(graph, block);
  return graph.insertNode(graph.create(prim::Uninitialized, 1))->output()->setType(type);
}

Value* FunctionEmitter::boolIn(Block* block, bool value) {
  InsertPointGuard at(graph, block);
  return graph.insertConstant(value);
}

void FunctionEmitter::mergeVariables(const SourceRange& range, Node* node, Branch& a, Branch& b) {
  if (a.flow.forgets() && b.flow.forgets()) return;
  // In the order in which the program binds them, so that printed code compiles back to the graph that it was printed
  // from.
  for (const std::string& name : a.frame->order) mergeVariable(range, node, a, b, name);
  for (const std::string& name : b.frame->order) {
    if (!a.frame->bindings.contains(name)) mergeVariable(range, node, a, b, name);
  }
}

void FunctionEmitter::mergeVariable(
    const SourceRange& range, Node* node, Branch& a, Branch& b, const std::string& name) {
  Binding* outer = env_.find(name);
  auto bound = [&](Branch& branch) -> const Binding* {
    auto it = branch.frame->bindings.find(name);
    const Binding* binding = it != branch.frame->bindings.end() ? &it->second : outer;
    return binding;
  };
  const Binding* in_a = bound(a);
  const Binding* in_b = bound(b);
  const bool outer_value = outer && outer->value;
  auto usable = [](const Binding* binding) { return binding && binding->value; };
  /// Whether what the branch says about the name counts.
  auto counts = [&](const Branch& branch) { return !branch.flow.forgets() && (outer_value || !branch.flow.leaves()); };

  const bool partial = (usable(in_a) && in_a->partial) || (usable(in_b) && in_b->partial);
  auto bindOutput = [&](Value* va, Value* vb, const TypePtr& type) {
    if (!va) va = uninitializedIn(a.block, type);
    if (!vb) vb = uninitializedIn(b.block, type);
    Value* output = addMergedOutput(node, va, vb, type);
    output->setDebugName(name);
    env_.bind(name, Binding::of(output, type));
    env_.find(name)->partial = partial;
  };
  /// Both sides hold the outer value, perhaps refined: the name has the type that they agree on. What they cast is an
  /// output, as in torch.jit's graphs: a cast after the node would be of None where the other side raises on None, and
  /// torch.jit fails when it evaluates such a cast of a constant.
  auto bindRefined = [&](Value* va, Value* vb, const TypePtr& type) {
    if (sameType(type, outer->type) || !type->isSubtypeOf(*outer->type)) return;
    Value* const root = outer->root();
    bindOutput(va, vb, type);
    env_.find(name)->refines = root;
  };

  /// What the name is where the branch reaches its end; null if it never does.
  auto typeAtEnd = [](const Branch& branch, const Binding& binding) {
    return branch.flow.ends() ? TypePtr() : binding.falls_as ? binding.falls_as : binding.type;
  };
  auto keepTypeAtEnd = [&](const TypePtr& at_a, const TypePtr& at_b) {
    const auto unified = at_a && at_b ? c10::unifyTypes(at_a, at_b) : std::optional(at_a ? at_a : at_b);
    Binding* merged = env_.find(name);
    const bool narrower = unified && *unified && (*unified)->isSubtypeOf(*merged->type);
    merged->falls_as = narrower && !sameType(*unified, merged->type) ? *unified : TypePtr();
  };

  const bool a_counts = counts(a), b_counts = counts(b);
  if (!a_counts && !b_counts) return;
  if (!a_counts || !b_counts) {
    const Binding* kept = a_counts ? in_a : in_b;
    if (!usable(kept)) {
      if (kept && kept != outer) env_.bind(name, *kept);
      return;
    }
    if (kept == outer) return;
    Value* const va = a_counts ? kept->value : nullptr;
    Value* const vb = b_counts ? kept->value : nullptr;
    if (outer_value && kept->root() == outer->root()) return bindRefined(va, vb, kept->type);
    const TypePtr at_end = typeAtEnd(a_counts ? a : b, *kept), type = kept->type;
    bindOutput(va, vb, type);
    if (!(a_counts ? b : a).flow.forgets()) env_.find(name)->partial = true;
    return keepTypeAtEnd(at_end, at_end);
  }
  if (!usable(in_a) || !usable(in_b)) {
    const Binding* sugared = in_a && in_a->sugared ? in_a : in_b && in_b->sugared ? in_b : nullptr;
    if (sugared && usable(sugared == in_a ? in_b : in_a)) sugared = nullptr;
    std::string message;
    SourceRange where = range;
    const Binding* broken = in_a && !in_a->error.empty() ? in_a : in_b && !in_b->error.empty() ? in_b : nullptr;
    if (broken) {
      message = broken->error;
      where = broken->error_range;
    } else if (sugared) {
      message = "undefined value " + name + ": it was a " + sugared->sugared->kind() +
                " in a branch, which is not a first-class value and ends with the branch";
    } else {
      message = name + " is not defined in the " + (usable(in_a) ? "false" : "true") + " branch";
    }
    env_.bind(name, Binding::unusable(std::move(message), where));
    return;
  }
  if (in_a->value == in_b->value && sameType(in_a->type, in_b->type)) {
    if (in_a != outer || in_b != outer) env_.bind(name, *in_a);
    return;
  }
  const TypePtr hint = outer_value ? outer->takes() : TypePtr();
  const bool to_union = hint && hint->kind() == c10::TypeKind::UnionType;
  auto unified = c10::unifyTypes(in_a->type, in_b->type, to_union, hint ? hint : TypePtr());
  if (!unified) {
    const std::string message = "Type mismatch: " + name + " is set to type " + in_a->type->repr_str() +
                                " in the true branch and type " + in_b->type->repr_str() + " in the false branch";
    // After a statement that may leave the list, an assignment may change the type of what the list bound; nothing
    // follows there that could use the name.
    const bool of_this_list = (a.frame->continues || b.frame->continues) && !env_.findOuter(name);
    if (outer_value && !of_this_list) throw UserError(message, range);
    env_.bind(name, Binding::unusable(message, range));
    return;
  }
  if (outer_value && in_a->root() == outer->root() && in_b->root() == outer->root())
    return bindRefined(in_a->value, in_b->value, *unified);
  const TypePtr at_a = typeAtEnd(a, *in_a), at_b = typeAtEnd(b, *in_b);
  bindOutput(in_a->value, in_b->value, *unified);
  keepTypeAtEnd(at_a, at_b);
}

}  // namespace cresset
