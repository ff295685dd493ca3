"""Expressions of a wanted type, from the rules, the names in scope, and calls of the program's own functions."""

import functools
import itertools
import random
import re
from dataclasses import dataclass, field

from .rules import EXPRESSION_RULES, PYTHON_RULES, STATEMENT_RULES, VARIABLE_IN_TEXT, Hole
from .tree import Expr, Variable
from .types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    KEYS,
    STR,
    TENSOR,
    UNIVERSE,
    Type,
    list_of,
    substitute,
    unify,
)

INTS = ["0", "1", "2", "3", "5", "7", "10", "-1", "-2", "-7", "255", "4294967296", "9223372036854775807"]
FLOATS = ["0.0", "1.0", "0.5", "-1.5", "2.25", "3.0", "1e-3", "1e10", "1e308", "5e-324", "1e16", "0.1"]
STRINGS = [
    "",
    "a",
    "b,c",
    "Hello",
    " x y ",
    "12",
    "-3",
    "aXbX",
    "1.5",
    "tab\\t|",
    "nl\\nend",
    "{}",
    "%",
    "it's",
    "_id",
    "0",
    "ß",
    "日本x",
]
COMPLEXES = ["1j", "2.5j", "0.5j", "1e308j"]
LITERALS = {
    "small": ["0", "1", "2", "3", "4"],
    "small3": ["0", "1", "2"],
    "bit": ["0", "1"],
    "zero": ["0", "0", "-1", "1"],
    "index": ["0", "0", "1", "-1", "-2", "1", "2", "-3", "3"],
    "step": ["1", "2", "3", "-1", "-1", "-2"],
    "nonzero": ["1", "2", "3", "-2", "7", "-1", "-5", "10"],
    "cmp": ["<", "<=", ">", ">=", "==", "!="],
    "text": ['"a"', '","', '"ab"', '" "', '"X"'],
    "letter": ["a", "x", " ", "X", ","],
    "short": ["0.5", "-1.5", "1024.0", "-0.25", "0.0"],
    "letter_b": ["a", "b"],
    "plain_float": ["0.5", "-1.5", "2.0", "-0.25", "0.1", "1.0"],
    "letter_code": ["65", "97", "48", "32"],
}


_EFFECT = re.compile(r"\bf\d\(|\.m\d\(|\.pop|setdefault")


def nests_choice(type_):
    """Whether a literal of the type needs an annotation: it has an Optional or Union inside."""
    return any(t.name in ("Optional", "Union") for arg in type_.args for t in arg.walk())


def is_choice(type_):
    return type_.name in ("Optional", "Union")


@functools.cache
def rules_for(type_, language):
    """The rules of a language that make a value of the type, and their cumulative weights."""
    rules = [rule for rule in language.expressions if rule.bindings(type_) is not None]
    return rules, list(itertools.accumulate(rule.weight for rule in rules))


@dataclass(eq=False)
class Language:
    """What programs are made of."""

    expressions: list  # of Rule
    statements: list  # of Rule
    universe: list  # of (type, weight): what variables, parameters and results are


TEXT = Language(EXPRESSION_RULES, STATEMENT_RULES, UNIVERSE)
PYTHON = Language(PYTHON_RULES, STATEMENT_RULES, UNIVERSE)


@dataclass
class Library:
    """What the statements of a program may use of the rest of it."""

    classes: list = field(default_factory=list)
    functions: list = field(default_factory=list)

    def class_of(self, type_):
        return next((c for c in self.classes if c.name == type_.name), None)


class ExpressionGenerator:
    def __init__(self, rng: random.Random, library: Library, python=False):
        self.rng = rng
        self.library = library
        self.language = PYTHON if python else TEXT  # whether torch.jit reads the code as Python
        self.scope: list[Variable] = []
        self.names = 0
        self.calls_allowed = True

    # ---- names ----

    def fresh(self, prefix="v"):
        self.names += 1
        return f"{prefix}{self.names}"

    def named(self, pattern, assignable=False):
        """A variable whose type the pattern can mean; None if there is none."""
        found = [v for v in self.scope if (v.assignable or not assignable) and unify(pattern, v.type, {}) is not None]
        return self.rng.choice(found[-6:]) if found else None

    def local(self, pattern, assignable=False):
        """A variable that the function may write to, mostly."""
        return self.named(pattern, assignable)

    def bind(self, variable):
        """What a variable of a rule means that nothing else decides."""
        return self.rng.choice(KEYS) if variable == "K" else self.value_type()

    def any_type(self, classes=False):
        if classes and self.library.classes and self.rng.random() < 0.15:
            return self.rng.choice(self.library.classes).type
        types, weights = zip(*self.language.universe)
        return self.rng.choices(types, weights)[0]

    def value_type(self):
        """A type that has no Optional or Union, for the variables of rules."""
        if self.scope and self.rng.random() < 0.6:
            known = self.rng.choice(self.scope).type
            cls = self.library.class_of(known)
            if not is_choice(known) and not nests_choice(known) and not (cls and cls.implementer):
                return known
        while True:
            known = self.any_type()
            if not is_choice(known) and not nests_choice(known):
                return known

    # ---- expressions ----

    def expression(self, type_, depth=3):
        rng = self.rng
        if depth <= 0 or rng.random() < 0.12:
            return self.leaf(type_)
        if rng.random() < 0.3:
            variable = self.named(type_)
            if variable:
                return Expr(type_, [variable.name])
        special = self.special(type_, depth)
        if special:
            return special
        candidates, weights = rules_for(type_, self.language)
        for _ in range(6 if candidates else 0):
            made = self.fill(rng.choices(candidates, cum_weights=weights)[0], type_, depth)
            if made:
                return made
        return self.leaf(type_)

    def fill(self, rule, type_, depth):
        binding = dict(rule.bindings(type_))
        if any(is_choice(t) or nests_choice(t) for t in binding.values()):
            return None
        parts = self.fill_parts(rule, binding, depth)
        if parts is None:
            return None
        # torch.jit evaluates the receiver of a method twice where the call is a condition.
        if " and " in parts:
            parts = [Expr(BOOL, ["bool(", p, ")"]) if isinstance(p, Expr) and p.type != BOOL else p for p in parts]
        made = Expr(type_, parts)
        if type_ == BOOL and isinstance(parts[0], Expr) and _EFFECT.search(str(made)):
            return Expr(type_, ["bool(", made, ")"])
        # It evaluates the index of a tensor more than once.
        if type_ == TENSOR and parts[1:2] == ["["] and _EFFECT.search(str(parts[2])):
            return Expr(type_, ["torch.where(", parts[2], " > 0, ", parts[0], ", 0)"])
        return made

    def fill_parts(self, rule, binding, depth):
        parts = []
        last_name = None
        holes = [p for p in rule.parts if isinstance(p, Hole) and p.type is not None]
        # Named holes bind first: what is in scope decides what the variables mean.
        chosen = {}
        for hole in sorted(holes, key=lambda h: h.kind == "expression"):
            if hole.kind in ("name", "variable", "local"):
                pattern = self.partly(hole.type, binding)
                find = self.local if hole.kind == "local" else self.named
                variable = find(pattern, assignable=hole.kind == "variable")
                if variable is None:
                    return None
                binding.update(unify(hole.type, variable.type, dict(binding)) or {})
                if any(is_choice(t) for t in binding.values()):
                    return None
                chosen[id(hole)] = variable.name
        for name in rule.free_variables:
            if name not in binding:
                binding[name] = self.bind(name)
        if "K" in binding and binding["K"] not in KEYS:
            return None
        for part in rule.parts:
            if isinstance(part, str):
                parts.append(VARIABLE_IN_TEXT.sub(lambda m: str(binding.get(m[0], m[0])), part))
            elif part.kind == "same":
                parts.append(last_name)
            elif id(part) in chosen:
                last_name = chosen[id(part)]
                parts.append(last_name)
            elif part.type is None:
                parts.append(self.rng.choice(LITERALS[part.kind]))
            else:
                parts.append(self.expression(substitute(part.type, binding), depth - 1))
        return parts

    def partly(self, pattern, binding):
        if pattern.name in binding:
            return binding[pattern.name]
        return Type(pattern.name, tuple(self.partly(arg, binding) for arg in pattern.args))

    def special(self, type_, depth):
        """Forms that need the library or a scope of their own."""
        rng = self.rng
        choices = []
        if self.calls_allowed:
            functions = [f for f in self.library.functions if f.result == type_]
            if functions:
                choices += [lambda: self.call(rng.choice(functions), depth)] * 2
            members = [
                (v, m)
                for v in self.scope
                for c in [self.library.class_of(v.type)]
                if c
                for m in [*c.attributes, *c.methods]
                if (m[1] if isinstance(m, tuple) else m.result) == type_
            ]
            if members:
                choices += [lambda: self.member(*rng.choice(members), depth)] * 3
        enums = [c for c in self.library.classes if c.members]
        if type_ == BOOL and enums:
            choices.append(lambda: self.compare_members(rng.choice(enums), depth))
        if type_.name == "List" and not nests_choice(type_):
            choices.append(lambda: self.comprehension(type_, depth))
        if type_.name == "Dict" and not nests_choice(type_):
            choices.append(lambda: self.dict_comprehension(type_, depth))
        if choices and rng.random() < 0.15:
            return rng.choice(choices)()
        return None

    def arguments(self, parameters, depth):
        """Positional ones first, then by keyword in any order, defaults left out at times."""
        parts = []
        positional = self.rng.randint(0, len(parameters))
        rest = list(parameters[positional:])
        self.rng.shuffle(rest)
        for index, parameter in enumerate([*parameters[:positional], *rest]):
            by_name = index >= positional
            if by_name and parameter.default is not None and self.rng.random() < 0.5:
                continue
            if parts:
                parts.append(", ")
            if by_name:
                parts.append(f"{parameter.name}=")
            parts.append(self.expression(parameter.type, depth - 1))
        return parts

    def call(self, function, depth):
        return Expr(function.result, [function.name + "(", *self.arguments(function.parameters, depth), ")"])

    def member(self, variable, member, depth):
        if isinstance(member, tuple):
            return Expr(member[1], [f"{variable.name}.{member[0]}"])
        return Expr(member.result, [f"{variable.name}.{member.name}(", *self.arguments(member.parameters, depth), ")"])

    def compare_members(self, enum, depth):
        sides = [self.expression(enum.type, depth - 1) for _ in range(2)]
        return Expr(BOOL, ["(", sides[0], self.rng.choice([" == ", " != "]), sides[1], ")"])

    def construct(self, cls, depth):
        if cls.members:
            return Expr(cls.type, [f"{cls.name}.{self.rng.choice(cls.members)[0]}"])
        if cls.implementer:
            return Expr(cls.type, [self.construct(cls.implementer, depth)])
        parts = []
        for _, type_ in cls.attributes:
            if parts:
                parts.append(", ")
            parts.append(self.expression(type_, depth - 1))
        return Expr(cls.type, [cls.name + "(", *parts, ")"])

    def comprehension(self, type_, depth, plain=False):
        source = self.value_type()
        name = self.fresh("e")
        sequence = self.expression(list_of(source), depth - 1)
        element = self.inside(Variable(name, source, False), type_.args[0], depth - 1)
        made = Expr(type_, ["[", element, f" for {name} in ", sequence, "]"])
        # torch.jit's parser takes no comprehension for the first element of a list literal.
        return made if plain else Expr(type_, ["list(", made, ")"])

    def dict_comprehension(self, type_, depth):
        key, value = type_.args
        name = self.fresh("e")
        sequence = self.expression(list_of(key), depth - 1)
        made = self.inside(Variable(name, key, False), value, depth - 1)
        return Expr(type_, ["{" + name + ": ", made, f" for {name} in ", sequence, "}"])

    def inside(self, variable, type_, depth):
        self.scope.append(variable)
        made = self.expression(type_, depth)
        self.scope.pop()
        return made

    # ---- the smallest expressions ----

    def leaf(self, type_):
        rng = self.rng
        variable = self.named(type_)
        if variable and rng.random() < 0.65:
            return Expr(type_, [variable.name])
        return self.literal(type_)

    def literal(self, type_):
        rng = self.rng
        if type_ == INT:
            return Expr(INT, [rng.choice(INTS[:10]) if rng.random() < 0.9 else rng.choice(INTS)])
        if type_ == FLOAT:
            return Expr(FLOAT, [rng.choice(FLOATS[:6]) if rng.random() < 0.8 else rng.choice(FLOATS)])
        if type_ == BOOL:
            return Expr(BOOL, [rng.choice(["True", "False"])])
        if type_ == STR:
            return Expr(STR, ['"' + rng.choice(STRINGS) + '"'])
        if type_ == COMPLEX:
            return Expr(COMPLEX, [rng.choice(COMPLEXES)])
        if type_ == TENSOR:
            return Expr(
                TENSOR, [rng.choice(["torch.ones([2, 3])", "torch.arange(3)", "torch.tensor([0.5, -1.5, 2.0])"])]
            )
        if is_choice(type_):
            inner = rng.choice(type_.args)
            if type_.name == "Optional" and rng.random() < 0.4:
                return Expr(type_, ["None"])
            return Expr(type_, [self.literal(inner)])
        if type_.name == "List":
            items = [self.literal(type_.args[0]) for _ in range(rng.randint(1, 4))]
            text = ["[", *self.separated(items), "]"]
            if nests_choice(type_):
                return Expr(type_, [f"torch.jit.annotate({type_}, ", *text, ")"])
            return Expr(type_, text)
        if type_.name == "Dict":
            parts = []
            for _ in range(rng.randint(1, 3)):
                parts += [", "] if parts else []
                parts += [self.literal(type_.args[0]), ": ", self.literal(type_.args[1])]
            return Expr(type_, ["{", *parts, "}"])
        if type_.name == "Tuple":
            items = [self.literal(arg) for arg in type_.args]
            return Expr(type_, ["(", *self.separated(items), ",)" if len(items) == 1 else ")"])
        cls = self.library.class_of(type_)
        assert cls, type_
        if not cls.is_plain and not cls.is_tuple:
            return self.construct(cls, 0)
        items = [self.literal(t) for _, t in cls.attributes]
        return Expr(type_, [f"{cls.name}(", *self.separated(items), ")"])

    @staticmethod
    def separated(items):
        parts = []
        for item in items:
            parts += [", ", item] if parts else [item]
        return parts
