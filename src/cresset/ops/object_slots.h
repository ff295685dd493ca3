// Attributes of objects, read and written atomically.
//
// An attribute is an IValue: two words and a reference count. Reading one while another thread writes it could take a
// reference to a value that is just being freed, so each access holds a lock for the length of a copy or a swap. Locks
// are striped by the object's address: objects carry no lock of their own (they are c10's), and accesses to different
// objects rarely meet. The value that a write replaces is destroyed after the lock is released, since destructors may
// run any code.
//
// What races may see: each read returns a value that some write put there (or the first one); two attributes are two
// accesses.
#pragma once

#include <ATen/core/ivalue.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace cresset {

namespace detail {

/// A spinlock: what it guards takes a few nanoseconds.
class alignas(64) SlotStripe {
 public:
  void lock() {
    if (!locked_.exchange(true, std::memory_order_acquire)) [[likely]]
      return;
    lockSlowly();
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  void lockSlowly();  // spins for a while, then yields: the holder may have lost its processor
  std::atomic<bool> locked_{false};
};

inline constexpr size_t kSlotStripes = 256;
extern SlotStripe slot_stripes[kSlotStripes];

inline SlotStripe& slotStripe(const c10::ivalue::Object& object) {
  // Objects are at least 64 bytes apart; the multiplication spreads what allocators align.
  uint64_t key = reinterpret_cast<uintptr_t>(&object) >> 4;
  return slot_stripes[(key * 0x9E3779B97F4A7C15ull) >> 56];
}

}  // namespace detail

/// None if the slot has never been written.
inline c10::IValue readSlot(const c10::ivalue::Object& object, size_t slot) {
  auto& stripe = detail::slotStripe(object);
  stripe.lock();
  c10::IValue value = slot < object.slots().size() ? object.slots()[slot] : c10::IValue();
  stripe.unlock();
  return value;
}

/// Returns the value that was there.
inline c10::IValue exchangeSlot(c10::ivalue::Object& object, size_t slot, c10::IValue value) {
  auto& stripe = detail::slotStripe(object);
  stripe.lock();
  if (slot >= object.slots().size()) [[unlikely]] {
    // The class has gained attributes since the object was made; setSlot grows the object.
    try {
      object.setSlot(slot, c10::IValue());
    } catch (...) {
      stripe.unlock();
      throw;
    }
  }
  // c10 hands out its slots for reading only; no slot is a const object.
  std::swap(const_cast<c10::IValue&>(object.slots()[slot]), value);
  stripe.unlock();
  return value;
}

inline void writeSlot(c10::ivalue::Object& object, size_t slot, c10::IValue value) {
  exchangeSlot(object, slot, std::move(value));
}

}  // namespace cresset
