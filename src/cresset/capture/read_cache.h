// What the reads and checks of a plan have found, to be taken again without looking.
//
// A dict of CPython has a version: a number that no other dict has, and that changes with each change of the dict; so
// has a class, for itself and its bases. What is read of a dict, and all that follows from it (that an element of it is
// of a class, that a key is missing, what an element of an element is), holds as long as the dicts on the way have the
// versions that they had. So a stretch of reads and checks becomes a list of facts: versions of dicts and classes,
// classes of objects (which `__class__` may change), code of functions; and steps that have to be run, as they read
// what has no version (variables, cells, elements of lists).
//
// Stretches end where code of the program may run, since that may change anything: at calls, at reads of dicts whose
// keys may compare by code of their own. Facts are in the order of the reads: each is found through those before it, so
// what a fact looks at is alive if these hold. Nothing is held: pointers are compared with, or followed after facts
// that keep their objects alive.
//
// A dict that has changed, but has the elements that were read (a module that counts its calls, globals that are set),
// is known by its new version from then on.
//
// Thread-safety: needs the GIL, as all of a plan.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "cresset/capture/plan.h"
#include "cresset/capture/plan_steps.h"

#if CRESSET_KNOWS_FRAMES
namespace cresset::capture {

enum class FactKind : uint8_t {
  Dict,          // `object` is a dict of this version
  InstanceDict,  // the __dict__ of `object` is `other`, of this version; null: it has none
  DictIn,        // register `place` is the dict `object`, of this version
  Globals,       // the frame's globals are the dict `object`, of this version
  Builtins,      // its builtins, alike
  Type,          // the class of `object` is `other`, of this version, if it is not 0
  Class,         // `object` is a class of this version
  Code,          // function `object` has the code `other`
  Set,           // no fact: register `place` becomes `object`
  Clear,         // no fact: register `place` is not read any more
  Step           // step `place` of the plan holds, or finds something
};

struct Fact {
  FactKind kind;
  int place = -1;  // where `object` is null: the register that has it
  PyObject* object = nullptr;
  PyObject* other = nullptr;
  uint64_t version = 0;
  size_t step = 0;  // that has found it
};

/// What a step has read of the dict of a fact: an element, or that there is none. Without a key: how many elements it
/// has; with less than none, nothing of it may change.
struct KnownElement {
  size_t fact, step;
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t size = -1;
};

/// A stretch of a plan's steps.
class CachedReads {
 public:
  CachedReads(size_t begin, size_t end, std::vector<Fact> facts, std::vector<KnownElement> elements);

  size_t begin() const { return begin_; }
  size_t end() const { return end_; }  // one past the last step
  const std::vector<Fact>& facts() const { return facts_; }
  /// Whether all steps of the stretch hold. Then the registers that the plan reads after it are set; else those of the
  /// stretch are not, and its steps are to be run. Leaves no exception set.
  bool hold(const Plan& plan, Registers& registers, const Machine& machine);
  /// After what did not hold: the step that would have found something else, `end` if it was a check that was run; and
  /// the register that had another object, or -1.
  size_t changedStep() const { return changed_step_; }
  int changedRegister() const { return changed_register_; }

 private:
  enum class Outcome : uint8_t { Hold, Fail, Again };
  Outcome test(const Plan& plan, Registers& registers, const Machine& machine);
  bool hasElements(size_t fact, PyObject* dict);
  /// Others may ask how many refer to what the registers have.
  void unset(const Plan& plan, Registers& registers) const;

  size_t begin_, end_, changed_step_ = 0;
  int changed_register_ = -1;
  std::vector<Fact> facts_;
  std::vector<KnownElement> elements_;  // by fact
};

/// Follows a run of a plan and makes the stretches. They have no facts about dicts of objects that the plan itself has
/// computed, or that were others lately, and end before steps that have found something else lately.
class ReadObserver {
 public:
  ReadObserver(const Plan& plan, const Machine& machine);
  ~ReadObserver();
  ReadObserver(const ReadObserver&) = delete;
  ReadObserver& operator=(const ReadObserver&) = delete;
  /// After step `at` has run, in order, and has held; before registers are cleared that it reads last.
  void observe(size_t at, const Registers& registers);
  /// After the last one.
  std::vector<CachedReads> finish();

 private:
  struct Stretch;
  bool admit(size_t at, const Step& step, const int* inputs, const Registers& registers);
  bool admitGlobal(size_t at, const Step& step, PyObject* function, PyObject* value);
  void close(size_t end);

  const Plan& plan_;
  const Machine& machine_;
  std::vector<size_t> last_read_;  // by register: the last step that reads it
  std::vector<bool> is_computed_;  // by register: whether a step that is neither a read nor a check sets it
  bool sets_twice_ = false;        // whether two steps set one register: then there are no stretches
  std::unique_ptr<Stretch> stretch_;
  std::vector<CachedReads> made_;
};

/// Of a plan: when it is made, and used.
class ReadCache {
 public:
  /// Whether this run is to be observed: the second one that applies, and later ones after facts did not hold.
  bool wantsObserver(unsigned long long applied) const;
  void replace(std::vector<CachedReads> stretches);
  /// The stretch that begins at a step; null if there is none. `next`: where to look, 0 at first.
  CachedReads* at(size_t step, size_t& next);
  /// After a run.
  void note(bool has_failed);
  /// After a stretch that did not hold.
  void noteChange(const CachedReads& stretch);
  /// Whether a step has found something else more than once.
  bool changes(size_t step) const;
  /// Whether a register has had other objects more than once.
  bool changesRegister(int index) const;
  const std::vector<CachedReads>& stretches() const { return stretches_; }

 private:
  std::vector<CachedReads> stretches_;         // in order
  std::map<size_t, unsigned> changes_;         // by step
  std::map<int, unsigned> changed_registers_;  // by register
  bool is_made_ = false;
  unsigned failed_ = 0, held_ = 0, patience_ = 1;
};

/// [(first step, one past the last, facts, steps that are run)]; null with an exception set.
PyObject* stretchesOf(const ReadCache& cache);

/// For tests: whether all that a cache says is compared with what the steps find, and caches are made as soon as they
/// can be. A difference ends the process.
void compareCachedReads(bool compares);

}  // namespace cresset::capture
#endif
