// A model server: the archive comes through a stream, requests and answers are dicts of tensors.
//
//   stream stream.pt [SAVED [OTHERS]]    saves the last answer as a value; prints one that another program saved
#ifdef TORCH_JIT
#include <torch/script.h>
namespace jit = torch::jit;
#else
#include <cresset/torch_jit.h>
namespace jit = cresset::jit;
#endif

#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

#include "printing.h"

namespace {

using Request = c10::Dict<std::string, at::Tensor>;

void printSorted(const jit::IValue& answer) {
  std::map<std::string, at::Tensor> sorted;
  for (const auto& entry : answer.toGenericDict()) sorted.emplace(entry.key().toStringRef(), entry.value().toTensor());
  for (const auto& [name, tensor] : sorted) print(name, tensor);
}

jit::IValue answer(jit::Module& model, const Request& request, const jit::Kwargs& options) {
  jit::IValue result = model.forward({request}, options);
  printSorted(result);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::cerr << "usage: stream ARCHIVE [SAVED [OTHERS]]\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  jit::ExtraFilesMap extra{{"labels.txt", ""}, {"missing.txt", "not there"}};
  jit::Module model = jit::load(file, std::nullopt, extra);
  std::cout << extra.at("labels.txt") << extra.at("missing.txt") << '\n';

  Request request;
  request.insert("dense", at::cos(at::arange(8, at::kFloat)).view({2, 4}));
  answer(model, request, {});
  request.insert("tokens", at::arange(6, at::kLong).view({2, 3}));
  answer(model, request, {});
  const jit::IValue last = answer(model, request, {{"top", 1}});

  if (argc > 2) {
    const std::vector<char> bytes = jit::pickle_save(last);
    std::ofstream(argv[2], std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    printSorted(jit::pickle_load(bytes));
  }
  if (argc > 3) {
    std::ifstream saved(argv[3], std::ios::binary);
    printSorted(jit::pickle_load({std::istreambuf_iterator<char>(saved), std::istreambuf_iterator<char>()}));
  }

  try {
    model.forward({request, 2, 3});
  } catch (const c10::Error&) {
    std::cout << "too many arguments\n";
  }
  try {
    model.forward({Request()});
  } catch (const std::exception&) {
    std::cout << "no such input\n";
  }
  std::istringstream damaged("this is no archive");
  try {
    jit::load(damaged);
  } catch (const c10::Error&) {
    std::cout << "damaged\n";
  }
}
