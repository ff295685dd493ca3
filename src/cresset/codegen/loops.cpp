#include "cresset/codegen/loops.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace cresset::codegen {

namespace {

/// Where an instruction stands.
struct Place {
  size_t depth = 0;               // in how many of the loops over dimensions that are not reduced
  std::optional<size_t> reduced;  // in the one over this dimension too, which is reduced
  /// Which of such loops: it comes after those whose results it takes. Those with reductions have even numbers; those
  /// with scans, which go from element to element, odd ones.
  size_t stage = 0;
  bool scans = false;     // it is computed from what an iteration before has carried
  bool is_chain = false;  // and is part of computing what is carried next
};

class KernelMaker {
 public:
  KernelMaker(const KernelBody& body, const LoopNest& nest, bool keeps)
      : body_(body), nest_(nest), num_outer_(nest.sizes.size() - nest.num_reduced) {
    kernel_.num_dims = nest.sizes.size();
    kernel_.vector_dim = nest.vector_dim;
    kernel_.num_reduced = nest.num_reduced;
    kernel_.numbers = body.numbers;
    for (size_t i = 0; i < body.inputs.size(); ++i) kernel_.inputs.push_back({body.inputs[i], nest.steps[i]});
    for (size_t i = 0; i < body.outputs.size(); ++i)
      kernel_.outputs.push_back({body.outputs[i], nest.steps[body.inputs.size() + i]});
    for (const Instruction& instruction : body.code) places_.push_back(placeOf(instruction));
    registers_.resize(body.code.size());
    kept_.resize(body.code.size());
    if (keeps) keepValues();
  }

  Kernel run() {
    for (size_t depth = 0; depth <= num_outer_; ++depth) {
      if (depth > 0) kernel_.code.push_back({Opcode::For, at::kFloat, {}, depth - 1});
      for (size_t i = 0; i < body_.code.size(); ++i) {
        if (!places_[i].reduced && places_[i].stage == 0 && places_[i].depth == depth) add(i);
      }
    }
    for (size_t stage = 0; stage <= last_stage_; ++stage) {
      if (stage > 0) addBetweenLoops(stage);
      for (size_t dim = num_outer_; dim < nest_.sizes.size(); ++dim) addReducedLoop(stage, dim);
    }
    kernel_.code.insert(kernel_.code.end(), num_outer_, {Opcode::End});
    return std::move(kernel_);
  }

 private:
  const Place& placeOfOperand(const Instruction& instruction, size_t k) const {
    return places_[instruction.operands[k]];
  }

  Place placeOf(const Instruction& instruction) {
    Place place;
    for (size_t k = 0; k < numOperands(instruction.opcode); ++k) {
      const Place& operand = placeOfOperand(instruction, k);
      place.depth = std::max(place.depth, operand.depth);
      if (operand.reduced) place.reduced = operand.reduced;
      place.stage = std::max(place.stage, operand.stage + (isReduction(operandOf(instruction, k).opcode) ? 2 : 0));
      place.scans = place.scans || operand.scans;
      place.is_chain = place.is_chain || operand.is_chain;
    }
    if (instruction.opcode == Opcode::Previous) {
      place.reduced = num_outer_;
      place.scans = place.is_chain = true;
    }
    if (instruction.opcode == Opcode::Carry) place.is_chain = false;
    if (place.scans) place.stage |= 1;
    last_stage_ = std::max(last_stage_, place.stage);
    if (isReduction(instruction.opcode)) {
      // Of what is the same for all elements, there are as many as the first such dimension has.
      reduces_along_[places_.size()] = place.reduced.value_or(num_outer_);
      return {num_outer_, std::nullopt, place.stage};
    }
    if (instruction.opcode == Opcode::Place) place.reduced = num_outer_;
    if (instruction.opcode == Opcode::Store || instruction.opcode == Opcode::AddTo) {
      place.depth = num_outer_;
      if (const auto reduced = reducedDimOf(kernel_.buffer(instruction.immediate))) place.reduced = reduced;
    }
    const bool is_of_buffer =
        instruction.opcode == Opcode::Load || instruction.opcode == Opcode::Read || instruction.opcode == Opcode::Where;
    if (!is_of_buffer) return place;
    const Buffer& buffer = kernel_.buffer(instruction.immediate);
    if (const auto reduced = reducedDimOf(buffer)) place.reduced = reduced;
    for (size_t d = place.depth; d < num_outer_; ++d) {
      if (buffer.steps[d] != Step::None) place.depth = d + 1;
    }
    return place;
  }

  std::optional<size_t> reducedDimOf(const Buffer& buffer) const {
    for (size_t d = num_outer_; d < buffer.steps.size(); ++d) {
      if (buffer.steps[d] != Step::None) return d;
    }
    return std::nullopt;
  }

  const Instruction& operandOf(const Instruction& instruction, size_t k) const {
    return body_.code[instruction.operands[k]];
  }

  void add(size_t i) {
    if (isReduction(body_.code[i].opcode)) return;  // stands in a loop
    append(i);
  }

  void append(size_t i) {
    Instruction instruction = body_.code[i];
    for (size_t k = 0; k < numOperands(instruction.opcode); ++k)
      instruction.operands[k] = registers_[instruction.operands[k]];
    registers_[i] = static_cast<Register>(kernel_.code.size());
    kernel_.code.push_back(instruction);
  }

  void addBetweenLoops(size_t stage) {
    for (size_t i = 0; i < body_.code.size(); ++i) {
      if (!places_[i].reduced && places_[i].stage == stage) add(i);
    }
  }

  /// What the loop of this stage over the dimension accumulates or stores. Indices are looked at whether anything needs
  /// what they lead to or not.
  bool endsIn(size_t i, size_t stage, size_t dim) const {
    if (places_[i].stage != stage) return false;
    const Opcode opcode = body_.code[i].opcode;
    if (isReduction(opcode)) return reduces_along_.at(i) == dim;
    return (opcode == Opcode::Store || opcode == Opcode::Index) && places_[i].reduced == dim;
  }

  /// What is computed in the loop of this stage over the dimension.
  std::vector<bool> neededIn(size_t stage, size_t dim) const {
    std::vector<bool> needed(body_.code.size());
    for (size_t i = body_.code.size(); i-- > 0;) {
      const Instruction& instruction = body_.code[i];
      needed[i] = needed[i] || endsIn(i, stage, dim);
      if (!needed[i]) continue;
      for (size_t k = 0; k < numOperands(instruction.opcode); ++k) {
        const Register operand = instruction.operands[k];
        if (places_[operand].reduced && !isKept(operand, stage)) needed[operand] = true;
      }
    }
    return needed;
  }

  bool isKept(Register value, size_t stage) const { return kept_[value] && kept_[value]->stage < stage; }

  /// Decides what is kept in scratch: what a later loop takes from an earlier one, and would be long in computing.
  void keepValues() {
    std::vector<size_t> first(body_.code.size(), SIZE_MAX);  // the stage of the first loop that computes it
    for (size_t stage = 0; stage <= last_stage_; ++stage) {
      const std::vector<bool> needed = neededIn(stage, num_outer_);
      for (size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i] || first[i] < stage) continue;
        for (size_t k = 0; k < numOperands(body_.code[i].opcode); ++k) {
          const Register operand = body_.code[i].operands[k];
          if (first[operand] < stage && !kept_[operand] && !places_[operand].is_chain && costOf(operand) >= kCost)
            keep(operand, first[operand]);
        }
      }
      for (size_t i = 0; i < needed.size(); ++i) {
        if (needed[i] && places_[i].reduced) first[i] = std::min(first[i], stage);
      }
    }
  }

  void keep(Register value, size_t stage) {
    const size_t buffer = kernel_.inputs.size() + kernel_.outputs.size() + kernel_.scratch.size();
    kept_[value] = Kept{stage, buffer};
    Buffer scratch{body_.code[value].type, std::vector<Step>(nest_.sizes.size(), Step::None)};
    if (kernel_.reducesVectors()) scratch.steps.back() = Step::Next;
    kernel_.scratch.push_back(std::move(scratch));
  }

  /// Instructions that compute it anew.
  size_t costOf(Register value) const {
    std::vector<bool> seen(body_.code.size());
    std::vector<Register> queue = {value};
    size_t cost = 0;
    while (!queue.empty()) {
      const Register next = queue.back();
      queue.pop_back();
      if (seen[next] || !places_[next].reduced) continue;
      if (next != value && kept_[next]) continue;
      seen[next] = true;
      const Opcode opcode = body_.code[next].opcode;
      const bool is_slow = opcode == Opcode::Div || opcode == Opcode::Sqrt || opcode == Opcode::Carry;
      cost += is_slow ? 4 : 1;
      for (size_t k = 0; k < numOperands(opcode); ++k) queue.push_back(body_.code[next].operands[k]);
    }
    return cost;
  }

  void addReducedLoop(size_t stage, size_t dim) {
    const std::vector<bool> needed = neededIn(stage, dim);
    if (std::find(needed.begin(), needed.end(), true) == needed.end()) return;
    kernel_.code.push_back({Opcode::For, at::kFloat, {}, dim});
    if (body_.bounds) {
      kernel_.code.back().type = at::kLong;
      for (size_t k = 0; k < 2; ++k) kernel_.code.back().operands[k] = registers_[(*body_.bounds)[k]];
    }
    for (size_t i = 0; i < body_.code.size(); ++i) {
      if (!needed[i]) continue;
      for (size_t k = 0; k < numOperands(body_.code[i].opcode); ++k) {
        const Register operand = body_.code[i].operands[k];
        if (isKept(operand, stage)) loadKept(operand, stage);
      }
      append(i);
      if (kept_[i] && kept_[i]->stage == stage)
        kernel_.code.push_back({Opcode::Store, body_.code[i].type, {registers_[i]}, kept_[i]->buffer});
    }
    kernel_.code.push_back({Opcode::End});
  }

  void loadKept(Register value, size_t stage) {
    if (kept_[value]->loaded_in == stage) return;
    kept_[value]->loaded_in = stage;
    registers_[value] = static_cast<Register>(kernel_.code.size());
    kernel_.code.push_back({Opcode::Load, body_.code[value].type, {}, kept_[value]->buffer});
  }

  /// From how many instructions on a value is rather loaded than computed.
  static constexpr size_t kCost = 3;

  struct Kept {
    size_t stage;          // of the loop that computes it
    size_t buffer;         // of scratch
    size_t loaded_in = 0;  // the stage of the last loop that loads it
  };

  const KernelBody& body_;
  const LoopNest& nest_;
  const size_t num_outer_;
  Kernel kernel_;
  std::vector<Place> places_;               // per instruction of the body
  std::map<size_t, size_t> reduces_along_;  // the dimensions of reductions
  std::vector<Register> registers_;         // the same: where it was put last
  std::vector<std::optional<Kept>> kept_;
  size_t last_stage_ = 0;
};

}  // namespace

Kernel makeKernel(const KernelBody& body, const LoopNest& nest, bool keeps) {
  return KernelMaker(body, nest, keeps).run();
}

}  // namespace cresset::codegen
