// Loops. See emitter_impl.h.
//
// prim::Loop carries the variables that its body assigns and that were defined before it; which these are is found by
// looking at the statements, before the body is emitted. A variable that turns out not to change is taken out again.
// `break` and `return` end the loop through its condition; a `return` is carried out of it as a flag and a result.
#include <limits>

#include "cresset/frontend/emitter_impl.h"

namespace cresset {

namespace {

/// Whether one of the statements, or of those within them, is `name = None`.
bool setsToNone(const ListView<Stmt>& list, const std::string& name) {
  for (const Stmt stmt : list) {
    bool found = false;
    switch (stmt.kind()) {
      case TK_ASSIGN: {
        const Assign assign(stmt.tree());
        if (!assign.rhs().present() || assign.rhs().get().kind() != TK_NONE) break;
        for (const Expr target : assign.targets())
          found = found || (target.kind() == TK_VAR && Var(target.tree()).name() == name);
        break;
      }
      case TK_IF: {
        // The links of an `elif` chain are followed without recursion.
        If branch(stmt.tree());
        for (;;) {
          found = found || setsToNone(branch.thenBranch(), name);
          const auto rest = branch.elseBranch();
          if (found || rest.size() != 1 || rest[0].kind() != TK_IF) {
            found = found || setsToNone(rest, name);
            break;
          }
          branch = If(rest[0].tree());
        }
        break;
      }
      case TK_WHILE:
        found = setsToNone(While(stmt.tree()).body(), name);
        break;
      case TK_FOR:
        found = setsToNone(For(stmt.tree()).body(), name);
        break;
      case TK_WITH:
        found = setsToNone(With(stmt.tree()).body(), name);
        break;
      default:
        break;
    }
    if (found) return true;
  }
  return false;
}

}  // namespace

Flow FunctionEmitter::emitWhile(const While& stmt) {
  NameList assigned;
  collectAssigned(stmt.body(), assigned);
  const Expr condition = stmt.cond();
  const ListView<Stmt> body = stmt.body();
  return emitLoop(
      stmt.range(), nullptr, &condition, body, assigned, [](Value*) {}, [&] { return emitStatements(body); });
}

Flow FunctionEmitter::emitFor(const For& stmt) {
  const SourceRange range = stmt.iter().range();
  const SugaredValuePtr items = emitSugared(stmt.iter())->iter(range, *this);
  if (auto count = items->staticLen()) return emitUnrolled(stmt, items, *count);
  NameList assigned;
  collectTargets(stmt.target(), assigned);
  collectAssigned(stmt.body(), assigned);
  Value* trip_count = items->len(range, *this);
  const ListView<Stmt> body = stmt.body();
  auto bind = [&](Value* index) { assign(stmt.target(), items->getItem(range, *this, index), range); };
  return emitLoop(stmt.range(), trip_count, nullptr, body, assigned, bind, [&] { return emitStatements(body); });
}

struct FunctionEmitter::OpenLoop {
  struct Carried {
    std::string name;
    TypePtr type;
    Value* input;           // of the block
    Value* last = nullptr;  // at the end of the body; the input if it does not change
    bool changes() const { return last != input; }
  };

  SourceRange range;
  Node* node;
  Block* block;
  std::vector<Carried> carried = {};
  Flow flow = {};  // of the body
};

FramePtr FunctionEmitter::carryVariables(OpenLoop& loop, const ListView<Stmt>& body, const NameList& assigned) {
  auto frame = std::make_unique<Frame>();
  for (const std::string& name : assigned) {
    Binding* before = env_.find(name);
    if (!before || !before->value) continue;
    loop.node->addInput(before->value);
    // A copy of a refined value keeps its type through a loop that never sets it to None.
    const bool narrow = before->declared && !before->refines && !setsToNone(body, name);
    const TypePtr type = narrow ? before->type : before->takes();
    Value* input = loop.block->addInput(name)->setType(type);
    frame->bindings[name] = Binding::of(input, type);
    loop.carried.push_back({name, type, input});
  }
  return frame;
}

void FunctionEmitter::readCarried(OpenLoop& loop) {
  for (OpenLoop::Carried& c : loop.carried) {
    const Binding* after = env_.find(c.name);
    if (!after->value) {
      if (!loop.flow.forgets()) {
        throw UserError(
            "'" + c.name + "' is defined before this loop, but not any more at its end: " + after->error,
            after->error_range ? after->error_range : loop.range);
      }
      c.last = c.input;
      continue;
    }
    if (!after->type->isSubtypeOf(*c.type)) {
      throw UserError(
          "Variable '" + c.name + "' previously had type " + c.type->repr_str() +
              " but is now being assigned to a value of type " + after->type->repr_str(),
          loop.range);
    }
    // A value that is only refined has not changed.
    c.last = after->root() == c.input ? c.input : after->value;
  }
}

Flow FunctionEmitter::carryReturn(const OpenLoop& loop) {
  const Flow& flow = loop.flow;
  const TypePtr type = flow.result->type();
  {
    InsertPointGuard at(graph, loop.node);
    graph.setLocation(loop.range);
    loop.node->addInput(graph.insertConstant(true));
    loop.node->addInput(graph.insertNode(graph.create(prim::Uninitialized, 1))->output()->setType(type));
  }
  loop.block->addInput()->setType(c10::BoolType::get());
  loop.block->addInput()->setType(type);
  loop.block->registerOutput(flow.live.value ? flow.live.value : boolIn(loop.block, false));
  loop.block->registerOutput(flow.result);
  Flow after;
  after.falls.value = loop.node->addOutput()->setType(c10::BoolType::get());
  after.stays = after.live = after.falls;
  after.result = loop.node->addOutput()->setType(type);
  return after;
}

void FunctionEmitter::bindCarried(const OpenLoop& loop) {
  for (size_t i = 0; i < loop.carried.size(); ++i) {
    const OpenLoop::Carried& c = loop.carried[i];
    if (!c.changes()) continue;
    Value* output = loop.node->outputs()[i];
    output->setDebugName(c.name);
    env_.bind(c.name, Binding::of(output, c.type));
  }
  for (size_t i = loop.carried.size(); i-- > 0;) {
    if (loop.carried[i].changes()) continue;
    loop.node->eraseOutput(i);
    loop.block->eraseOutput(i + 1);
    loop.carried[i].input->replaceAllUsesWith(loop.node->input(i + 2));
    loop.block->eraseInput(i + 1);
    loop.node->removeInput(i + 2);
  }
}

Flow FunctionEmitter::emitLoop(
    const SourceRange& range, Value* trip_count, const Expr* condition, const ListView<Stmt>& body,
    const NameList& assigned, const std::function<void(Value* index)>& bind, const std::function<Flow()>& emit_body) {
  Value* entry = nullptr;
  bool endless = false;
  Refinements refinements;
  if (!trip_count) trip_count = constant(range, std::numeric_limits<int64_t>::max());
  if (condition) {
    const Condition first = emitCondition(*condition);
    if (first.known == false) return {};
    endless = first.known == true;
    refinements = first.when_true;
    entry = valueOf(condition->range(), first);
  } else {
    entry = constant(range, true);
  }
  graph.setLocation(range);
  Node* node = graph.insertNode(graph.create(prim::Loop, {trip_count, entry}, 0));
  enterBlock(range);
  OpenLoop loop{range, node, node->addBlock()};
  Value* index = loop.block->addInput()->setType(c10::IntType::get());
  FramePtr outside = carryVariables(loop, body, assigned);

  Value* next = nullptr;
  loops_.emplace_back();
  {
    InsertPointGuard at(graph, loop.block);
    env_.push(std::move(outside));
    env_.push();
    refine(range, refinements);
    FramePtr frame = env_.pop();
    keepDeclared(*frame);
    env_.push(std::move(frame));
    bind(index);
    loop.flow = emit_body();
    graph.setLocation(range);
    const Flag& stays = loop.flow.stays;
    if (loop.flow.dead || stays.isFalse()) {
      next = constant(range, false);
    } else if (!condition || endless) {
      next = stays.value ? stays.value : entry;
    } else {
      auto again = [&] { return valueOf(condition->range(), emitCondition(*condition)); };
      next = stays.value ? emitBoolIf(range, stays.value, again, [&] { return constant(range, false); }) : again();
    }
    readCarried(loop);
    env_.pop();
    env_.pop();
  }
  const bool has_break = loops_.back().has_break;
  loops_.pop_back();
  leaveBlock();

  loop.block->registerOutput(next);
  for (const OpenLoop::Carried& c : loop.carried) {
    loop.block->registerOutput(c.last);
    node->addOutput()->setType(c.type);
  }
  const bool returns = !loop.flow.dead && !loop.flow.live.isTrue();
  const Flow after = returns ? carryReturn(loop) : Flow();
  bindCarried(loop);
  if (!endless || has_break) return after;
  // The condition never fails: the loop ends by a return, or not at all.
  return returns ? Flow::returned(after.result) : Flow::raised();
}

Flow FunctionEmitter::emitUnrolled(const For& stmt, const SugaredValuePtr& items, size_t count) {
  const SourceRange range = stmt.iter().range();
  const ListView<Stmt> body = stmt.body();
  // Nothing is carried, so that what the body binds first is seen after the loop, and by the next iteration: not if the
  // iteration may have been left before.
  NameList assigned;
  collectTargets(stmt.target(), assigned);
  collectAssigned(body, assigned);
  std::set<std::string> partial_before;
  for (const std::string& name : assigned) {
    const Binding* before = env_.find(name);
    if (before && before->partial) partial_before.insert(name);
  }
  auto forgetPartial = [&] {
    for (const std::string& name : env_.top().order) {
      if (!env_.top().bindings.at(name).partial || partial_before.contains(name)) continue;
      env_.bind(
          name,
          Binding::unusable(
              "'" + name +
                  "' may not be set after this loop, which may be left before: loops over modules and "
                  "tuples are unrolled, and do not support break or continue inside of them where a variable that "
                  "the loop sets first is used after it. Set it before the loop",
              range));
    }
  };
  loops_.emplace_back();
  Flow flow;
  for (size_t i = 0; i < count && !flow.ends(); ++i) {
    auto iteration = [&]() -> Flow {
      assign(stmt.target(), items->getItem(range, *this, constant(range, static_cast<int64_t>(i))), range);
      Flow f = emitStatements(body);
      f.falls = f.stays;  // what the next iteration depends on
      return f;
    };
    flow = flow.falls.value ? guard(stmt.range(), flow, iteration) : iteration();
    forgetPartial();
  }
  loops_.pop_back();
  flow.falls = flow.stays = flow.live;
  return flow;
}

}  // namespace cresset
