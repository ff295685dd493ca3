// Code of the program that embeds Cresset (a Python function, say), which a graph calls: a node `^name(…)` of kind
// prim::PythonOp, whose first input is a constant that holds the callable. Such a call can run, but not be saved.
#pragma once

#include <ATen/core/ivalue.h>

#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cresset/ir/graph.h"

namespace cresset {

class HostCallable : public torch::CustomClassHolder {
 public:
  virtual std::string name() const = 0;
  /// Pops `num_args` values from the end of the stack, pushes the result. Called from any thread that runs a script.
  virtual void call(std::vector<c10::IValue>& stack, size_t num_args) const = 0;
};

/// The call, at the graph's insertion point; of the constant that holds the callable, too, if the range is known.
Node* insertHostCall(
    Graph& graph, const c10::intrusive_ptr<HostCallable>& host, std::span<Value* const> inputs, TypePtr result,
    const SourceRange& range = {});
/// Whether the node is such a call, or one that another program had.
bool callsHost(const Node& node);

/// An exception of the embedding program's own that went through an operator: a hook of autograd threw it, say. It goes
/// through scripts as it is.
class HostException : public std::exception {
 public:
  explicit HostException(std::exception_ptr error) : error_(std::move(error)) {}
  const std::exception_ptr& error() const { return error_; }
  const char* what() const noexcept override { return "an exception of the program that runs the script"; }

 private:
  std::exception_ptr error_;
};

}  // namespace cresset
