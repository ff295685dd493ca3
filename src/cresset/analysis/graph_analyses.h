// What has been computed of a graph, kept for the next query until the graph is edited.
//
// An edit counts in the graph itself (Graph::edits); what was computed before it is not handed out again. The analysis
// that a caller holds stays as it is, though: a pass that edits while it asks goes on with the analysis of the graph as
// it was, as with one of its own.
//
// Analyses are kept within a KeepAnalyses only, which whoever runs several passes over a graph makes (Pipeline does):
// a graph that is not being optimized holds nothing beside itself. Elsewhere they are made anew for each question.
//
// While facts are checked (the option check_facts), what is handed out again is compared with what a
// new analysis says; an edit that does not count ends in an InternalError.
//
// Thread-safety: as that of the graph while it is changed.
#pragma once

#include <memory>

#include "cresset/analysis/alias.h"
#include "cresset/analysis/facts.h"

namespace cresset {

/// Analyses of the graph, and of its subgraphs as parts of it, are kept until the outermost of these ends.
class KeepAnalyses {
 public:
  explicit KeepAnalyses(Graph& graph);
  ~KeepAnalyses();
  KeepAnalyses(const KeepAnalyses&) = delete;
  KeepAnalyses& operator=(const KeepAnalyses&) = delete;

 private:
  Graph* graph_;  // null if an outer one keeps them
};

/// What may share memory, in the graph as it is now.
std::shared_ptr<AliasDb> aliasesOf(Graph& graph, AliasDb::When when = AliasDb::When::AtOnce);

/// What is known of values, sizes included if they are wanted.
std::shared_ptr<const GraphFacts> factsOf(Graph& graph, const TypeAssumptions& assumptions, bool with_sizes = false);

/// How often an analysis was made, and how often one was handed out again, on this thread; for tests and measurements.
struct AnalysisFigures {
  int64_t made = 0, reused = 0;
};
AnalysisFigures analysisFigures();

}  // namespace cresset
