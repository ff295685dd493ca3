"""Finds speech in a 48 kHz recording with the Silero voice detector, by Cresset and by torch.jit in the same run.

python silero_vad.py MODEL.jit SPEECH.wav
"""

import statistics
import sys
import time
import wave

import numpy
import torch

import cresset


def read_wav(path):
    """The first channel of a 16-bit recording as float32 samples in [-1, 1)."""
    with wave.open(path) as file:
        if file.getsampwidth() != 2:
            raise SystemExit(f"{path}: expected 16-bit samples")
        samples = numpy.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
        samples = samples[:: file.getnchannels()]
        return torch.from_numpy(samples.astype(numpy.float32) / 32768), file.getframerate()


def detect(load, path, sound, rate):
    """Probabilities of speech per chunk, and the times of load, first call and later calls in ms."""
    chunk = 512 if rate == 16000 else 256
    start = time.perf_counter()
    vad = load(path)
    times = [time.perf_counter() - start]
    probabilities = []
    for at in range(0, len(sound) - chunk + 1, chunk):
        piece = sound[at : at + chunk]
        start = time.perf_counter()
        probability = vad(piece, rate)
        times.append(time.perf_counter() - start)
        probabilities.append(probability.item())
    load_ms, first_ms, *later_ms = (1000 * t for t in times)
    return probabilities, (load_ms, first_ms, statistics.median(later_ms))


def timestamps(probabilities, seconds_per_chunk, on=0.5, off=0.35):
    """Stretches of speech: from the first chunk at or above `on` to the first one below `off`."""
    stretches, begin = [], None
    for i, p in enumerate(probabilities):
        if begin is None and p >= on:
            begin = i
        elif begin is not None and p < off:
            stretches.append((begin * seconds_per_chunk, i * seconds_per_chunk))
            begin = None
    if begin is not None:
        stretches.append((begin * seconds_per_chunk, len(probabilities) * seconds_per_chunk))
    return stretches


def main(model, recording):
    torch.set_num_threads(1)
    sound, recorded_rate = read_wav(recording)
    for rate in (16000, 8000):
        resampled = sound[:: recorded_rate // rate].contiguous()
        with torch.no_grad():
            # By default kernels may round otherwise than PyTorch's; asked to, they don't.
            ours, our_times = detect(cresset.load, model, resampled, rate)
            with cresset.options.override(numerics="exact"):
                exact, _ = detect(cresset.load, model, resampled, rate)
            # The unoptimized executor is the reference for bits; the default one is timed as well.
            with torch.jit.optimized_execution(False):
                theirs, _ = detect(torch.jit.load, model, resampled, rate)
            _, their_times = detect(torch.jit.load, model, resampled, rate)
        difference = max(abs(our - their) for our, their in zip(ours, theirs))
        print(f"{rate} Hz, {len(ours)} chunks; probabilities within {difference:.0e} of torch.jit's")
        print(f"  bit-equal with numerics=exact: {exact == theirs}")
        for begin, end in timestamps(ours, (512 if rate == 16000 else 256) / rate):
            print(f"  speech from {begin:.2f} s to {end:.2f} s")
        for name, our, their in zip(("load", "first call", "later calls"), our_times, their_times):
            print(f"  {name:12} {our:8.3f} ms, torch.jit {their:8.3f} ms, ratio {our / their:.2f}")
        if exact != theirs or difference > 1e-5:
            raise SystemExit("the probabilities differ from torch.jit's")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
