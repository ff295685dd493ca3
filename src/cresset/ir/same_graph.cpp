// One traversal of both graphs in step. See same_graph.h.
#include "cresset/ir/same_graph.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <bit>
#include <unordered_map>

#include "cresset/ir/constants.h"

namespace cresset {

namespace {

bool sameType(const TypePtr& a, const TypePtr& b) {
  return a.get() == b.get() || *a == *b || a->annotation_str() == b->annotation_str();
}

bool sameBits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

bool sameValue(const c10::IValue& a, const c10::IValue& b) {
  if (a.isTensor() && b.isTensor()) return a.toTensor().is_same(b.toTensor());
  if (a.tagKind() != b.tagKind()) return false;
  if (a.isDouble()) return sameBits(a.toDouble(), b.toDouble());
  if (a.isComplexDouble()) {
    const auto x = a.toComplexDouble(), y = b.toComplexDouble();
    return sameBits(x.real(), y.real()) && sameBits(x.imag(), y.imag());
  }
  auto sameItems = [](const auto& x, const auto& y) {
    if (x.size() != y.size()) return false;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!sameValue(x[i], y[i])) return false;
    }
    return true;
  };
  if (a.isList()) return sameType(a.type(), b.type()) && sameItems(a.toListRef(), b.toListRef());
  if (a.isTuple())
    return sameType(a.type(), b.type()) && sameItems(a.toTupleRef().elements(), b.toTupleRef().elements());
  if (a.isGenericDict()) {
    const auto x = a.toGenericDict(), y = b.toGenericDict();
    if (x.size() != y.size() || !sameType(a.type(), b.type())) return false;
    for (auto i = x.begin(), j = y.begin(); i != x.end(); ++i, ++j) {
      if (!sameValue(i->key(), j->key()) || !sameValue(i->value(), j->value())) return false;
    }
    return true;
  }
  if (a.isEnum()) {
    const auto& x = *a.toEnumHolder();
    const auto& y = *b.toEnumHolder();
    return x.name() == y.name() && *x.type() == *y.type();
  }
  if (a.isObject()) return a.toObject() == b.toObject();
  return a == b;
}

class Comparison {
 public:
  explicit Comparison(std::string* difference) : difference_(difference) {}

  bool blocks(const Block* a, const Block* b) {
    if (a->inputs().size() != b->inputs().size()) return differ(a->paramNode(), b->paramNode(), "inputs of the block");
    for (size_t i = 0; i < a->inputs().size(); ++i) {
      if (!define(a->inputs()[i], b->inputs()[i])) return differ(a->paramNode(), b->paramNode(), "type of an input");
    }
    const Node* x = skipConstants(a->returnNode()->next());
    const Node* y = skipConstants(b->returnNode()->next());
    for (;; x = skipConstants(x->next()), y = skipConstants(y->next())) {
      if (x == a->returnNode() || y == b->returnNode()) {
        if (x != a->returnNode() || y != b->returnNode()) return differ(x, y, "number of nodes");
        return inputs(x, y);
      }
      if (!nodes(x, y)) return false;
    }
  }

 private:
  static const Node* skipConstants(const Node* node) {
    while (node->kind() == prim::Constant) node = node->next();
    return node;
  }

  bool differ(const Node* a, const Node* b, const std::string& what) {
    if (difference_ && difference_->empty()) {
      *difference_ = what + " differs: " + describe(a) + " and " + describe(b);
    }
    return false;
  }

  static std::string describe(const Node* node) {
    std::string text = node->isReturn() ? "return" : node->kind().toQualString();
    const std::string position = node->sourceRange().position();
    return position.empty() ? text : text + " at " + position;
  }

  bool define(const Value* a, const Value* b) {
    names_[a] = b;
    return sameType(a->type(), b->type());
  }

  bool values(const Value* a, const Value* b) {
    const bool constant = a->node()->kind() == prim::Constant;
    if (constant != (b->node()->kind() == prim::Constant)) return false;
    if (!constant) {
      const auto it = names_.find(a);
      return it != names_.end() && it->second == b;
    }
    const auto f = a->type()->cast<c10::FunctionType>(), g = b->type()->cast<c10::FunctionType>();
    if (f || g) return f && g && f->function() == g->function();
    const auto x = toIValue(a), y = toIValue(b);
    return x && y && sameValue(*x, *y);
  }

  bool inputs(const Node* a, const Node* b) {
    if (a->inputs().size() != b->inputs().size()) return differ(a, b, "number of inputs");
    for (size_t i = 0; i < a->inputs().size(); ++i) {
      if (!values(a->input(i), b->input(i))) return differ(a, b, "input " + std::to_string(i));
    }
    return true;
  }

  bool nodes(const Node* a, const Node* b) {
    if (a->kind() != b->kind()) return differ(a, b, "kind");
    if (!inputs(a, b)) return false;
    if (a->attributes().size() != b->attributes().size()) return differ(a, b, "number of attributes");
    for (const auto& [name, value] : a->attributes()) {
      const Attribute* other = b->findAttribute(name);
      if (!other || !sameAttribute(value, *other, difference_))
        return differ(a, b, std::string("attribute ") + name.toUnqualString());
    }
    if (a->blocks().size() != b->blocks().size()) return differ(a, b, "number of blocks");
    for (size_t i = 0; i < a->blocks().size(); ++i) {
      if (!blocks(a->blocks()[i], b->blocks()[i])) return false;
    }
    if (a->outputs().size() != b->outputs().size()) return differ(a, b, "number of outputs");
    for (size_t i = 0; i < a->outputs().size(); ++i) {
      if (!define(a->outputs()[i], b->outputs()[i])) {
        return differ(
            a, b,
            "type of output " + std::to_string(i) + " (" + a->outputs()[i]->type()->annotation_str() + " and " +
                b->outputs()[i]->type()->annotation_str() + ")");
      }
    }
    return true;
  }

  std::string* difference_;
  std::unordered_map<const Value*, const Value*> names_;
};

}  // namespace

bool sameAttribute(const Attribute& a, const Attribute& b, std::string* difference) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Attribute::Kind::Int:
      return a.asInt() == b.asInt();
    case Attribute::Kind::Float:
      return sameBits(a.asFloat(), b.asFloat());
    case Attribute::Kind::Complex:
      return a.asComplex() == b.asComplex();
    case Attribute::Kind::String:
      return a.asString() == b.asString();
    case Attribute::Kind::Tensor:
      return a.asTensor().is_same(b.asTensor());
    case Attribute::Kind::Graph:
      return sameGraph(*a.asGraph(), *b.asGraph(), difference);
    case Attribute::Kind::Type:
      return sameType(a.asType(), b.asType());
    case Attribute::Kind::Value:
      return sameValue(a.asValue(), b.asValue());
    case Attribute::Kind::Ints:
      return a.asInts() == b.asInts();
    case Attribute::Kind::Floats:
      return a.asFloats() == b.asFloats();
    case Attribute::Kind::Complexes:
      return a.asComplexes() == b.asComplexes();
    case Attribute::Kind::Strings:
      return a.asStrings() == b.asStrings();
    case Attribute::Kind::Types: {
      const auto &x = a.asTypes(), &y = b.asTypes();
      if (x.size() != y.size()) return false;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!sameType(x[i], y[i])) return false;
      }
      return true;
    }
    case Attribute::Kind::Tensors:
    case Attribute::Kind::Graphs:
      return false;  // no node that a program starts out with has them
  }
  return false;
}

bool sameGraph(const Graph& a, const Graph& b, std::string* difference) {
  return Comparison(difference).blocks(a.block(), b.block());
}

}  // namespace cresset
