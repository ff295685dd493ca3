// Makes LLVM's IR of one kernel; within codegen/llvm.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cresset/codegen/compiler.h"
#include "cresset/codegen/kernel.h"

namespace cresset::codegen {

/// Products of matrices add up in so many lanes.
constexpr unsigned kProductLanes = 8;

/// Code that runs for one place, or for the places of a vector: next to each other along the kernel's vector dimension.
struct Lanes {
  unsigned count = 1;
  llvm::Value* mask = nullptr;  // of lanes that exist; null if all do
};

class KernelEmitter {
 public:
  KernelEmitter(llvm::Module& module, const Kernel& kernel, CpuLevel level, const std::string& name);
  void run();

 private:
  using Body = llvm::function_ref<void(const Lanes&)>;
  using Index = llvm::function_ref<void(llvm::Value*)>;
  using Values = llvm::SmallVector<llvm::Value*, 4>;
  using CarriedBody = llvm::function_ref<Values(llvm::Value* index, llvm::ArrayRef<llvm::Value*>)>;

  size_t numBuffers() const { return kernel_.inputs.size() + kernel_.outputs.size() + kernel_.scratch.size(); }
  llvm::Value* word(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  llvm::BasicBlock* newBlock(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  llvm::Value* readAt(unsigned argument, llvm::Type* type, size_t index);
  void readArguments();

  // ---- Loops ----
  /// The `end` of the loop that begins there.
  size_t endOf(size_t loop) const;
  void emitRange(size_t begin, size_t end, const Lanes& lanes);
  void emitLoop(size_t begin, size_t end, const Lanes& lanes);
  void emitVectorLoop(size_t begin, size_t end);
  /// The loop in vectors of `unrolled` lanes, then of as many as fill a register, then what is left.
  void emitVectors(size_t begin, unsigned unrolled, Body body);
  /// As many as fill a register with the widest of the values that differ from lane to lane.
  unsigned lanesOf(size_t begin, size_t end) const;
  /// for (i = start; i + lanes <= end; i += lanes); returns i afterwards.
  llvm::Value* emitFor(size_t dim, llvm::Value* start, unsigned lanes, Body body);
  /// What is left, with lanes beyond the end switched off.
  void emitMasked(size_t dim, llvm::Value* start, unsigned lanes, Body body);
  /// for (i = start; i < end; i += by), as the index of the dimension; returns i afterwards.
  llvm::Value* emitWhile(size_t dim, llvm::Value* start, llvm::Value* end, unsigned by, Index body);
  /// The same for an index of no dimension.
  llvm::Value* emitCounted(llvm::Value* start, llvm::Value* end, unsigned by, Index body);
  /// The same with values that each iteration makes of those before it; returns them too.
  std::pair<llvm::Value*, Values> emitCarried(
      llvm::Value* start, llvm::Value* end, unsigned by, llvm::ArrayRef<llvm::Value*> initial, CarriedBody body);
  llvm::Value* maskUntil(llvm::Value* index, llvm::Value* end, unsigned lanes);
  llvm::Value* numberedLanes(unsigned lanes);

  // ---- Scans: emit_scan.cpp ----
  /// The same for the loop's dimension; carries what `previous` in the loop stand for.
  llvm::Value* emitIterations(size_t begin, size_t end, llvm::Value* start, llvm::Value* last, unsigned by, Index body);
  bool computesScans(size_t begin, size_t end) const;
  /// Gives each `previous` of the loop what it begins with.
  void beginScans(size_t begin, size_t end, const Lanes& lanes);
  void emitScanInVectors(size_t begin, size_t end);
  size_t findChains(size_t begin, size_t end);
  void emitCarry(size_t number, const Lanes& lanes);

  // ---- Reductions: emit_reduction.cpp ----
  struct Accumulator {
    const Instruction* instruction;
    size_t number;          // of the instruction
    llvm::Type* type;       // of what it accumulates: a number, or one per lane
    llvm::Value* identity;  // of this type
  };
  using Accumulators = llvm::ArrayRef<Accumulator>;
  void emitReduction(size_t begin, size_t end, const Lanes& lanes);
  Values reduceBlockInVectors(
      size_t begin, size_t end, llvm::Value* first, llvm::Value* last, Accumulators accumulators);
  void reduceTail(
      size_t begin, size_t end, llvm::Value* first, llvm::Value* last, Accumulators accumulators, Values& sums);
  Values reduceBlockAcross(
      size_t begin, size_t end, llvm::Value* first, llvm::Value* last, const Lanes& lanes, Accumulators accumulators);
  unsigned lanesAtOnce(size_t begin, size_t end, Accumulators accumulators) const;
  void accumulateLanes(
      size_t begin, size_t end, llvm::Value* first, llvm::Value* last, const Lanes& lanes, Accumulators accumulators,
      llvm::ArrayRef<llvm::Value*> slots);
  void prefetchReads(size_t begin, size_t end, llvm::Value* first, llvm::Value* last, const Lanes& lanes);
  llvm::Value* combine(const Accumulator& accumulator, llvm::Value* a, llvm::Value* b);
  std::pair<llvm::Value*, llvm::Value*> halvesOf(llvm::Value* lanes);
  /// Lane i and lane i + 16, then i + 8, and so on.
  llvm::Value* foldLanes(const Accumulator& accumulator, llvm::Value* lanes);
  /// The index of an iteration as the dimension counts: from where the loop begins.
  void setIndex(size_t dim, llvm::Value* index);
  /// Memory for so many values, allocated when the kernel is entered; bools are bytes in it.
  llvm::Value* allocate(llvm::Type* type, unsigned count);
  llvm::Value* readSlot(llvm::Value* memory, llvm::Type* type, llvm::Value* index);
  void writeSlot(llvm::Value* memory, llvm::Value* index, llvm::Value* value);

  // ---- Tiles: emit_transposed.cpp ----
  /// Iterations of a loop, and the memory for what buffers that are transposed have in them: of each iteration a
  /// vector.
  struct Tile {
    size_t dim;                               // of the loop
    unsigned count;                           // of iterations
    unsigned square;                          // so many of them are transposed at once, of as many lanes
    llvm::Value* first;                       // iteration
    std::map<uint64_t, llvm::Value*> memory;  // per buffer
  };
  bool isTransposed(const Instruction& instruction, size_t dim) const;
  /// Nothing if the instructions of a loop transpose nothing along the dimension, or there are loops among them.
  std::optional<Tile> tileOf(size_t begin, size_t end, size_t dim) const;
  llvm::Value* endOfTile(const Tile& tile, llvm::Value* first, llvm::Value* end);
  /// `iterate` makes a loop of the tile's iterations, `first` to before `last`, around the instructions.
  void emitTile(
      size_t begin, size_t end, const Lanes& lanes, Tile tile, llvm::Value* first, llvm::Value* last,
      llvm::function_ref<void()> iterate);
  bool isInTile(uint64_t number) const { return tile_ && tile_->memory.contains(number); }
  llvm::Value* placeInTile(uint64_t number, llvm::Type* vector);
  void moveTile(const Tile& tile, llvm::ArrayRef<uint64_t> buffers, bool loads, const Lanes& lanes, llvm::Value* size);
  void moveWholeTile(const Tile& tile, uint64_t number, bool loads, const Lanes& lanes);
  void moveElements(const Tile& tile, uint64_t number, bool loads, const Lanes& lanes, llvm::Value* size);
  void emitTransposed(size_t begin, size_t end, const Lanes& lanes, const Tile& tile);
  void emitTiles(size_t begin, size_t inner, const Tile& tile);

  // ---- Products: emit_product.cpp ----
  bool computesProducts(size_t begin, size_t end) const;
  void emitProducts(size_t begin, size_t end, const Lanes& lanes);
  bool goesAlongRows(size_t begin, size_t end) const;
  void emitAlongRows(size_t begin, size_t end, unsigned num_rows, llvm::ArrayRef<size_t> products);
  void emitAcrossColumns(size_t begin, size_t end, const Lanes& lanes, llvm::ArrayRef<size_t> products);
  llvm::Value* multiplyAdd(const Instruction& product, llvm::Value* sum, const Lanes& lanes);
  llvm::Value* foldRows(llvm::ArrayRef<llvm::Value*> rows);

  // ---- Instructions ----
  llvm::Value* operand(Register value, const Lanes& lanes);
  llvm::Value* emit(const Instruction& instruction, const Lanes& lanes);
  llvm::Value* emitMostly(size_t number, const Lanes& lanes);
  llvm::Value* compute(const Instruction& instruction, llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* placeOf(const Lanes& lanes);
  llvm::Value* addressOf(uint64_t number);
  llvm::Value* addressesOf(uint64_t number, llvm::Value* first, const Lanes& lanes);
  /// `offset`: in bytes, or null.
  llvm::Value* load(uint64_t number, llvm::Value* offset, const Lanes& lanes);
  /// Leaves the kernel unless the index of each lane is below the size.
  llvm::Value* checkIndex(llvm::Value* index, llvm::Value* size, const Lanes& lanes);
  void store(const Instruction& instruction, const Lanes& lanes);
  void addTo(const Instruction& instruction, const Lanes& lanes);
  void addLane(const Instruction& instruction, llvm::Value* address, llvm::Value* added);

  const Kernel& kernel_;
  const CpuLevel level_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_;
  llvm::Value* loop_begin_ = nullptr;   // of a reduction that does not begin at 0
  llvm::BasicBlock* failed_ = nullptr;  // returns that an index is out of range; null until it is needed
  std::vector<llvm::Value*> values_;    // per instruction
  const std::vector<size_t> rare_;      // per instruction: rareInstructions
  std::vector<llvm::Value*> indices_;   // per dimension, of loops that are open
  size_t vector_dim_;                   // along which lanes go
  const Tile* tile_ = nullptr;          // whose iterations are made
  /// Per instruction of a scan along whose iterations vectors go: whether it is computed lane by lane. Else empty.
  std::vector<bool> is_chain_;
  /// In the loop of a product that goes along rows: where it begins, and which lane of the values outside belongs to
  /// the row.
  size_t product_begin_ = SIZE_MAX;
  unsigned row_ = 0;
  std::vector<llvm::Value*> bases_, ends_, numbers_;
  std::vector<std::vector<llvm::Value*>> strides_;
};

}  // namespace cresset::codegen
