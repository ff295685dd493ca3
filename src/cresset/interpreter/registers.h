// Allocates registers to variables while code is emitted in program order.
//
// A register is free, or holds a variable, or is reserved: a loop's carried value and an If's output have their
// register from before the loop or If to its end, whether or not it holds a value at the moment. A variable that will
// become such a value carries a hint to that register and takes it if it holds nothing, which saves the move at the
// end.
//
// The two branches of an If start from the same state: mark() before the first, rewind() before the second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cresset {

class Registers {
 public:
  static constexpr uint32_t kNone = ~0u;

  explicit Registers(size_t num_variables) : register_of_(num_variables, kNone), hint_(num_variables, kNone) {}

  uint32_t of(uint32_t variable) const { return register_of_[variable]; }
  uint32_t holder(uint32_t reg) const { return holder_[reg]; }
  bool isReserved(uint32_t reg) const { return reserved_[reg]; }
  uint32_t hint(uint32_t variable) const { return hint_[variable]; }
  void setHint(uint32_t variable, uint32_t reg) { hint_[variable] = reg; }
  size_t count() const { return holder_.size(); }

  uint32_t allocate(uint32_t variable) {
    const uint32_t hint = hint_[variable];
    const uint32_t reg = hint != kNone && holder_[hint] == kNone ? hint : pop();
    assign(variable, reg);
    return reg;
  }
  /// A register that holds nothing and that is not allocated until unreserve.
  uint32_t reserve() {
    const uint32_t reg = pop();
    reserved_[reg] = true;
    return reg;
  }
  void reserve(uint32_t reg) { reserved_[reg] = true; }
  void unreserve(uint32_t reg) {
    reserved_[reg] = false;
    if (holder_[reg] == kNone) addFree(reg);
  }
  /// Puts `variable` into a register that is reserved or was just popped.
  void assign(uint32_t variable, uint32_t reg) {
    register_of_[variable] = reg;
    setHolder(reg, variable);
  }
  void release(uint32_t variable) {
    const uint32_t reg = register_of_[variable];
    setHolder(reg, kNone);
    if (!reserved_[reg]) addFree(reg);
  }

  size_t mark() const { return log_.size(); }
  void rewind(size_t mark) {
    std::vector<uint32_t> made;
    while (log_.size() > mark) {
      const Change change = log_.back();
      log_.pop_back();
      switch (change.kind) {
        case Change::Holder:
          holder_[change.reg] = change.old;
          break;
        case Change::Taken:
          free_.push_back(change.reg);
          break;
        case Change::Freed:
          free_.pop_back();
          break;
        case Change::Made:
          made.push_back(change.reg);
          break;
      }
    }
    for (uint32_t reg : made) addFree(reg);
  }
  /// Forgets the log; nothing before this point is rewound any more.
  void commit() { log_.clear(); }

 private:
  struct Change {
    enum Kind : uint8_t { Holder, Taken, Freed, Made } kind;
    uint32_t reg;
    uint32_t old;
  };
  void setHolder(uint32_t reg, uint32_t variable) {
    log_.push_back({Change::Holder, reg, holder_[reg]});
    holder_[reg] = variable;
  }
  uint32_t pop() {
    if (free_.empty()) {
      const auto reg = static_cast<uint32_t>(holder_.size());
      holder_.push_back(kNone);
      reserved_.push_back(false);
      log_.push_back({Change::Made, reg, 0});
      return reg;
    }
    const uint32_t reg = free_.back();
    free_.pop_back();
    log_.push_back({Change::Taken, reg, 0});
    return reg;
  }
  void addFree(uint32_t reg) {
    free_.push_back(reg);
    log_.push_back({Change::Freed, reg, 0});
  }

  std::vector<uint32_t> register_of_, hint_;  // per variable
  std::vector<uint32_t> holder_;              // per register: variable or kNone
  std::vector<bool> reserved_;
  std::vector<uint32_t> free_;
  std::vector<Change> log_;
};

}  // namespace cresset
