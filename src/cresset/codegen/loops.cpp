#include "cresset/codegen/loops.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace cresset::codegen {

namespace {

/// Where an instruction stands.
struct Place {
  size_t depth = 0;         // in how many of the loops over dimensions that are not reduced
  bool is_reduced = false;  // in one over the reduced dimension too
  size_t stage = 0;         // how many such loops come before: those whose results it takes
};

class KernelMaker {
 public:
  KernelMaker(const KernelBody& body, const LoopNest& nest, bool keeps)
      : body_(body), nest_(nest), num_outer_(nest.sizes.size() - (nest.reduces ? 1 : 0)) {
    kernel_.num_dims = nest.sizes.size();
    kernel_.vector_dim = nest.vector_dim;
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
        if (!places_[i].is_reduced && places_[i].stage == 0 && places_[i].depth == depth) add(i);
      }
    }
    for (size_t stage = 0; stage <= last_stage_; ++stage) {
      if (stage > 0) addBetweenLoops(stage);
      addReducedLoop(stage);
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
      place.is_reduced = place.is_reduced || operand.is_reduced;
      place.stage = std::max(place.stage, operand.stage + (isReduction(operandOf(instruction, k).opcode) ? 1 : 0));
    }
    last_stage_ = std::max(last_stage_, place.stage);
    if (isReduction(instruction.opcode)) return {num_outer_, false, place.stage};
    if (instruction.opcode == Opcode::Store) {
      place.depth = num_outer_;
      place.is_reduced = nest_.reduces && kernel_.buffer(instruction.immediate).steps.back() != Step::None;
    }
    if (instruction.opcode != Opcode::Load) return place;
    const std::vector<Step>& steps = kernel_.buffer(instruction.immediate).steps;
    for (size_t d = 0; d < steps.size(); ++d) {
      if (steps[d] == Step::None) continue;
      if (d == num_outer_) {
        place.is_reduced = true;
      } else {
        place.depth = d + 1;
      }
    }
    return place;
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
      if (!places_[i].is_reduced && places_[i].stage == stage) add(i);
    }
  }

  /// What the loop of this stage accumulates or stores.
  bool endsIn(size_t i, size_t stage) const {
    const Opcode opcode = body_.code[i].opcode;
    const bool is_end = isReduction(opcode) || (opcode == Opcode::Store && places_[i].is_reduced);
    return is_end && places_[i].stage == stage;
  }

  /// What is computed in the loop of this stage.
  std::vector<bool> neededIn(size_t stage) const {
    std::vector<bool> needed(body_.code.size());
    for (size_t i = body_.code.size(); i-- > 0;) {
      const Instruction& instruction = body_.code[i];
      needed[i] = needed[i] || endsIn(i, stage);
      if (!needed[i]) continue;
      for (size_t k = 0; k < numOperands(instruction.opcode); ++k) {
        const Register operand = instruction.operands[k];
        if (places_[operand].is_reduced && !isKept(operand, stage)) needed[operand] = true;
      }
    }
    return needed;
  }

  bool isKept(Register value, size_t stage) const { return kept_[value] && kept_[value]->stage < stage; }

  /// Decides what is kept in scratch: what a later loop takes from an earlier one, and would be long in computing.
  void keepValues() {
    std::vector<size_t> first(body_.code.size(), SIZE_MAX);  // the stage of the first loop that computes it
    for (size_t stage = 0; stage <= last_stage_; ++stage) {
      const std::vector<bool> needed = neededIn(stage);
      for (size_t i = 0; i < needed.size(); ++i) {
        if (!needed[i] || first[i] < stage) continue;
        for (size_t k = 0; k < numOperands(body_.code[i].opcode); ++k) {
          const Register operand = body_.code[i].operands[k];
          if (first[operand] < stage && !kept_[operand] && costOf(operand) >= kCost) keep(operand, first[operand]);
        }
      }
      for (size_t i = 0; i < needed.size(); ++i) {
        if (needed[i] && places_[i].is_reduced) first[i] = std::min(first[i], stage);
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
      if (seen[next] || !places_[next].is_reduced || body_.code[next].opcode == Opcode::Load) continue;
      if (next != value && kept_[next]) continue;
      seen[next] = true;
      const Opcode opcode = body_.code[next].opcode;
      cost += opcode == Opcode::Div || opcode == Opcode::Sqrt ? 4 : 1;
      for (size_t k = 0; k < numOperands(opcode); ++k) queue.push_back(body_.code[next].operands[k]);
    }
    return cost;
  }

  void addReducedLoop(size_t stage) {
    const std::vector<bool> needed = neededIn(stage);
    if (std::find(needed.begin(), needed.end(), true) == needed.end()) return;
    kernel_.code.push_back({Opcode::For, at::kFloat, {}, num_outer_});
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
  static constexpr size_t kCost = 8;

  struct Kept {
    size_t stage;          // of the loop that computes it
    size_t buffer;         // of scratch
    size_t loaded_in = 0;  // the stage of the last loop that loads it
  };

  const KernelBody& body_;
  const LoopNest& nest_;
  const size_t num_outer_;
  Kernel kernel_;
  std::vector<Place> places_;        // per instruction of the body
  std::vector<Register> registers_;  // the same: where it was put last
  std::vector<std::optional<Kept>> kept_;
  size_t last_stage_ = 0;
};

}  // namespace

Kernel makeKernel(const KernelBody& body, const LoopNest& nest, bool keeps) {
  return KernelMaker(body, nest, keeps).run();
}

}  // namespace cresset::codegen
