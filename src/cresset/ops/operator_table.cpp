// The operator table: an index from names to overloads, filled lazily.
//
// The dispatcher tells a listener of every operator that is registered, those of the past first, so the index never
// goes stale and no lookup has to ask again. What the index holds per name is only handles and rows; Operators, with
// their parsed or copied schemas, are made when the name is first looked up.
//
// Reading takes no lock: the overloads of a symbol hang in a two-level array indexed by the symbol's number. A list
// that was handed out is never changed or freed; a registration unpublishes it, and the next lookup makes a new one.
//
// Lock order: the dispatcher's lock, then the index's (the listener is called under the former). So nothing that asks
// the dispatcher may run while the index is locked.
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

#include "cresset/ir/parser.h"
#include "cresset/ops/operator.h"
#include "cresset/ops/operator_forms.h"
#include "cresset/ops/rows.h"
#include "cresset/support/error.h"
#include "cresset/support/suggest.h"

namespace cresset {

namespace {

std::string_view nameOfSchema(std::string_view schema) {
  return schema.substr(0, schema.find_first_of(".("));
}

}  // namespace

// Operator befriends the table, whose nested classes share that.
struct OperatorTable::Impl : c10::OpRegistrationListener {
  using OverloadList = std::vector<const Operator*>;

  /// Atomic pointers by number; chunks are made on demand. A fixed directory suffices: a process that interned more
  /// symbols than it covers falls back to the locked index.
  class Published {
   public:
    static constexpr size_t kChunk = 1024, kChunks = 4096;

    const OverloadList* get(uint32_t number) const {
      if (number / kChunk >= kChunks) return nullptr;
      const Chunk* chunk = chunks_[number / kChunk].load(std::memory_order_acquire);
      return chunk ? (*chunk)[number % kChunk].load(std::memory_order_acquire) : nullptr;
    }
    /// Under the index's lock.
    void set(uint32_t number, const OverloadList* list) {
      if (number / kChunk >= kChunks) return;
      auto& slot = chunks_[number / kChunk];
      Chunk* chunk = slot.load(std::memory_order_relaxed);
      if (!chunk) {
        if (!list) return;
        chunk = new Chunk();
        slot.store(chunk, std::memory_order_release);
      }
      (*chunk)[number % kChunk].store(list, std::memory_order_release);
    }

   private:
    using Chunk = std::array<std::atomic<const OverloadList*>, kChunk>;
    std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  };

  struct Name {
    std::vector<c10::OperatorHandle> handles;
    std::vector<const Row*> rows;
    std::vector<std::unique_ptr<Operator>> operators;  // of the rows and handles that were looked up, never freed
    const OverloadList* list = nullptr;                // published, or null
    std::optional<Symbol> symbol;                      // under which it is published
  };

  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::mutex mutex;
  std::unordered_map<std::string, Name, Hash, std::equal_to<>> names;
  std::deque<OverloadList> lists;  // every list ever published
  Published published;

  Name& at(std::string_view name) {
    auto it = names.find(name);
    return it != names.end() ? it->second : names.emplace(std::string(name), Name()).first->second;
  }

  void unpublish(Name& name) {
    if (name.symbol) published.set(static_cast<uint32_t>(*name.symbol), nullptr);
    name.list = nullptr;
  }

  void onOperatorRegistered(const c10::OperatorHandle& op) override {
    std::lock_guard lock(mutex);
    Name& name = at(op.operator_name().name);
    name.handles.push_back(op);
    // Code that was compiled before the operator went away runs again, if the operator is the same.
    for (const auto& known : name.operators) {
      if (known->isOfDispatcher() && !known->handle() && known->schema() == op.schema()) {
        known->handle_.store(new c10::OperatorHandle(op), std::memory_order_release);
      }
    }
    unpublish(name);
    const auto functional = names.find(functionalCallName(op.operator_name().name));
    if (functional != names.end()) unpublish(functional->second);
  }

  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    std::lock_guard lock(mutex);
    Name& name = at(op.operator_name().name);
    std::erase_if(name.handles, [&](const c10::OperatorHandle& h) { return h.operator_name() == op.operator_name(); });
    for (const auto& known : name.operators) {
      const c10::OperatorHandle* handle = known->handle();
      if (handle && *handle == op) known->handle_.store(nullptr, std::memory_order_release);
    }
    unpublish(name);
  }

  void addRows(std::span<const Row> rows) {
    for (const Row& row : rows) at(nameOfSchema(row.schema)).rows.push_back(&row);
  }

  const Operator* operatorFor(Name& name, const Row& row) {
    const Operator*& op = row_operators[&row];
    if (!op) {
      op =
          name.operators
              .emplace_back(new Operator(parseSchema(std::string(row.schema)), row.kernel, row.traits, row.restriction))
              .get();
    }
    return op;
  }

  const Operator* operatorFor(Name& name, const c10::OperatorHandle& handle) {
    for (const auto& op : name.operators) {
      if (op->handle() && *op->handle() == handle) return op.get();
    }
    return name.operators.emplace_back(new Operator(handle)).get();
  }

  /// The in-place reuses `cresset::add` for the in-place operators `aten::add_`: those with a form `aten::add` of the
  /// same arguments.
  void addInPlaceReuses(Name& name, std::string_view text) {
    const std::string base = "aten::" + std::string(text.substr(std::string_view("cresset::").size()));
    const auto functional = names.find(base), in_place = names.find(base + "_");
    if (functional == names.end() || in_place == names.end()) return;
    for (const auto& handle : in_place->second.handles) {
      for (const auto& other : functional->second.handles) {
        if (isInPlaceReuseOf(handle.schema(), other.schema()))
          name.operators.emplace_back(new Operator(handle, *operatorFor(functional->second, other)));
      }
    }
  }

  /// The functional calls of that name which are not there yet. An operator that is registered anew makes the list of
  /// the name anew.
  void addFunctionalCalls(Name& name, std::string_view text) {
    static const size_t kPrefix = functionalCallName("a::b").size() - std::string_view("a::b").size();
    std::vector<const Operator*> writers;
    for (auto& [other, entry] : names) {
      if (other.size() + kPrefix != text.size() || functionalCallName(other) != text) continue;
      for (const auto& handle : entry.handles) writers.push_back(operatorFor(entry, handle));
      for (const Row* row : entry.rows) writers.push_back(operatorFor(entry, *row));
    }
    for (const Operator* writer : writers) {
      const auto isOfWriter = [&](const auto& known) { return known->writer_ == writer; };
      if (!tensorWritesOf(writer->schema()).empty() &&
          std::none_of(name.operators.begin(), name.operators.end(), isOfWriter))
        name.operators.emplace_back(new Operator(Operator::OnCopies{*writer}));
    }
  }

  /// Whether all that the in-place operator writes is its first argument, a tensor, and `functional` returns the new
  /// one.
  static bool isInPlaceReuseOf(const c10::FunctionSchema& in_place, const c10::FunctionSchema& functional) {
    if (in_place.overload_name() != functional.overload_name()) return false;
    const auto isTensor = [](const c10::Argument& argument) {
      return argument.type()->kind() == c10::TypeKind::TensorType;
    };
    const FunctionalForm writes = writesOf(in_place);
    return writes.written == std::vector<size_t>{0} && isTensor(in_place.arguments()[0]) &&
           in_place.returns().size() == 1 && isTensor(in_place.returns()[0]) && in_place.returns()[0].alias_info() &&
           isFunctionalForm(functional, writes, in_place) && isTensor(functional.returns()[0]);
  }

  /// In-place reuses and functional calls of that name, as far as they are not there yet.
  void derive(Name& name, std::string_view text) {
    if (isFunctionalCallName(text)) {
      addFunctionalCalls(name, text);
    } else if (name.operators.empty()) {
      addInPlaceReuses(name, text);
    }
  }

  /// Null for a name that nothing has, of which nothing is kept: programs may ask for any number of them.
  Name* findOrDerive(std::string_view text) {
    if (const auto known = names.find(text); known != names.end()) return &known->second;
    if (!text.starts_with("cresset::")) return nullptr;
    Name derived;
    derive(derived, text);
    return derived.operators.empty() ? nullptr : &names.emplace(std::string(text), std::move(derived)).first->second;
  }

  /// The list of `name`, made and published if it is not. Under the lock.
  const OverloadList& publish(Name& name, std::string_view text, Symbol symbol) {
    if (!name.list) {
      OverloadList list;
      for (const Row* row : name.rows) list.push_back(operatorFor(name, *row));
      // A row stands for the dispatcher's operator of its name: what eager asks the tensor itself, functorch's tensors
      // answer, but have no rule for (`aten::dim`).
      const size_t num_rows = list.size();
      for (const auto& handle : name.handles) {
        const bool has_row = std::any_of(
            list.begin(), list.begin() + static_cast<ptrdiff_t>(num_rows),
            [&](const Operator* row) { return row->schema().overload_name() == handle.operator_name().overload_name; });
        if (!has_row) list.push_back(operatorFor(name, handle));
      }
      if (list.empty() && text.starts_with("cresset::")) {
        derive(name, text);
        for (const auto& made : name.operators) list.push_back(made.get());
      }
      rankOverloads(text, list);
      name.list = &lists.emplace_back(std::move(list));
      name.symbol = symbol;
    }
    published.set(static_cast<uint32_t>(symbol), name.list);
    return *name.list;
  }

  std::unordered_map<const Row*, const Operator*> row_operators;
};

OperatorTable::OperatorTable() : impl_(std::make_unique<Impl>()) {
  impl_->names.reserve(4096);
  for (auto rows :
       {listRows(), dictRows(), stringRows(), arithmeticRows(), comparisonRows(), mathRows(), conversionRows(),
        tensorRows(), tensorCreationRows(), interpolateRows(), autogradRows(), trainingRows(), layoutRows(), miscRows(),
        factCheckRows()}) {
    impl_->addRows(rows);
  }
}

OperatorTable& OperatorTable::get() {
  // Neither the table nor the listener is ever destroyed: graphs in static variables may outlive any order of
  // destruction. The dispatcher owns the listener, so it gets a forwarder.
  struct Forwarder : c10::OpRegistrationListener {
    explicit Forwarder(Impl& impl) : impl(impl) {}
    void onOperatorRegistered(const c10::OperatorHandle& op) override { impl.onOperatorRegistered(op); }
    void onOperatorDeregistered(const c10::OperatorHandle& op) override { impl.onOperatorDeregistered(op); }
    Impl& impl;
  };
  static OperatorTable* table = [] {
    auto* made = new OperatorTable();
    static auto* registration = new c10::RegistrationHandleRAII(
        c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Forwarder>(*made->impl_)));
    (void)registration;
    return made;
  }();
  return *table;
}

std::span<const Operator* const> OperatorTable::overloads(Symbol kind) {
  if (const auto* list = impl_->published.get(static_cast<uint32_t>(kind))) return *list;
  std::string_view text = kind.toQualString();
  std::lock_guard lock(impl_->mutex);
  Impl::Name* name = impl_->findOrDerive(text);
  if (!name) return {};
  return impl_->publish(*name, text, kind);
}

const Operator* OperatorTable::find(std::string_view full_name) {
  std::string_view name = nameOfSchema(full_name);
  if (name.find("::") == std::string_view::npos) return nullptr;
  std::string_view overload = name.size() < full_name.size() ? full_name.substr(name.size() + 1) : std::string_view();
  for (const Operator* op : overloads(Symbol::fromQualString(std::string(name)))) {
    if (op->schema().overload_name() == overload) return op;
  }
  return nullptr;
}

const Operator* Operator::inPlaceReuse() const {
  const Operator* known = in_place_reuse_.load(std::memory_order_acquire);
  if (!known) {
    const std::string& name = schema_.name();
    if (name.starts_with("aten::") && name.ends_with('_')) {
      const std::string& overload = schema_.overload_name();
      const std::string base = name.substr(std::string_view("aten::").size());
      const Operator* found = OperatorTable::get().find(
          "cresset::" + base.substr(0, base.size() - 1) + (overload.empty() ? "" : "." + overload));
      if (found && found->isInPlaceReuse()) known = found;
    }
    if (!known) known = this;
    in_place_reuse_.store(known, std::memory_order_release);
  }
  return known == this ? nullptr : known;
}

const Operator* Operator::functionalCall() const {
  if (isFunctionalCall()) return nullptr;
  const auto calls = OperatorTable::get().overloads(Symbol::fromQualString(functionalCallName(schema_.name())));
  const auto found =
      std::find_if(calls.begin(), calls.end(), [&](const Operator* call) { return call->writer_ == this; });
  return found == calls.end() ? nullptr : *found;
}

std::vector<std::string> OperatorTable::similarNames(Symbol kind) {
  constexpr size_t kLimit = 2;
  std::string_view wanted = kind.toQualString();
  std::string_view ns = wanted.substr(0, wanted.find("::") + 2);
  std::vector<std::pair<size_t, std::string>> found;
  {
    std::lock_guard lock(impl_->mutex);
    for (const auto& [name, entry] : impl_->names) {
      if (!name.starts_with(ns) || (entry.handles.empty() && entry.rows.empty())) continue;
      size_t distance = editDistance(wanted, name, kLimit);
      if (distance <= kLimit) found.emplace_back(distance, name);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [distance, name] : found) names.push_back(std::move(name));
  return names;
}

std::vector<const Operator*> OperatorTable::all() {
  std::vector<std::string> names;
  {
    std::lock_guard lock(impl_->mutex);
    for (const auto& [name, entry] : impl_->names) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::vector<const Operator*> result;
  for (const auto& name : names) {
    auto ops = overloads(Symbol::fromQualString(name));
    std::copy_if(ops.begin(), ops.end(), std::back_inserter(result), [](const Operator* op) {
      return !op->isInPlaceReuse() && !op->isFunctionalCall();
    });
  }
  return result;
}

}  // namespace cresset
