#include "cresset/executor/plan.h"

#include <ATen/core/class_type.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "cresset/analysis/containers.h"
#include "cresset/analysis/graph_analyses.h"
#include "cresset/analysis/plain_types.h"
#include "cresset/autodiff/inline_gradients.h"
#include "cresset/autodiff/regions.h"
#include "cresset/executor/differentiable.h"
#include "cresset/executor/fact_checks.h"
#include "cresset/executor/gradient_search.h"
#include "cresset/executor/guards.h"
#include "cresset/ir/constants.h"
#include "cresset/ir/nesting.h"
#include "cresset/ops/basic.h"
#include "cresset/ops/operator.h"
#include "cresset/passes/pipelines.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

const Symbol kIsContiguous = Symbol::fromQualString("aten::is_contiguous");  // of which PyTorch 2.11 has no constant

/// After so many plans for one signature there are no more guards in it.
constexpr int kMaxVersions = 4;

/// Finds the attributes that can be read when a plan is entered: those of arguments, through objects, that nothing in
/// the graph writes.
class AttributeLifter {
 public:
  explicit AttributeLifter(Graph& graph) : graph_(graph), memory_(aliasesOf(graph)) {
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      Value* input = graph.inputs()[i];
      if (input->type()->kind() == c10::TypeKind::ClassType)
        objects_[input] = {static_cast<uint32_t>(i), {}, input->type(), input->debugName()};
    }
  }

  std::vector<AttributePath> run() {
    visit(graph_.block());
    std::vector<AttributePath> paths;
    for (const auto& [key, reads] : found_) {  // in order of arguments and slots: those of one object together
      paths.push_back(reads.path);
      Value* input = graph_.addInput();
      input->setType(reads.path.type);
      if (isName(reads.path.name)) input->setDebugName(reads.path.name);
      for (Value* read : reads.values) read->replaceAllUsesWith(input);
    }
    return paths;
  }

 private:
  struct Reads {
    AttributePath path;
    std::vector<Value*> values;
  };

  static bool isName(const std::string& name) {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;  // of an object without a name
    return std::all_of(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
  }

  /// Whether what is in the list is the same throughout a call, and read by it.
  bool isKnownList(Value& list) {
    const auto guard = guardFor(*list.type(), false, /*of_attribute=*/true);
    if ((guard != Guard::Integers && guard != Guard::Texts) || memory_->hasWriters(&list)) return false;
    const auto uses = list.uses();
    return std::any_of(uses.begin(), uses.end(), [](const Use& use) { return onlyReadsElements(*use.user); });
  }

  void visit(Block* block) {
    for (Node* node : block->nodes()) {
      if (node->kind() == prim::GetAttr) visitRead(node);
      for (Block* inner : node->blocks()) visit(inner);
    }
  }

  void visitRead(Node* node) {
    const auto holder = objects_.find(node->input(0));
    if (holder == objects_.end() || memory_->readsWritten(node)) return;
    const auto slot = node->input(0)->type()->expectRef<c10::ClassType>().findAttributeSlot(node->s(attr::name));
    if (!slot) return;
    AttributePath path = holder->second;
    path.slots.push_back(static_cast<uint32_t>(*slot));
    path.type = node->output()->type();
    path.name += "." + node->s(attr::name);
    if (path.type->kind() == c10::TypeKind::ClassType) {
      objects_[node->output()] = std::move(path);
    } else if (
        isScalarType(*path.type) || isKnownList(*node->output()) ||
        (isSpecialized(*path.type) && path.type->kind() != c10::TypeKind::TupleType)) {
      auto& reads = found_[{path.argument, path.slots}];
      reads.path = std::move(path);
      reads.values.push_back(node->output());
    }
  }

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  std::unordered_map<const Value*, AttributePath> objects_;  // and the way to them
  std::map<std::pair<uint32_t, std::vector<uint32_t>>, Reads> found_;
};

/// How a node looks at an entry of a container.
enum class Look {
  None,
  Read,        // d[key], l[index]
  Ask,         // key in d
  Get,         // d.get(key)
  GetDefault,  // d.get(key, default)
};

Look lookOf(const Node* node) {
  switch (entryUse(*node)) {
    case EntryUse::Reads:
      return Look::Read;
    case EntryUse::Asks:
      return node->input(0)->type()->kind() == c10::TypeKind::DictType ? Look::Ask : Look::None;
    case EntryUse::Gets:
      return node->inputs().size() == 2 ? Look::Get : Look::GetDefault;
    default:
      return Look::None;
  }
}

const Node* ownerOf(const Node* node) {
  return node->owningBlock()->owningNode();
}

/// Whether a node may run before another that stands before it.
bool haveLoopInCommon(const Node* a, const Node* b) {
  for (const Node* loop = ownerOf(a); loop; loop = ownerOf(loop)) {
    if (loop->kind() != prim::Loop) continue;
    for (const Node* other = ownerOf(b); other; other = ownerOf(other)) {
      if (other == loop) return true;
    }
  }
  return false;
}

/// What the node returns that looks at an entry: `held` stands for it, null if it is not there. Null if that raises.
Value* resultOfLook(Graph& graph, Node* node, Value* held) {
  const Look look = lookOf(node);
  const InsertPointGuard guard(graph, node);
  if (look == Look::Ask) return graph.insertConstant(held != nullptr);
  if (held || look == Look::Read) return held;
  return look == Look::GetDefault ? node->input(2) : graph.insertConstant(c10::IValue(), node->output()->type());
}

/// What may have changed an entry of an argument, a dict or list of tensors, before a node reads it.
class EntryChanges {
 public:
  explicit EntryChanges(Graph& graph) : graph_(graph), memory_(aliasesOf(graph)) { find(graph.block()); }

  /// The constant key of the entry that the node looks at; nothing if it does not look at one.
  std::optional<std::string> keyOf(Node* node) const {
    if (lookOf(node) == Look::None) return std::nullopt;
    const Value* container = node->input(0);
    if (container->type()->containedTypes().back()->kind() != c10::TypeKind::TensorType) return std::nullopt;
    if (!container->node()->isParam() || container->node()->owningBlock() != graph_.block()) return std::nullopt;
    return constantKey(node->input(1));
  }

  enum class Reach : uint8_t {
    None,
    InBranches,  // the first change stands in a branch: this plan may not have it
    Always,
  };
  Reach reach(Node* read, const std::string& key) {
    const ChangesOfContainer* changes = changesOf(read->input(0));
    if (!changes) return Reach::Always;
    const Reach by_any = changes->any.reach(read);
    const auto of_key = changes->by_key.find(key);
    return of_key == changes->by_key.end() ? by_any : std::max(by_any, of_key->second.reach(read));
  }

 private:
  static constexpr size_t kMaxContainers = 16;

  /// The nodes that may change some entries of a container: the first one, and the loops that have any.
  struct Changes {
    Node* first = nullptr;
    std::unordered_set<const Node*> loops;

    void add(Node* node) {
      if (!first) first = node;
      for (const Node* owner = ownerOf(node); owner; owner = ownerOf(owner)) {
        if (owner->kind() == prim::Loop) loops.insert(owner);
      }
    }
    Reach reach(const Node* read) const {
      if (!first) return Reach::None;
      bool may_come_before = first->isBefore(read);
      for (const Node* owner = ownerOf(read); owner && !may_come_before; owner = ownerOf(owner))
        may_come_before = loops.contains(owner);
      if (!may_come_before) return Reach::None;
      const Node* owner = ownerOf(first);
      while (owner && owner->kind() != prim::If) owner = ownerOf(owner);
      return owner ? Reach::InBranches : Reach::Always;
    }
  };

  struct ChangesOfContainer {
    Changes any;                                      // of any entry
    std::unordered_map<std::string, Changes> by_key;  // of that of a key
  };

  void find(Block* block) {
    for (Node* node : block->nodes()) {
      if (mayChangeEntries(node)) changes_.push_back(node);
      for (Block* inner : node->blocks()) find(inner);
    }
  }

  /// Null if there are too many containers: each looks at each change.
  const ChangesOfContainer* changesOf(Value* container) {
    const auto known = of_container_.find(container);
    if (known != of_container_.end()) return &known->second;
    if (of_container_.size() >= kMaxContainers) return nullptr;
    ChangesOfContainer& changes = of_container_[container];
    for (Node* node : changes_) {
      if (!mayChangeEntriesOf(*memory_, node, container)) continue;
      const auto key = changedKey(node);
      (key ? changes.by_key[*key] : changes.any).add(node);
    }
    return &changes;
  }

  Graph& graph_;
  const std::shared_ptr<AliasDb> memory_;
  std::vector<Node*> changes_;  // in the order of the program
  std::unordered_map<const Value*, ChangesOfContainer> of_container_;
};

/// Of nodes that read an entry of an argument which something may have changed before: the graph's input that stands
/// for what it was when the function was called.
Symbol earlierEntryAttribute() {
  static const Symbol kEntry = Symbol::attr("earlier_entry");
  return kEntry;
}

/// Finds the entries of arguments that can be read when a plan is entered: of dicts and lists of tensors, at constant
/// keys. Each read that nothing may have changed the entry before, and each such question whether there is the key, is
/// marked with the input that stands for the entry; reads after a change in a branch are marked apart, since the plan
/// may be without that branch. If the entry is not there, what a read raises belongs where it stands.
class EntryLifter {
 public:
  explicit EntryLifter(Graph& graph) : graph_(graph), changes_(graph) {}

  std::vector<AttributePath> run() {
    visit(graph_.block());
    std::vector<AttributePath> paths;
    for (const auto& [key, reads] : reads_) {
      const Node* first = reads.unchanged.empty() ? reads.changed.front() : reads.unchanged.front();
      AttributePath path;
      path.argument = key.first;
      path.type = c10::OptionalType::ofTensor();
      path.key = toIValue(first->input(1));
      path.name =
          first->input(0)->debugName() + (path.key->isString() ? "['" + key.second + "']" : "[" + key.second + "]");
      const auto index = static_cast<int64_t>(graph_.inputs().size());
      graph_.addInput()->setType(path.type);
      for (Node* node : reads.unchanged) node->setAttribute(entryAttribute(), Attribute(index));
      for (Node* node : reads.changed) node->setAttribute(earlierEntryAttribute(), Attribute(index));
      paths.push_back(std::move(path));
    }
    return paths;
  }

 private:
  static constexpr size_t kMaxEntries = 64;  // each call looks at each

  struct Reads {
    std::vector<Node*> unchanged, changed;
  };

  void visit(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) visit(inner);
      const auto key = changes_.keyOf(node);
      if (!key) continue;
      const EntryChanges::Reach reach = changes_.reach(node, *key);
      if (reach == EntryChanges::Reach::Always) continue;
      const std::pair<uint32_t, std::string> place(static_cast<uint32_t>(node->input(0)->offset()), *key);
      if (reads_.size() >= kMaxEntries && !reads_.contains(place)) continue;
      Reads& reads = reads_[place];
      (reach == EntryChanges::Reach::None ? reads.unchanged : reads.changed).push_back(node);
    }
  }

  Graph& graph_;
  EntryChanges changes_;
  std::map<std::pair<uint32_t, std::string>, Reads> reads_;
};

bool asksForLayout(const Node* node) {
  return node->kind() == aten::contiguous || node->kind() == kIsContiguous;
}

bool looksAtLayout(const Block* block) {
  const auto nodes = block->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) {
    return asksForLayout(node) || std::any_of(node->blocks().begin(), node->blocks().end(), looksAtLayout);
  });
}

/// What a graph asks of tensors by `x.requires_grad`, and what may change the answers.
class GradientQuestions {
 public:
  explicit GradientQuestions(Graph& graph) { find(graph.block()); }

  /// Those that are asked about, each once.
  const std::vector<Value*>& tensors() const { return tensors_; }

  /// Answers what is asked of the tensor before anything may have changed it: `if not x.requires_grad:
  /// x.requires_grad_()`. Whether anything was.
  bool answer(Value* tensor, bool requires_grad, AliasDb& memory) {
    bool changed = false;
    for (Node*& ask : asks_) {
      if (!ask || ask->input(0) != tensor) continue;
      const bool may_have_changed = std::any_of(writers_.begin(), writers_.end(), [&](Node* writer) {
        return (writer->isBefore(ask) || haveLoopInCommon(writer, ask)) &&
               memory.writesToAlias(writer, std::span<Value* const>(&tensor, 1));
      });
      if (may_have_changed) continue;
      ask->output()->replaceAllUsesWith(insertConstantBefore(ask, requires_grad));
      ask->destroy();
      ask = nullptr;
      changed = true;
    }
    return changed;
  }

 private:
  void find(Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) find(inner);
      if (isBasic(node, Basic::RequiresGrad)) {
        asks_.push_back(node);
        if (std::find(tensors_.begin(), tensors_.end(), node->input(0)) == tensors_.end())
          tensors_.push_back(node->input(0));
      }
      const Operator* op = isStructural(node->kind()) ? nullptr : operatorOf(*node);
      if (!op || op->isMutable()) writers_.push_back(node);
    }
  }

  std::vector<Node*> asks_;  // null once answered
  std::vector<Value*> tensors_;
  std::vector<Node*> writers_;  // nodes that may write to tensors
};

/// Puts what a signature says into the types of a graph's inputs, and what it says of their memory beside them.
class Specializer {
 public:
  using Described = std::vector<SignatureReader::Described>;

  Specializer(Graph& graph, const Described& known, const std::vector<int64_t>& shared)
      : graph_(graph), known_(known), shared_(shared) {}

  void run() {
    const size_t none = graph_.inputs().size();
    size_t previous = none;
    for (const auto& word : known_) {
      if (word.input != previous) findWords(graph_.inputs()[word.input]);
      previous = word.input;
    }
    CRESSET_CHECK(described_.size() == known_.size(), "a signature describes other values than its function has");
    useEntries(graph_.block());
    if (!shared_.empty()) tellMemory();
    const TensorWrites writes = tensorWrites(graph_);
    const auto memory = aliasesOf(graph_);
    GradientQuestions questions(graph_);
    for (size_t i = 0; i < described_.size(); ++i) {
      Value* value = described_[i];
      const bool written = memory->hasWriters(value);
      if (known_[i].kind.kind == ValueKind::Kind::Tensor)
        questions.answer(value, known_[i].kind.requires_grad, *memory);
      const InsertPointGuard guard(graph_, value->node()->isParam() ? graph_.nodes().front() : value->node()->next());
      specialize(value, known_[i].kind, written ? std::optional(writes) : std::nullopt);
    }
  }

 private:
  /// Elements of tuples become values of their own, so that there is a word for each value.
  void findWords(Value* value) {
    if (value->type()->kind() != c10::TypeKind::TupleType) {
      described_.push_back(value);
      return;
    }
    const auto types = value->type()->expectRef<c10::TupleType>().elements().vec();
    Node* unpack = graph_.create(prim::TupleUnpack, {value}, types.size());
    for (size_t i = 0; i < types.size(); ++i) unpack->output(i)->setType(types[i]);
    Node* made = graph_.create(prim::TupleConstruct, unpack->outputs());
    made->output()->setType(value->type());
    if (value->node()->isParam()) {
      graph_.block()->prependNode(made);
    } else {
      made->insertAfter(value->node());
    }
    value->replaceAllUsesWith(made->output());
    unpack->insertBefore(made);
    unpack->replaceInput(0, value);
    for (size_t i = 0; i < types.size(); ++i) {
      if (isSpecialized(*types[i])) findWords(unpack->output(i));
    }
  }

  /// Entries that are there are the inputs that stand for them; whether they are there is known.
  void useEntries(Block* block) {
    for (Node* node : block->nodesSafely()) {
      for (Block* inner : node->blocks()) useEntries(inner);
      if (!node->hasAttribute(entryAttribute())) continue;
      Value* input = graph_.inputs()[static_cast<size_t>(node->i(entryAttribute()))];
      const auto word =
          static_cast<size_t>(std::find(described_.begin(), described_.end(), input) - described_.begin());
      const bool is_there = known_[word].kind.kind == ValueKind::Kind::Tensor;
      Value* known = resultOfLook(graph_, node, is_there ? input : nullptr);
      if (!known) continue;
      node->output()->replaceAllUsesWith(known);
      node->destroy();
    }
  }

  void tellMemory() {
    std::unordered_map<Node*, std::vector<int64_t>> numbers;
    size_t tensor = 0;
    for (size_t i = 0; i < described_.size(); ++i) {
      if (known_[i].kind.kind != ValueKind::Kind::Tensor) continue;
      Node* node = described_[i]->node();
      auto& known = numbers[node];
      known.resize(node->outputs().size(), -1);
      known[described_[i]->offset()] = shared_[tensor++];
    }
    for (const auto& [node, known] : numbers) setMemory(*node, known);
  }

  void specialize(Value* value, const ValueKind& kind, std::optional<TensorWrites> writes) {
    const bool keeps_layout = !writes || *writes == TensorWrites::Elements;
    Value* known = tellKind(value, kind, typeOf(kind, writes));
    if (known && kind.kind == ValueKind::Kind::Tensor && keeps_layout) answerAboutLayout(known, kind.layout);
  }

  /// `x.contiguous()` of a contiguous tensor is x itself; `x.is_contiguous()` is known.
  static void answerAboutLayout(Value* value, Layout layout) {
    if (layout == Layout::Unknown) return;
    for (const Use& use : value->uses().vec()) {
      Node* user = use.user;
      if (use.offset != 0 || !asksForLayout(user)) continue;
      const auto format = user->inputs().size() == 2 ? constantAs<int64_t>(user->input(1)) : std::optional<int64_t>(0);
      const Layout wanted = format == static_cast<int64_t>(at::MemoryFormat::Contiguous)     ? Layout::Contiguous
                            : format == static_cast<int64_t>(at::MemoryFormat::ChannelsLast) ? Layout::ChannelsLast
                                                                                             : Layout::Unknown;
      // A contiguous tensor of one channel is of channels last, too.
      if (wanted == Layout::Unknown || (layout == Layout::Contiguous && wanted == Layout::ChannelsLast)) continue;
      if (user->kind() == kIsContiguous) {
        user->output()->replaceAllUsesWith(insertConstantBefore(user, layout == wanted));
        user->destroy();
      } else if (layout == wanted) {
        user->output()->replaceAllUsesWith(value);
        user->destroy();
      }
    }
  }

  /// What holds of the tensor at all times, though the graph writes to it in this way.
  static c10::TypePtr typeOf(const ValueKind& kind, std::optional<TensorWrites> writes) {
    const auto type = typeOfKind(kind);
    if (!writes) return type;
    if (*writes == TensorWrites::Anything) return c10::TensorType::get();
    const auto rank = *writes == TensorWrites::Elements ? type->dim() : std::nullopt;
    return c10::TensorType::create(kind.dtype, type->device(), rank, std::nullopt);
  }

  Graph& graph_;
  const Described& known_;
  const std::vector<int64_t>& shared_;
  std::vector<Value*> described_;  // one per word of the signature
};

/// Reads of entries that nothing changes before any more, since branches are gone, are the inputs that stand for the
/// entries.
bool readEarlierEntries(Graph& graph, const std::vector<SignatureReader::Described>& known) {
  std::vector<Node*> reads;
  const std::function<void(Block*)> visit = [&](Block* block) {
    for (Node* node : block->nodes()) {
      for (Block* inner : node->blocks()) visit(inner);
      if (node->hasAttribute(earlierEntryAttribute())) reads.push_back(node);
    }
  };
  visit(graph.block());
  if (reads.empty()) return false;
  EntryChanges changes(graph);
  const auto heldBy = [&](Value* input) -> Value* {
    for (const Use& use : input->uses()) {
      if (isBasic(use.user, Basic::Unwrap) && use.user->owningBlock() == graph.block()) return use.user->output();
    }
    const InsertPointGuard guard(graph, graph.nodes().front());
    return insertBasic(graph, Basic::Unwrap, {input})->output()->setType(c10::TensorType::get());
  };
  bool changed = false;
  for (Node* node : reads) {
    const auto key = changes.keyOf(node);
    if (!key || changes.reach(node, *key) != EntryChanges::Reach::None) continue;
    const auto index = static_cast<size_t>(node->i(earlierEntryAttribute()));
    const auto word = std::find_if(known.begin(), known.end(), [&](const auto& each) { return each.input == index; });
    const bool is_there = word->kind.kind == ValueKind::Kind::Tensor;
    Value* result = resultOfLook(graph, node, is_there ? heldBy(graph.inputs()[index]) : nullptr);
    if (!result) continue;
    for (const Use& use : node->output()->uses().vec()) {  // what a guard would look at is in the signature
      if (use.user->kind() != prim::BailOut || use.offset != 0 || use.user->outputs().size() != 1) continue;
      use.user->output()->replaceAllUsesWith(result);
      use.user->destroy();
    }
    node->output()->replaceAllUsesWith(result);
    node->destroy();
    changed = true;
  }
  return changed;
}

/// Says of arguments that nothing writes to any more, since branches are gone, whether they require gradients.
bool refineArguments(Graph& graph, const std::vector<SignatureReader::Described>& known) {
  bool changed = false;
  std::shared_ptr<AliasDb> memory;  // of the graph before the first change: types change no memory
  for (const auto& [index, kind] : known) {
    Value* input = graph.inputs()[index];
    if (input->type()->kind() == c10::TypeKind::TupleType) continue;  // its elements are values of their own
    Value* tensor = input;
    if (input->type()->kind() == c10::TypeKind::OptionalType) {
      const auto uses = input->uses();
      if (uses.size() != 1 || !isBasic(uses.front().user, Basic::Unwrap)) continue;
      tensor = uses.front().user->output();
    }
    const auto type = tensor->type()->cast<c10::TensorType>();
    if (!type || type->requiresGrad() || kind.kind != ValueKind::Kind::Tensor) continue;
    if (!memory) memory = aliasesOf(graph);
    if (memory->hasWriters(tensor)) continue;
    tensor->setType(typeOfKind(kind));
    changed = true;
  }
  return changed;
}

/// What a graph's text says of its tensors need not hold for a call.
void forgetTypes(Block* block) {
  for (Node* node : block->nodes()) {
    for (Value* output : node->outputs()) {
      if (output->type()->kind() == c10::TypeKind::TensorType) output->setType(c10::TensorType::get());
    }
    for (Block* inner : node->blocks()) {
      for (Value* input : inner->inputs()) {
        if (input->type()->kind() == c10::TypeKind::TensorType) input->setType(c10::TensorType::get());
      }
      forgetTypes(inner);
    }
  }
}

std::shared_ptr<const Code> emitPlan(const Plan& plan, Graph& graph, const Function& function) {
  const InnerViews inner_views = innerViewsOf(plan, graph);
  return emitCode(
      graph, function.name(), function.program().weak_from_this(),
      {.sites = plan.sites,
       .compile_subgraph = compileSubgraph,
       .out_sites = plan.memory ? &plan.memory->sites : nullptr,
       .lasting_lists = plan.memory ? &plan.memory->lasting_lists : nullptr,
       .inner_views = &inner_views});
}

/// Emits a copy of the graph with assertions, so that people who read the plan's graph don't meet them.
void emitChecked(Plan& plan, Graph& graph, const Function& function) {
  const std::shared_ptr<Graph> checked = graph.copy();
  insertFactChecks(*checked, /*with_requires_grad=*/true);
  plan.code = emitPlan(plan, *checked, function);
}

}  // namespace

std::shared_ptr<const PreparedFunction> prepareFunction(Function& function, const PlanOptions& options) {
  return prepareGraph(function, function.graph()->copy(), options);
}

std::shared_ptr<const PreparedFunction> prepareGraph(
    Function& function, std::shared_ptr<Graph> program, const PlanOptions& options) {
  auto prepared = std::make_shared<PreparedFunction>();
  prepared->graph = std::move(program);
  Graph& graph = *prepared->graph;
  const KeepAnalyses kept(graph);
  const std::string name = function.qualname().qualifiedName();
  inlineForPlans(graph, name);
  const auto most = static_cast<size_t>(options::plan_nodes());
  if (graph.numNodes() > most) {
    throw UserError(
        "the program has " + std::to_string(graph.numNodes()) + " nodes with calls inlined; plans are made of up to " +
        std::to_string(most));
  }
  forgetTypes(graph.block());
  simplifyForPlans(graph, name);
  // Functions that were inlined are called without being compiled by themselves.
  checkPolicies(graph);
  std::vector<c10::TypePtr> arguments;
  for (const Value* input : graph.inputs()) arguments.push_back(input->type());
  std::vector<AttributePath> attributes = AttributeLifter(graph).run();
  const auto holdsEntries = [](const c10::TypePtr& type) {
    return type->kind() == c10::TypeKind::DictType || type->kind() == c10::TypeKind::ListType;
  };
  if (std::any_of(arguments.begin(), arguments.end(), holdsEntries)) {
    for (AttributePath& entry : EntryLifter(graph).run()) attributes.push_back(std::move(entry));
  }
  tidyAfterLifting(graph, name);
  prepared->num_nodes = graph.numNodes();
  if (options.guards) prepared->guards = insertGuards(graph, function);
  const auto memory = aliasesOf(graph);
  const auto inputs = graph.inputs();
  // Tensors that share no memory at the entry may do so later where something gives them another's.
  const bool writes =
      tensorWrites(graph) != TensorWrites::Anything &&
      std::any_of(inputs.begin(), inputs.end(), [&](Value* input) { return memory->hasWriters(input); });
  prepared->differentiates = differentiates(graph);
  prepared->reader = SignatureReader(
      std::move(arguments), std::move(attributes),
      {.memory = writes, .tape = prepared->differentiates, .layout = looksAtLayout(graph.block())});
  return prepared;
}

/// `x.requires_grad` of what an operator has made of tensors that require none:
/// `pos = data["pos"].clone(); before = pos.requires_grad; pos.requires_grad_(True)`.
static bool answerAboutMadeTensors(Graph& graph) {
  GradientQuestions questions(graph);
  if (questions.tensors().empty()) return false;
  const auto memory = aliasesOf(graph);
  bool changed = false;
  for (Value* tensor : questions.tensors()) {
    const Node* maker = tensor->node();
    const Operator* op = isStructural(maker->kind()) ? nullptr : operatorOf(*maker);
    if (!op || !op->isOfDispatcher() || !op->isPure()) continue;
    const auto inputs = maker->inputs();
    const bool is_constant = std::all_of(inputs.begin(), inputs.end(), [](const Value* input) {
      const auto* type = input->type()->castRaw<c10::TensorType>();
      return type ? type->requiresGrad() == std::optional(false) : !mayHoldTensors(*input->type());
    });
    if (is_constant) changed |= questions.answer(tensor, false, *memory);
  }
  return changed;
}

static bool hasGuards(const Block* block) {
  return anyNode(block, [](const Node* node) { return node->kind() == prim::BailOut; });
}

std::unique_ptr<Plan> makePlan(
    Function& function, const PreparedFunction& prepared, const Signature& signature, const Plan* earlier,
    const PlanOptions& options) {
  static std::atomic<uint64_t> num_made{0};
  auto plan = std::make_unique<Plan>();
  plan->id = num_made.fetch_add(1, std::memory_order_relaxed) + 1;
  plan->signature = signature;
  plan->version = earlier ? earlier->version + 1 : 0;
  plan->revise = std::make_shared<std::atomic<bool>>(false);
  plan->graph = prepared.graph->copy();
  if (!options.gradients && maySwitchGradientsOn(plan->graph->block())) {
    plan->notes = {"it may switch gradients on, or calls what may"};
    return plan;
  }
  const KeepAnalyses kept(*plan->graph);
  std::vector<std::shared_ptr<BailOutSite>> known;
  if (earlier) known = earlier->sites;
  if (plan->version > kMaxVersions) known.assign(known.size(), nullptr);
  const auto shared = prepared.reader.sharedMemory(signature);
  const auto known_of_inputs = prepared.reader.describe(signature);
  const AmbientState ambient = SignatureReader::ambient(signature);
  const bool records_gradients =
      ambient.recordsGradients() && std::any_of(known_of_inputs.begin(), known_of_inputs.end(), [](const auto& input) {
        return input.kind.kind == ValueKind::Kind::Tensor && input.kind.requires_grad;
      });
  plan->sites = armGuards(*plan->graph, prepared.guards, known, plan->revise);
  Specializer(*plan->graph, known_of_inputs, shared).run();
  const std::string name = function.qualname().qualifiedName();
  const TypeAssumptions assumptions = {
      .grad_mode = ambient.recordsGradients(),
      .autocast = ambient.autocast(),
      .usual_dispatch = ambient.isUsualDispatch()};
  const FactChecks checks = factChecks();
  if (checks == FactChecks::Unoptimized) {
    findTypesOnly(*plan->graph, name, assumptions);
    plan->revise->store(!earlier && hasGuards(plan->graph->block()));
    emitChecked(*plan, *plan->graph, function);
    return plan;
  }
  PlanSteps steps;
  steps.refine_arguments = [&](Graph& graph) {
    bool changed = readEarlierEntries(graph, known_of_inputs);
    changed |= (changed || prepared.differentiates) && refineArguments(graph, known_of_inputs);
    changed |= prepared.differentiates && answerAboutMadeTensors(graph);
    return (records_gradients && removeGuardsOfGradients(graph)) || changed;
  };
  if (ambient.recordsGradients() && ambient.isUsualDispatch()) {
    steps.decompose = [&](Graph& graph) { return decomposeForGradients(graph, assumptions); };
    steps.create_regions = [](Graph& graph) {
      return createDifferentiableRegions(graph, static_cast<size_t>(options::differentiable_nodes()));
    };
    if (prepared.reader.hasPlainLeaves(signature)) {
      steps.inline_gradients = [&](Graph& graph) { return inlineGradients(graph, assumptions, plan->notes); };
    } else if (prepared.differentiates) {
      plan->notes = {
          "gradients inside of the function run autograd's engine: a tensor that comes in has a hook or is computed "
          "from others, or one comes in twice"};
    }
  }
  // Assertions would stand between the operators of a group.
  steps.fuse = options.kernels && options::kernels() != KernelMode::Off && ambient.isUsualDispatch() &&
               checks == FactChecks::Off;
  if (steps.fuse) {
    steps.decompose = [&, for_gradients = std::move(steps.decompose)](Graph& graph) {
      const bool changed = for_gradients && for_gradients(graph);
      return decomposeForKernels(graph, assumptions) || changed;
    };
  }
  optimizeForCalls(*plan->graph, name, assumptions, steps);
  plan->revise->store(!earlier && hasGuards(plan->graph->block()));
  if (checks == FactChecks::InPlans) {
    emitChecked(*plan, *plan->graph, function);
  } else {
    // Autograd would have to see the operators.
    if (options.planned_memory && !options.gradients && ambient.isUsualDispatch() && !ambient.autocast().isOn() &&
        !ambient.recordsGradients())
      plan->memory = layOutMemory(*plan->graph, assumptions, options.managed_outputs);
    plan->code = emitPlan(*plan, *plan->graph, function);
  }
  return plan;
}

}  // namespace cresset
