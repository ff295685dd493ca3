"""The voice detector of the package silero-vad, a program in production use, bit for bit beside torch.jit.

`./dev test` fetches the archive and names it in CRESSET_SILERO.
"""

import math
import os
import subprocess
import sys
import wave
from pathlib import Path

import numpy
import pytest
import torch

import cresset

MODEL = os.environ.get("CRESSET_SILERO", "")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def both():
    """The archive, loaded by Cresset and by torch.jit."""
    assert MODEL, "CRESSET_SILERO must name the archive; run the tests through ./dev test"
    return cresset.load(MODEL), torch.jit.load(MODEL)


def speech_like(rate, seconds=2.0):
    """Bursts of a voiced-like sound: harmonics of a gliding pitch under a syllable-rate envelope, with noise between."""
    t = torch.arange(int(rate * seconds), dtype=torch.float64) / rate
    pitch = 120 + 30 * torch.sin(2 * math.pi * 0.7 * t)
    phase = 2 * math.pi * torch.cumsum(pitch, 0) / rate
    voice = sum(torch.sin(k * phase) / k for k in range(1, 20))
    envelope = torch.clamp(torch.sin(2 * math.pi * 1.5 * t), min=0) ** 0.5
    noise = torch.randn(len(t), generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    return (0.15 * voice * envelope + 0.002 * noise).float()


def probabilities(vad, sound, rate, chunk):
    with torch.no_grad(), torch.jit.optimized_execution(False):
        return torch.cat([vad(sound[i : i + chunk], rate) for i in range(0, len(sound) - chunk + 1, chunk)], 1)


@pytest.mark.parametrize("rate, chunk", [(16000, 512), (8000, 256)])
def test_probabilities_are_bit_equal_over_all_chunks(both, rate, chunk):
    sound = speech_like(rate)
    ours, theirs = (probabilities(vad, sound, rate, chunk) for vad in both)
    assert ours.shape[1] > 60
    assert torch.equal(ours, theirs)
    assert ours.unique().numel() > 10  # the state moves: a constant would be no test


def test_state_is_carried_and_reset(both):
    sound = speech_like(16000)
    for vad in both:
        first = probabilities(vad, sound, 16000, 512)
        again = probabilities(vad, sound, 16000, 512)
        vad.reset_states()
        fresh = probabilities(vad, sound, 16000, 512)
        assert not torch.equal(first, again)
        assert torch.equal(first, fresh)


def test_switching_the_rate_resets_the_state(both):
    sound = speech_like(16000)
    results = []
    for vad in both:
        with torch.no_grad(), torch.jit.optimized_execution(False):
            results.append([vad(sound[:512], 16000), vad(sound[:256], 8000), vad(sound[512:1024], 16000), vad._last_sr])
    for ours, theirs in zip(*results):
        assert torch.equal(ours, theirs) if torch.is_tensor(ours) else ours == theirs


@pytest.mark.parametrize("rate", [8000, 16000, 48000])
def test_audio_forward(both, rate):
    sound = speech_like(rate, 1.3)
    with torch.jit.optimized_execution(False):
        ours, theirs = (vad.audio_forward(sound, rate) for vad in both)
    assert torch.equal(ours, theirs)


def test_batches(both):
    sound = torch.stack([speech_like(16000)[:512], torch.zeros(512)])
    with torch.no_grad(), torch.jit.optimized_execution(False):
        ours, theirs = (vad(sound, 16000) for vad in both)
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize(
    "shape, rate, message",
    [
        (
            (600,),
            16000,
            "Provided number of samples is 600 (Supported values: 256 for 8000 sample rate, 512 for 16000)",
        ),
        ((1, 1, 512), 16000, "Too many dimensions for input audio chunk 3"),
        ((512,), 11025, "Supported sampling rates: [8000, 16000] (or multiply of 16000)"),
        ((10,), 16000, "Input audio chunk is too short"),
    ],
)
def test_errors_carry_the_models_own_message(both, shape, rate, message):
    for vad, error in zip(both, (cresset.Error, torch.jit.Error)):
        with pytest.raises(error) as caught:
            vad(torch.zeros(shape), rate)
        assert message in str(caught.value)
        assert "ValueError" in str(caught.value)
        assert "vad_annotator.py" in str(caught.value)


def test_parameters_and_state_dict_agree(both):
    ours, theirs = both
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert [n for n, _ in ours.named_buffers()] == [n for n, _ in theirs.named_buffers()]
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    ours_state, theirs_state = ours.state_dict(), theirs.state_dict()
    assert list(ours_state) == list(theirs_state)
    assert all(torch.equal(ours_state[k], theirs_state[k]) for k in ours_state)


def test_every_method_compiles_and_prints(both):
    ours, theirs = both
    for name in ("forward", "audio_forward", "reset_states", "_validate_input"):
        method = getattr(ours, name)
        assert str(method.graph).startswith("graph(%self")
        assert str(method.schema) == str(getattr(theirs, name).schema)
    assert "aten::conv1d" in str(ours.inlined_graph)
    assert "CallMethod" not in str(ours.inlined_graph)


def test_the_command_gives_the_same_bits(both, tmp_path):
    command = os.environ.get("CRESSET_COMMAND")
    assert command, "CRESSET_COMMAND must name the built command; run the tests through ./dev test"
    sound = speech_like(16000, 1.0)
    numpy.save(tmp_path / "sound.npy", sound.numpy())
    torch.save(sound, tmp_path / "sound.pt")
    with torch.jit.optimized_execution(False):
        expected = both[1].audio_forward(sound, 16000)
    for extension in ("npy", "pt"):
        out = tmp_path / f"{extension}-result.npy"
        subprocess.run(
            [
                command,
                "run",
                MODEL,
                "--method",
                "audio_forward",
                f"@{tmp_path}/sound.{extension}",
                "sr=16000",
                "--save",
                out,
            ],
            check=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        assert torch.equal(torch.from_numpy(numpy.load(out)), expected)
    done = subprocess.run(
        [command, "run", MODEL, f"@{tmp_path}/sound.npy", "3"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Supported sampling rates" in done.stderr


@pytest.mark.parametrize("kernels", ["off", "now"])
def test_the_example(kernels, tmp_path):
    """As `./dev run` runs it, with kernels from the first plan on and without: what it promises does not depend on when they come."""
    recording = tmp_path / "noise.wav"
    samples = torch.randn(48000, generator=torch.Generator().manual_seed(0)) * torch.linspace(0, 9000, 48000)
    with wave.open(str(recording), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48000)
        file.writeframes(samples.clamp(-32768, 32767).to(torch.int16).numpy().tobytes())
    example = Path(__file__).parents[2] / "examples" / "silero_vad" / "silero_vad.py"
    command = [sys.executable, str(example), MODEL, str(recording)]
    environment = {**os.environ, "CRESSET_NUMERICS": "default", "CRESSET_KERNELS": kernels}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("bit-equal with numerics=exact: True") == 2
