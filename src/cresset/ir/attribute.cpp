// Attributes: an int, a float, or a shared, immutable variant.
//
// Graphs within attributes may form a chain as long as a program, so a dying attribute hands its graphs to a list that
// the outermost destructor works off, rather than destroying them from within itself.
#include "cresset/ir/attribute.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <variant>

#include "cresset/ir/graph.h"
#include "cresset/support/error.h"

namespace cresset {

using Kind = Attribute::Kind;
using GraphPtr = std::shared_ptr<Graph>;

struct Attribute::Impl {
  // In the order of Kind.
  using Payload = std::variant<
      int64_t, double, std::complex<double>, std::string, at::Tensor, GraphPtr, c10::TypePtr, c10::IValue,
      std::vector<int64_t>, std::vector<double>, std::vector<std::complex<double>>, std::vector<std::string>,
      std::vector<at::Tensor>, std::vector<GraphPtr>, std::vector<c10::TypePtr>>;
  Payload payload;

  explicit Impl(Payload p) : payload(std::move(p)) {}
  ~Impl() {
    if (auto* graph = std::get_if<GraphPtr>(&payload)) {
      release({graph, 1});
    } else if (auto* graphs = std::get_if<std::vector<GraphPtr>>(&payload)) {
      release(*graphs);
    }
  }

  static void release(std::span<GraphPtr> graphs) {
    static thread_local std::vector<GraphPtr>* dying = nullptr;  // set while a call further up is at work
    if (dying) {
      for (GraphPtr& graph : graphs) dying->push_back(std::move(graph));
      return;
    }
    std::vector<GraphPtr> work(std::make_move_iterator(graphs.begin()), std::make_move_iterator(graphs.end()));
    dying = &work;
    while (!work.empty()) {
      GraphPtr graph = std::move(work.back());
      work.pop_back();
      graph.reset();
    }
    dying = nullptr;
  }
};

namespace {

template <typename T>
void checkNotNull(const T& v, const char* what) {
  if (!v) throw UserError(std::string("An attribute can't be a null ") + what + ".");
}

}  // namespace

Attribute::Attribute(int64_t v) : value_(v) {}
Attribute::Attribute(double v) : value_(v) {}
Attribute::Attribute(std::complex<double> v) : value_(std::make_shared<const Impl>(v)) {}
Attribute::Attribute(std::string v) : value_(std::make_shared<const Impl>(std::move(v))) {}
Attribute::Attribute(const at::Tensor& v) : value_(std::make_shared<const Impl>(v)) {}
Attribute::Attribute(GraphPtr v) {
  checkNotNull(v, "graph");
  value_ = std::make_shared<const Impl>(std::move(v));
}
Attribute::Attribute(c10::TypePtr v) {
  checkNotNull(v, "type");
  value_ = std::make_shared<const Impl>(std::move(v));
}
Attribute::Attribute(const c10::IValue& v) : value_(std::make_shared<const Impl>(v)) {}
Attribute::Attribute(std::vector<int64_t> v) : value_(std::make_shared<const Impl>(std::move(v))) {}
Attribute::Attribute(std::vector<double> v) : value_(std::make_shared<const Impl>(std::move(v))) {}
Attribute::Attribute(std::vector<std::complex<double>> v) : value_(std::make_shared<const Impl>(std::move(v))) {}
Attribute::Attribute(std::vector<std::string> v) : value_(std::make_shared<const Impl>(std::move(v))) {}
Attribute::Attribute(std::vector<at::Tensor> v) : value_(std::make_shared<const Impl>(std::move(v))) {}
Attribute::Attribute(std::vector<GraphPtr> v) {
  for (const auto& graph : v) checkNotNull(graph, "graph");
  value_ = std::make_shared<const Impl>(std::move(v));
}
Attribute::Attribute(std::vector<c10::TypePtr> v) {
  for (const auto& type : v) checkNotNull(type, "type");
  value_ = std::make_shared<const Impl>(std::move(v));
}

Kind Attribute::kind() const {
  const auto* shared = std::get_if<std::shared_ptr<const Impl>>(&value_);
  return static_cast<Kind>(shared ? (*shared)->payload.index() : value_.index());
}

template <Kind kKind>
const auto& Attribute::get() const {
  constexpr auto kIndex = static_cast<size_t>(kKind);
  if constexpr (kKind == Kind::Int || kKind == Kind::Float) {
    if (const auto* found = std::get_if<kIndex>(&value_)) return *found;
  } else if (const auto* shared = std::get_if<std::shared_ptr<const Impl>>(&value_)) {
    if (const auto* found = std::get_if<kIndex>(&(*shared)->payload)) return *found;
  }
  throw UserError(std::string("Expected an attribute of kind ") + toString(kKind) + ", got " + toString(kind()) + ".");
}

int64_t Attribute::asInt() const {
  return get<Kind::Int>();
}
double Attribute::asFloat() const {
  return get<Kind::Float>();
}
std::complex<double> Attribute::asComplex() const {
  return get<Kind::Complex>();
}
const std::string& Attribute::asString() const {
  return get<Kind::String>();
}
const at::Tensor& Attribute::asTensor() const {
  return get<Kind::Tensor>();
}
const GraphPtr& Attribute::asGraph() const {
  return get<Kind::Graph>();
}
const c10::TypePtr& Attribute::asType() const {
  return get<Kind::Type>();
}
const c10::IValue& Attribute::asValue() const {
  return get<Kind::Value>();
}
const std::vector<int64_t>& Attribute::asInts() const {
  return get<Kind::Ints>();
}
const std::vector<double>& Attribute::asFloats() const {
  return get<Kind::Floats>();
}
const std::vector<std::complex<double>>& Attribute::asComplexes() const {
  return get<Kind::Complexes>();
}
const std::vector<std::string>& Attribute::asStrings() const {
  return get<Kind::Strings>();
}
const std::vector<at::Tensor>& Attribute::asTensors() const {
  return get<Kind::Tensors>();
}
const std::vector<GraphPtr>& Attribute::asGraphs() const {
  return get<Kind::Graphs>();
}
const std::vector<c10::TypePtr>& Attribute::asTypes() const {
  return get<Kind::Types>();
}

const char* toString(Kind kind) {
  static constexpr const char* kNames[] = {"int",          "float",    "complex",     "str",        "Tensor",
                                           "graph",        "type",     "value",       "int list",   "float list",
                                           "complex list", "str list", "Tensor list", "graph list", "type list"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace cresset
