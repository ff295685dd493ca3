// Where a Python program stands: source ranges of its frames, and the names of its variables.
#pragma once

#include "cresset/python/common.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace cresset::python {

/// The frames of one trace, from the function that runs it on. Frames of PyTorch and of Cresset count as the library's.
/// Outside of that function there is neither a place nor a name. All members need the GIL.
class Frames {
 public:
  /// `outermost` is the code of the Python function that calls the traced program; frames from it on are not looked at.
  explicit Frames(py::object outermost) : outermost_(std::move(outermost)) {}

  /// The expression that runs now: of the innermost frame of the user's, or, if there is none, of the library's.
  SourceRange location();
  /// The variable of the innermost frame outside of Cresset that holds this very tensor; "" if there is none.
  std::string nameOf(const at::Tensor& tensor);

 private:
  enum class Owner { User, Library, Cresset, Outermost };
  struct File {
    std::shared_ptr<const Source> source;
    std::vector<size_t> lines;  // offsets of their starts
  };

  Owner ownerOf(PyCodeObject* code);
  SourceRange rangeOf(PyCodeObject* code, int instruction);
  const File& file(PyCodeObject* code);

  py::object outermost_;
  // Code objects are held, so that no address is used twice.
  std::unordered_map<PyCodeObject*, std::pair<py::object, Owner>> owners_;
  std::map<std::pair<PyCodeObject*, int>, SourceRange> ranges_;
  std::unordered_map<std::string, File> files_;
};

}  // namespace cresset::python
