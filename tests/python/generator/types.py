"""The types of generated values: as annotations print them, and as patterns whose variables T, K, V, U match anything.

The tensors of tensor programs (tensor_programs.py) have their sizes in their types: Tensor[n, m] has two dimensions, of the
sizes n and m, whatever those are in a call. Variables A, B, C of patterns match a size, X matches any such tensor.
Annotations print them all as Tensor."""

import re
from dataclasses import dataclass

SIZE_VARIABLES = {"A", "B", "C"}
VARIABLES = {"T", "K", "V", "U", "X"} | SIZE_VARIABLES
#: What annotations call Tensor: tensors of numbers, and of indices below a size.
TENSORS = {"Tensor", "Index"}


@dataclass(frozen=True)
class Type:
    name: str
    args: tuple = ()

    def __str__(self):
        if self.name in TENSORS:
            return "Tensor"
        return f"{self.name}[{', '.join(map(str, self.args))}]" if self.args else self.name

    def walk(self):
        yield self
        for arg in self.args:
            yield from arg.walk()


_parsed = {}


def parse(text):
    """The type that an annotation such as "Dict[str, List[T]]" means."""
    if text not in _parsed:
        tokens = re.findall(r"\w+|[\[\],]", text)
        _parsed[text] = _parse(tokens)
        assert not tokens, text
    return _parsed[text]


def _parse(tokens):
    name = tokens.pop(0)
    args = []
    if tokens and tokens[0] == "[":
        while tokens.pop(0) != "]":
            args.append(_parse(tokens))
    return Type(name, tuple(args))


def unify(pattern, type_, binding):
    """The binding of the pattern's variables, extended so that the pattern means `type_`; None if it can't."""
    if pattern.name in VARIABLES:
        if pattern.name == "X" and type_.name != "Tensor":
            return None
        known = binding.get(pattern.name)
        if known is None:
            return {**binding, pattern.name: type_}
        return binding if known == type_ else None
    if pattern.name != type_.name or len(pattern.args) != len(type_.args):
        return None
    for a, b in zip(pattern.args, type_.args):
        binding = unify(a, b, binding)
        if binding is None:
            return None
    return binding


def substitute(pattern, binding):
    if pattern.name in VARIABLES:
        return binding[pattern.name]
    if not pattern.args:
        return pattern
    return Type(pattern.name, tuple(substitute(arg, binding) for arg in pattern.args))


def variables_of(pattern):
    return {t.name for t in pattern.walk() if t.name in VARIABLES}


INT, FLOAT, BOOL, STR, COMPLEX, TENSOR = map(Type, ("int", "float", "bool", "str", "complex", "Tensor"))
SCALARS = (INT, FLOAT, BOOL, STR)
KEYS = (INT, STR, FLOAT)


def list_of(t):
    return Type("List", (t,))


def optional(t):
    return Type("Optional", (t,))


# What variables, parameters and attributes are made of: (type, weight).
UNIVERSE = [
    (parse(text), weight)
    for text, weight in {
        "int": 8,
        "float": 5,
        "bool": 3,
        "str": 6,
        "complex": 1,
        "Tensor": 6,
        "List[int]": 5,
        "List[float]": 2,
        "List[str]": 3,
        "List[bool]": 1,
        "List[Tensor]": 2,
        "List[List[int]]": 1,
        "List[Tuple[int, str]]": 1,
        "Dict[str, int]": 3,
        "Dict[int, str]": 1,
        "Dict[str, Tensor]": 1,
        "Dict[str, List[int]]": 1,
        "Dict[str, Dict[str, int]]": 1,
        "Dict[float, bool]": 1,
        "Tuple[int, str]": 2,
        "Tuple[float, Tensor]": 1,
        "Tuple[int, int, int]": 1,
        "Optional[int]": 3,
        "Optional[str]": 1,
        "Optional[Tensor]": 2,
        "Optional[List[int]]": 1,
        "List[Optional[int]]": 1,
        "Union[int, str]": 2,
        "Union[float, List[int]]": 1,
    }.items()
]
