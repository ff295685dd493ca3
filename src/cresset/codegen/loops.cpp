#include "cresset/codegen/loops.h"

#include <algorithm>
#include <iterator>

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
  KernelMaker(const KernelBody& body, const LoopNest& nest)
      : body_(body), nest_(nest), num_outer_(nest.sizes.size() - (nest.reduces ? 1 : 0)) {
    kernel_.num_dims = nest.sizes.size();
    kernel_.vector_dim = nest.vector_dim;
    kernel_.numbers = body.numbers;
    for (size_t i = 0; i < body.inputs.size(); ++i) kernel_.inputs.push_back({body.inputs[i], nest.steps[i]});
    for (size_t i = 0; i < body.outputs.size(); ++i)
      kernel_.outputs.push_back({body.outputs[i], nest.steps[body.inputs.size() + i]});
    for (const Instruction& instruction : body.code) places_.push_back(placeOf(instruction));
    registers_.resize(body.code.size());
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

  /// The loop of this stage: what it accumulates and stores, and what these are computed from.
  void addReducedLoop(size_t stage) {
    std::vector<bool> needed(body_.code.size());
    bool any = false;
    for (size_t i = body_.code.size(); i-- > 0;) {
      const Instruction& instruction = body_.code[i];
      const bool ends_here = isReduction(instruction.opcode) || (instruction.opcode == Opcode::Store && places_[i].is_reduced);
      if (ends_here) needed[i] = places_[i].stage == stage;
      any = any || needed[i];
      if (!needed[i]) continue;
      for (size_t k = 0; k < numOperands(instruction.opcode); ++k) {
        if (placeOfOperand(instruction, k).is_reduced) needed[instruction.operands[k]] = true;
      }
    }
    if (!any) return;
    kernel_.code.push_back({Opcode::For, at::kFloat, {}, num_outer_});
    for (size_t i = 0; i < body_.code.size(); ++i) {
      if (needed[i]) append(i);
    }
    kernel_.code.push_back({Opcode::End});
  }

  const KernelBody& body_;
  const LoopNest& nest_;
  const size_t num_outer_;
  Kernel kernel_;
  std::vector<Place> places_;        // per instruction of the body
  std::vector<Register> registers_;  // the same: where it was put last
  size_t last_stage_ = 0;
};

}  // namespace

Kernel makeKernel(const KernelBody& body, const LoopNest& nest) {
  return KernelMaker(body, nest).run();
}

}  // namespace cresset::codegen
