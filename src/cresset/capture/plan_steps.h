// Single steps of a plan (plan.h): what they read of the program, what they check, what they compute.
#pragma once

#include "cresset/capture/evaluator.h"
#include "cresset/capture/plan.h"

#if CRESSET_KNOWS_FRAMES
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace cresset::capture {

/// The values of a run of a plan; owns them. What was not set must not be read.
class Registers {
 public:
  explicit Registers(int count)
      : num_words_((size_t(count) + 63) / 64),
        many_(count > kFew ? new PyObject*[size_t(count)] : nullptr),
        many_set_(count > kFew ? new uint64_t[num_words_] : nullptr) {
    values_ = count > kFew ? many_.get() : few_;
    set_ = count > kFew ? many_set_.get() : few_set_;
    std::memset(set_, 0, num_words_ * sizeof(uint64_t));
  }
  ~Registers() {
    for (size_t word = 0; word < num_words_; word++) {
      for (uint64_t left = set_[word]; left != 0; left &= left - 1)
        Py_DECREF(values_[word * 64 + size_t(std::countr_zero(left))]);
    }
  }
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;

  PyObject* operator[](int index) const { return values_[index]; }
  bool has(int index) const { return (set_[index / 64] >> (index % 64) & 1) != 0; }
  /// Takes over the reference; false for null.
  bool set(int index, PyObject* value) {
    if (value == nullptr) return false;
    PyObject* old = has(index) ? values_[index] : nullptr;
    values_[index] = value;
    set_[index / 64] |= uint64_t(1) << (index % 64);
    Py_XDECREF(old);
    return true;
  }
  void clear(int index) {
    if (!has(index)) return;
    set_[index / 64] &= ~(uint64_t(1) << (index % 64));
    Py_DECREF(values_[index]);
  }

 private:
  static constexpr int kFew = 256;
  const size_t num_words_;
  PyObject** values_;
  uint64_t* set_;  // a bit for each register
  PyObject* few_[kFew];
  uint64_t few_set_[kFew / 64];
  std::unique_ptr<PyObject*[]> many_;
  std::unique_ptr<uint64_t[]> many_set_;
};

/// What a read finds: a new reference; null if there is nothing, perhaps with an exception set.
PyObject* read(const Step& step, const int* inputs, const Registers& registers, const Machine& machine);
/// What a check says, perhaps with an exception set.
bool holds(const Step& step, const Registers& registers, const Machine& machine);
/// What another step makes: a new reference, or null with an exception set.
PyObject* compute(const Step& step, const int* inputs, const Registers& registers);
/// Any step: sets its target. Whether it holds, finds or makes something; perhaps with an exception set.
inline bool run(const Step& step, const int* inputs, Registers& registers, const Machine& machine) {
  if (step.kind >= StepKind::Save) return registers.set(step.target, compute(step, inputs, registers));
  if (step.target < 0) return holds(step, registers, machine);
  return registers.set(step.target, read(step, inputs, registers, machine));
}
/// After a step: registers that nothing reads afterwards.
inline std::span<const int> deadAfter(const Step& step, const int* inputs) {
  return {inputs + step.num_inputs, step.num_dead};
}

/// Whether elements are found and set as those of dicts: of dict's own class, or of a defaultdict, which differs only
/// where a key is missing.
bool isPlainDict(PyObject* object);
bool isDeque(PyObject* object);
/// Borrowed; null if it has none.
PyObject* instanceDict(PyObject* object);
/// An element of what is a plain dict; a new reference. The dict's keys may compare by code of their own, which may
/// take the dict from what has it.
PyObject* lookUp(PyObject* dict, PyObject* key);
bool lacksKey(PyObject* dict, PyObject* key);
/// An element of a tuple, list or deque: a new reference, or null without an exception.
PyObject* item(PyObject* sequence, Py_ssize_t index);
/// A new reference to the element of a list that an int says; null, without an exception, if there is none.
PyObject* itemAt(PyObject* list, PyObject* index);
/// What a cell has; null for what is no cell.
PyObject* loadCell(PyObject* cell);
/// What a weak reference refers to, None if that is gone; other objects themselves. Borrowed.
PyObject* referent(PyObject* object);

/// Finds the classes that steps compare with. False with an exception set.
bool findStepClasses();

}  // namespace cresset::capture
#endif
