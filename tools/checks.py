#!/usr/bin/env python3
"""Checks of the repository itself: layers, independence from torch::jit, lean headers, no stray paths, documents that say what is there.

Each check returns the list of its complaints. `tools/checks.py --build build/release` also looks at the built libraries.
"""

import argparse
import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "cresset"

# A folder may include itself and, transitively, the folders named here. Peers never include each other.
LAYERS = {
    "support": [],
    "ir": ["support"],
    "ops": ["ir"],
    "analysis": ["ops"],
    "program": ["ops"],
    "frontend": ["program"],
    "interpreter": ["program", "codegen"],
    "codegen": ["analysis"],
    "passes": ["analysis", "codegen", "interpreter"],
    "autodiff": ["passes", "frontend"],
    "functionalization": ["autodiff"],
    "executor": ["functionalization"],
    "tracer": ["passes"],
    "archive": ["frontend", "interpreter"],
    "module": ["archive", "executor", "tracer"],
    "static_runtime": ["module"],
    "capture": [],  # CPython's headers only; not part of libcresset
    "python": ["static_runtime"],
}
# The umbrella headers of the public API stand beside the folders.
PUBLIC_HEADERS = {"cresset.h", "torch_jit.h"}


def tracked(*patterns):
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *patterns],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    return [ROOT / name for name in out if (ROOT / name).is_file()]


def closure(folder):
    seen = {folder}
    todo = [folder]
    while todo:
        for below in LAYERS[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def check_layers():
    complaints = []
    for folder in LAYERS:
        allowed = closure(folder)
        for path in sorted((SRC / folder).rglob("*.[hc]*")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                match = re.match(r'\s*#\s*include\s*[<"]cresset/([a-z_]+)/', line)
                if match and match[1] not in allowed:
                    complaints.append(f"{path.relative_to(ROOT)}:{number}: {folder}/ may not include {match[1]}/")
    for path in SRC.iterdir():
        if path.is_dir() and path.name not in LAYERS:
            complaints.append(f"{path.relative_to(ROOT)}: a folder that tools/checks.py does not know")
        if path.is_file() and path.name not in PUBLIC_HEADERS:
            complaints.append(f"{path.relative_to(ROOT)}: only folders and the umbrella headers stand in src/cresset")
    return complaints


FORBIDDEN_INCLUDES = [
    (r"torch/csrc/jit/", "torch::jit code"),
    (r"torch/(torch|extension|script|all|jit)\.h", "an umbrella header that brings torch::jit code"),
    (r"torch/csrc/(dynamo|inductor|functorch)/", "another compiler's code"),
    (r"ATen/ATen\.h", "a header that costs 6 s per file; name the op's own (style guide)"),
    (r"ATen/Functional(TensorWrapper|StorageImpl|Inverses)\.h", "functionalization that is not ours"),
]


def check_includes():
    complaints = []
    for path in tracked("*.h", "*.cpp"):
        if (ROOT / "tests") in path.parents or (ROOT / "bench") in path.parents:
            continue  # oracles and peers
        # Programs that are built for either engine by one #ifdef; nothing of them is in the product.
        both_engines = (ROOT / "examples" / "clients") in path.parents
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*[<"]([^">]+)[">]', line)
            if not match:
                continue
            if both_engines and match[1].startswith(("torch/script.h", "torch/csrc/jit/")):
                continue
            for pattern, what in FORBIDDEN_INCLUDES:
                if re.match(pattern, match[1]):
                    complaints.append(f"{path.relative_to(ROOT)}:{number}: includes {match[1]}: {what}")
    return complaints


FORBIDDEN_MODULES = (
    "torch.jit",
    "torch._dynamo",
    "torch._inductor",
    "torch._functorch",
    "torch._export",
    "torch.export",
    "torch.fx",
    "functorch",
    "torch._C._jit",
)


def dotted(node):
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def forbidden_module(name):
    return any(name == m or name.startswith((m + ".", m + "_")) for m in FORBIDDEN_MODULES)


def check_python_imports():
    """The package must not import or reach into another compiler; naming one in a string or comment is fine."""
    complaints = []
    for path in sorted((ROOT / "python").rglob("*.py")):
        if path.name == "_patch.py":
            continue  # puts Cresset in torch.jit's place: its very subject
        for node in ast.walk(ast.parse(path.read_text(), str(path))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Attribute):
                names = [dotted(node)]
            if path.name == "_graph_modules.py":  # torch.fx is what graphs are handed to users' backends in
                names = [name for name in names if not name.startswith("torch.fx")]
            for name in filter(forbidden_module, names):
                complaints.append(f"{path.relative_to(ROOT)}:{node.lineno}: uses {name}")
    return sorted(set(complaints))


# Symbols of ours that are instantiated from the abstract base that ATen/core itself names.
ALLOWED_SYMBOLS = re.compile(r"^(typeinfo|typeinfo name|vtable) for torch::jit::Function$")


def check_symbols(build):
    complaints = []
    libraries = [*build.rglob("libcresset.so"), *(build / "python").rglob("_C*.so"), *(build / "bin").glob("cresset*")]
    if not libraries:
        return [f"{build}: no built library found"]
    for library in libraries:
        listed = subprocess.run(
            ["nm", "-D", "-u", "-C", str(library)], capture_output=True, text=True, check=True
        ).stdout
        for line in listed.splitlines():
            symbol = line.strip().split(" ", 1)[-1].strip()
            # The name of what is used, not the types in its signature.
            name = re.sub(r"\(.*", "", symbol)
            name = re.sub(r"<.*", "", name)
            if (
                "torch::jit::" in name or "Functionaliz" in name or "FunctionalTensorWrapper" in name
            ) and not ALLOWED_SYMBOLS.match(symbol):
                complaints.append(f"{library.name}: needs {symbol}")
    return complaints


STRAY = [
    (r"(?<![\w.])/(work|tmp/w|root|home)/", "an absolute path of a machine"),
    (r"(pypi\.org|pythonhosted|download\.pytorch\.org|deb\.debian\.org|files\.pythonhosted)", "a registry host"),
]


# Words that say less than the term that is meant: an operand, a caller, another reference, …
VAGUE = re.compile(r"\b(nobody|somebody|strangers?)\b", re.I)
VAGUE_IN = ("src/", "python/", "docs/")


def check_stray_text():
    complaints = []
    for path in tracked():
        if path == Path(__file__).resolve():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, what in STRAY:
                if re.search(pattern, line):
                    complaints.append(f"{path.relative_to(ROOT)}:{number}: {what}")
            if str(path.relative_to(ROOT)).startswith(VAGUE_IN) and (vague := VAGUE.search(line)):
                complaints.append(f"{path.relative_to(ROOT)}:{number}: '{vague[0]}': name who or what it is")
    return complaints


def check_language():
    """docs/language.md names every builtin, and its links lead somewhere."""
    import language

    return language.complaints()


#: Files of src/cresset/passes that are no pass of their own.
NO_PASSES = {"pass", "pipeline", "pipelines", "lower_graph", "rewrite_functions", "rewrite_rules"}


def check_passes():
    """A pass, its file and the folder of its tests have one name; sequences of passes stand in pipelines.cpp."""
    complaints, names = [], []
    for path in tracked("src/*.cpp"):
        for name in re.findall(r'^CRESSET_PASS(?:_FOR_CALLS)?\(\s*\w+,\s*"([^"]+)"', path.read_text(), re.M):
            names.append(name)
            if path.parent.name not in ("passes", "autodiff") or path.stem != name.replace("-", "_"):
                complaints.append(f"{path.relative_to(ROOT)}: the pass {name} belongs in {name.replace('-', '_')}.cpp")
    files = {path.stem for path in (SRC / "passes").glob("*.cpp")} - NO_PASSES
    for stem in sorted(files - {name.replace("-", "_") for name in names}):
        complaints.append(f"src/cresset/passes/{stem}.cpp has no row of a pass")
    for folder in sorted((ROOT / "tests" / "passes").iterdir()):
        if folder.name not in names:
            complaints.append(f"tests/passes/{folder.name} is no pass")
    call = re.compile(r'\.run\("(' + "|".join(map(re.escape, names)) + r')"|\brunPass\(')
    for path in tracked("src/*.cpp"):
        if path.stem in ("pipeline", "pipelines") or path == SRC / "python" / "graph.cpp":  # a pass that a user runs
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if call.search(line):
                complaints.append(f"{path.relative_to(ROOT)}:{number}: sequences of passes stand in pipelines.cpp")
    return complaints


def check_environment():
    """Options of the process come from options.def; nothing else asks the environment."""
    complaints = []
    for path in tracked("src/*.cpp", "src/*.h"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\bgetenv\b", line) and path != SRC / "support" / "options.cpp":
                complaints.append(f"{path.relative_to(ROOT)}:{number}: getenv; add a row to support/options.def")
    for path in sorted((ROOT / "python").rglob("*.py")):
        if path.name == "_recording_environment.py":  # what programs ask
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.search(r"\b(environ|getenv)\b", line):
                complaints.append(
                    f"{path.relative_to(ROOT)}:{number}: the environment; add a row to support/options.def"
                )
    return complaints


def check_adding():
    """The commits that docs/adding.md names touch as many files as it says, where the history is there."""

    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True).stdout

    touched = {}  # title -> what the document says, what the commit has
    for line in (ROOT / "docs" / "adding.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        title = cells[-1].partition(" (taken back")[0].strip("| ")
        if len(cells) != 4 or not cells[1].isdigit() or not title:
            continue
        named = git("log", "-1", "--format=", "--name-only", "--fixed-strings", f"--grep={title}").split()
        touched[title] = int(cells[1]), len([name for name in named if not name.startswith(("tests/", "docs/"))])
    has_history = any(count for _, count in touched.values())
    return [
        f"docs/adding.md: '{title}' touches {count} files, not {said}"
        for title, (said, count) in touched.items()
        if has_history and count != said
    ]


def check_lengths():
    """Functions and classes that people can take in at a time."""
    import lengths

    return lengths.complaints()


def check_names():
    """What an operator is, its row says: others name operators in rewrite rules only, and not many."""
    import names

    return names.complaints()


def check_messages():
    """An error's message is written at one place."""
    import messages

    return messages.complaints()


def check_structural_nodes():
    """docs/ir.md has a line for each row of structural.def, and for nothing else."""
    table = (ROOT / "src" / "cresset" / "ir" / "structural.def").read_text()
    rows = re.findall(r'^(?:STRUCTURE|MARKER|SUBGRAPH)\(\w+, "([^"]+)"', table, re.M)
    lines = [
        line.split("|")[1] for line in (ROOT / "docs" / "ir.md").read_text().splitlines() if line.startswith("| `")
    ]
    told = [name for line in lines for name in re.findall(r"`([^`]+)`", line)]
    twice = [f"docs/ir.md: {name} twice" for name in sorted(set(told)) if told.count(name) > 1]
    lacking = [f"docs/ir.md lacks {name}" for name in rows if name not in told]
    return lacking + twice + [f"docs/ir.md: {name} is no row of structural.def" for name in told if name not in rows]


def check_claims():
    """docs/CLAIMS.md has a row of figures for each claim, or says that it was not measured; none failed."""
    import claims

    rows, text = claims.rows_of(claims.RESULT), claims.RESULT.read_text()
    bad = [
        f"docs/CLAIMS.md lacks {claim.name!r}: ./dev claims"
        for claim in claims.CLAIMS
        if claim.name not in rows and f"\n- {claim.name}\n" not in text
    ]
    return bad + [f"docs/CLAIMS.md: {name} failed" for name, line in rows.items() if "**status" in line]


DOCUMENTS = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md")
#: Files that others wrote or will: programs of users, records of archives, headers of PyTorch, what the tools write.
NOT_OURS = re.compile(
    r"^(model|main|file_name|my_\w+|foo\d?)\.\w+$|^(code|debug|libs|extra|constants|tensors)/|^torch/|\bfoo\d?\.pt$|^docs/CLAIMS\.md$"
    r"|^build/|^\.|^~|^derivatives\.yaml$|\b[A-Z]{3,}$"
)
ENDINGS = r"\.(py|cpp|h|def|md|txt|ir|supp|cmake|yaml)"


def documents():
    return [path for pattern in DOCUMENTS for path in sorted(ROOT.glob(pattern))]


def check_paths():
    """Files, folders, tests, constants, variables and commands that documents name are there; links lead somewhere."""
    files = [str(path.relative_to(ROOT)) for path in tracked()]
    known = {"/" + part for name in files for part in (name, *(f"{p}/" for p in Path(name).parents))}
    ends = {name[i:] for name in known for i, letter in enumerate(name) if letter == "/"}
    sources = {
        name: (ROOT / name).read_text(errors="replace") for name in files if re.search(r"\.(py|cpp|h|def)$|^dev$", name)
    }
    everything = "\n".join(sources.values())
    words = set(re.findall(r"\w+", everything))
    commands = set(re.findall(r'\badd\(\s*"(\w+)"', sources["dev"]))
    complaints = []
    for name in set(re.findall(r"`([A-Z]\w+)`", (ROOT / "docs" / "glossary.md").read_text())) - words:
        complaints.append(f"docs/glossary.md: nothing is called {name}")
    for document in documents():
        text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.S | re.M)
        where = document.relative_to(ROOT)
        for target in set(re.findall(r"\]\(([^)#:]+)[#)]", re.sub(r"`[^`\n]*`(?!\])", "", text))):
            if not (document.parent / target).exists():
                complaints.append(f"{where}: links to {target}, which does not exist")
        quoted = re.findall(r"`([^`\n]+)`", text)
        for word in sorted({word for text in quoted for word in text.split()}):
            name = word.partition("::")[0] if re.search(ENDINGS, word) else word
            is_path = re.fullmatch(
                rf"[\w./-]+{ENDINGS}|(src|tests|tools|docs|bench|examples|python|cmake)/[\w./-]*", name
            )
            if is_path and not NOT_OURS.search(name) and not {f"/{name}", f"/{name}/"} & ends:
                complaints.append(f"{where}: there is no {name}")
            if (
                re.fullmatch(r"test_\w+|k[A-Z]\w+|CRESSET_[A-Z_]+", name)
                and name not in words
                and f"/{name}.py" not in ends
            ):
                complaints.append(f"{where}: nothing is called {name}")
        for command in sorted(set(re.findall(r"\./dev (\w+)", text)) - commands):
            complaints.append(f"{where}: dev has no command {command}")
    return complaints


def check_examples():
    """A block after a line <!-- PATH --> shows lines of that file, or of one in that folder; `…` stands for anything."""
    complaints = []
    for document in documents():
        for path, block in re.findall(r"^<!-- ([\w./-]+) -->\n```\w*\n(.*?)^```", document.read_text(), re.S | re.M):
            source = ROOT / path
            sources = sorted(p for p in source.iterdir() if p.is_file()) if source.is_dir() else [source]
            text = "\n".join(p.read_text() for p in sources) if source.exists() else ""
            place = 0
            for part in (part for line in block.splitlines() for part in line.split("…")):
                place = text.find(part, place)
                if place < 0:
                    complaints.append(f"{document.relative_to(ROOT)}: {part.strip()!r} is not, or not there, in {path}")
                    break
    return complaints


#: Where lines may be longer: tables that a tool writes.
GENERATED = ("operators.md", "options.md", "CLAIMS.md")
#: Notes of what ran, each figure with its command and commit beside it.
NOTES = ("STATUS.md", "open-work.md")
LONGEST_LINE = 250


def check_lines():
    """Lines of documents can be read as text, those of tables too."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} characters, more than {LONGEST_LINE}"
        for path in documents()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > LONGEST_LINE and path.name not in GENERATED
    ]


#: Numbers that say what a thing is called or how wide it is.
NAMES_WITH_NUMBERS = re.compile(
    r"`[^`\n]*`|\]\([^)]*\)|\b0\d{3}-[a-z-]+\.md|^#.*|\d+[ -]bits?\b|\b(float|int|uint|complex|zip)\d+|\b\w+[ -](\d+\.)+\d+|\bC\+\+20"
    r"|\b(16|32), (16|32) or 64 bits|\b[A-Za-z]+-\d+\b|\b2\*\*\d+|\bsince (PyTorch )?1\.\d+|\d+\.\d+( to|\))|g\+\+ \(12"
)
MEASURED = re.compile(r"[Mm]easured\s+(?:\S+\s+){0,3}?at commit `([0-9a-f]{7,40})`")
#: Not claims about Cresset: standards of style, hypothetical sizes, what others say.
ROUND_NUMBERS = re.compile(
    r"\b100 to 400 lines|in 15 minutes|\b300 bytes|\b3,000 names|beyond (the )?32|\b15 bytes after|4 times the file and 64 MiB"
    r"|worth charging: 64 MiB|for 64 bits|after 120 runs|the 120th|commits? [0-9a-f]{7}|−2147483648|5e-324|past 60|1e-16"
)


def check_numbers():
    """Numbers of documents: NUMBERS of tools/claims.py has them, or their section says where they were measured."""
    import claims

    complaints = claims.wrong_numbers()
    for document in documents():
        if document.name in GENERATED + NOTES + ("CLAIMS.md", "untrusted-operators.md"):
            continue
        text = re.sub(r"^```.*?^```", "", document.read_text(), flags=re.S | re.M)
        for section in re.split(r"(?m)^(?=#)", text):
            commit = MEASURED.search(section)
            if commit:
                if "`" not in section.replace(commit[0], ""):
                    complaints.append(f"{document.relative_to(ROOT)}: figures without a command: {commit[0]}")
                continue
            for name, pattern, _ in claims.NUMBERS:
                if name == str(document.relative_to(ROOT)):
                    section = re.sub(pattern, "", section)
            section = ROUND_NUMBERS.sub("", re.sub(NAMES_WITH_NUMBERS, "", section))
            for number in re.finditer(r"(?<![\w.,])\d[\d,]*\d(?![\w])", section):
                context = " ".join(section[max(0, number.start() - 40) : number.end() + 30].split())
                complaints.append(f"{document.relative_to(ROOT)}: nothing checks {number[0]!r} in {context!r}")
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, help="a build folder whose libraries are checked too")
    args = parser.parse_args()
    checks = {
        "layers": check_layers,
        "includes": check_includes,
        "python imports": check_python_imports,
        "stray text": check_stray_text,
        "docs/language.md": check_language,
        "docs/CLAIMS.md": check_claims,
        "docs/ir.md": check_structural_nodes,
        "names in documents": check_paths,
        "examples in documents": check_examples,
        "lines of documents": check_lines,
        "numbers in documents": check_numbers,
        "passes": check_passes,
        "environment": check_environment,
        "docs/adding.md": check_adding,
        "lengths": check_lengths,
        "messages": check_messages,
        "names of operators": check_names,
    }
    if args.build:
        checks["symbols"] = lambda: check_symbols(args.build)
    failed = 0
    for name, check in checks.items():
        complaints = check()
        failed += bool(complaints)
        print(f"{name}: {'ok' if not complaints else f'{len(complaints)} complaints'}")
        for complaint in complaints:
            print(f"  {complaint}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
