#include "cresset/capture/read_cache.h"

#if CRESSET_KNOWS_FRAMES
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace cresset::capture {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // until 3.14, which has none
uint64_t versionOfDict(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#pragma GCC diagnostic pop

/// Whether the dict stands for the attributes that an object keeps in itself, and sets there.
bool isOfObject([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX >= 0x030d0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_values != nullptr;
#else
  return false;
#endif
}

/// Whether a change of the dict changes its version.
bool hasVersion(PyObject* dict) {
  return dict != nullptr && PyDict_Check(dict) && !isOfObject(dict);
}

unsigned versionOfClass(const PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030c0000
  if (!PyType_HasFeature(const_cast<PyTypeObject*>(type), Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return unsigned(type->tp_version_tag);
}

/// Whether objects of the class stay of it: `__class__` can be set where neither class is immutable, and of modules.
bool isForGood(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE) && !PyType_IsSubtype(type, &PyModule_Type);
}

/// Whether the class is never freed, so that no other one can be in its place.
bool isStatic(PyTypeObject* type) {
  return !PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE);
}

/// Numbers, texts and the like, which compare, are hashed and compute without code of the program's.
bool isPlain(PyObject* object) {
  return PyUnicode_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) || object == Py_None ||
         PyFloat_CheckExact(object) || PyBytes_CheckExact(object);
}

template <typename Key>
bool isMoreThanOne(const std::map<Key, unsigned>& counts, Key key) {
  const auto found = counts.find(key);
  return found != counts.end() && found->second > 1;
}

PyObject* functionPart(PyObject* function, PyObject* PyFunctionObject::*part) {
  return PyFunction_Check(function) ? reinterpret_cast<PyFunctionObject*>(function)->*part : nullptr;
}

bool compares_reads = false;

void copyInto(Registers& registers, const Registers& from, int count) {
  for (int i = 0; i < count; i++) {
    if (from.has(i)) registers.set(i, Py_NewRef(from[i]));
  }
}

/// Runs the steps of a stretch that has held, beside it.
void compare(
    const Plan& plan, const Registers& before, const Registers& after, const Machine& machine, size_t begin,
    size_t end) {
  Registers own(plan.num_registers);
  copyInto(own, before, plan.num_registers);
  for (size_t at = begin; at < end; at++) {
    const Step& step = (*plan.steps)[at];
    // What asks how many refer to an object counts those here.
    if (step.kind == StepKind::CheckOwnCell || step.kind == StepKind::CheckOwnDict) continue;
    if (step.kind == StepKind::CheckHeld) continue;
    const int* inputs = plan.operands->data() + step.first;
    if (!run(step, inputs, own, machine))
      Py_FatalError("a step of a plan does not hold where what it had found before was taken for it");
    for (const int dead : deadAfter(step, inputs)) own.clear(dead);
  }
  for (int i = 0; i < plan.num_registers; i++) {
    if (after.has(i) && (!own.has(i) || own[i] != after[i]))
      Py_FatalError("a read of a plan finds something else than what was taken for it");
  }
}

}  // namespace

// ---- Using

void compareCachedReads(bool compares) {
  compares_reads = compares;
}

CachedReads::CachedReads(size_t begin, size_t end, std::vector<Fact> facts, std::vector<KnownElement> elements)
    : begin_(begin), end_(end), facts_(std::move(facts)), elements_(std::move(elements)) {
  std::stable_sort(elements_.begin(), elements_.end(), [](const KnownElement& left, const KnownElement& right) {
    return left.fact < right.fact;
  });
}

bool CachedReads::hasElements(size_t fact, PyObject* dict) {
  auto each = std::lower_bound(
      elements_.begin(), elements_.end(), fact,
      [](const KnownElement& element, size_t wanted) { return element.fact < wanted; });
  for (; each != elements_.end() && each->fact == fact; ++each) {
    const bool is_there = each->key == nullptr
                              ? PyDict_GET_SIZE(dict) == each->size
                              : PyDict_GetItemWithError(dict, each->key) == each->value && PyErr_Occurred() == nullptr;
    if (is_there) continue;
    changed_step_ = each->step;
    return false;
  }
  return true;
}

CachedReads::Outcome CachedReads::test(const Plan& plan, Registers& registers, const Machine& machine) {
  for (Fact& fact : facts_) {
    PyObject* dict = nullptr;
    changed_step_ = fact.step;
    changed_register_ = -1;
    switch (fact.kind) {
      case FactKind::Dict:
        dict = fact.object;
        break;
      case FactKind::InstanceDict:
        dict = instanceDict(fact.object != nullptr ? fact.object : registers[fact.place]);
        changed_register_ = fact.place;
        if (dict != fact.other) return Outcome::Fail;
        if (dict == nullptr) continue;
        break;
      case FactKind::DictIn:
        dict = registers[fact.place];
        changed_register_ = fact.place;
        if (dict != fact.object) return Outcome::Fail;
        break;
      case FactKind::Globals:
        dict = machine.frame.globals();
        if (dict != fact.object) return Outcome::Fail;
        break;
      case FactKind::Builtins:
        dict = machine.frame.builtins();
        if (dict != fact.object) return Outcome::Fail;
        break;
      case FactKind::Type: {
        PyTypeObject* type = Py_TYPE(fact.object != nullptr ? fact.object : registers[fact.place]);
        if (reinterpret_cast<PyObject*>(type) != fact.other) return Outcome::Fail;
        if (fact.version != 0 && type->tp_version_tag != fact.version) return Outcome::Fail;
        continue;
      }
      case FactKind::Class:
        if (reinterpret_cast<PyTypeObject*>(fact.object)->tp_version_tag != fact.version) return Outcome::Fail;
        continue;
      case FactKind::Code:
        if (PyFunction_GET_CODE(fact.object) != fact.other) return Outcome::Fail;
        continue;
      case FactKind::Set:
        registers.set(fact.place, Py_NewRef(fact.object));
        continue;
      case FactKind::Clear:
        registers.clear(fact.place);
        continue;
      case FactKind::Step: {
        const Step& step = (*plan.steps)[size_t(fact.place)];
        if (run(step, plan.operands->data() + step.first, registers, machine)) continue;
        changed_step_ = end_;
        return Outcome::Fail;
      }
    }
    if (versionOfDict(dict) == fact.version) continue;
    changed_register_ = -1;
    Py_INCREF(dict);  // its keys may compare by code of their own
    const bool stays = hasElements(size_t(&fact - facts_.data()), dict);
    if (stays) fact.version = versionOfDict(dict);
    Py_DECREF(dict);
    return stays ? Outcome::Again : Outcome::Fail;  // from the start, as such code may have changed what held
  }
  return Outcome::Hold;
}

void CachedReads::unset(const Plan& plan, Registers& registers) const {
  for (const Fact& fact : facts_) {
    const int target = fact.kind == FactKind::Set    ? fact.place
                       : fact.kind == FactKind::Step ? (*plan.steps)[size_t(fact.place)].target
                                                     : -1;
    if (target >= 0) registers.clear(target);
  }
}

bool CachedReads::hold(const Plan& plan, Registers& registers, const Machine& machine) {
  constexpr int kMostTimes = 8;
  std::unique_ptr<Registers> before;
  if (compares_reads) {
    before = std::make_unique<Registers>(plan.num_registers);
    copyInto(*before, registers, plan.num_registers);
  }
  Outcome outcome = Outcome::Again;
  for (int i = 0; outcome == Outcome::Again && i < kMostTimes; i++) {
    outcome = test(plan, registers, machine);
    if (outcome != Outcome::Hold) unset(plan, registers);
  }
  if (outcome != Outcome::Hold) dropError();
  if (before != nullptr && outcome == Outcome::Hold) compare(plan, *before, registers, machine, begin_, end_);
  return outcome == Outcome::Hold;
}

// ---- Making

/// A stretch that is being made. A register is *fixed* if its value follows from the facts: it is set only where a step
/// that is run, or one after the stretch, reads it.
struct ReadObserver::Stretch {
  struct Register {
    PyObject* fixed = nullptr;  // borrowed
    bool is_set = true;         // whether it has its value where the facts are used
    bool is_assigned = false;   // whether a step of the stretch sets it
    bool has_facts = false;     // whether facts name it
    bool is_listed = false;     // whether it is not as at the beginning
  };

  explicit Stretch(int num_registers) : registers(size_t(num_registers)) {}

  void restart(size_t at) {
    for (const int index : listed) registers[size_t(index)] = {};
    listed.clear();
    facts.clear();
    elements.clear();
    dead.clear();
    fact_of.clear();
    known.clear();
    num_run = 0;
    begin = at;
  }

  Register& of(int index) {
    Register& found = registers[size_t(index)];
    if (!found.is_listed) listed.push_back(index);
    found.is_listed = true;
    return found;
  }
  PyObject* fixedIn(int index) const { return registers[size_t(index)].fixed; }

  void need(int index) {
    if (fixedIn(index) == nullptr || of(index).is_set) return;
    facts.push_back({FactKind::Set, index, fixedIn(index)});
    of(index).is_set = true;
  }

  /// A step of the stretch has set the register: to a value that follows from the facts, or, if that is null, by being
  /// run.
  void assign(int index, PyObject* fixed) {
    Register& target = of(index);
    if (target.has_facts) std::erase_if(known, [&](const auto& each) { return std::get<1>(each) == index; });
    target.fixed = fixed;
    target.is_set = fixed == nullptr;
    target.is_assigned = true;
    target.has_facts = false;
  }

  /// After the last step that reads the register.
  void clear(int index) {
    Register& target = of(index);
    if (!target.is_assigned) {
      dead.push_back(index);
    } else if (target.is_set) {
      facts.push_back({FactKind::Clear, index});
    }
    target.fixed = nullptr;
    target.is_set = true;
  }

  /// The step has to be run.
  bool run(size_t at, const Step& step, const int* inputs) {
    if (readsRegister(step)) need(step.a);
    for (size_t i = 0; i < step.num_inputs; i++) need(inputs[i]);
    facts.push_back({FactKind::Step, int(at)});
    num_run++;
    if (step.target >= 0) assign(step.target, nullptr);
    return true;
  }

  /// A fact is there once.
  void add(Fact fact) {
    fact.step = step;
    if (fact.place >= 0) of(fact.place).has_facts = true;
    if (known.insert({fact.kind, fact.place, fact.object, fact.other}).second) facts.push_back(fact);
  }

  /// A fact about a dict. False if the dict has no version.
  bool addDict(PyObject* dict, Fact fact) {
    if (!hasVersion(dict)) return false;
    fact.version = versionOfDict(dict);
    const size_t before = facts.size();
    add(fact);
    if (facts.size() > before) fact_of.insert({dict, before});
    return true;
  }

  void addElement(PyObject* dict, size_t step, PyObject* key, PyObject* value) {
    // Of other keys, which may compare by code, no element is looked for again.
    if (isPlain(key)) {
      elements.push_back({fact_of.at(dict), step, key, value});
    } else {
      elements.push_back({fact_of.at(dict), step});
    }
  }

  /// The object in a register as facts name it.
  Fact about(FactKind kind, int index, PyObject* other) const {
    if (fixedIn(index) != nullptr) return {kind, -1, fixedIn(index), other};
    return {kind, index, nullptr, other};
  }

  bool addClassOf(int index, PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    Fact fact = about(FactKind::Type, index, reinterpret_cast<PyObject*>(type));
    fact.version = versionOfClass(type);
    if (fact.version != 0) add(fact);
    return fact.version != 0;
  }

  size_t begin = 0, step = 0;  // the first step, and the one that is looked at
  std::vector<Register> registers;
  std::vector<int> listed;
  std::vector<Fact> facts;
  std::vector<KnownElement> elements;
  std::vector<int> dead;                // registers from before the stretch that it reads last
  std::map<PyObject*, size_t> fact_of;  // the first fact about a dict's version
  std::set<std::tuple<FactKind, int, PyObject*, PyObject*>> known;
  size_t num_run = 0;
};

ReadObserver::ReadObserver(const Plan& plan, const Machine& machine)
    : plan_(plan),
      machine_(machine),
      last_read_(size_t(plan.num_registers), 0),
      is_computed_(size_t(plan.num_registers), false),
      stretch_(std::make_unique<Stretch>(plan.num_registers)) {
  const auto reads = [&](int index, size_t at) {
    if (index >= 0 && index < plan.num_registers) last_read_[size_t(index)] = at;
  };
  std::vector<bool> is_set(size_t(plan.num_registers), false);
  for (size_t at = 0; at < plan.steps->size(); at++) {
    const Step& step = (*plan.steps)[at];
    if (step.kind >= StepKind::Save) is_computed_[size_t(step.target)] = true;
    if (step.target >= 0) {
      sets_twice_ = sets_twice_ || is_set[size_t(step.target)];
      is_set[size_t(step.target)] = true;
    }
    if (readsRegister(step)) reads(step.a, at);
    for (size_t i = 0; i < step.num_inputs; i++) reads((*plan.operands)[step.first + i], at);
  }
  const size_t end = plan.steps->size();
  for (const PlanOutput& output : *plan.outputs) reads(output.variable, end);
  for (const PlanStore& store : *plan.stores) {
    for (const int index : {store.container, store.value, store.known, store.key_at}) reads(index, end);
  }
}

ReadObserver::~ReadObserver() = default;

void ReadObserver::observe(size_t at, const Registers& registers) {
  const Step& step = (*plan_.steps)[at];
  const int* inputs = plan_.operands->data() + step.first;
  stretch_->step = at;
  if (plan_.cache->changes(at) || !admit(at, step, inputs, registers)) {
    close(at);
    stretch_->restart(at + 1);
    return;
  }
  for (const int dead : deadAfter(step, inputs)) stretch_->clear(dead);
}

/// Adds a read of a global variable of a function, or if that is null of the frame, which has found `value`; false if
/// the stretch ends before it.
bool ReadObserver::admitGlobal(size_t at, const Step& step, PyObject* function, PyObject* value) {
  Stretch& stretch = *stretch_;
  const auto partOr = [&](PyObject* PyFunctionObject::*part, PyObject* of_frame) {
    return function != nullptr ? functionPart(function, part) : of_frame;
  };
  const auto kindOr = [&](FactKind of_frame) { return function != nullptr ? FactKind::Dict : of_frame; };
  PyObject* globals = partOr(&PyFunctionObject::func_globals, machine_.frame.globals());
  if (globals == nullptr || !stretch.addDict(globals, {kindOr(FactKind::Globals), -1, globals})) return false;
  PyObject* found = lookUp(globals, step.object);
  stretch.addElement(globals, at, step.object, found);
  Py_XDECREF(found);  // the dict has it
  if (found != nullptr) return found == value;
  PyObject* builtins = partOr(&PyFunctionObject::func_builtins, machine_.frame.builtins());
  if (builtins == nullptr || !stretch.addDict(builtins, {kindOr(FactKind::Builtins), -1, builtins})) return false;
  stretch.addElement(builtins, at, step.object, value);
  return true;
}

/// Adds a step to the stretch; false if that ends before it.
bool ReadObserver::admit(size_t at, const Step& step, const int* inputs, const Registers& registers) {
  Stretch& stretch = *stretch_;
  const auto run = [&] { return stretch.run(at, step, inputs); };
  const auto fix = [&] {
    stretch.assign(step.target, registers[step.target]);
    return true;
  };
  PyObject* object = readsRegister(step) && step.a >= 0 ? registers[step.a] : nullptr;
  const bool is_fixed = object != nullptr && stretch.fixedIn(step.a) != nullptr;
  /// Whether the next run may have the same object there.
  const bool may_stay =
      is_fixed || (object != nullptr && !is_computed_[size_t(step.a)] && !plan_.cache->changesRegister(step.a));
  /// The fact about a dict in the register `a`.
  const auto addDict = [&] {
    return may_stay &&
           stretch.addDict(
               object, is_fixed ? Fact{FactKind::Dict, -1, object} : Fact{FactKind::DictIn, step.a, object});
  };

  switch (step.kind) {
    case StepKind::LoadConst:
      return fix();
    case StepKind::LoadGlobal:
      return (step.a < 0 || is_fixed) && admitGlobal(at, step, object, registers[step.target]) && fix();
    case StepKind::FreeCell:  // functions keep their cells
      return is_fixed ? fix() : run();
    case StepKind::Globals:
      return step.a >= 0 && is_fixed ? fix() : run();
    case StepKind::InstanceDict: {
      // Where it is not known, it may have to be made, and a collection of garbage runs code.
      PyObject* dict = registers[step.target];
      return may_stay && stretch.addDict(dict, stretch.about(FactKind::InstanceDict, step.a, dict)) && fix();
    }
    case StepKind::ModuleDict:
      return is_fixed ? fix() : run();
    case StepKind::DictItem: {
      if (!addDict()) return false;
      stretch.addElement(object, at, step.object, registers[step.target]);
      return fix();
    }
    case StepKind::ClassItem:
      return stretch.addClassOf(step.a, object) && fix();
    case StepKind::SuperItem:
      return stretch.fixedIn(inputs[0]) != nullptr && stretch.addClassOf(step.a, object) && fix();
    case StepKind::ClassMember:
    case StepKind::CheckClass: {
      if (!is_fixed) return step.kind == StepKind::CheckClass && run();
      const unsigned version = versionOfClass(reinterpret_cast<PyTypeObject*>(object));
      if (version == 0) return false;
      stretch.add({FactKind::Class, -1, object, nullptr, version});
      return step.kind == StepKind::CheckClass || fix();
    }
    case StepKind::Item:
      return is_fixed && PyTuple_Check(object) ? fix() : run();
    case StepKind::CheckType:
      if (step.b > 0) return stretch.addClassOf(step.a, object) || run();
      if (is_fixed && isForGood(Py_TYPE(object))) return true;
      if (!isStatic(Py_TYPE(object))) return run();
      stretch.add(stretch.about(FactKind::Type, step.a, reinterpret_cast<PyObject*>(Py_TYPE(object))));
      return true;
    case StepKind::CheckIs:
      return is_fixed || run();
    case StepKind::CheckConst:
      return isPlain(object) && (is_fixed || run());
    case StepKind::CheckCode:
      if (!is_fixed) return run();
      stretch.add({FactKind::Code, -1, object, step.object});
      return true;
    case StepKind::CheckNoKey: {
      PyObject* dict = instanceDict(object);
      const Fact fact = stretch.about(FactKind::InstanceDict, step.a, dict);
      if (dict == nullptr) {
        stretch.add(fact);
        return true;
      }
      if (!may_stay || !stretch.addDict(dict, fact)) return false;
      stretch.addElement(dict, at, step.object, nullptr);
      return true;
    }
    case StepKind::CheckSize:
      if (!is_fixed) return run();
      if (PyTuple_Check(object)) return true;
      if (!addDict()) return run();
      stretch.elements.push_back({stretch.fact_of.at(object), at, nullptr, nullptr, step.b});
      return true;
    case StepKind::CheckKeys:
      if (!addDict()) return false;
      stretch.elements.push_back({stretch.fact_of.at(object), at});
      return true;
    case StepKind::LoadSlot:
    case StepKind::LoadCell:
    case StepKind::LoadFree:
    case StepKind::LoadDefault:
    case StepKind::Referent:
    case StepKind::ItemAt:
    case StepKind::CheckNull:
    case StepKind::CheckOwnCell:
    case StepKind::CheckOwnDict:
    case StepKind::CheckHeld:
      return run();
    case StepKind::Compare:
    case StepKind::Is: {
      PyObject* other = stretch.fixedIn(inputs[0]);
      const bool follows = is_fixed && other != nullptr &&
                           (step.kind == StepKind::Is || (isPlain(object) && isPlain(other))) &&
                           PyBool_Check(registers[step.target]);
      return follows && fix();
    }
    default:
      return false;
  }
}

void ReadObserver::close(size_t end) {
  constexpr size_t kLeast = 4;  // steps that are not run
  Stretch& stretch = *stretch_;
  if (end < stretch.begin + stretch.num_run + kLeast || sets_twice_) return;
  for (size_t i = 0; i < stretch.listed.size(); i++) {
    if (last_read_[size_t(stretch.listed[i])] >= end) stretch.need(stretch.listed[i]);
  }
  // Freeing what was made before may run code.
  for (const int index : stretch.dead) stretch.facts.push_back({FactKind::Clear, index});
  made_.emplace_back(stretch.begin, end, std::move(stretch.facts), std::move(stretch.elements));
}

std::vector<CachedReads> ReadObserver::finish() {
  close(plan_.steps->size());
  return std::move(made_);
}

// ---- When

bool ReadCache::wantsObserver(unsigned long long applied) const {
  if (compares_reads) return !is_made_ || failed_ > 0;
  return is_made_ ? failed_ >= patience_ : applied >= 2;
}

void ReadCache::replace(std::vector<CachedReads> stretches) {
  constexpr unsigned kMostPatience = 256;
  stretches_.clear();
  std::move(stretches.begin(), stretches.end(), std::back_inserter(stretches_));
  if (is_made_) patience_ = std::min(patience_ * 2, kMostPatience);
  is_made_ = true;
  failed_ = held_ = 0;
}

CachedReads* ReadCache::at(size_t step, size_t& next) {
  while (next < stretches_.size() && stretches_[next].begin() < step) next++;
  return next < stretches_.size() && stretches_[next].begin() == step ? &stretches_[next] : nullptr;
}

void ReadCache::noteChange(const CachedReads& stretch) {
  if (stretch.changedRegister() >= 0) {
    changed_registers_[stretch.changedRegister()]++;
  } else if (stretch.changedStep() < stretch.end()) {
    changes_[stretch.changedStep()]++;
  }
}

bool ReadCache::changesRegister(int index) const {
  return isMoreThanOne(changed_registers_, index);
}

bool ReadCache::changes(size_t step) const {
  return isMoreThanOne(changes_, step);
}

void ReadCache::note(bool has_failed) {
  constexpr unsigned kOften = 64, kVeryOften = 1024;
  if (has_failed) {
    failed_++;
    held_ = 0;
  } else if (++held_ == kOften) {
    patience_ = 1;
  } else if (held_ == kVeryOften && !(changes_.empty() && changed_registers_.empty())) {
    // What has changed may stay now.
    changes_.clear();
    changed_registers_.clear();
    is_made_ = false;
  }
}

PyObject* stretchesOf(const ReadCache& cache) {
  PyObject* list = PyList_New(0);
  for (const CachedReads& each : cache.stretches()) {
    size_t num_facts = 0, num_run = 0;
    for (const Fact& fact : each.facts()) {
      if (fact.kind == FactKind::Step) num_run++;
      if (fact.kind < FactKind::Set) num_facts++;
    }
    PyObject* made = list == nullptr ? nullptr
                                     : Py_BuildValue(
                                           "nnnn", Py_ssize_t(each.begin()), Py_ssize_t(each.end()),
                                           Py_ssize_t(num_facts), Py_ssize_t(num_run));
    if (made == nullptr || PyList_Append(list, made)) Py_CLEAR(list);
    Py_XDECREF(made);
  }
  return list;
}

}  // namespace cresset::capture
#endif
