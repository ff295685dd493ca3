// Command-line words to arguments of a method, and results to text and files.
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "cresset/program/program.h"

namespace cresset::cli {

/// `words` as the arguments of `schema` (whose first argument, self, is left out): `name=word` is by keyword. A word is
///   @file.npy  a NumPy array            @file.pt   a tensor or other value saved by torch.save
///   @file.wav  a sound: float32 of shape [frames], or [channels, frames]; other formats of libsndfile too
///   @file.wav:rate  the sound's sampling rate, an int
///   anything else: an expression of the script language ("[1, 2.5]", "{'a': 1}", "torch.ones([2, 3])"); where the
///   method takes a str, a word that is no quoted literal is taken as it is.
/// Throws UserError that names the argument.
struct Arguments {
  std::vector<c10::IValue> positional;
  std::unordered_map<std::string, c10::IValue> keywords;
};
Arguments parseArguments(const std::vector<std::string>& words, const c10::FunctionSchema& schema);

/// The value of one word; `type` is what the method wants (null if unknown).
c10::IValue parseArgument(const std::string& word, const c10::TypePtr& type, const std::string& name);

/// NumPy's .npy format, versions 1 to 3. Reading copies; arrays in Fortran order keep their strides. Object arrays and
/// dtypes that tensors lack are refused. Writing makes the tensor contiguous.
at::Tensor readNpy(const std::string& path);
void writeNpy(const std::string& path, const at::Tensor& tensor);

}  // namespace cresset::cli
