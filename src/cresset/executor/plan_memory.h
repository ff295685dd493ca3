// The memory that runs of a plan compute into: slots (memory_layout.h) in one arena.
//
// Each slot is a tensor whose storage is a piece of the arena. What computes into it gives it its sizes; where the
// piece is too small, the storage takes other memory of its own, as that of any tensor that is resized, and the next
// run has a larger arena. So the arena is right whatever the sizes turn out to be, and a run allocates nothing once
// they are known.
//
// Slots of results that leave the graph are no part of it. Each has a storage of its own, which whoever holds the
// result keeps alive; after the last reference, the next run uses it again.
//
// So do slots that turn: what a loop computes for later iterations. Each has some storages, of which a call that
// computes it takes one without other references, or makes one: two, where each iteration computes its successor. What
// is still referred to when the run has ended has left, and is forgotten unless outputs are managed.
//
// With AddressSanitizer each place is an allocation of its own rather than a piece of the arena, whose figures are as
// in other builds, and is poisoned while nothing that lies there is needed: what writes beyond its slot, or uses one
// too early or too late, is seen.
//
// Thread-safety: belongs to one run at a time.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "cresset/executor/memory_layout.h"
#include "cresset/executor/memory_planner.h"

namespace cresset {

enum class MemoryPolicy : uint8_t {
  Standard,     // sizes are learned at the first run, grow after a larger one, stay after a smaller one
  Precomputed,  // sizes are computed from those of the arguments, and kept per size class
};

struct MemoryOptions {
  MemoryPolicy policy = MemoryPolicy::Standard;
  bool share = true;        // slots that are not needed at the same time may lie in the same place
  bool keep = true;         // memory stays with the instance between runs
  bool fill_freed = false;  // writes NaN into memory that is not needed any more
};

struct MemoryFigures {
  size_t slots = 0, output_slots = 0, turning_slots = 0;
  size_t arena_bytes = 0;    // that the slots of the last run lie in
  size_t held_bytes = 0;     // of the arena, which stays as large as the largest run needed it
  size_t least_bytes = 0;    // that any placement of the slots of the last run needs
  size_t least_apart = 0;    // … if no slot took another's place
  size_t sum_bytes = 0;      // of the slots
  size_t output_bytes = 0;   // of results that have left, of this instance
  size_t turning_bytes = 0;  // of those that loops keep for later iterations, and that have not left
  /// Of the last run, for what has a slot: arenas, slots that outgrew theirs, results. What operators allocate for
  /// others, and for themselves, is counted by StaticRuntime::benchmark_individual_ops.
  size_t slot_allocations = 0;
};

class PlanMemory final : public RunMemory {
 public:
  PlanMemory(std::shared_ptr<const MemoryLayout> layout, const MemoryOptions& options);
  ~PlanMemory() override;

  /// Around each run. `inputs`: of the plan's code.
  void begin(std::span<const c10::IValue> inputs);
  /// Also after one that has thrown.
  void end();
  void beforeCall(uint32_t site) override;
  void turn(uint32_t slot) override;

  MemoryFigures figures() const;
  /// Where slots lie: offset in the arena and bytes; of those outside of it, nothing.
  struct Place {
    size_t offset, bytes;
  };
  std::vector<std::optional<Place>> places() const;
  const MemoryLayout& layout() const { return *layout_; }
  /// Forgets the storages of results that have left: who holds one keeps it, and it is freed after that.
  void releaseOutputs();
  /// Frees the arena, and what slots that turn hold; the next run allocates anew.
  void releaseArena();
  /// Whether something beside this holds a slot's tensor or its memory: a result that should not have left.
  bool isHeldOutside() const;

 private:
  /// Where slots of the sizes `bytes_` lie; kept per size class.
  const MemoryPlan& placement();
  void placeSlots();
  void allocateArena();
  uint32_t placeOf(uint32_t slot) const { return options_.share ? layout_->slots[slot].place : slot; }
  void poisonPlace(uint32_t slot) const;
  void unpoisonPlace(uint32_t slot) const;
  void fill(uint32_t slot);
  /// Begins to count what the storage of a slot that lies apart allocates; ends it.
  void watchGrowth(uint32_t slot);
  void countGrowth(uint32_t slot);
  /// A storage of the slot that nothing else refers to.
  const c10::Storage& freeStorage(uint32_t slot);
  /// Per slot. `take_places`: as those that share a place need it; others are what is needed without that.
  std::vector<Temporary> temporaries(bool take_places) const;

  const std::shared_ptr<const MemoryLayout> layout_;
  const MemoryOptions options_;
  std::unique_ptr<SizePolicy> policy_;
  std::vector<c10::Storage> storages_;                                 // per slot; of those that turn, none
  std::vector<std::vector<c10::Storage>> turning_;                     // per slot that turns, those that it has
  static constexpr size_t kMostTurning = 4, kMostTurningOutputs = 64;  // a slot holds
  std::vector<size_t> bytes_;                                          // per slot, of its piece
  std::vector<size_t> offsets_;                                        // of pieces
  std::vector<size_t> apart_bytes_;  // per slot that lies apart: what its storage had before it was used
  c10::DataPtr arena_;
  struct OwnPlace {
    c10::DataPtr memory;
    size_t bytes;
  };
  std::vector<OwnPlace> own_places_;             // per slot, instead of the arena, if memory is poisoned
  std::vector<std::vector<uint32_t>> arrivals_;  // per site, the slots that it computes, if memory is poisoned
  size_t arena_bytes_ = 0, held_bytes_ = 0;
  static constexpr size_t kMaxPlacements = 64;
  std::map<std::vector<size_t>, MemoryPlan> placements_;  // by sizes
  bool is_placed_ = false;
  size_t slot_allocations_ = 0;
};

/// Makes memory belong to a run; ends it however the run ends.
class PlanMemoryScope {
 public:
  PlanMemoryScope(PlanMemory& memory, std::span<const c10::IValue> inputs) : memory_(memory) { memory_.begin(inputs); }
  ~PlanMemoryScope() { memory_.end(); }
  PlanMemoryScope(const PlanMemoryScope&) = delete;
  PlanMemoryScope& operator=(const PlanMemoryScope&) = delete;

 private:
  PlanMemory& memory_;
};

}  // namespace cresset
