#include "cresset/analysis/graph_analyses.h"

#include <c10/core/DefaultDtype.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cresset/ir/printer.h"
#include "cresset/ir/subgraph.h"
#include "cresset/support/error.h"
#include "cresset/support/options.h"

namespace cresset {

namespace {

bool checks() {
  return options::check_facts() != FactChecks::Off;
}

thread_local AnalysisFigures figures;

void findSubgraphs(const Block* block, std::vector<const Graph*>& into) {
  for (const Node* node : block->nodes()) {
    const Bodies bodies(*node);
    if (isSubgraph(*node)) into.push_back(&bodies[0]->graph());
    for (const Block* inner : bodies) findSubgraphs(inner, into);
  }
}

/// A graph at some point of its history.
class Version {
 public:
  explicit Version(const Graph& graph) {
    std::vector<const Graph*> graphs{&graph};
    findSubgraphs(graph.block(), graphs);
    for (const Graph* one : graphs) counts_.emplace_back(one, one->edits());
  }

  /// Graphs come before their subgraphs, which are there for certain only while what holds them has not changed.
  bool hasSameStructure() const {
    return std::all_of(counts_.begin(), counts_.end(), [](const auto& count) {
      return count.first->edits().structure == count.second.structure;
    });
  }
  bool hasSameTensors() const {
    return std::all_of(
        counts_.begin(), counts_.end(), [](const auto& count) { return count.first->edits() == count.second; });
  }

 private:
  std::vector<std::pair<const Graph*, EditCounts>> counts_;
};

/// What facts depend on beside the graph.
struct FactQuestion {
  TypeAssumptions assumptions;
  bool with_sizes;
  at::ScalarType default_dtype = c10::typeMetaToScalarType(c10::get_default_dtype());
  bool operator==(const FactQuestion&) const = default;
};

[[noreturn]] void failCheck(const Graph& graph, const char* what, const std::string& difference) {
  throw InternalError(
      std::string("the kept ") + what + " differ from new ones, though the graph counted no edit" + difference + ":\n" +
      toString(graph));
}

class Kept : public Graph::Attachment {
 public:
  std::shared_ptr<AliasDb> aliases(Graph& graph, AliasDb::When when) {
    if (!memory_ || !memory_version_->hasSameStructure()) {
      memory_version_.emplace(graph);
      memory_ = std::make_shared<AliasDb>(graph, when);
      ++figures.made;
      return memory_;
    }
    ++figures.reused;
    if (!memory_version_->hasSameTensors()) {  // which decide what may raise
      memory_version_.emplace(graph);
      memory_->forgetEffects();
    }
    if (when == AliasDb::When::AtOnce) memory_->analyzeNow();
    if (checks()) {
      const std::string difference = memory_->differenceFrom(*std::make_unique<AliasDb>(graph));
      if (!difference.empty()) failCheck(graph, "aliases", " (" + difference + ")");
    }
    return memory_;
  }

  std::shared_ptr<const GraphFacts> facts(Graph& graph, const FactQuestion& question) {
    if (!facts_ || question_ != question || !facts_version_->hasSameTensors()) {
      facts_version_.emplace(graph);
      question_ = question;
      facts_ = compute(graph, question);
      ++figures.made;
      return facts_;
    }
    ++figures.reused;
    if (checks() && *facts_ != *compute(graph, question)) failCheck(graph, "facts", "");
    return facts_;
  }

  static std::shared_ptr<const GraphFacts> compute(Graph& graph, const FactQuestion& question) {
    return std::make_shared<const GraphFacts>(
        question.with_sizes ? computeFactsAndSizes(graph, question.assumptions)
                            : computeFacts(graph, question.assumptions));
  }

 private:
  std::shared_ptr<AliasDb> memory_;
  std::optional<Version> memory_version_;
  std::shared_ptr<const GraphFacts> facts_;
  std::optional<FactQuestion> question_;
  std::optional<Version> facts_version_;
};

Kept* keptOf(const Graph& graph) {
  return static_cast<Kept*>(graph.attachment());
}

}  // namespace

KeepAnalyses::KeepAnalyses(Graph& graph) : graph_(graph.attachment() ? nullptr : &graph) {
  if (graph_) graph_->attach(std::make_unique<Kept>());
}

KeepAnalyses::~KeepAnalyses() {
  if (graph_) graph_->attach(nullptr);
}

std::shared_ptr<AliasDb> aliasesOf(Graph& graph, AliasDb::When when) {
  if (Kept* kept = keptOf(graph)) return kept->aliases(graph, when);
  ++figures.made;
  return std::make_shared<AliasDb>(graph, when);
}

std::shared_ptr<const GraphFacts> factsOf(Graph& graph, const TypeAssumptions& assumptions, bool with_sizes) {
  const FactQuestion question = {assumptions, with_sizes};
  if (Kept* kept = keptOf(graph)) return kept->facts(graph, question);
  ++figures.made;
  return Kept::compute(graph, question);
}

AnalysisFigures analysisFigures() {
  return figures;
}

}  // namespace cresset
