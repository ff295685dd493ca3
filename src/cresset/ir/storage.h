// Where a graph keeps its nodes, values, operands and names: memory that is handed out in order and freed at once.
//
// A graph of 100,000 nodes is visited in the order in which it was made, so what is made together lies together; and
// destroying it frees a few hundred blocks instead of a million. Thread-safety: none.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace cresset {

class Value;

namespace detail {

/// Bytes that live as long as the arena. Nothing is released before.
class Arena {
 public:
  void* allocate(size_t bytes) {
    bytes = (bytes + kAlign - 1) & ~(kAlign - 1);
    if (bytes > left_) [[unlikely]]
      return allocateSlowly(bytes);
    std::byte* result = next_;
    next_ += bytes;
    left_ -= bytes;
    return result;
  }

 private:
  static constexpr size_t kAlign = 8;
  static constexpr size_t kFirstBlock = 512, kLargestBlock = size_t(1) << 16;
  void* allocateSlowly(size_t bytes) {
    if (bytes >= kLargestBlock / 4) {  // a block of its own; the current one stays in use
      blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
      return blocks_.back().get();
    }
    const size_t size = block_size_ = std::clamp(2 * block_size_, std::bit_ceil(2 * bytes), kLargestBlock);
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    next_ = blocks_.back().get() + bytes;
    left_ = size - bytes;
    return blocks_.back().get();
  }
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
  size_t block_size_ = kFirstBlock / 2;
};

/// A vector in an arena. What it held before it grew stays there, so that growth by doubling costs at most
/// twice the memory. Its owner clears it before the arena dies, if elements have destructors.
template <typename T>
class ArenaVector {
 public:
  ArenaVector() = default;
  ArenaVector(const ArenaVector&) = delete;
  ArenaVector& operator=(const ArenaVector&) = delete;
  T* begin() const { return data_; }
  T* end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) const { return data_[i]; }
  T& back() const { return data_[size_ - 1]; }
  void reserve(Arena& arena, size_t n) {
    if (n <= capacity_) return;
    T* grown = static_cast<T*>(arena.allocate(sizeof(T) * n));
    for (uint32_t i = 0; i < size_; ++i) {
      new (static_cast<void*>(grown + i)) T(std::move(data_[i]));
      data_[i].~T();
    }
    data_ = grown;
    capacity_ = static_cast<uint32_t>(n);
  }
  void push_back(Arena& arena, T element) {
    if (size_ == capacity_) reserve(arena, std::max<size_t>(1, 2 * size_t{capacity_}));
    new (static_cast<void*>(data_ + size_++)) T(std::move(element));
  }
  void insert(Arena& arena, size_t at, T element) {
    push_back(arena, std::move(element));
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    data_[--size_].~T();
  }
  void clear() {
    std::destroy(begin(), end());
    size_ = 0;
  }

 private:
  T* data_ = nullptr;
  uint32_t size_ = 0;
  uint32_t capacity_ = 0;
};

/// Grows at its end and never moves an element.
template <typename T>
class StableVector {
 public:
  StableVector() = default;
  StableVector(const StableVector&) = delete;
  StableVector& operator=(const StableVector&) = delete;
  ~StableVector() {
    for (size_t i = 0; i < size_; ++i) (*this)[i].~T();
    for (T* chunk : chunks_) ::operator delete(chunk);
  }
  size_t size() const { return size_; }
  T& operator[](size_t i) const {
    const auto [chunk, offset] = place(i);
    return chunks_[chunk][offset];
  }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    const auto [chunk, offset] = place(size_);
    if (chunk == chunks_.size()) {
      chunks_.reserve(chunk + 1);
      chunks_.push_back(static_cast<T*>(::operator new(sizeof(T) * (kFirst << std::min(chunk, kDoublings)))));
    }
    T* element = new (&chunks_[chunk][offset]) T(std::forward<Args>(args)...);
    ++size_;
    return *element;
  }

 private:
  // Chunks of 8, 16, …, 256, 256, … elements.
  static constexpr size_t kFirst = 8, kDoublings = 5;
  static constexpr size_t kLargest = kFirst << kDoublings, kSmallTotal = kLargest - kFirst;
  static std::pair<size_t, size_t> place(size_t i) {
    if (i >= kSmallTotal) return {kDoublings + (i - kSmallTotal) / kLargest, (i - kSmallTotal) % kLargest};
    const size_t chunk = static_cast<size_t>(std::bit_width(i / kFirst + 1)) - 1;
    return {chunk, i - kFirst * ((size_t(1) << chunk) - 1)};
  }
  std::vector<T*> chunks_;
  size_t size_ = 0;
};

/// The named values of a graph, by name. Open addressing, so that finding a name costs one cache line beside the
/// value's own.
class NameTable {
 public:
  /// Null if there is none.
  Value* find(std::string_view name) const;
  /// Adds `value` under its name, which must not be there yet.
  void insert(Value* value);
  /// Removes the value of this name, which must be there.
  void erase(std::string_view name);
  /// Puts `value`, whose name is equal to that of the value that is there, in its place.
  void replace(Value* value);
  void reserve(size_t n);
  size_t size() const { return size_; }

 private:
  struct Slot {
    Value* value = nullptr;
    size_t hash = 0;
  };
  size_t slotOf(std::string_view name, size_t hash) const;  // of the value, or the empty one where the search ended
  void rehash(size_t capacity);
  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  size_t size_ = 0;
};

}  // namespace detail
}  // namespace cresset
