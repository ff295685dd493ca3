// What a Function runs as. Declared here, below the engines, and defined by executor/: this is the
// one place where a lower layer reaches a higher one, at link time.
#pragma once

#include <memory>
#include <vector>

namespace c10 {
struct IValue;
}

namespace cresset {

class Code;  // interpreter/code.h
class Function;
using Stack = std::vector<c10::IValue>;

class Executable {
 public:
  virtual ~Executable() = default;
  /// Pops the arguments, pushes the result. Safe to call from many threads at once.
  virtual void run(Stack& stack) const = 0;
  /// The interpreter's code, if a call from a script may run it in a frame of its own run; null otherwise.
  virtual const Code* code() const { return nullptr; }
};

/// Makes the executable of a defined function.
std::shared_ptr<const Executable> compileFunction(Function& function);

}  // namespace cresset
