"""`cresset show`: what is in an archive, as text, as JSON, and as a page."""

import json
import os
import re
import shutil
import subprocess

import pytest
import torch

COMMAND = os.environ.get("CRESSET_COMMAND", "cresset")


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(2, 3)
        self.register_buffer("scale", torch.ones(3))
        self.names = ["a", "b"]

    def forward(self, x):
        if x.size(0) > 2:
            x = x * 2
        return self.linear(x) * self.scale


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.again = self.block
        self.tied = torch.nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return self.block(x) + 1  # </script> & "quotes"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("show") / "model.pt"
    torch.jit.save(torch.jit.script(Model()), path)
    return path


def show(*args, code=0):
    done = subprocess.run([COMMAND, "show", *map(str, args)], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


@pytest.fixture(scope="module")
def everything(archive):
    return json.loads(show(archive, "--json", "-"))


def function(everything, suffix):
    (found,) = [f for f in everything["functions"] if f["name"].endswith(suffix)]
    return found


def test_overview(archive):
    text = show(archive)
    assert re.search(r"parameters +5 tensors, 20 elements", text)
    assert "block : __torch__" in text
    assert "scale : Tensor = Float[3]  # buffer" in text and "names : str[] = " in text


class Chain(torch.nn.Module):
    def forward(self, x):
        a = torch.cumsum(x, 0)
        b = torch.cumprod(a, 1)
        return torch.cumsum(torch.cumsum(b, 1), 0)


def test_the_plan_of_a_static_module(archive, tmp_path, monkeypatch):
    monkeypatch.setenv("CRESSET_KERNELS", "off")  # the chain would be one
    path = tmp_path / "chain.pt"
    torch.jit.save(torch.jit.script(Chain()), path)
    text = show(path, "--static", "torch.ones([3, 2])")
    # How each operator runs, which results lie in the arena, where and for how long; without a run.
    lines = [line.split("  #")[0].strip() for line in text.splitlines()]
    first = int(re.match(r"(\d+) out variant: aten::cumsum, planned", lines[2])[1])
    assert lines[2:6] == [
        f"{first} out variant: aten::cumsum, planned",
        f"{first + 1} out variant: aten::cumprod, planned",
        f"{first + 2} out variant: aten::cumsum, planned",
        f"{first + 3} fallback: aten::cumsum",
    ]
    size = "4 * x.size(0) * x.size(1) bytes"
    assert lines[6:8] == [
        f"a: steps {first} to {first + 1}, {size}, at 0 to 24",
        f"b: steps {first + 1} to {first + 2}, {size}, at 64 to 88",
    ]
    assert lines[8].endswith(f": steps {first + 2} to {first + 3}, {size}, at 0 to 24")
    assert lines[9] == "memory: 128 bytes for 3 results of 72 bytes; no less than 128 are needed at once"
    assert show(path, "--static", "x=torch.ones([3, 2])") == text
    assert "and nothing else" in show(path, "files", "--static", "torch.ones([3, 2])", code=1)
    assert "missing value for argument 'x'" in show(path, "--static", code=1)
    assert "requires" in show(path, "--static", "torch.ones([3, 2], requires_grad=True)", code=1)
    assert "1 plan\n" in show(archive, "--static", "torch.ones([3, 2])")


def test_sections(archive):
    assert re.search(r"block\.linear\.weight +Float\[3, 2\] +parameter +cpu +24 B", show(archive, "parameters"))
    assert re.search(r"data\.pkl +\d", show(archive, "files"))
    assert "module __torch__" in show(archive, "types")
    source = show(archive, "source", "-f", "Block.forward")
    assert "def forward(self, x):" in source and "return self.linear(x) * self.scale" in source
    assert "__init__" not in source
    assert "torch.mul(x, 2)" in show(archive, "code", "-f", "Block.forward")
    assert "prim::CallMethod" in show(archive, "ir", "-f", "Model.forward")
    inlined = show(archive, "inlined", "-f", "Model.forward")
    assert "prim::CallMethod" not in inlined and "aten::linear" in inlined
    assert "CallFunction" in show(archive, "bytecode", "-f", "Model.forward")


def test_a_method_by_the_path_of_its_module(archive):
    assert show(archive, "-f", "block.forward") == show(archive, "-f", "Block.forward")
    linear = show(archive, "ir", "-f", "block.linear.forward")
    assert "aten::linear" in linear and linear.count("graph(") == 1
    assert "prim::CallMethod" in show(archive, "ir", "-f", "again.forward")
    assert "no module at a path" in show(archive, "ir", "-f", "block.backward", code=1)


def test_every_operator_leads_to_its_source_line(everything):
    f = function(everything, "Block.forward")
    texts, places = everything["texts"], everything["places"]
    wanted = {"aten::gt": "if x.size(0) > 2:", "aten::mul": "x * 2", "prim::CallMethod": "self.linear(x)"}
    for kind, line in wanted.items():
        place = next(place for text, place in f["ir"] if kind in text)
        origin = places[places[place][4]]
        shown = dict(map(tuple, texts[origin[0]]["lines"]))[origin[1]]
        assert line in shown
        assert texts[origin[0]]["original"] and texts[origin[0]]["name"].endswith("test_show.py")
        assert not texts[places[place][0]]["original"]
    # Instructions lead there too.
    place = next(place for text, place in f["bytecode"] if "aten::mul" in text or "Multiply" in text)
    assert places[place][4] is not None


def test_tensors_and_modules(everything):
    tensors = {t["path"]: t for t in everything["tensors"]}
    assert set(tensors) == {"tied"} | {
        f"{m}.{t}" for m in ("block", "again") for t in ("scale", "linear.weight", "linear.bias")
    }
    assert tensors["block.linear.weight"]["sizes"] == [3, 2] and tensors["block.linear.weight"]["requires_grad"]
    shared = {tensors["block.linear.weight"]["shares_with"], tensors["again.linear.weight"]["shares_with"]}
    assert shared in ({"", "block.linear.weight"}, {"", "again.linear.weight"})
    children = {child["name"]: child for child in everything["root"]["children"]}
    assert set(children) == {"block", "again"}
    assert [child["name"] for child in children["block"]["children"]] == ["linear"]


def test_what_does_not_compile_is_shown(tmp_path):
    import zipfile

    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(Block()), path)
    broken = tmp_path / "broken.pt"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(broken, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"torch.mul(x, 2)", b"torch.mule(x,2)"))
    f = function(json.loads(show(broken, "--json", "-")), "Block.forward")
    assert "mule" in f["error"] and f["ir"] == []
    assert "mule" in show(broken, "ir", "-f", "Block.forward")


def test_errors(archive, tmp_path):
    assert "no function whose name ends in 'nothing'" in show(archive, "ir", "-f", "nothing", code=1)
    (tmp_path / "text.pt").write_text("not an archive")
    assert "text.pt" in show(tmp_path / "text.pt", code=1)
    assert subprocess.run([COMMAND, "show", str(archive), "nonsense"], capture_output=True).returncode != 0


def test_page(archive, tmp_path):
    page = tmp_path / "model.html"
    show(archive, "--html", page)
    text = page.read_text()
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
    assert json.loads(data)["functions"], "the archive's </script> ended the data"
    assert not re.search(r'(src|href)="(http|//)', text), "the page needs something else"


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

DRIVE = """<script>
setTimeout(() => {
  const results = {};
  const index = data.functions.findIndex((f) => f.name.endsWith("Block.forward"));
  location.hash = "#f" + index;
  setTimeout(() => {
    const [left, right] = document.querySelectorAll(".pane");
    results.source = left.textContent.includes("def forward(self, x):");
    [...left.querySelectorAll(".row.linked")].find((row) => row.textContent.includes("x * 2")).click();
    results.lit = [...right.querySelectorAll(".lit")].some((row) => row.textContent.includes("aten::mul"));
    [...right.querySelectorAll(".row")].find((row) => row.textContent.includes("aten::gt")).click();
    results.back = left.querySelector(".lit").textContent.includes("x.size(0) > 2");
    right.querySelector(".fold").click();
    results.folded = right.querySelectorAll(".hidden").length > 0;
    search.value = "aten::linear";
    search.dispatchEvent(new Event("input"));
    results.found = document.querySelectorAll("main h3").length;
    document.title = JSON.stringify(results);
  }, 200);
}, 200);
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no browser is installed")
def test_page_in_a_browser(archive, tmp_path):
    page = tmp_path / "model.html"
    show(archive, "--html", page)
    page.write_text(page.read_text().replace("</body>", DRIVE))
    done = subprocess.run(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        + ["--virtual-time-budget=5000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    title = re.search("<title>(.*?)</title>", done.stdout).group(1)
    assert json.loads(title) == {"source": True, "lit": True, "back": True, "folded": True, "found": 1}, title
