// A node's attribute: an int, float, complex, string, tensor, graph, type, or a list of one of them, or any other
// constant IValue (a constant list, dict, tuple, device, … of a prim::Constant).
#pragma once

#include <ATen/core/jit_type_base.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
struct IValue;
}

namespace cresset {

class Graph;

/// Immutable and cheap to copy: ints and floats, which most constants are, stand in the attribute itself, the rest is
/// shared.
class Attribute {
 public:
  enum class Kind {
    Int,
    Float,
    Complex,
    String,
    Tensor,
    Graph,
    Type,
    Value,
    Ints,
    Floats,
    Complexes,
    Strings,
    Tensors,
    Graphs,
    Types
  };

  Attribute(int64_t v);
  Attribute(double v);
  Attribute(std::complex<double> v);
  Attribute(std::string v);
  Attribute(const char* v) : Attribute(std::string(v)) {}
  Attribute(const at::Tensor& v);
  Attribute(std::shared_ptr<Graph> v);
  Attribute(c10::TypePtr v);
  explicit Attribute(const c10::IValue& v);
  Attribute(std::vector<int64_t> v);
  Attribute(std::vector<double> v);
  Attribute(std::vector<std::complex<double>> v);
  Attribute(std::vector<std::string> v);
  Attribute(std::vector<at::Tensor> v);
  Attribute(std::vector<std::shared_ptr<Graph>> v);
  Attribute(std::vector<c10::TypePtr> v);

  Kind kind() const;

  // Each throws UserError if the attribute is of another kind.
  int64_t asInt() const;
  double asFloat() const;
  std::complex<double> asComplex() const;
  const std::string& asString() const;
  const at::Tensor& asTensor() const;
  const std::shared_ptr<Graph>& asGraph() const;
  const c10::TypePtr& asType() const;
  const c10::IValue& asValue() const;
  const std::vector<int64_t>& asInts() const;
  const std::vector<double>& asFloats() const;
  const std::vector<std::complex<double>>& asComplexes() const;
  const std::vector<std::string>& asStrings() const;
  const std::vector<at::Tensor>& asTensors() const;
  const std::vector<std::shared_ptr<Graph>>& asGraphs() const;
  const std::vector<c10::TypePtr>& asTypes() const;

 private:
  struct Impl;
  template <Kind kKind>
  const auto& get() const;
  std::variant<int64_t, double, std::shared_ptr<const Impl>> value_;
};

const char* toString(Attribute::Kind kind);

}  // namespace cresset
