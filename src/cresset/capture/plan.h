// What was recorded of a stretch of a frame, as a program over registers: reads of what the frame can reach, checks of
// them, and calls whose only effect is their result, or can be undone.
//
// A plan begins at one instruction and ends before another. It applies if all of its checks hold and none of its calls
// raises; then attributes and elements of dicts are set, the frame's variables and stack become what they would be, and
// the frame goes on at the end. If not, the frame is as it was, and its instructions run one by one: nothing that a
// plan does shows. What its calls change besides, statistics and the place in the sequence of random numbers, is saved
// before, and put back then.
//
// A plan holds strongly only what can't lead back to its code: constants, code objects, names. Classes and functions
// are weak references, which compare unequal to everything once their objects died.
#pragma once

#include <cstdint>
#include <vector>

#include "cresset/capture/evaluator.h"

namespace cresset::capture {

/// STEP(Name): `target`, `a`, `b` are registers (-1: none) or numbers, `object` what is named.
#define CRESSET_PLAN_STEPS(STEP)                                                                        \
  STEP(LoadSlot)           /* target = variable or stack place a */                                     \
  STEP(LoadConst)          /* target = object */                                                        \
  STEP(LoadGlobal)         /* target = object in the globals, builtins of function a or of the frame */ \
  STEP(LoadCell)           /* target = contents of cell a */                                            \
  STEP(LoadFree)           /* target = contents of cell b of function a */                              \
  STEP(FreeCell)           /* target = cell b of function a */                                          \
  STEP(Globals)            /* target = the globals of function a or of the frame */                     \
  STEP(LoadDefault)        /* target = default b of function a, from the last on */                     \
  STEP(LoadKeywordDefault) /* target = default of keyword argument object of function a */              \
  STEP(InstanceDict)       /* target = the __dict__ of a */                                             \
  STEP(ModuleDict)         /* target = the names of module a */                                         \
  STEP(DictItem)           /* target = a[object], a a dict */                                           \
  STEP(ClassItem)          /* target = what the class of a has as object */                             \
  STEP(ClassMember)        /* target = what class a has as object */                                    \
  STEP(SuperItem)          /* target = what follows inputs[0] in the classes of a and has object */     \
  STEP(Referent)           /* target = what weak reference a refers to */                               \
  STEP(Item)               /* target = a[b], a a list or tuple */                                       \
  STEP(CheckType)          /* the class of a is object, and its version b */                            \
  STEP(CheckClass)         /* class a is object, and its version b */                                   \
  STEP(CheckIs)            /* a is object; None, True, False, Ellipsis or a weak reference to it */     \
  STEP(CheckConst)         /* a is the number or text object, of the same class and bits */             \
  STEP(CheckCode)          /* function a has this code */                                               \
  STEP(CheckNoKey)         /* the __dict__ of a, if any, lacks object */                                \
  STEP(CheckSize)          /* list, tuple or dict a has b elements */                                   \
  STEP(CheckKeys)          /* dict a has the keys object, in this order */                              \
  STEP(CheckNull)          /* there is nothing in stack place a */                                      \
  STEP(CheckOwnCell)       /* variable a is a cell that nothing else refers to */                       \
  STEP(CheckOwnDict)       /* variable a is a dict that nothing else refers to */                       \
  STEP(CheckZero)          /* the function object of C returns 0, False or None */                      \
  STEP(Save)               /* target = a(inputs): if the plan is given up, it is called after that */   \
  STEP(Call)               /* target = a(inputs), object the names of the last ones or null */          \
  STEP(Binary)             /* target = a (operator b) inputs[0], in place from 13 on */                 \
  STEP(Compare)            /* target = a (comparison b) inputs[0] */                                    \
  STEP(Is)                 /* target = (a is inputs[0]) != b */                                         \
  STEP(Unary)              /* target = operator b of a */                                               \
  STEP(GetItem)            /* target = a[inputs[0]] */                                                  \
  STEP(GetAttr)            /* target = a.object */                                                      \
  STEP(Tuple)              /* target = (inputs) */                                                      \
  STEP(List)               /* target = [inputs] */                                                      \
  STEP(Dict)               /* target = dict of the keys object and inputs */                            \
  STEP(NamedTuple)         /* target = tuple of class a, as tuple.__new__ makes it, of inputs */        \
  STEP(NewObject)          /* target = an object of class a, as object.__new__ makes it */              \
  STEP(Slice)              /* target = slice(inputs) */

enum class StepKind : uint8_t {
#define STEP(NAME) NAME,
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

/// What a plan sets at its end, if it applies: an element of a dict, which may be an object's `__dict__`, one more of a
/// list, all elements of a dict, or what is in a cell.
struct PlanStore {
  int container;   // register
  int value;       // register; -1: the element is deleted
  int known;       // the register that has what is there before, which must still be there; -1 if it was not read
  int is_new;      // whether the plan makes the container, which may be of a class derived from dict then
  int of_globals;  // whether it is a global variable: the plan knows which of its reads are of it
  PyObject* key;   // owned; None of a list; Ellipsis of all elements; NotImplemented of a cell
};

/// Outrun: another thread has changed meanwhile what the plan has read and was to set.
enum class PlanResult { Applied, CheckFailed, Raised, Outrun };

/// A Python object; made by newPlan.
struct Plan {
  PyObject_HEAD int start, end, num_registers, depth;  // depth: of the stack at the end
  std::vector<Step>* steps;
  std::vector<int>* operands;  // registers
  std::vector<PlanOutput>* outputs;
  std::vector<PlanStore>* stores;
  PyObject* info;  // what the recorder says of it; owned
  unsigned long long applied, failed, raised;
};

/// From what the recorder in Python says: (start, end, number of registers, depth at the end, [(kind, target, a, b,
/// object, inputs, dead)], [(slot, register)], [(register of a dict, list or cell, key, register or -1, register of
/// what is there before or -1, whether the plan makes the dict, whether it is a global variable)], what `info` says).
/// Null with an exception set if that is malformed.
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

/// The number that changes when the class or one of its bases does; 0 if it has none.
unsigned versionOf(PyTypeObject* type);

}  // namespace cresset::capture
