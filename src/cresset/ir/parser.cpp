// Reads graphs.
//
// One pass over the tokens, blocks on a stack of the parser's own. Values keep the numbers and names of the text. The
// sections after the graph ("with prim::fork_0 = graph(…)") are known by name before the first node is read, since
// `prim::fork_0` could as well be the name of an operator; they are put into their nodes at the end.
#include "cresset/ir/parser.h"

#include <ATen/core/function.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "cresset/ir/constants.h"
#include "cresset/ir/literal.h"
#include "cresset/ir/type_parser.h"
#include "cresset/ir/verifier.h"
#include "cresset/support/error.h"
#include "cresset/support/lexer.h"

namespace cresset {

namespace {

// Passes index vectors by these numbers, so a text must not choose them arbitrarily high.
constexpr uint32_t kMaxValueNumber = (1U << 24) - 1;

/// A node's attribute that waits for its section.
struct SectionUse {
  Node* node;
  Symbol attribute;
  std::vector<std::string> names;
  bool is_list;
  SourceRange range;
};

/// Where the nodes of a text say that they come from, in one file whose text is not at hand. An offset is the number of
/// a place, so that a place costs a few bytes rather than a Source of its own.
class Places final : public Source {
 public:
  explicit Places(std::string file) : Source("", std::move(file)) {}
  SourceRange add(const std::shared_ptr<const Source>& self, size_t line, size_t column) {
    places_.push_back({line, column});
    const auto number = static_cast<uint32_t>(places_.size() - 1);
    return {self, number, number};
  }
  size_t lineNumber(size_t offset) const override { return places_[std::min(offset, places_.size() - 1)].line; }
  size_t column(size_t offset) const override { return places_[std::min(offset, places_.size() - 1)].column; }

 private:
  struct Place {
    size_t line, column;
  };
  std::vector<Place> places_;  // complete before anybody else sees the source
};

/// What all graphs of a text share.
struct Context {
  IrScanner& scanner;
  const ParseOptions& options;
  std::unordered_set<std::string> section_names;
  std::unordered_map<std::string_view, std::shared_ptr<Places>> places;  // by file
  std::string_view last_comment;  // most nodes come from the same place as the one before
  SourceRange last_place;
};

/// Of the name of a node's section without the number.
size_t lengthOfKind(const IrScanner& scanner, const std::string& section, const IrToken& at) {
  const size_t underscore = section.rfind('_'), scope = section.rfind("::") + 2;
  if (underscore != std::string::npos && underscore > scope) return underscore;
  scanner.fail(
      "the section of a node is named as the node, with `_` and a number: 'with " + section + "_0 = graph(…)'", at);
}

class GraphParser {
 public:
  explicit GraphParser(Context& context)
      : context_(context),
        scanner_(context.scanner),
        types_(context.scanner, context.options.types, false, false),
        graph_(Graph::make()) {}

  std::shared_ptr<Graph> parse() {
    scanner_.expectName("graph");
    parseParameters(graph_->block(), false);
    scanner_.expect(':');
    scopes_.push_back(true);
    open_.push_back({graph_->block(), 0});
    while (!open_.empty()) parseStep();
    graph_->assignNumbers(numbers_);
    return graph_;
  }

  std::vector<SectionUse>& sectionUses() { return section_uses_; }

 private:
  struct OpenBlock {
    Block* block;
    size_t scope;
  };

  /// One node, or the end of the innermost block.
  void parseStep() {
    OpenBlock current = open_.back();
    bool is_body = open_.size() == 1;
    if (is_body ? scanner_.nextIfName("return") : scanner_.nextIf(IrToken::Arrow)) {
      parseUses([&](Value* value) { current.block->registerOutput(value); });
      scopes_[current.scope] = false;
      open_.pop_back();
      if (is_body) {
        scanner_.nextIf(';');
        return;
      }
      scanner_.nextIf('}');  // some old listings close blocks with a brace
      openNextBlock(current.block->owningNode());
      return;
    }
    if (!scanner_.at(IrToken::Value) && !scanner_.at('=') && !scanner_.at(IrToken::Name)) {
      scanner_.reportExpected(is_body ? "a node or 'return'" : "a node or '->'");
    }
    openNextBlock(parseNode(current.block));
  }

  /// Opens another block of `node` if one follows.
  void openNextBlock(Node* node) {
    if (!scanner_.at(IrToken::Name) || !scanner_.text(scanner_.cur()).starts_with("block") ||
        scanner_.lookahead() != '(')
      return;
    std::string expected = "block" + std::to_string(node->blocks().size());
    if (scanner_.text(scanner_.cur()) != expected) {
      scanner_.fail("expected " + expected + ", a node, or the end of the block here:");
    }
    scanner_.next();
    Block* block = node->addBlock();
    scopes_.push_back(true);
    open_.push_back({block, scopes_.size() - 1});
    parseParameters(block, true);
    scanner_.expect(':');
  }

  void parseParameters(Block* block, bool is_block) {
    scanner_.expect('(');
    size_t scope = is_block ? open_.back().scope : 0;
    if (scanner_.nextIf(')')) return;
    do {
      IrToken name = scanner_.expect(IrToken::Value);
      Value* value = block->addInput();
      if (scanner_.nextIf(':')) value->setType(types_.parseType());
      define(name, value, scope);
    } while (scanner_.nextIf(','));
    scanner_.expect(')');
  }

  Node* parseNode(Block* block) {
    struct Output {
      IrToken name;
      TypePtr type;  // null: Tensor
      bool is_function;
    };
    std::vector<Output> outputs;
    if (scanner_.at(IrToken::Value)) {
      do {
        Output output{scanner_.expect(IrToken::Value), nullptr, false};
        if (scanner_.nextIf(':')) {
          if (scanner_.atName("Function") && scanner_.lookahead() == '=') {
            scanner_.next();
            output.is_function = true;
          } else {
            output.type = types_.parseType();
          }
        }
        outputs.push_back(std::move(output));
      } while (scanner_.nextIf(','));
      scanner_.expect('=');
    } else {
      scanner_.nextIf('=');
    }

    IrToken kind_start = scanner_.cur();
    std::string kind = parseQualifiedName();
    SourceRange kind_range{scanner_.source(), kind_start.begin, kind_start.end};
    bool is_section = context_.section_names.contains(kind);
    std::string section = kind;
    if (is_section) kind.resize(lengthOfKind(scanner_, kind, kind_start));
    Symbol symbol = Symbol::fromQualString(kind);
    if (symbol == prim::Param || symbol == prim::Return)
      scanner_.fail(kind + " can't be written as a node", kind_start);

    Node* node = graph_->create(symbol, outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].type) node->output(i)->setType(outputs[i].type);
    }
    if (is_section) section_uses_.push_back({node, attr::Subgraph, {section}, false, kind_range});
    if (scanner_.nextIf('[')) parseAttributes(node);
    parseUses([&](Value* value) { node->addInput(value); });
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].is_function) node->output(i)->setType(functionType(node, outputs[i].name));
    }
    const bool has_untyped = std::ranges::any_of(outputs, [](const Output& o) { return !o.type && !o.is_function; });
    if (has_untyped && context_.options.result_types) {
      const std::vector<TypePtr> types = context_.options.result_types(*node);
      for (size_t i = 0; i < types.size(); ++i) {
        if (!outputs[i].type && !outputs[i].is_function) node->output(i)->setType(types[i]);
      }
    }
    setPlace(node, scanner_.comment());
    block->appendNode(node);
    for (size_t i = 0; i < outputs.size(); ++i) define(outputs[i].name, node->output(i), open_.back().scope);
    return node;
  }

  /// ns::name; namespaces may nest.
  std::string parseQualifiedName() {
    if (!scanner_.at(IrToken::Name)) scanner_.reportExpected("an operator such as aten::add");
    std::string name(scanner_.text(scanner_.next()));
    if (!scanner_.at(IrToken::Scope)) scanner_.reportExpected("'::' and the name of an operator");
    while (scanner_.nextIf(IrToken::Scope)) name.append("::").append(scanner_.text(scanner_.expect(IrToken::Name)));
    return name;
  }

  TypePtr functionType(Node* node, const IrToken& at) {
    const Attribute* name = node->findAttribute(attr::name);
    if (node->kind() != prim::Constant || !name || name->kind() != Attribute::Kind::String) {
      scanner_.fail("only constants that name a function have the type Function", at);
    }
    torch::jit::Function* function =
        context_.options.functions ? context_.options.functions(name->asString()) : nullptr;
    if (!function) scanner_.fail("unknown function '" + name->asString() + "'", at);
    return c10::FunctionType::create(function);
  }

  // ---- values

  void define(const IrToken& token, Value* value, size_t scope) {
    std::string_view name = scanner_.text(token);
    const bool is_number = name[0] >= '0' && name[0] <= '9';
    const uint32_t number = is_number ? numberIn(name) : kNoNumber;
    if (is_number && number == kNoNumber) {
      scanner_.fail(
          "values are called by a name or by a number up to " + std::to_string(kMaxValueNumber) + ", not %" +
              std::string(name),
          token);
    }
    Value*& numbered = is_number ? slotOf(number) : value;
    if (is_number ? numbered != nullptr : graph_->findValue(name) != nullptr) {
      scanner_.fail("%" + std::string(name) + " is defined already", token);
    }
    if (is_number) {
      numbered = value;
      numbers_.emplace_back(value, number);
    } else {
      value->setDebugName(name);
    }
    scope_of_.resize(graph_->numValues());
    scope_of_[value->unique()] = static_cast<uint32_t>(scope);
  }

  static constexpr uint32_t kNoNumber = ~0u;

  /// kNoNumber for a number that is too large or not written as one is printed.
  static uint32_t numberIn(std::string_view name) {
    uint32_t number = 0;
    const char* last = name.data() + name.size();
    auto [end, error] = std::from_chars(name.data(), last, number);
    const bool is_canonical = name.size() == 1 || name[0] != '0';
    return error == std::errc() && end == last && is_canonical && number <= kMaxValueNumber ? number : kNoNumber;
  }

  /// The value of this number; null before its definition. Numbers mostly count up, so they index a vector, which a
  /// text with a few high numbers does not blow up.
  Value*& slotOf(uint32_t number) {
    if (number < by_number_.size()) return by_number_[number];
    if (number > 4 * numbers_.size() + 1000) return by_high_number_[number];
    if (by_high_number_.empty()) {
      by_number_.resize(std::max<size_t>(number + 1, 2 * by_number_.size()));
      return by_number_[number];
    }
    return by_high_number_[number];
  }

  Value* lookUp(const IrToken& token) {
    std::string_view name = scanner_.text(token);
    Value* value = nullptr;
    if (name[0] < '0' || name[0] > '9') {
      value = graph_->findValue(name);
    } else if (const uint32_t number = numberIn(name); number < by_number_.size()) {
      value = by_number_[number];
    } else if (auto found = by_high_number_.find(number); found != by_high_number_.end()) {
      value = found->second;
    }
    if (!value) scanner_.fail("%" + std::string(name) + " is not defined", token);
    if (!scopes_[scope_of_[value->unique()]]) {
      scanner_.fail("%" + std::string(name) + " is not in scope: the block that defines it has ended", token);
    }
    return value;
  }

  template <typename F>
  void parseUses(F&& use) {
    scanner_.expect('(');
    if (scanner_.nextIf(')')) return;
    do {
      use(lookUp(scanner_.expect(IrToken::Value)));
    } while (scanner_.nextIf(','));
    scanner_.expect(')');
  }

  // ---- places: "model.py:7:4"

  void setPlace(Node* node, std::string_view comment) {
    if (comment.empty()) return;
    if (comment != context_.last_comment) {
      context_.last_comment = comment;
      context_.last_place = parsePlace(comment);
    }
    if (context_.last_place) node->setSourceRange(context_.last_place);
  }

  /// No range for a comment of another kind.
  SourceRange parsePlace(std::string_view comment) {
    auto takeNumber = [&](size_t& number) {
      size_t colon = comment.rfind(':');
      if (colon == std::string_view::npos) return false;
      const char* last = comment.data() + comment.size();
      auto [end, error] = std::from_chars(comment.data() + colon + 1, last, number);
      if (error != std::errc() || end != last) return false;
      comment = comment.substr(0, colon);
      return true;
    };
    size_t line = 0;
    size_t column = 0;
    if (!takeNumber(column) || !takeNumber(line)) return {};
    auto& places = context_.places[comment];
    if (!places) places = std::make_shared<Places>(comment == "<string>" ? "" : std::string(comment));
    return places->add(places, line, column);
  }

  // ---- attributes

  void parseAttributes(Node* node) {
    do {
      IrToken name = scanner_.expect(IrToken::Name);
      std::string spelled(scanner_.text(name));
      if (spelled.find('.') != std::string::npos) scanner_.fail("an attribute's name has no '.'", name);
      Symbol symbol = Symbol::attr(spelled);
      if (node->hasAttribute(symbol)) scanner_.fail("the attribute '" + spelled + "' is set twice", name);
      scanner_.expect('=');
      parseAttribute(node, symbol, name);
    } while (scanner_.nextIf(','));
    scanner_.expect(']');
  }

  void parseAttribute(Node* node, Symbol name, const IrToken& at) {
    if (node->kind() == prim::Constant && name == attr::value) {
      if (node->outputs().size() != 1) scanner_.fail("a constant has one output", at);
      TypePtr type = node->output()->type();
      c10::IValue value = parseConstantText(scanner_, type, context_.options.constants);
      if (value.isNone()) scanner_.fail("a None constant has no value", at);
      if (!setConstant(node, value, type))
        scanner_.fail("a value of type " + value.tagKind() + " can't be a constant", at);
      return;
    }
    if (scanner_.at('[')) return parseListAttribute(node, name);
    if (atSection()) {
      IrToken start = scanner_.cur();
      section_uses_.push_back({node, name, {parseSectionName()}, false, scanner_.range(start)});
      node->setAttribute(name, Attribute(int64_t{0}));  // keeps the attribute's place; the graph replaces it
      return;
    }
    node->setAttribute(name, parseScalarAttribute());
  }

  bool atSection() const { return scanner_.at(IrToken::Name) && scanner_.lookahead() == IrToken::Scope; }

  std::string parseSectionName() {
    IrToken start = scanner_.cur();
    std::string name = parseQualifiedName();
    if (!context_.section_names.contains(name))
      scanner_.fail("there is no section 'with " + name + " = graph(…)'", start);
    return name;
  }

  Attribute parseScalarAttribute() {
    if (atNumber(scanner_)) {
      return std::visit([](auto v) { return Attribute(v); }, parseNumber(scanner_));
    }
    if (scanner_.at(IrToken::String)) return parseStringLiteral(scanner_.range(scanner_.next()));
    if (atTableReference(scanner_)) {
      const c10::IValue& value = parseTableReference(scanner_, context_.options.constants);
      return value.isTensor() ? Attribute(value.toTensor()) : Attribute(value);
    }
    if (scanner_.at('<')) scanner_.fail("this text leaves the value out; print the graph with a constant table");
    return types_.parseType();
  }

  template <typename T, typename F>
  std::vector<T> collect(const std::vector<Attribute>& items, const IrToken& at, F&& read) {
    std::vector<T> out;
    for (const Attribute& item : items) {
      if (item.kind() != items[0].kind()) scanner_.fail("the items of a list attribute must be of one kind", at);
      out.push_back((item.*read)());
    }
    return out;
  }

  void parseListAttribute(Node* node, Symbol name) {
    using Kind = Attribute::Kind;
    IrToken start = scanner_.expect('[');
    if (scanner_.nextIf(']')) return parseEmptyList(node, name);
    if (atSection()) {
      SectionUse use{node, name, {}, true, scanner_.range(start)};
      do use.names.push_back(parseSectionName());
      while (scanner_.nextIf(','));
      scanner_.expect(']');
      node->setAttribute(name, Attribute(int64_t{0}));
      section_uses_.push_back(std::move(use));
      return;
    }
    std::vector<Attribute> items;
    do items.push_back(parseScalarAttribute());
    while (scanner_.nextIf(','));
    scanner_.expect(']');
    auto set = [&](Attribute value) { node->setAttribute(name, std::move(value)); };
    switch (items[0].kind()) {
      case Kind::Int:
        return set(collect<int64_t>(items, start, &Attribute::asInt));
      case Kind::Float:
        return set(collect<double>(items, start, &Attribute::asFloat));
      case Kind::Complex:
        return set(collect<std::complex<double>>(items, start, &Attribute::asComplex));
      case Kind::String:
        return set(collect<std::string>(items, start, &Attribute::asString));
      case Kind::Tensor:
        return set(collect<at::Tensor>(items, start, &Attribute::asTensor));
      case Kind::Type:
        return set(collect<TypePtr>(items, start, &Attribute::asType));
      default:
        scanner_.fail("the items of a list attribute are numbers, strings, tensors, graphs or types", start);
    }
  }

  /// [] is a list of ints; []float and so on name their kind.
  void parseEmptyList(Node* node, Symbol name) {
    if (scanner_.nextIfName("float")) {
      node->setAttribute(name, std::vector<double>());
    } else if (scanner_.nextIfName("complex")) {
      node->setAttribute(name, std::vector<std::complex<double>>());
    } else if (scanner_.nextIfName("str")) {
      node->setAttribute(name, std::vector<std::string>());
    } else if (scanner_.nextIfName("Tensor")) {
      node->setAttribute(name, std::vector<at::Tensor>());
    } else if (scanner_.nextIfName("graph")) {
      node->setAttribute(name, std::vector<std::shared_ptr<Graph>>());
    } else if (scanner_.nextIfName("type")) {
      node->setAttribute(name, std::vector<TypePtr>());
    } else {
      node->setAttribute(name, std::vector<int64_t>());
    }
  }

  Context& context_;
  IrScanner& scanner_;
  TypeParser types_;
  std::shared_ptr<Graph> graph_;
  std::vector<OpenBlock> open_;
  std::vector<bool> scopes_;        // whether each block so far is still open
  std::vector<uint32_t> scope_of_;  // by unique(); into scopes_
  std::vector<Value*> by_number_;
  std::unordered_map<uint32_t, Value*> by_high_number_;
  std::vector<std::pair<Value*, uint32_t>> numbers_;
  std::vector<SectionUse> section_uses_;
};

/// The names of all sections: lines that begin "with NAME = graph(". No string or comment begins a line.
std::unordered_set<std::string> findSectionNames(const std::string& text) {
  std::unordered_set<std::string> names;
  for (size_t at = text.find("\nwith "); at != std::string::npos; at = text.find("\nwith ", at + 1)) {
    size_t begin = at + 6;
    size_t end = text.find_first_of(" =\n", begin);
    if (end == std::string::npos) break;
    names.insert(text.substr(begin, end - begin));
  }
  return names;
}

struct Section {
  std::shared_ptr<Graph> graph;
  std::vector<SectionUse> uses;
  size_t waiting_for = 0;
  SourceRange range;
};

/// Puts each section into the nodes that use it, innermost sections first; a circle of sections has no innermost.
void attachSections(Section& root, std::unordered_map<std::string, Section>& sections) {
  std::unordered_map<std::string, std::vector<Section*>> users;
  std::unordered_set<std::string> used;
  auto note = [&](Section& section) {
    for (const SectionUse& use : section.uses) {
      for (const std::string& name : use.names) {
        users[name].push_back(&section);
        used.insert(name);
        ++section.waiting_for;
      }
    }
  };
  note(root);
  std::vector<const std::string*> ready;
  for (auto& [name, section] : sections) {
    note(section);
    if (section.waiting_for == 0) ready.push_back(&name);
  }
  auto attach = [&](Section& section) {
    for (SectionUse& use : section.uses) {
      std::vector<std::shared_ptr<Graph>> graphs;
      graphs.reserve(use.names.size());
      for (const std::string& name : use.names) graphs.push_back(sections.at(name).graph);
      if (use.is_list) {
        use.node->setAttribute(use.attribute, std::move(graphs));
      } else {
        use.node->setAttribute(use.attribute, std::move(graphs[0]));
      }
    }
    verify(*section.graph);
  };
  size_t attached = 0;
  while (!ready.empty()) {
    const std::string& name = *ready.back();
    ready.pop_back();
    attach(sections.at(name));
    ++attached;
    if (!used.contains(name)) throw UserError("the section '" + name + "' is used by no node", sections.at(name).range);
    for (Section* user : users[name]) {
      if (--user->waiting_for > 0 || user == &root) continue;
      for (auto& [user_name, section] : sections) {
        if (&section == user) ready.push_back(&user_name);
      }
    }
  }
  if (attached < sections.size()) {
    for (auto& [name, section] : sections) {
      if (section.waiting_for > 0) throw UserError("the section '" + name + "' contains itself", section.range);
    }
  }
  attach(root);
}

}  // namespace

std::shared_ptr<Graph> parseGraph(const std::string& text, const ParseOptions& options) {
  IrScanner scanner(std::make_shared<Source>(text, options.file.empty() ? "<ir>" : options.file));
  Context context{scanner, options, findSectionNames(text), {}, {}, {}};
  Section root;
  std::unordered_map<std::string, Section> sections;
  auto parseOne = [&](Section& into) {
    GraphParser parser(context);
    into.graph = parser.parse();
    into.uses = std::move(parser.sectionUses());
  };
  parseOne(root);
  while (scanner.nextIfName("with")) {
    IrToken start = scanner.cur();
    std::string name(scanner.text(scanner.expect(IrToken::Name)));
    while (scanner.nextIf(IrToken::Scope)) name.append("::").append(scanner.text(scanner.expect(IrToken::Name)));
    scanner.expect('=');
    auto [slot, is_new] = sections.try_emplace(name);
    if (!is_new) scanner.fail("there are two sections '" + name + "'", start);
    slot->second.range = scanner.range(start);
    parseOne(slot->second);
  }
  if (!scanner.at(IrToken::End)) scanner.reportExpected("the end of the text or a section");
  attachSections(root, sections);
  return root.graph;
}

}  // namespace cresset
