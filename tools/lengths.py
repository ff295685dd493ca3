"""How long functions and classes are, in lines, from their first line to their closing brace.

A scanner of braces, for sources that clang-format has laid out: a `{` outside of functions opens a namespace, a class or
a function by what stands before it since the last `;`, `{` or `}`. Lambdas and classes inside of functions are part of
them. `python3 tools/lengths.py` lists the longest.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_FUNCTION, MAX_CLASS = 120, 400

# Comments, strings (raw ones too) and characters; a digit before a ' is a separator of digits.
SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\s\\]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.S,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)


def blanked(text):
    """The text without what may hold braces that are none; lines stay where they are."""

    def blank(match):
        return '""' + "\n" * match[0].count("\n") if match[0][0] in "\"R'" else "\n" * match[0].count("\n")

    return DIRECTIVE.sub(lambda match: "\n" * match[0].count("\n"), SKIPPED.sub(blank, text))


def kind_of(head):
    head = re.sub(r"\[\[[^\]]*\]\]", " ", head)
    head = re.sub(r"\btemplate\s*<[^{}]*?>\s*(?=\b(?:class|struct|union)\b)", " ", head)
    if re.match(r"\s*(inline\s+)?namespace\b", head) or re.match(r'\s*extern\s*""', head):
        return "namespace"
    if re.match(r"\s*(class|struct|union)\b", head) and "(" not in head:
        return "class"
    is_value = "operator" not in head and re.search(r"=\s*(\[[^\]]*\])?\s*$", head.split("(", 1)[0])
    if "(" in head and not is_value and not re.match(r"\s*enum\b", head):
        return "function"
    return "other"


def name_of(kind, head):
    if kind == "class":
        return re.findall(r"(?:class|struct|union)\s+(?:alignas\S+\s+)?([\w:]*)", head)[-1] or "(unnamed)"
    return re.search(r"(operator\s*\S+?|[\w:~]+(?:<[^()]*>)?)\s*\(", head)[1]


def measured(path):
    """(kind, name, first line, lines) of the functions and classes of a file."""
    text = blanked(path.read_text())
    found, stack = [], []  # of (kind, name, line)
    line, head, head_line = 1, "", None
    inside = 0  # braces that are open inside of a function
    parentheses = 0
    for character in text:
        if character == "\n":
            line += 1
        if inside:
            inside += (character == "{") - (character == "}")
            if inside:
                continue
        if character == "{" and not parentheses:
            kind = kind_of(head)
            # `a_{x}` in a list of initializers, `= {…}`: braces of a value.
            if kind == "function" and re.search(r"[,:]\s*[\w:<>]+\s*$", head.rsplit(")", 1)[-1]):
                kind = "value"
            stack.append((kind, name_of(kind, head) if kind in ("function", "class") else "", head_line or line, head))
            if kind in ("function", "other", "value"):
                inside = 1
            head, head_line = "", None
        elif character == "}" and not parentheses:
            kind, name, first, before = stack.pop()
            if kind in ("function", "class"):
                found.append((kind, name, first, line - first + 1))
            # What follows the braces of a value still belongs to the function before whose body they stand.
            head, head_line = (before + " ()", first) if kind == "value" else ("", None)
        elif character == ";" and not parentheses:
            head, head_line = "", None
        else:
            parentheses += (character == "(") - (character == ")")
            if not character.isspace() and head_line is None:
                head_line = line
            head += character
            if re.fullmatch(r"\s*(public|private|protected):", head):
                head, head_line = "", None
    assert not stack, f"{path}: braces that don't match"
    return found


def sources():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "src/*.cpp", "src/*.h", "tools/*.cpp", "tools/*.h"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


# The interpreter's loop is one by nature: threaded dispatch.
ALLOWED = {"Run::interpret": 500}


def complaints():
    result = []
    for path in sources():
        for kind, name, first, lines in measured(path):
            limit = MAX_FUNCTION if kind == "function" else MAX_CLASS
            if lines > ALLOWED.get(name, limit):
                result.append(
                    f"{path.relative_to(ROOT)}:{first}: {kind} {name} has {lines} lines; {limit} are the most"
                )
    return result


if __name__ == "__main__":
    everything = [(lines, kind, name, path, first) for path in sources() for kind, name, first, lines in measured(path)]
    print(f"{len(everything)} functions and classes")
    for wanted, count in (("function", 40), ("class", 25)):
        longest = sorted((row for row in everything if row[1] == wanted), key=lambda row: -row[0])[:count]
        for lines, kind, name, path, first in longest:
            print(f"{lines:5} {kind} {name}  {path.relative_to(ROOT)}:{first}")
