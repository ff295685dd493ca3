// Texts that are nearly right, made from ones that are: what finds faults after the first check of a reader.
//
// The same corpus and seed make the same texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace text_mutator {

/// Pieces of TorchScript source, and of graphs, types and schemas; each starts, ends or breaks something.
const std::vector<std::string>& sourceWords();
const std::vector<std::string>& irWords();

class Mutator {
 public:
  /// `words` must outlive this.
  Mutator(std::vector<std::string> corpus, const std::vector<std::string>& words, uint64_t seed)
      : corpus_(std::move(corpus)), words_(words), random_(seed) {}

  /// A piece of a text of the corpus with some bytes exchanged, doubled or lost.
  std::string nextBytes();
  /// A text of the corpus with some tokens exchanged, doubled or lost; tokens come from this text or another.
  std::string nextTokens();

 private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }
  void mutate(std::string& text);

  std::vector<std::string> corpus_;
  const std::vector<std::string>& words_;
  std::mt19937_64 random_;
};

}  // namespace text_mutator
