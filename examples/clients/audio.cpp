// An audio plug-in: one model, several methods, settings and state in attributes.
//
//   audio audio.pt
#ifdef TORCH_JIT
#include <torch/script.h>
namespace jit = torch::jit;
#else
#include <cresset/torch_jit.h>
namespace jit = cresset::jit;
#endif

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/sin.h>

#include <iostream>
#include <sstream>

#include "printing.h"

namespace {

void describe(const jit::Module& model) {
  const auto parts = model.get_method("describe")({}).toTuple()->elements().vec();
  std::cout << parts[0].toStringRef() << ' ' << parts[1].toInt() << '\n';
  const auto settings = parts[2].toGenericDict();
  print("gain", settings.at("gain").toDouble());
  print("rate", settings.at("rate").toDouble());
}

void play(jit::Module& model, int64_t first_block, int64_t blocks) {
  for (int64_t i = first_block; i < first_block + blocks; ++i)
    print("block", model.forward({at::sin(at::arange(i * 64, (i + 1) * 64, at::kFloat) * 0.05)}).toTensor());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: audio ARCHIVE\n";
    return 2;
  }
  jit::Module model = jit::load(argv[1]);
  model.eval();
  c10::InferenceMode no_gradients;
  for (const char* name : {"prepare", "latency", "describe", "forward", "reset"})
    std::cout << name << (model.find_method(name) ? " is there" : " is missing") << '\n';
  for (const auto& item : model.named_parameters()) print(item.name, item.value);
  for (const auto& item : model.named_buffers()) print(item.name, item.value);

  std::cout << model.run_method("prepare", 48000, 2).toInt() << '\n';
  print("latency", model.run_method("latency").toDouble());
  model.setattr("gain", 0.25);
  model.setattr("name", "echo, quieter");
  std::cout << model.hasattr("gain") << model.hasattr("volume") << ' ' << model.attr("volume", 11).toInt() << '\n';
  describe(model);
  play(model, 0, 3);

  // A preset: settings and state of now, to go on from later.
  std::stringstream preset;
  model.save(preset, {{"preset.txt", "loud"}});
  jit::Module other = model.deepcopy();
  play(model, 3, 2);
  play(other, 3, 2);
  jit::ExtraFilesMap files{{"preset.txt", ""}};
  jit::Module restored = jit::load(preset, at::kCPU, files);
  std::cout << files.at("preset.txt") << ' ' << restored.is_training() << '\n';
  describe(restored);
  play(restored, 3, 2);

  model.get_method("prepare")({44100}, {{"delay_blocks", 3}});
  describe(model);
  std::cout << model.attr("buffered").toTensorVector().size() << '\n';
  for (const auto& wrong : {jit::IValue("fast"), jit::IValue(-1)}) {
    try {
      model.run_method("prepare", wrong);
    } catch (const std::exception&) {
      std::cout << "refused" << '\n';
    }
  }
  try {
    model.setattr("gain", "loud");
  } catch (const c10::Error&) {
    std::cout << "gain stays " << model.attr("gain").toDouble() << '\n';
  }
  try {
    model.get_method("reset");
  } catch (const c10::Error&) {
    std::cout << "no reset" << '\n';
  }
}
