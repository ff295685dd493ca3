"""docs/porting.md names every public name of torch.jit, and only what Cresset has."""

import re
from pathlib import Path

import pytest
import torch

import cresset

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "porting.md").read_text()
PYTHON = PAGE[PAGE.index("## Python") :]
#: torch.jit's name -> what the page says of it.
ROWS = {m[1]: (m[2].strip(), m[3].strip()) for m in re.finditer(r"^\| `(\w+)` \| (.*?) \| (.*?) ?\|$", PYTHON, re.M)}


def test_every_public_name_of_torch_jit_is_there():
    public = {name for name in dir(torch.jit) if not name.startswith("_")}
    # Other versions of torch have other names; those of this version are all there.
    assert public <= set(ROWS), sorted(public - set(ROWS))
    if torch.__version__.startswith("2.13"):
        assert set(ROWS) <= public, sorted(set(ROWS) - public)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_what_the_page_says_of_a_name(name):
    says, advice = ROWS[name]
    there = name in cresset.__all__
    if says in ("none", "not yet"):
        assert not there, f"cresset.{name} exists, and the page says '{says}'"
        assert advice, "what is missing needs a word on what to do instead"
    else:
        match = re.fullmatch(r"`cresset\.(\w+)`", says)
        assert match and hasattr(cresset, match[1]), says
        assert (match[1] == name) == there


def test_names_on_the_page_exist():
    for name in re.findall(r"`cresset\.(\w+)", PAGE):
        assert hasattr(cresset, name), name


def declarations():
    """The text of the public C++ headers, without comments."""
    headers = [ROOT / "src" / "cresset" / name for name in ("cresset.h", "torch_jit.h")]
    headers += (ROOT / "src" / "cresset" / "module").glob("*.h")
    headers += [ROOT / "src" / "cresset" / name for name in ("ir/parser.h", "support/error.h", "program/program.h")]
    headers += [ROOT / "src" / "cresset" / name for name in ("frontend/resolver.h", "ir/graph.h")]
    return re.sub(r"//.*", "", "\n".join(path.read_text() for path in headers))


def test_cpp_names_that_are_the_same_are_declared():
    text = declarations()
    words = set(re.findall(r"\w+", text))
    page = PAGE[PAGE.index("## C++") : PAGE.index("## Python")]
    same = 0
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| `") or not cells[1].startswith("the same"):
            continue
        for quoted in re.findall(r"`([^`]+)`", cells[0]):
            for part in quoted.split("(")[0].split("::"):
                if part in ("", "torch") or part.endswith("_"):
                    continue
                assert part.removeprefix("operator") in words or part == "operator", f"{part} of: {line}"
                same += 1
    assert same > 50


def test_the_header_has_no_second_api():
    """torch_jit.h declares names and nothing else."""
    text = re.sub(r"//.*", "", (ROOT / "src" / "cresset" / "torch_jit.h").read_text())
    assert not re.search(r"\b(class|struct|template)\b", text)
    assert text.count("{") == text.count("namespace") + text.count("inline ")


def test_clients_choose_their_engine_once():
    for path in (ROOT / "examples" / "clients").glob("*.cpp"):
        text = path.read_text()
        assert re.findall(r"^#if.*$", text, re.M) == ["#ifdef TORCH_JIT"]
        for_torch, for_both = text[text.index("#ifdef") :].split("#endif")
        assert "torch/script.h" in for_torch.split("#else")[0]
        assert "torch/" not in for_both and "cresset" not in for_both
