#include "cresset/executor/plan_memory.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstring>

#include "cresset/executor/size_classes.h"
#include "cresset/support/poison.h"

namespace cresset {

namespace {

/// A NaN of every floating dtype.
constexpr int kFill = 0xff;

c10::Storage emptyStorage() {
  c10::Allocator* allocator = c10::GetCPUAllocator();
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), 0, allocator->allocate(0), allocator, /*resizable=*/true);
}

/// `dtype`: Undefined if what computes into it gives it one.
at::Tensor tensorIn(const c10::Storage& storage, at::ScalarType dtype) {
  if (dtype == at::ScalarType::Undefined) dtype = at::kByte;
  return at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), c10::scalarTypeToTypeMeta(dtype));
}

/// Whether this storage is the only owner of its memory, which may have been moved to where other processes see it, or
/// shared until one writes.
bool hasOwnMemory(const c10::Storage& storage) {
  return !storage.data_ptr().get() || storage.data_ptr().get_deleter() == c10::GetCPUAllocator()->raw_deleter();
}

/// Whether it is there, and there is no other reference to a tensor in it, to itself or to the memory behind it.
bool isFree(const c10::Storage& storage) {
  return storage && storage.use_count() == 1 && hasOwnMemory(storage);
}

void fillWithNan(const c10::Storage& storage) {
  if (storage.nbytes() > 0) std::memset(storage.mutable_data(), kFill, storage.nbytes());
}

/// The tensor has no elements then, so that what has the sizes of a result has memory for them.
void setMemory(const at::Tensor& tensor, void* data, size_t bytes) {
  const c10::Storage& storage = tensor.storage();
  storage.set_data_ptr_noswap(c10::DataPtr(data, c10::Device(c10::kCPU)));
  storage.set_nbytes(bytes);
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({0});
}

}  // namespace

PlanMemory::PlanMemory(std::shared_ptr<const MemoryLayout> layout, const MemoryOptions& options)
    : layout_(std::move(layout)), options_(options) {
  if (options_.policy == MemoryPolicy::Precomputed) {
    policy_ = std::make_unique<SizeClasses>(layout_);
  } else {
    policy_ = std::make_unique<LearnedSizes>();
  }
  is_watched_ = options_.fill_freed || kPoisonsMemory;
  bytes_.resize(layout_->slots.size());
  offsets_.resize(layout_->slots.size());
  apart_bytes_.resize(layout_->slots.size());
  turning_.resize(layout_->slots.size());
  for (const MemoryLayout::Slot& slot : layout_->slots) {
    storages_.push_back(slot.liesApart() ? c10::Storage() : emptyStorage());
    slots_.push_back(slot.liesApart() ? at::Tensor() : tensorIn(storages_.back(), slot.dtype));
  }
  keepSlots();
  if constexpr (kPoisonsMemory) {
    arrivals_.resize(layout_->positions.size());
    for (uint32_t i = 0; i < slots_.size(); ++i) {
      const auto site = std::lower_bound(layout_->positions.begin(), layout_->positions.end(), layout_->slots[i].first);
      if (!layout_->slots[i].liesApart())
        arrivals_[static_cast<size_t>(site - layout_->positions.begin())].push_back(i);
    }
  }
}

PlanMemory::~PlanMemory() = default;

std::vector<Temporary> PlanMemory::temporaries(bool take_places) const {
  std::vector<Temporary> all;
  for (size_t i = 0; i < bytes_.size(); ++i) {
    const MemoryLayout::Slot& slot = layout_->slots[i];
    all.push_back({slot.liesApart() ? 0 : bytes_[i], slot.first, slot.last});
    if (!take_places || slot.place == i) continue;
    Temporary& place = all[slot.place];
    place.bytes = std::max(place.bytes, all[i].bytes);
    place.last = std::max(place.last, slot.last);
    all[i].bytes = 0;
  }
  return all;
}

const MemoryPlan& PlanMemory::placement() {
  if (const auto found = placements_.find(bytes_); found != placements_.end()) return found->second;
  // Sizes that are learned only grow: those before don't come back.
  const size_t most = options_.policy == MemoryPolicy::Precomputed ? kMaxPlacements : 1;
  if (placements_.size() >= most) placements_.erase(placements_.begin());
  std::vector<Temporary> all = temporaries(options_.share);
  if (!options_.share) {
    for (Temporary& one : all) one = {one.bytes, 0, 0};  // all are needed at once
  }
  return placements_.emplace(bytes_, planMemory(all)).first->second;
}

void PlanMemory::placeSlots() {
  const MemoryPlan& plan = placement();
  for (uint32_t i = 0; i < offsets_.size(); ++i) offsets_[i] = plan.offsets[placeOf(i)];
  arena_bytes_ = plan.bytes;
  allocateArena();
  for (uint32_t i = 0; i < bytes_.size(); ++i) {
    if (layout_->slots[i].liesApart()) continue;
    auto* begin = static_cast<std::byte*>(
        kPoisonsMemory ? own_places_[placeOf(i)].memory.get() : static_cast<std::byte*>(arena_.get()) + offsets_[i]);
    setMemory(slots_[i], bytes_[i] > 0 ? begin : nullptr, bytes_[i]);
  }
  is_placed_ = true;
}

void PlanMemory::allocateArena() {
  if constexpr (kPoisonsMemory) {
    own_places_.clear();
    for (const Temporary& one : temporaries(options_.share)) {
      own_places_.push_back({c10::GetCPUAllocator()->allocate(one.bytes), one.bytes});
      if (options_.fill_freed && one.bytes > 0) std::memset(own_places_.back().memory.get(), kFill, one.bytes);
      poisonMemory(own_places_.back().memory.get(), one.bytes);
    }
  }
  if (arena_bytes_ > held_bytes_) {
    arena_ = c10::DataPtr();  // first, so that there never are two
    held_bytes_ = 0;
    if (!kPoisonsMemory) arena_ = c10::GetCPUAllocator()->allocate(arena_bytes_);
    held_bytes_ = arena_bytes_;
    ++slot_allocations_;
  }
  if (options_.fill_freed && arena_) std::memset(arena_.get(), kFill, arena_bytes_);
}

void PlanMemory::poisonPlace(uint32_t slot) const {
  if (!kPoisonsMemory || layout_->slots[slot].liesApart() || own_places_.empty()) return;
  const OwnPlace& place = own_places_[placeOf(slot)];
  poisonMemory(place.memory.get(), place.bytes);
}

void PlanMemory::unpoisonPlace(uint32_t slot) const {
  if (!kPoisonsMemory || layout_->slots[slot].liesApart() || own_places_.empty()) return;
  const OwnPlace& place = own_places_[placeOf(slot)];
  unpoisonMemory(place.memory.get(), place.bytes);
}

void PlanMemory::begin(std::span<const c10::IValue> inputs) {
  slot_allocations_ = 0;
  if (policy_->sizesFor(inputs, bytes_)) is_placed_ = false;
  if (!is_placed_) placeSlots();
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    if (!layout_->slots[i].is_output || layout_->slots[i].turns) continue;
    if (!isFree(storages_[i])) storages_[i] = emptyStorage();
    slots_[i] = tensorIn(storages_[i], layout_->slots[i].dtype);
    watchGrowth(i);
  }
}

void PlanMemory::watchGrowth(uint32_t slot) {
  apart_bytes_[slot] = slots_[slot].storage().nbytes();
}

void PlanMemory::countGrowth(uint32_t slot) {
  if (slots_[slot].defined() && slots_[slot].storage().nbytes() > apart_bytes_[slot]) ++slot_allocations_;
}

void PlanMemory::turn(uint32_t slot) {
  countGrowth(slot);
  slots_[slot] = at::Tensor();
  slots_[slot] = tensorIn(freeStorage(slot), layout_->slots[slot].dtype);
  watchGrowth(slot);
}

const c10::Storage& PlanMemory::freeStorage(uint32_t slot) {
  std::vector<c10::Storage>& own = turning_[slot];
  const auto found = std::find_if(own.begin(), own.end(), isFree);
  if (found != own.end()) {
    if (options_.fill_freed) fillWithNan(*found);
    return *found;
  }
  const size_t most = layout_->slots[slot].is_output ? kMostTurningOutputs : kMostTurning;
  if (own.size() == most) own.erase(own.begin());
  return own.emplace_back(emptyStorage());
}

void PlanMemory::end() {
  bool grew = false;
  std::vector<size_t> needed;
  for (uint32_t i = 0; i < slots_.size(); ++i) {
    const MemoryLayout::Slot& slot = layout_->slots[i];
    if (slot.liesApart()) {
      countGrowth(i);
      slots_[i] = at::Tensor();
      if (!slot.is_output) std::erase_if(turning_[i], [](const c10::Storage& storage) { return !isFree(storage); });
      continue;
    }
    restore(i);
    const size_t now = storages_[i].nbytes();
    if (now <= bytes_[i]) continue;
    if (!grew) needed = bytes_;
    grew = true;
    needed[i] = now;
    ++slot_allocations_;
  }
  if (grew) {
    policy_->learn(needed);
    is_placed_ = false;  // if the sizes stay, the pieces that were outgrown are too small still
  }
  if (options_.fill_freed) {
    for (uint32_t i = 0; i < slots_.size(); ++i) fill(i);
  }
  for (uint32_t i = 0; i < slots_.size(); ++i) poisonPlace(i);
  if (!options_.keep) releaseArena();
}

void PlanMemory::beforeCall(uint32_t site) {
  for (const uint32_t slot : layout_->deaths[site]) {
    if (options_.fill_freed) fill(slot);
    poisonPlace(slot);
  }
  if constexpr (kPoisonsMemory) {
    for (const uint32_t slot : arrivals_[site]) unpoisonPlace(slot);
  }
}

void PlanMemory::fill(uint32_t slot) {
  if (layout_->slots[slot].liesApart()) return;
  unpoisonPlace(slot);
  fillWithNan(storages_[slot]);
}

void PlanMemory::releaseArena() {
  arena_ = c10::DataPtr();
  own_places_.clear();
  held_bytes_ = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!layout_->slots[i].liesApart()) setMemory(slots_[i], nullptr, 0);
    if (!layout_->slots[i].is_output) turning_[i].clear();
  }
  is_placed_ = false;
}

void PlanMemory::releaseOutputs() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!layout_->slots[i].is_output) continue;
    storages_[i] = c10::Storage();
    turning_[i].clear();
  }
}

bool PlanMemory::isHeldOutside() const {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (layout_->slots[i].liesApart()) continue;
    // The memory holds the tensor twice, as a slot and as a value, and the tensor its storage.
    if (slots_[i].use_count() != 2 || storages_[i].use_count() != 2) return true;
  }
  return false;
}

MemoryFigures PlanMemory::figures() const {
  MemoryFigures figures;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const MemoryLayout::Slot& slot = layout_->slots[i];
    size_t turning_bytes = 0;
    for (const c10::Storage& storage : turning_[i]) turning_bytes += storage.nbytes();
    if (slot.is_output) {
      ++figures.output_slots;
      figures.output_bytes += turning_bytes + (storages_[i] ? storages_[i].nbytes() : 0);
    } else if (slot.turns) {
      ++figures.turning_slots;
      figures.turning_bytes += turning_bytes;
    } else {
      ++figures.slots;
      figures.sum_bytes += bytes_[i];
    }
  }
  figures.arena_bytes = arena_bytes_;
  figures.held_bytes = held_bytes_;
  figures.least_bytes = leastMemory(temporaries(/*take_places=*/true));
  figures.least_apart = leastMemory(temporaries(/*take_places=*/false));
  figures.slot_allocations = slot_allocations_;
  return figures;
}

std::vector<std::optional<PlanMemory::Place>> PlanMemory::places() const {
  std::vector<std::optional<Place>> places;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const bool is_inside = !layout_->slots[i].liesApart() && bytes_[i] > 0;
    places.push_back(is_inside ? std::optional(Place{offsets_[i], bytes_[i]}) : std::nullopt);
  }
  return places;
}

}  // namespace cresset
