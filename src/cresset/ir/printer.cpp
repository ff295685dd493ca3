// Prints graphs.
//
// Blocks are visited with a stack of their own: they may nest as deep as a program with many early returns is long.
// Graphs within attributes become sections after the graph that uses them, printed in the order in which they are met;
// a graph that several nodes share is printed once.
#include "cresset/ir/printer.h"

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <deque>
#include <map>
#include <unordered_set>

#include "cresset/ir/constants.h"
#include "cresset/ir/literal.h"
#include "cresset/ir/messages.h"
#include "cresset/support/error.h"
#include "cresset/support/lexer.h"

namespace cresset {

namespace {

using Kind = Attribute::Kind;

// Each level indents by four columns, so that the text grows with the square of the depth.
constexpr size_t kMaxPrintedNesting = 10'000;
// In place of the index of a block: the nodes of a whole graph.
constexpr size_t kBody = static_cast<size_t>(-1);

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(std::move(options)) {}

  std::string graph(const Graph& graph) {
    printGraph(graph);
    return finish();
  }

  std::string node(const Node& node) {
    printTree({{nullptr, 0, &node, 0}});
    return finish();
  }

  std::string block(const Block& block) {
    size_t index = 0;
    if (block.owningNode()) {
      auto blocks = block.owningNode()->blocks();
      while (index < blocks.size() && blocks[index] != &block) ++index;
    }
    printTree({{&block, index, nullptr, 0}});
    return finish();
  }

 private:
  // A block to begin (block, no node), a node to print and continue from (block and node), or a node alone (no block).
  struct Frame {
    const Block* block;
    size_t index;
    const Node* node;
    size_t level;  // of the block's header, or of the node
  };

  std::string finish() {
    while (!pending_.empty()) {
      auto [name, graph] = pending_.front();
      pending_.pop_front();
      out_ += "with " + name + " = ";
      printGraph(*graph);
    }
    return std::move(out_);
  }

  void printGraph(const Graph& graph) {
    out_ += "graph(";
    printDefinitions(graph.inputs(), ",\n      ");
    out_ += "):\n";
    note(graph.block()->paramNode(), 1);
    printTree({{graph.block(), kBody, graph.block()->returnNode()->next(), 1}});
    out_ += "  return ";
    printUses(graph.outputs());
    out_ += "\n";
    note(graph.block()->returnNode(), 1);
  }

  void printTree(std::vector<Frame> frames) {
    while (!frames.empty()) {
      Frame frame = frames.back();
      frames.pop_back();
      if (frame.level > 2 * kMaxPrintedNesting) throw UserError("The graph's blocks nest too deeply to be printed.");
      if (frame.block && !frame.node) {
        indent(frame.level);
        out_ += "block" + std::to_string(frame.index) + "(";
        printDefinitions(frame.block->inputs(), ", ");
        out_ += "):\n";
        note(frame.block->paramNode(), frame.level + 1);
        frames.push_back({frame.block, frame.index, frame.block->returnNode()->next(), frame.level + 1});
        continue;
      }
      const Node* node = frame.node;
      if (node->isReturn()) {
        if (frame.index == kBody) continue;  // printGraph writes `return`
        indent(frame.level);
        out_ += "-> ";
        printUses(node->inputs());
        out_ += "\n";
        note(node, frame.level);
        continue;
      }
      printHeader(*node, frame.level);
      if (frame.block) frames.push_back({frame.block, frame.index, node->next(), frame.level});
      for (size_t i = node->blocks().size(); i-- > 0;)
        frames.push_back({node->blocks()[i], i, nullptr, frame.level + 1});
    }
  }

  void printHeader(const Node& node, size_t level) {
    if (options_.offsets) options_.offsets->emplace_back(out_.size(), &node);
    indent(level);
    printDefinitions(node.outputs(), ", ");
    out_ += " = ";
    const Attribute* subgraph = node.findAttribute(attr::Subgraph);
    if (subgraph && subgraph->kind() != Kind::Graph) subgraph = nullptr;
    // A call of what a capsule holds is shown by its name, as no text means the capsule.
    const bool calls_capsule = !node.inputs().empty() && node.inputs()[0]->type()->kind() == c10::TypeKind::CapsuleType;
    const Attribute* host = calls_capsule ? node.findAttribute(attr::name) : nullptr;
    if (host) {
      out_ += "^" + host->asString() + "()";
    } else {
      out_ += subgraph ? section(node, subgraph->asGraph().get()) : std::string(node.kind().toQualString());
    }
    bool first = true;
    for (const auto& [name, value] : node.attributes()) {
      if (&value == subgraph || &value == host) continue;
      out_ += first ? "[" : ", ";
      first = false;
      out_.append(name.toUnqualString()).append("=");
      if (node.kind() == prim::Constant && name == attr::value && node.outputs().size() == 1) {
        printConstant(node, value);
      } else {
        printAttribute(node, value);
      }
    }
    if (!first) out_ += "]";
    printUses(node.inputs(), host ? 1 : 0);
    if (options_.source_ranges && node.sourceRange()) {
      std::string position = node.sourceRange().position();
      for (char& c : position)
        if (static_cast<unsigned char>(c) < 0x20) c = ' ';
      out_ += " # " + position;
    }
    out_ += "\n";
    note(&node, level);
  }

  void printConstant(const Node& node, const Attribute& held) {
    const TypePtr& type = node.outputs()[0]->type();
    auto value = toIValue(node.outputs()[0]);
    if (!value) return printAttribute(node, held);
    if (value->isBool() && held.kind() == Kind::Int) {  // TorchScript prints bool constants as 0 and 1
      out_ += value->toBool() ? "1" : "0";
      return;
    }
    size_t start = out_.size();
    if (printConstantText(out_, *value, type)) return;
    out_.resize(start);
    printTableReference(*value);
  }

  void printTableReference(const c10::IValue& value) {
    if (!options_.constants) {
      out_ += "<" + value.tagKind() + ">";
      return;
    }
    out_ += "CONSTANTS.c" + std::to_string(options_.constants->size());
    options_.constants->push_back(value);
  }

  template <typename T, typename F>
  void printList(const std::vector<T>& items, const char* kind, F&& item) {
    out_ += "[";
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += ", ";
      item(items[i]);
    }
    out_ += "]";
    if (items.empty()) out_ += kind;
  }

  void printAttribute(const Node& node, const Attribute& a) {
    switch (a.kind()) {
      case Kind::Int:
        out_ += std::to_string(a.asInt());
        break;
      case Kind::Float:
        out_ += floatToText(a.asFloat());
        break;
      case Kind::Complex:
        out_ += complexToText(a.asComplex());
        break;
      case Kind::String:
        out_ += quoteString(a.asString());
        break;
      case Kind::Tensor:
        printTableReference(a.asTensor());
        break;
      case Kind::Graph:
        out_ += section(node, a.asGraph().get());
        break;
      case Kind::Type:
        out_ += typeText(a.asType());
        break;
      case Kind::Value:
        printTableReference(a.asValue());
        break;
      case Kind::Ints:
        printList(a.asInts(), "", [&](int64_t v) { out_ += std::to_string(v); });
        break;
      case Kind::Floats:
        printList(a.asFloats(), "float", [&](double v) { out_ += floatToText(v); });
        break;
      case Kind::Complexes:
        printList(a.asComplexes(), "complex", [&](std::complex<double> v) { out_ += complexToText(v); });
        break;
      case Kind::Strings:
        printList(a.asStrings(), "str", [&](const std::string& v) { out_ += quoteString(v); });
        break;
      case Kind::Tensors:
        printList(a.asTensors(), "Tensor", [&](const at::Tensor& v) { printTableReference(v); });
        break;
      case Kind::Graphs:
        printList(a.asGraphs(), "graph", [&](const auto& v) { out_ += section(node, v.get()); });
        break;
      case Kind::Types:
        printList(a.asTypes(), "type", [&](const TypePtr& v) { out_ += typeText(v); });
        break;
    }
  }

  /// The name under which a graph in an attribute of `node` is printed.
  const std::string& section(const Node& node, const Graph* graph) {
    auto [slot, is_new] = sections_.try_emplace({node.kind(), graph});
    if (!is_new) return slot->second;
    if (kinds_.empty()) collectKinds(node.graph());
    std::string stem = std::string(node.kind().toQualString()) + "_";
    // A node whose kind really is prim::fork_0 must not be taken for a reference to a section.
    do {
      slot->second = stem + std::to_string(next_section_++);
    } while (kinds_.contains(slot->second));
    pending_.emplace_back(slot->second, graph);
    return slot->second;
  }

  void collectKinds(const Graph& root) {
    std::unordered_set<const Graph*> seen{&root};
    std::vector<const Block*> work{root.block()};
    kinds_.insert("");
    auto visit = [&](const std::shared_ptr<Graph>& graph) {
      if (seen.insert(graph.get()).second) work.push_back(graph->block());
    };
    std::unordered_set<Symbol> known;
    while (!work.empty()) {
      const Block* block = work.back();
      work.pop_back();
      for (const Node* node : block->nodes()) {
        if (known.insert(node->kind()).second) kinds_.insert(node->kind().toQualString());
        work.insert(work.end(), node->blocks().begin(), node->blocks().end());
        for (const auto& [name, value] : node->attributes()) {
          if (value.kind() == Kind::Graph) visit(value.asGraph());
          if (value.kind() == Kind::Graphs)
            for (const auto& graph : value.asGraphs()) visit(graph);
        }
      }
    }
  }

  void indent(size_t level) { out_.append(2 * level, ' '); }

  void note(const Node* node, size_t level) {
    if (node != options_.note_at || options_.note.empty()) return;
    indent(level);
    out_ += options_.note + "\n";
  }

  void printName(const Value* value) {
    out_ += '%';
    out_ += value->debugName();
  }

  const std::string& typeText(const TypePtr& type) {
    auto [slot, is_new] = type_texts_.try_emplace(type.get());
    if (is_new) slot->second = cresset::toString(*type);
    return slot->second;
  }

  template <typename Values>
  void printDefinitions(const Values& values, const char* separator) {
    bool first = true;
    for (const Value* value : values) {
      if (!first) out_ += separator;
      first = false;
      printName(value);
      out_ += " : ";
      out_ += typeText(value->type());
    }
  }

  void printUses(InputRange values, size_t first = 0) {
    out_ += '(';
    for (size_t i = first; i < values.size(); ++i) {
      if (i > first) out_ += ", ";
      printName(values[i]);
    }
    out_ += ')';
  }

  PrintOptions options_;
  std::string out_;
  std::deque<std::pair<std::string, const Graph*>> pending_;
  std::map<std::pair<Symbol, const Graph*>, std::string> sections_;
  size_t next_section_ = 0;
  std::unordered_set<std::string> kinds_;  // of all nodes; collected at the first section
  std::unordered_map<const c10::Type*, std::string> type_texts_;
};

}  // namespace

std::string toString(const Graph& graph, PrintOptions options) {
  return Printer(std::move(options)).graph(graph);
}

std::string toString(const Node& node, PrintOptions options) {
  if (node.isErased()) throw UserError(messages::hasBeenErased("print", "node"));
  return Printer(std::move(options)).node(node);
}

std::string toString(const Block& block, PrintOptions options) {
  if (block.isErased()) throw UserError(messages::hasBeenErased("print", "block"));
  return Printer(std::move(options)).block(block);
}

}  // namespace cresset
