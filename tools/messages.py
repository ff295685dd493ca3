"""Messages of errors that stand at more than one place of the source: each belongs into one function of its folder's
messages.h, or into one of its file.

Looks at the string literals of statements that raise; what is put between them counts as alike. A message has at least
three words.
"""

import collections
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RAISES = re.compile(r"\b(throw\s+[\w:]+|\w*[fF]ail\w*|\w*[eE]rror\w*|[rR]aise\w*|refus\w*|complain\w*)\s*\(")
LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
PROGRAMS = re.compile(r"formulas_\w+\.cpp")  # texts of scripts, which have no other way


def closing(text, at):
    """Where the parenthesis that is open at `at` closes."""
    depth, quoted = 1, False
    while at < len(text) and depth:
        character = text[at]
        if quoted:
            at += character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        else:
            depth += (character == "(") - (character == ")")
        at += 1
    return at


def messages_of(path):
    """(message, line) of a file's raising statements."""
    text = re.sub(r"//[^\n]*", lambda comment: " " * len(comment[0]), path.read_text())
    end = 0
    for start in RAISES.finditer(text):
        if start.start() < end:
            continue
        end = closing(text, start.end())
        body = text[start.end() : end - 1]
        parts = re.split(r'"(?:\\.|[^"\\\n])*"', body)
        literals = LITERAL.findall(body)
        message = "".join(
            ("…" if between.strip(" \n+,") else "") + literal for between, literal in zip(parts, [*literals, ""])
        ).rstrip("….")
        if len(re.findall(r"[A-Za-z]{2,}", message)) >= 3:
            yield message, text.count("\n", 0, start.start()) + 1


def complaints():
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "src/*.cpp", "src/*.h"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    places = collections.defaultdict(list)
    for name in listed:
        if (ROOT / name).is_file() and not PROGRAMS.fullmatch(Path(name).name):
            for message, line in messages_of(ROOT / name):
                places[message].append(f"{name}:{line}")
    return [
        f"{', '.join(found)}: one message at {len(found)} places: {message}"
        for message, found in places.items()
        if len(found) > 1
    ]


if __name__ == "__main__":
    print("\n".join(complaints()))
