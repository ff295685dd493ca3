// What was recorded of a stretch of a frame, as a program over registers: reads of what the frame can reach, checks of
// them, and calls whose only effect is their result, or can be undone.
//
// A plan begins at one instruction and ends before another. It applies if all of its checks hold and none of its calls
// raises; then attributes and elements of dicts are set, the frame's variables and stack become what they would be, and
// the frame goes on at the end. If not, the frame is as it was, and its instructions run one by one: nothing that a
// plan does shows. What its calls change besides, tensors from outside and the place in the sequence of random numbers,
// is saved before, and put back then.
//
// A plan holds strongly only what can't lead back to its code: constants, code objects, names. Classes and functions
// are weak references, which compare unequal to everything once their objects died.
#pragma once

#include <cstdint>
#include <vector>

#include "cresset/capture/evaluator.h"

namespace cresset::capture {

/// What a step's `a` is, and what its object is; newPlan checks it.
enum class StepPlace : uint8_t { Nothing, Register, RegisterOrNone, Slot, Variable };
enum class StepObject : uint8_t { Nothing, Any, Text, Tuple, NamesOrNone, Code };

/// STEP(Name, what `a` is, least `b`, greatest `b`, what `object` is, least number of inputs, greatest): `target` and
/// the inputs are registers.
// clang-format off
#define CRESSET_PLAN_STEPS(STEP)                                                                                                           \
  STEP(LoadSlot, Slot, -kAny, kAny, Nothing, 0, 0)            /* target = variable or stack place a */                                     \
  STEP(LoadConst, Nothing, -kAny, kAny, Any, 0, 0)            /* target = object */                                                        \
  STEP(LoadGlobal, RegisterOrNone, -kAny, kAny, Text, 0, 0)   /* target = object in the globals, builtins of function a or of the frame */ \
  STEP(LoadCell, Register, -kAny, kAny, Nothing, 0, 0)        /* target = contents of cell a */                                            \
  STEP(LoadFree, Register, 0, kAny, Nothing, 0, 0)            /* target = contents of cell b of function a */                              \
  STEP(FreeCell, Register, 0, kAny, Nothing, 0, 0)            /* target = cell b of function a */                                          \
  STEP(Globals, RegisterOrNone, -kAny, kAny, Nothing, 0, 0)   /* target = the globals of function a or of the frame */                     \
  STEP(LoadDefault, Register, 1, kAny, Nothing, 0, 0)         /* target = default b of function a, from the last on */                     \
  STEP(LoadKeywordDefault, Register, -kAny, kAny, Text, 0, 0) /* target = default of keyword argument object of function a */              \
  STEP(InstanceDict, Register, -kAny, kAny, Nothing, 0, 0)    /* target = the __dict__ of a */                                             \
  STEP(ModuleDict, Register, -kAny, kAny, Nothing, 0, 0)      /* target = the names of module a */                                         \
  STEP(DictItem, Register, -kAny, kAny, Any, 0, 0)            /* target = a[object], a a dict */                                           \
  STEP(ClassItem, Register, -kAny, kAny, Text, 0, 0)          /* target = what the class of a has as object */                             \
  STEP(ClassMember, Register, -kAny, kAny, Text, 0, 0)        /* target = what class a has as object */                                    \
  STEP(SuperItem, Register, -kAny, kAny, Text, 1, 1)          /* target = what follows inputs[0] in the classes of a and has object */     \
  STEP(Referent, Register, -kAny, kAny, Nothing, 0, 0)        /* target = what weak reference a refers to */                               \
  STEP(ItemAt, Register, -kAny, kAny, Nothing, 1, 1)          /* target = a[inputs[0]], a a list, the input an int */                      \
  STEP(Item, Register, -kAny, kAny, Nothing, 0, 0)            /* target = a[b], a a list, tuple or deque */                                \
  STEP(CheckType, Register, -kAny, kAny, Any, 0, 0)           /* the class of a is object, and its version b */                            \
  STEP(CheckClass, Register, -kAny, kAny, Any, 0, 0)          /* class a is object, and its version b */                                   \
  STEP(CheckIs, Register, -kAny, kAny, Any, 0, 0)             /* a is object; None, True, False, Ellipsis or a weak reference to it */     \
  STEP(CheckConst, Register, -kAny, kAny, Any, 0, 0)          /* a is the number or text object, of the same class and bits */             \
  STEP(CheckCode, Register, -kAny, kAny, Code, 0, 0)          /* function a has this code */                                               \
  STEP(CheckNoKey, Register, -kAny, kAny, Any, 0, 0)          /* the __dict__ of a, if any, lacks object */                                \
  STEP(CheckSize, Register, -kAny, kAny, Nothing, 0, 0)       /* list, tuple, deque or dict a has b elements */                            \
  STEP(CheckKeys, Register, -kAny, kAny, Tuple, 0, 0)         /* dict a has the keys object, in this order */                              \
  STEP(CheckNull, Slot, -kAny, kAny, Nothing, 0, 0)           /* there is nothing in stack place a */                                      \
  STEP(CheckOwnCell, Variable, -kAny, kAny, Nothing, 0, 0)    /* variable a is a cell that nothing else refers to */                       \
  STEP(CheckOwnDict, Variable, -kAny, kAny, Nothing, 0, 0)    /* variable a is a dict that nothing else refers to */                       \
  STEP(CheckHeld, Slot, -kAny, kAny, Nothing, 0, 0)           /* what variable or stack place a has is referred to by others, too */       \
  STEP(CheckZero, Nothing, -kAny, kAny, Any, 0, 0)            /* the function object of C returns 0, False or None */                      \
  STEP(Save, Register, -kAny, kAny, Nothing, 0, kAny)         /* target = a(inputs): if the plan is given up, it is called after that */   \
  STEP(Call, Register, -kAny, kAny, NamesOrNone, 0, kAny)     /* target = a(inputs), object the names of the last ones or null */          \
  STEP(Binary, Register, 0, kNumBinary - 1, Nothing, 1, 1)    /* target = a (operator b) inputs[0], in place from 13 on */                 \
  STEP(Compare, Register, 0, Py_GE, Nothing, 1, 1)            /* target = a (comparison b) inputs[0] */                                    \
  STEP(Is, Register, -kAny, kAny, Nothing, 1, 1)              /* target = (a is inputs[0]) != b */                                         \
  STEP(Unary, Register, 0, 2, Nothing, 0, 0)                  /* target = operator b of a */                                               \
  STEP(GetItem, Register, -kAny, kAny, Nothing, 1, 1)         /* target = a[inputs[0]] */                                                  \
  STEP(GetAttr, Register, -kAny, kAny, Text, 0, 0)            /* target = a.object */                                                      \
  STEP(Tuple, Nothing, -kAny, kAny, Nothing, 0, kAny)         /* target = (inputs) */                                                      \
  STEP(List, Nothing, -kAny, kAny, Nothing, 0, kAny)          /* target = [inputs] */                                                      \
  STEP(Dict, Nothing, -kAny, kAny, Tuple, 0, kAny)            /* target = dict of the keys object and inputs */                            \
  STEP(NamedTuple, Register, -kAny, kAny, Nothing, 0, kAny)   /* target = tuple of class a, as tuple.__new__ makes it, of inputs */        \
  STEP(NewObject, Register, -kAny, kAny, Nothing, 0, 0)       /* target = an object of class a, as object.__new__ makes it */              \
  STEP(Slice, Nothing, -kAny, kAny, Nothing, 2, 3)            /* target = slice(inputs) */
// clang-format on

enum class StepKind : uint8_t {
#define STEP(NAME, ...) NAME,
  CRESSET_PLAN_STEPS(STEP)
#undef STEP
};

/// Small, and next to each other: plans run between other work, so what they read is seldom in the cache.
struct Step {
  StepKind kind;
  uint16_t num_inputs = 0, num_dead = 0;
  uint32_t first = 0;  // of the inputs among the plan's operands; registers that nothing reads afterwards follow them
  int target = -1, a = -1, b = -1;
  PyObject* object = nullptr;  // owned
};

struct PlanOutput {
  int slot;      // variable, or place of the stack; -1 - variable: what is in its cell
  int variable;  // register; -1 for null
};

/// What a plan sets at its end, if it applies: an element of a dict, which may be an object's `__dict__`, or of a list,
/// one more of a list, the elements at the ends of a list or deque, all elements of a dict, what is in a cell, an
/// attribute that a descriptor of C sets, or what a function counts that keeps its results (`functools.lru_cache`).
struct PlanStore {
  int container;   // register
  int value;       // register; -1: the element is deleted
  int known;       // the register that has what is there before, which must still be there; -1 if it was not read
  int is_new;      // whether the plan makes the container, which may be of a class derived from dict then
  int of_globals;  // whether it is a global variable: the plan knows which of its reads are of it
  PyObject* key;   // owned; None of a list; Ellipsis of all elements; NotImplemented of a cell; the descriptor; of the
                   // ends of a list or deque a slice; of a call of `container` with the tuple `value` a function of C
                   // that finds what is kept
  int key_at;      // the register that has the key of an element; -1: it is `key`
  // Of the ends of a list or deque: how many elements go away at the beginning and at the end (kAll: none is left), and
  // how many of the tuple `value` come in at the beginning; the others come in at the end. `known` are those that go
  // away.
  int first = 0, last = 0, num_first = 0;
  static constexpr int kAll = -1;
};

/// Outrun: another thread has changed meanwhile what the plan has read and was to set.
enum class PlanResult { Applied, CheckFailed, Raised, Outrun };

/// What a plan's runs that did not apply have shown, for the report. Made with the first of them.
struct PlanFailures {
  std::vector<unsigned> by_step;  // how often each step did not hold or raised; the last is of what the plan sets
  int last = -1;                  // the step
  PyObject* found = nullptr;      // a text: what was there in place of what the step wants; owned
};

/// Times of runs, of which one in kTimedRuns is measured.
struct TimedRuns {
  static constexpr unsigned kTimedRuns = 16;
  unsigned long long count = 0, nanoseconds = 0;
  static constexpr unsigned long long kNone = ~0ULL;
  unsigned long long least = kNone;  // nanoseconds of one

  void add(unsigned long long each) {
    count++;
    nanoseconds += each;
    least = each < least ? each : least;
  }
};

constexpr int kMaxRank = 32;

class ReadCache;

/// A Python object; made by newPlan.
struct Plan {
  PyObject_HEAD int start, end, num_registers, depth;  // depth: of the stack at the end
  int num_slots;                                       // variables and places of the stack that it may read
  const PyCodeObject* code;                            // not owned, only compared: the code owns its plans
  std::vector<Step>* steps;
  std::vector<int>* operands;  // registers
  std::vector<PlanOutput>* outputs;
  std::vector<PlanStore>* stores;
  PyObject* info;  // what the recorder says of it; owned
  int saved;       // what a run saves, less what its steps cost: in steps
  unsigned long long applied, failed, raised;
  PlanFailures* failures;
  TimedRuns applied_runs, other_runs;
  TimedRuns cached_reads;  // what is taken from earlier runs (read_cache.h), of all stretches of a run
  TimedRuns python_runs;   // of Python's instructions in its place, to see whether it is faster
  ReadCache* cache;        // owned
  int num_running;         // how many runs have begun and not ended
  int rank;                // greater the more often it has lately applied; from -kMaxRank to kMaxRank
};

/// From what the recorder in Python says: (code, start, end, number of registers, depth at the end, [(kind, target, a,
/// b, object, inputs, dead)], [(slot, register)], [(register of a dict, list, cell or object, key, register or -1,
/// register of what is there before or -1, whether the plan makes the dict, whether it is a global variable)], what
/// `info` says, what a run saves). Null with an exception set if that is malformed: ValueError if a number is none that
/// the code's frames and the steps before have (a register that was not set, a slot, a place in the code).
PyObject* newPlan(PyObject* module, PyObject* arguments);
/// Adds the class Plan to a module. False with an exception set.
bool addPlanClass(PyObject* module);
bool isPlan(PyObject* object);

/// Runs a plan on a frame that stands at its start. Leaves no exception set.
PlanResult applyPlan(Plan& plan, Machine& machine);

/// Whether the variable in `slot` is in a cell that no function has.
bool ownsCell(const Machine& machine, int slot);

/// Whether the variable in `slot` is a dict that nothing else refers to.
bool ownsDict(const Machine& machine, int slot);

/// Whether something besides the frame's variables and stack refers to what is in `slot`, one of these.
bool isHeld(const Machine& machine, int slot);

/// Whether the step's `a` is a register.
bool readsRegister(const Step& step);

/// The number that changes when the class or one of its bases does; 0 if it has none.
unsigned versionOf(PyTypeObject* type);

}  // namespace cresset::capture
