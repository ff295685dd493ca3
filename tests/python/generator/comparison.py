"""What counts as a difference between torch.jit and Cresset.

Values, printed output and arguments must be equal. An exception must be of a class that catches what torch.jit's does,
and its text must contain the last line of torch.jit's. A program must be compiled by both or by neither.

DELIBERATE lists where Cresset differs on purpose; docs/differences.md explains each and names its test. Where only a third
opinion can tell a difference on purpose from a fault, _is_settled asks for it: Python's, or torch.jit's on the same
program in other words.
"""

import os
import re

from .execution import Cresset, TorchJit, execute, in_python
from .tree import ForksAsCalls, OpaqueConditions

#: (why, does a pair of outcomes show it?). Each entry is a row of docs/differences.md.
DELIBERATE = []


#: Messages by which torch.jit says that the fault is its own.
TORCH_JIT_BUGS = (
    "INTERNAL ASSERT",
    "bad optional access",
    "Unhandled node kind",
    "List trace inputs must have elements",
    "Graph::copy() encountered a use of a value",
    "Expected Tensor but got None",
)


def deliberate(why):
    def register(predicate):
        DELIBERATE.append((why, predicate))
        return predicate

    return register


def last_line(message):
    """What the program itself said: the end of torch.jit's message after its traceback."""
    text = message.strip().split("\n")[-1]
    return text.split("Error: ", 1)[-1] if "Error: " in text else text


def core(message):
    """The phrase of a torch.jit message that users may match on."""
    return re.sub(r"\s+", " ", last_line(message)).strip().rstrip(".")


def difference(program, theirs, mine):
    """The first difference of two lists of outcomes, in words; None if there is none but deliberate ones."""
    if theirs[0].kind == "rejected" and any(bug in theirs[0].message for bug in TORCH_JIT_BUGS):
        return None
    if theirs[0].kind == "rejected" or mine[0].kind == "rejected":
        if theirs[0].kind == mine[0].kind:
            return None
        found = _rejection(theirs[0], mine[0])
        return None if _is_deliberate(program, theirs[0], mine[0]) or _is_dead(program, theirs[0]) else found
    for index, (call, a, b) in enumerate(zip(program.calls, theirs, mine)):
        if any(bug in a.message for bug in TORCH_JIT_BUGS):
            continue
        found = _call_difference(a, b)
        if found and not _is_deliberate(program, a, b) and not _is_settled(program, index, a, b):
            return f"{call}: {found}"
    return None


def _is_deliberate(program, theirs, mine):
    text = str(program)
    return any(predicate(text, theirs, mine) for _, predicate in DELIBERATE)


def _is_dead(program, theirs):
    """Whether torch.jit refuses code that Cresset does not compile, because it can't be reached, and else would refuse."""
    if theirs.kind != "rejected":
        return False
    mine = execute(Cresset, OpaqueConditions(program))  # has no outcomes if it compiles
    place = re.search(r'File "<string>", line (\d+)', mine[0].message) if mine else None
    return bool(place) and str(program).splitlines()[int(place[1]) - 1] == _quoted(theirs.message)


def _is_settled(program, index, theirs, mine):
    call = program.calls[index]
    python = in_python(program, call)
    # torch.jit drops computations that would raise, where nothing uses their values or no value of theirs matters. What
    # Cresset says must be what Python says: that the program ends there.
    if mine.kind == "error" and theirs.printed.startswith(mine.printed):
        lines = re.findall(r'File "<string>", line (\d+)', mine.message)
        if python and python.kind == "error" and lines and int(lines[-1]) == python.message:
            return True
    # A float that is assigned into a tensor goes through 32 bits. What Cresset stores must be what eager stores.
    if python and mine.kind == "value" and re.search(r"^ *\w+\[.*\] = ", str(program), re.M):
        if (python.kind, python.value, python.arguments) == (mine.kind, mine.value, mine.arguments):
            return True
    # A list that a forked function makes of literals is one list for all calls to torch.jit, whoever changes it.
    if "torch.jit.fork(" in str(program):
        outcomes = execute(TorchJit, ForksAsCalls(program))
        return len(outcomes) > index and _call_difference(outcomes[index], mine) is None
    return False


def _rejection(theirs, mine):
    who = "torch.jit" if theirs.kind == "rejected" else "Cresset"
    error = theirs if theirs.kind == "rejected" else mine
    return f"only {who} refuses the program: {error.message.strip()[:600]}"


def _call_difference(theirs, mine):
    if theirs.kind != mine.kind:
        return f"torch.jit: {_shown(theirs)}; Cresset: {_shown(mine)}"
    if theirs.printed != mine.printed:
        same = len(os.path.commonprefix([theirs.printed, mine.printed]))
        return f"printed {_from(mine.printed, same)} instead of {_from(theirs.printed, same)}"
    if theirs.kind == "value":
        if theirs.value != mine.value:
            return f"gives {mine.value} instead of {theirs.value}"
    else:
        phrase = core(theirs.message)
        if phrase not in re.sub(r"\s+", " ", mine.message):
            return f"says {mine.message[-300:]!r} instead of {phrase!r}"
        public = [c for c in theirs.value if c not in ("Error", "object")]
        if public[0] not in mine.value:
            return f"raises {mine.value[0]} ({mine.value}) instead of {theirs.value[0]}"
    if theirs.arguments != mine.arguments:
        return f"leaves arguments {mine.arguments} instead of {theirs.arguments}"
    return None


def _from(text, start):
    return ("… " if start > 40 else "") + repr(text[max(0, start - 40) : start + 200])


def _shown(outcome):
    if outcome.kind == "value":
        return f"value {outcome.value}"
    return f"{outcome.value[0]} {last_line(outcome.message)!r}"


# ---- deliberate differences ----
# A predicate must be narrow: true only where the pair of outcomes, not just the program, shows the difference.


@deliberate("int() and float() of a text that is no number say so; torch.jit says stoll, stod")
def number_of_text(text, theirs, mine):
    if "stod" in theirs.message and theirs.kind == "error":  # of a number that is no normal one, too
        return mine.kind == "value" or "could not convert string to float" in mine.message
    says = {"stoll": "invalid literal for int()", "stod": "could not convert string to float"}
    phrase = says.get(last_line(theirs.message)) if theirs.kind == "error" else None
    return phrase is not None and mine.kind == "error" and phrase in mine.message


@deliberate("an index beyond a string is an IndexError; torch.jit says basic_string::at")
def string_index(text, theirs, mine):
    return "basic_string::at" in theirs.message and "string index out of range" in mine.message


@deliberate("a search that starts beyond the end finds nothing; torch.jit says basic_string::substr")
def search_past_end(text, theirs, mine):
    return "basic_string::substr" in theirs.message and theirs.kind == "error" and mine.kind != "rejected"


@deliberate("a list repeated a negative number of times is empty; torch.jit says vector::reserve")
def negative_repeat(text, theirs, mine):
    return "vector::reserve" in theirs.message and theirs.kind == "error" and mine.kind != "rejected"


@deliberate("math.floor and math.ceil of 2**63 are errors; torch.jit returns the smallest int")
def floor_beyond_ints(text, theirs, mine):
    return mine.kind == "error" and "Cannot convert float 9223372036854775808.000000" in mine.message


@deliberate("a string cut inside a character has the bytes; torch.jit can't return it")
def cut_character(text, theirs, mine):
    return theirs.kind == "error" and "codec can't decode byte" in theirs.message and mine.kind != "rejected"


@deliberate("0.0 and -0.0 are two constants; torch.jit merges them in a function")
def negative_zero(text, theirs, mine):
    def texts(outcome):
        value = outcome.value if outcome.kind == "value" else None
        shown = [outcome.printed, repr(value), last_line(outcome.message), repr(outcome.arguments)]
        shown = [re.sub(r"(?<![\w.])-(0(?!\w)|inf)", r"\1", s) for s in shown]
        shown = [re.sub(r"00000080|0000000000000080", lambda m: "0" * len(m[0]), s) for s in shown]
        return [s.replace("000000000000f0ff", "000000000000f07f").replace(" ", "") for s in shown]

    return "0.0" in text and theirs.kind == mine.kind and texts(theirs) == texts(mine)


@deliberate("nan has no place in an order")
def nan_order(text, theirs, mine):
    if not re.search(r"\bsort(ed)?\(", text) or theirs.kind != mine.kind:
        return False

    def shown(outcome):
        return [*outcome.printed.splitlines(), repr(outcome.value), repr(outcome.arguments)]

    first = next((pair for pair in zip(shown(theirs), shown(mine)) if pair[0] != pair[1]), ("", ""))
    return "nan" in first[0] and sorted(first[0]) == sorted(first[1])


@deliberate("torch.jit's reader of Python's text, which only classes go through, runs beyond its end")
def reads_beyond_end(text, theirs, mine):
    return theirs.kind == "rejected" != mine.kind and theirs.message == "index out of range" and "class " in text


@deliberate("a class's own methods know the defaults of its methods; torch.jit refuses calls that rely on them")
def default_of_a_method(text, theirs, mine):
    refused = theirs.kind == "rejected" != mine.kind
    return refused and bool(re.match(r"\s*m\d\(.*\nArgument p\d not provided", theirs.message))


_LEAVES = r"(?:continue|break|return|raise)\b.*\n"
_ALWAYS_LEAVES = re.compile(rf"if \(*(?:not False|True)\)*:\n(?:.*\n){{1,4}}?\s+{_LEAVES}|\n( +){_LEAVES}\1\S")


def _quoted(message):
    """The line of the program that an error points at: the one above the mark."""
    return next(iter(_marked(message)), "no such line")


def _marked(message):
    """All such lines: the calls that led to the error have one each."""
    lines = message.splitlines()
    return [lines[i - 1] for i, line in enumerate(lines) if i and "<--- HERE" in line]


@deliberate("what follows a jump that is always taken is not compiled; torch.jit finds faults in it")
def unreachable(text, theirs, mine):
    if theirs.kind != "rejected" or mine.kind == "rejected":
        return False
    place = text.rfind(_quoted(theirs.message))
    start = text.rfind("\ndef ", 0, place)
    return place >= 0 and bool(_ALWAYS_LEAVES.search(text, max(start, 0), text.find("\n", place)))


@deliberate("the body of a loop whose condition is never true is not compiled")
def dead_loop(text, theirs, mine):
    return theirs.kind == "rejected" != mine.kind and bool(re.search(r"while .*\band False:", text))


@deliberate(
    "a number, None, an Optional or a Union has no len(); torch.jit takes it for a list of one or makes a tensor of it"
)
def len_of_number(text, theirs, mine):
    types = r"int|float|bool|complex|NoneType|Optional\[.*\]|Union\[.*\]"
    return mine.kind == "rejected" and bool(re.search(rf"'({types})' object has no len", mine.message))


@deliberate("a dict that is updated by itself stays as it is; torch.jit adds its nan keys again")
def updated_by_itself(text, theirs, mine):
    return ".update(" in text and mine.printed.count("nan: ") < theirs.printed.count("nan: ") and "nan" in mine.printed


@deliberate("a class that nothing uses, or only code that can't be reached, is compiled with its text")
def unused_class(text, theirs, mine):
    place = re.search(r"line (\d+)", mine.message) if mine.kind == "rejected" else None
    classes = text[: text.find("\ndef ")].count("\n") + 1 if "class " in text else 0
    return bool(place) and theirs.kind != "rejected" and int(place[1]) <= classes


@deliberate("the right operand of an `and` or `or` that types settle is not compiled")
def settled_operand(text, theirs, mine):
    if theirs.kind != "rejected" or mine.kind == "rejected":
        return False
    return bool(re.search(r"is (not None and|None or) |\bTrue or |\bFalse and ", _quoted(theirs.message)))
