"""`cresset run`: what words mean, and what is said about wrong ones. `cresset show` has a file of its own."""

import os
import subprocess
import wave
from typing import Dict, List, Tuple

import numpy
import pytest
import torch

import cresset

COMMAND = os.environ.get("CRESSET_COMMAND", "cresset")


class Takes(torch.nn.Module):
    def forward(self, xs: List[int], n: int = 0):
        return xs, n

    @cresset.export
    def table(self, d: Dict[str, int]):
        return d

    @cresset.export
    def number(self, x: float):
        return x

    @cresset.export
    def text(self, s: str):
        return s

    @cresset.export
    def rows(self, rows: List[List[float]]):
        return rows

    @cresset.export
    def nested(self, d: Dict[str, List[Tuple[int, str]]]):
        return d

    @cresset.export
    def parts(self, x: torch.Tensor):
        return x, 3, [x + 1], {"a": x, "b": x}

    @cresset.export
    def nothing(self, x: torch.Tensor) -> List[torch.Tensor]:
        return []

    @cresset.export
    def sound(self, x: torch.Tensor, rate: int):
        return x.shape, rate


class Counter:
    def __init__(self, n: int):
        self.n = n

    @cresset.export
    def __getstate__(self) -> int:
        return self.n

    @cresset.export
    def __setstate__(self, n: int) -> None:
        self.n = n + 1


class Restores(torch.nn.Module):
    counter: Counter

    def __init__(self):
        super().__init__()
        self.counter = Counter(1)

    def forward(self):
        return self.counter.n


@pytest.fixture(scope="module")
def takes(tmp_path_factory):
    path = tmp_path_factory.mktemp("command") / "takes.pt"
    cresset.script(Takes()).save(path)
    return path


def command(*words):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout.removesuffix("\n"), done.stderr.strip()


@pytest.mark.parametrize(
    "words, printed",
    [
        (["[1, 2]"], "([1, 2], 0)"),
        (["[1, 2]", "n=3"], "([1, 2], 3)"),
        (["xs=[1, 2]"], "([1, 2], 0)"),
        (["[]", "-3"], "([], -3)"),
        (["[[1, 2], [3]][0]", "4"], "([1, 2], 4)"),
        (["-m", "table", "{'a': 1, 'b': 2}"], '{"a": 1, "b": 2}'),
        (["-m", "number", "-2.5"], "-2.5"),
        (["-m", "number", "--", "-2.5"], "-2.5"),
        (["-m", "number", "-.5"], "-0.5"),
        (["-m", "number", "-0.0"], "-0."),
        (["-m", "rows", "[[1.0, 2.0], [3.0, 4.0]]"], "[[1., 2.], [3., 4.]]"),
        (["-m", "rows", "rows=[[1.0,2.0],[]]"], "[[1., 2.], []]"),
        (["-m", "nested", "{'a': [(1, 'x, [y]')], 'b': []}"], '{"a": [(1, "x, [y]")], "b": []}'),
        (["-m", "text", "[a, b]"], "[a, b]"),
        (["-m", "text", "[[a, b], "], "[[a, b], "),
        (["-m", "text", ""], ""),
        (["-m", "text", "--", "-x"], "-x"),
    ],
    ids=str,
)
def test_words_arrive_whole(takes, words, printed):
    assert command("run", takes, *words) == (0, printed, "")


class Layers(torch.nn.Module):
    def forward(self, x: torch.Tensor, n: int = 2):
        for _ in range(n):
            x = torch.mm(x, x)
        return torch.mm(x, x)


def test_a_static_module_runs(tmp_path):
    path = tmp_path / "layers.pt"
    cresset.script(Layers().eval()).save(path)
    plain = command("run", path, "torch.ones([2, 2])", "n=1")
    assert command("run", path, "torch.ones([2, 2])", "n=1", "--static") == plain
    code, printed, _ = command("run", path, "torch.ones([2, 2])", "n=1", "--static", "--plan")
    assert code == 0 and plain[1] in printed and "aten::mm" in printed


def test_a_sound_and_its_rate(takes, tmp_path):
    path = tmp_path / "x.wav"
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(bytes(20))
    assert command("run", takes, "-m", "sound", f"@{path}", f"@{path}:rate") == (0, "([10], 8000)", "")
    code, _, error = command("run", takes, "-m", "sound", f"@{path}", f"@{takes}:rate")
    assert code == 1 and "only sounds have a rate" in error


@pytest.mark.parametrize(
    "words, said",
    [
        (["bogus"], ["no command 'bogus'", "cresset run FILE ARGS"]),
        (["shwo", "x.pt"], ["no command 'shwo'; did you mean 'show'?"]),
        (["run", "FILE", "[1]", "--limit-seconds", "0"], ["--limit-seconds", "'0' is no number of seconds above 0"]),
        (["run", "FILE", "@FILE"], ["takes.pt: is a program, which can't be an argument"]),
        (["run", "FILE", ""], ["argument 'xs': there is nothing in it"]),
        (["run", "FILE", "@none.pt"], ["none.pt: there is no such file"]),
        (["run", "FILE", "xt=[1]"], ["unknown argument 'xt'; did you mean 'xs'?: forward takes xs, n"]),
        (["run", "FILE", "[1]", "blk=@x.pt"], ["unknown argument 'blk': forward takes xs, n"]),
        (["run", "FILE", "self=[1]"], ["unknown argument 'self': forward takes xs, n"]),
        (["run", "FILE", "[1]", "--device", "foo"], ["--device: 'foo' is no device"]),
        (
            ["run", "FILE", "[1]", "--save", "x.npy"],
            ["--save: forward returns Tuple[List[int], int], in which there are no"],
        ),
    ],
    ids=str,
)
def test_wrong_words(takes, words, said):
    code, _, error = command(*[word.replace("FILE", str(takes)) for word in words])
    assert code != 0
    for part in said:
        assert part in error, error


def test_the_equal_sign_of_text_and_comparisons(takes):
    assert command("run", takes, "-m", "text", "a=b") == (0, "a=b", "")
    assert command("run", takes, "[1]", "n==3")[2].count("unknown argument") == 0


def test_no_backtraces(takes):
    error = command("run", takes, "[1]", "--device", "foo")[2]
    assert "\n" not in error, error


def test_saving_what_is_partly_tensors(takes, tmp_path):
    code, out, error = command("run", takes, "-m", "parts", "torch.ones([2])", "--save", tmp_path / "r.npy", "--time")
    assert code == 0
    names = ["r-0", "r-2-0", "r-3-a", "r-3-b"]
    assert out.splitlines() == [f"saved {tmp_path}/{name}.npy" for name in names]
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{name}.npy" for name in names]
    assert numpy.load(tmp_path / "r-2-0.npy").tolist() == [2, 2]
    assert "load " in error and f"not saved, being no tensor: {tmp_path}/r-1 (int)" in error


def test_nothing_to_save(takes, tmp_path):
    """Where the type does not tell, the time that the call took is told in any case."""
    code, out, error = command("run", takes, "-m", "nothing", "torch.ones([2])", "--save", tmp_path / "r", "--time")
    assert (code, out) == (1, "") and "first call" in error and "there were no tensors in the result" in error


def test_objects_that_restore_themselves(tmp_path):
    """Whoever loads it, by whatever door, allows it by the same word, and is told so by that door's name of it."""
    path = tmp_path / "restores.pt"
    cresset.script(Restores()).save(path)
    assert command("run", path, "--trusted") == (0, "2", "")
    assert cresset.load(path, trusted=True)() == 2
    assert command("show", path, "--trusted")[0] == 0
    for words in (["run"], ["show"]):
        code, _, error = command(*words, path)
        assert code == 1
        assert "__setstate__" in error and "say so with --trusted" in error
    with pytest.raises(cresset.ArchiveError, match="__setstate__, .*say so with trusted=True"):
        cresset.load(path)


def test_limits_hold_for_what_is_printed(tmp_path):
    module = type("Text", (cresset.ScriptModule,), {})()
    lines = "".join(f"    t{i} = [t{i - 1}, t{i - 1}]\n" for i in range(1, 41))
    module.define("def forward(self, n: int):\n    t0 = [n, n]\n" + lines + "    return t40\n")
    module.save(tmp_path / "m.pt")
    status, out, error = command("run", tmp_path / "m.pt", "1", "--limit-seconds", "5")
    assert status != 0 and out == "" and "too long under limits" in error
