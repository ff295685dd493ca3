// Finds speech in a 48 kHz recording with the Silero voice detector: silero_vad MODEL.jit SPEECH.wav
#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_ops.h>
#include <cresset/cresset.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <sndfile.hh>

using Clock = std::chrono::steady_clock;
static double ms(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

static at::Tensor readEvery(const char* path, int step) {  // one channel, every step-th sample
  SndfileHandle file(path);
  std::vector<float> frames(file.frames() * file.channels());
  file.readf(frames.data(), file.frames());
  const int64_t n = file.frames() / step;
  at::Tensor sound = at::_ops::empty_memory_format::call({n}, at::kFloat, {}, {}, {}, {});
  for (int64_t i = 0; i < n; ++i) sound.mutable_data_ptr<float>()[i] = frames[i * step * file.channels()];
  return sound;
}

int main(int argc, char** argv) try {
  if (argc != 3) return std::fprintf(stderr, "usage: %s MODEL.jit SPEECH.wav\n", argv[0]), 2;
  at::set_num_threads(1);         // chunks are too small to share
  const at::NoGradGuard no_grad;  // the state would otherwise drag its history along
  for (int rate : {16000, 8000}) {
    const at::Tensor sound = readEvery(argv[2], 48000 / rate);
    const int64_t chunk = rate / 8000 * 256;
    auto start = Clock::now();
    cresset::Module vad = cresset::load(argv[1]);
    const double load = ms(start);
    vad.eval();

    std::vector<double> times;
    double begin = -1;
    for (int64_t at = 0; at + chunk <= sound.size(0); at += chunk) {
      start = Clock::now();
      const double p = vad.forward({sound.slice(0, at, at + chunk), rate}).toTensor().item().toDouble();
      times.push_back(ms(start));
      if (begin < 0 && p >= 0.5) begin = double(at) / rate;
      if (begin >= 0 && p < 0.35) std::printf("  speech from %.2f s to %.2f s\n", begin, double(at) / rate), begin = -1;
    }
    if (begin >= 0) std::printf("  speech from %.2f s to %.2f s\n", begin, double(times.size()) * chunk / rate);
    std::sort(times.begin() + 1, times.end());
    std::printf(
        "%d Hz: load %.2f ms, first call %.2f ms, later calls %.3f ms\n", rate, load, times[0],
        times[1 + times.size() / 2]);
  }
} catch (const std::exception& error) {
  return std::fprintf(stderr, "%s\n", error.what()), 1;
}
