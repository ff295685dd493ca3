"""The options of the process: cresset.options, the environment, the commands, docs/options.md."""

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

import cresset
from cresset import options

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(os.environ.get("CRESSET_COMMAND", ROOT / "build" / "release" / "bin" / "cresset")).parent
# One that is not the default, by option.
VALUES = {
    "execution_mode": "interpret",
    "kernels": "now",
    "numerics": "default",
    "perf_map": "on",
    "source_ranges": "off",
    "plans": "always",
    "optimizer_errors": "raise",
    "plans_per_function": 3,
    "plans_per_loop": 2,
    "hot_loop": 7,
    "plan_nodes": 50,
    "differentiable_nodes": 1,
    "fork_threads": 2,
    "untrusted_milliseconds": 1500,
    "untrusted_memory": 1 << 40,
    "check_facts": "unoptimized",
    "fail_guard": "2:3",
    "passes": "disable=licm+cse,limit=100000",
}


def variable(name):
    return options.descriptions[name].split(":")[0]


def python(program, **environment):
    env = {name: value for name, value in os.environ.items() if name not in map(variable, VALUES)}
    return subprocess.run([sys.executable, "-c", program], env=env | environment, capture_output=True, text=True)


def test_all_are_tested():
    assert set(VALUES) == set(options.descriptions) == set(options.get())


@pytest.mark.parametrize("name", [name for name in VALUES if name != "fork_threads"])
def test_set_and_override(name):
    before = options.get(name)
    with pytest.raises(KeyError), options.override(**{name: VALUES[name]}):
        assert options.get(name) == VALUES[name]
        raise KeyError
    assert options.get(name) == before and type(before) is type(VALUES[name])
    options.set(**{name: VALUES[name]})
    assert options.get()[name] == VALUES[name]
    options.set(**{name: before})


def test_environment():
    done = python(
        "import cresset; print(cresset.options.get())", **{variable(name): str(value) for name, value in VALUES.items()}
    )
    assert ast.literal_eval(done.stdout) == VALUES, done.stderr
    # What was written before there were names for it.
    for text, value in [("1", "plans"), ("0", "off"), ("all", "unoptimized"), ("", "off")]:
        done = python("import cresset; print(cresset.options.get('check_facts'))", CRESSET_CHECK_FACTS=text)
        assert done.stdout.strip() == value
    done = python("import cresset; print(cresset.get_num_fork_threads())", CRESSET_FORK_THREADS="3")
    assert done.stdout.strip() == "3"


def test_misspelt_variables():
    done = python("import cresset", CRESSET_KERNLES="off", CRESSET_PLAN="always", CRESSET_NUMERICS="exact")
    assert "The environment has CRESSET_KERNLES, which sets no option; did you mean CRESSET_KERNELS?" in done.stderr
    assert "The environment has CRESSET_PLAN, which sets no option; did you mean CRESSET_PLANS?" in done.stderr
    assert done.returncode and "NUMERICS" not in done.stderr
    done = python("import cresset", CRESSET_SOMETHING_ELSE="off", CRESSED_PLANS="always")
    assert done.returncode == 0 and not done.stderr


BAD = {
    "plans": ("sometimes", "The option plans is useful, always or loops, not 'sometimes'."),
    "hot_loop": ("0", "The option hot_loop is an integer from 1 to 1000000000, not '0'."),
    "fail_guard": ("first", "The option fail_guard is INDEX or INDEX:EVERY, as in 2 or 2:3, not 'first'."),
    "passes": ("dump=nope", "there is no pass 'nope'; the passes are:"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_values(name):
    value, message = BAD[name]
    before = options.get()
    for way in (options.set, lambda **values: options.override(**values).__enter__()):
        with pytest.raises(cresset.UserError) as error:
            way(plan_nodes=3, **{name: value})
        assert message in str(error.value)
        assert options.get() == before  # nor is the other one set
    in_environment = {variable(name): value, "CRESSET_PLANS_PER_LOOP": "none"}
    told = f"The environment has {variable(name)}={value}. {message}"
    also = "The environment has CRESSET_PLANS_PER_LOOP=none. The option plans_per_loop is an integer from 1 to 1024"
    done = python("import cresset", **in_environment)
    assert done.returncode and "cresset.UserError" in done.stderr and told in done.stderr and also in done.stderr
    for command in (["cresset", "show", "nothing.pt"], ["cresset-opt"], ["cresset-filetest", "--list"]):
        done = subprocess.run(
            [BIN / command[0], *command[1:]], env=os.environ | in_environment, capture_output=True, text=True, input=""
        )
        assert done.returncode == 1 and told in done.stderr and also in done.stderr


def test_types():
    for value in (True, 1.5, None):
        with pytest.raises(cresset.UserError, match="The option hot_loop is an integer"):
            options.set(hot_loop=value)
    with pytest.raises(cresset.UserError, match="There is no option 'plan_node'; did you mean 'plan_nodes'"):
        options.set(plan_node=3)
    with pytest.raises(cresset.UserError, match="There is no option 'plan'"):
        options.get("plan")


def test_attributes():
    before = options.hot_loop
    options.hot_loop = before + 1
    assert options.get("hot_loop") == options.hot_loop == before + 1
    options.hot_loop = before
    with pytest.raises(cresset.UserError, match="There is no option 'kernelz'; did you mean 'kernels'"):
        options.kernelz = "off"
    with pytest.raises(cresset.UserError, match="an integer from 1"):
        options.plans_per_function = 0
    with pytest.raises(AttributeError, match="there is no option 'kernelz'"):
        _ = options.kernelz
    assert not hasattr(options, "kernelz") and options.__name__ == "cresset.options"


def test_modes_are_options():
    """The functions that were there before."""
    with options.override(execution_mode="interpret", passes="verify"):
        assert cresset.get_execution_mode() == "interpret"
        cresset.set_execution_mode("optimize")
        assert options.get("execution_mode") == "optimize"
        with cresset.passes.options(disable=["licm", "remove_list_mutation"], limit=9):
            assert options.get("passes") == "disable=licm+remove-list-mutation,limit=9"
        assert options.get("passes") == "verify"
    with pytest.raises(cresset.UserError, match="interpret or optimize, not 'fast'"):
        cresset.set_execution_mode("fast")


def test_threads():
    """Scopes of several threads restore what they set, and nothing else."""
    names = ["plan_nodes", "plans_per_loop"]
    before = {name: options.get(name) for name in names}
    wrong = []

    def work(name):
        for i in range(200):
            with options.override(**{name: i + 2}):
                if options.get(name) != i + 2:
                    wrong.append((name, i))

    threads = [threading.Thread(target=work, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and {name: options.get(name) for name in names} == before


def fresh():
    """Scripted functions that share no plans with those of other tests."""

    def f(x):
        y = x * 2 + 1
        return y.relu() - x

    def loop(x, n: int):
        for _ in range(n):
            x = x * 2 - x
        return x

    return f, loop


def test_plans_per_function():
    with options.override(plans="always", plans_per_function=2):
        few = cresset.script(fresh()[0])
        for rank in range(1, 5):
            few(torch.ones([2] * rank))
    assert len(cresset.explain(few).plans) == 2
    assert "there are 2 plans" in cresset.explain(few).state


def test_plan_nodes():
    with options.override(plans="useful", plan_nodes=2):
        f = fresh()[0]
        function = cresset.script(f)
        for _ in range(3):
            assert torch.equal(function(torch.ones(2)), f(torch.ones(2)))
        assert "plans are made of up to 2" in cresset.explain(function).state


@pytest.mark.parametrize(("polls", "entered"), [(1, 1), (1000000, 0)])
def test_hot_loop(polls, entered):
    with options.override(plans="useful", hot_loop=polls):
        function = cresset.script(fresh()[1])
        function(torch.ones(2), 2000)
    assert cresset.explain(function).entered_from_loops == entered


def test_untrusted(tmp_path):
    path = tmp_path / "endless.pt"

    class Module(torch.nn.Module):
        def forward(self, x):
            while bool(x.numel() > 0):
                x = x + 1
            return x

    cresset.script(Module()).save(path)
    with options.override(untrusted_milliseconds=50):
        module = cresset.load(path)
        trusted = cresset.load(path, trusted=True)
    with pytest.raises(cresset.LimitError, match="0.05"):
        module(torch.ones(1))
    with cresset.Limits(seconds=0.01), pytest.raises(cresset.LimitError, match="0.01"):
        trusted(torch.ones(1))  # its own limit is none
    with options.override(untrusted_milliseconds=60000):
        module = cresset.load(path, limits=cresset.Limits(seconds=0.02))
    with pytest.raises(cresset.LimitError, match="0.02"):
        module(torch.ones(1))


def test_commands(tmp_path):
    graph = "graph(%x : int):\n  %1 : int = aten::neg(%x)\n  return (%x)\n"

    def run(command, *arguments):
        return subprocess.run([BIN / command, *arguments], input=graph, capture_output=True, text=True)

    assert "aten::neg" not in run("cresset-opt", "--passes", "dce").stdout
    assert "aten::neg" in run("cresset-opt", "--passes", "dce", "--option", "passes=disable=dce").stdout
    done = run("cresset-opt", "--option", "plans=often")
    assert done.returncode == 1 and "useful, always or loops, not 'often'" in done.stderr
    done = run("cresset", "--option", "hot_loop=x", "show", "nothing.pt")
    assert done.returncode == 1 and "The option hot_loop is an integer" in done.stderr

    class Adds(torch.nn.Module):
        def forward(self, x):
            return x + 1

    cresset.script(Adds()).save(tmp_path / "adds.pt")
    done = run(
        "cresset",
        "--option",
        "plans=always",
        "--option",
        "plan_nodes=0",
        "run",
        tmp_path / "adds.pt",
        "torch.ones([1])",
    )
    assert done.returncode == 1 and "plans are made of up to 0" in done.stderr
    for command in ("cresset", "cresset-opt"):
        text = run(command, "--help").stdout
        for name, description in options.descriptions.items():
            assert f"{name}, {variable(name)}: " in text and description.rpartition(". ")[2][:20] in text


def test_document():
    done = subprocess.run([sys.executable, ROOT / "tools" / "tables.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_stub():
    """options.pyi has the options with their values."""
    tree = ast.parse((ROOT / "python" / "cresset" / "options.pyi").read_text())
    (declared,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    given = {field.target.id: ast.unparse(field.annotation) for field in declared.body}
    assert list(given) == list(options.descriptions)
    for name, annotation in given.items():
        allowed = options.descriptions[name].split(": ")[1].split(" (")[0]
        if annotation.startswith("Literal"):
            choices = list(ast.literal_eval(annotation.removeprefix("Literal")))
            assert allowed == ", ".join(choices[:-1]) + " or " + choices[-1]
        else:
            assert annotation == type(options.get(name)).__name__
    for function in (
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in ("set", "override")
    ):
        assert ast.unparse(function.args.kwarg.annotation) == f"Unpack[{declared.name}]"
