"""Programs as trees.

An expression or a statement is a list of parts: text, and expressions in between. That is all that printing, searching
and shrinking need, so a new construct costs them nothing. Expressions know their type; a shrinker may replace one by any
other of that type.

Printing adds what makes every value visible: a statement that defines names prints them, and a block prints something.
It sees more, and it must be: torch.jit drops a computation that nothing uses even where that would have raised.
"""

import re
from dataclasses import dataclass, field

from .types import TENSOR, Type


@dataclass
class Expr:
    type: Type
    parts: list  # of str and Expr

    def __str__(self):
        return "".join(map(str, self.parts))

    @property
    def children(self):
        return [part for part in self.parts if isinstance(part, Expr)]


@dataclass
class Clause:
    """A line of text; if it opens a block, the block."""

    parts: list
    body: list | None = None
    defines: list = field(default_factory=list)  # of Variable; in a clause with a block: before the block runs

    def __str__(self):
        return "".join(map(str, self.parts))

    def observation(self):
        # An object would print its address, a member of an enum the name of its module; an interface has no attributes.
        seen = {"C": ".x0", "E": ".name"}
        shown = [
            v.name + (".shape" if v.type == TENSOR else seen.get(v.type.name[0], ""))
            for v in self.defines
            if v.type.name[0] != "I"
        ]
        return f"print({', '.join(shown)})" if shown else None


@dataclass
class Variable:
    name: str
    type: Type
    assignable: bool = True


@dataclass
class Stmt:
    """One clause, or several that belong together (if, elif, else)."""

    clauses: list
    pinned: bool = False  # without it the program would not end: a shrinker must leave it

    def lines(self, indent, observed=True):
        for clause in self.clauses:
            yield "  " * indent + str(clause)
            observation = clause.observation() if observed else None
            if clause.body is None:
                if observation:
                    yield "  " * indent + observation
            else:
                if observed:
                    yield "  " * (indent + 1) + (observation or 'print("-")')
                if clause.body or not observed:
                    yield from block_lines(clause.body, indent + 1, observed)


def simple(*parts, pinned=False, defines=()):
    return Stmt([Clause(list(parts), defines=list(defines))], pinned)


def block_lines(body, indent, observed=True):
    if not body:
        yield "  " * indent + "pass"
    for statement in body:
        yield from statement.lines(indent, observed)


@dataclass
class Parameter:
    name: str
    type: Type
    default: str | None = None
    annotated: bool = True

    def __str__(self):
        text = f"{self.name}: {self.type}" if self.annotated else self.name
        return text + (f" = {self.default}" if self.default is not None else "")


@dataclass
class Function:
    name: str
    parameters: list
    result: Type | None
    body: list = field(default_factory=list)
    annotated: bool = True  # whether the result type is written
    is_method: bool = False
    observed: bool = True  # whether it prints what it computes; prints keep computations in their places

    def lines(self, indent=0):
        parameters = ", ".join((["self"] if self.is_method else []) + [str(p) for p in self.parameters])
        arrow = f" -> {self.result or 'None'}" if self.annotated else ""
        yield "  " * indent + f"def {self.name}({parameters}){arrow}:"
        yield from block_lines(self.body, indent + 1, self.observed)


@dataclass
class Class:
    """A class whose __init__ takes all attributes, a named tuple, an enum, or an interface of one of the classes.

    The attributes of an enum are what its members have: name and value.
    """

    name: str
    attributes: list  # of (name, Type)
    methods: list = field(default_factory=list)
    is_tuple: bool = False
    members: list = field(default_factory=list)  # of an enum: (name, literal)
    implementer: "Class | None" = None  # of an interface

    @property
    def type(self):
        return Type(self.name)

    @property
    def is_plain(self):
        return not (self.is_tuple or self.members or self.implementer)

    def lines(self):
        if self.members:
            yield f"class {self.name}(Enum):"
            yield from (f"  {name} = {value}" for name, value in self.members)
            return
        if self.implementer:
            yield f"class {self.name}(Interface):"
            for method in self.methods:
                yield from method.lines(1)
            return
        yield f"class {self.name}{'(NamedTuple)' if self.is_tuple else ''}:"
        if self.is_tuple:
            yield from (f"  {name}: {type_}" for name, type_ in self.attributes)
            return
        yield f"  def __init__(self, {', '.join(f'{name}: {type_}' for name, type_ in self.attributes)}):"
        yield from (f"    self.{name} = {name}" for name, _ in self.attributes)
        for method in self.methods:
            yield from method.lines(1)


@dataclass
class Call:
    """A call from outside: the argument list as text, evaluated afresh by each engine."""

    function: str
    arguments: list  # of str

    def __str__(self):
        return f"{self.function}({', '.join(self.arguments)})"


@dataclass
class TensorCall(Call):
    """A call whose arguments may share tensors, made before, in a state of the thread, and what is asked of the result."""

    tensors: dict = field(default_factory=dict)  # name -> text
    state: str = ""  # a context manager as text
    order: int = 1  # of the highest derivatives
    writes: bool = False  # whether the results are written to before gradients are asked for
    watched: bool = False  # whether results have hooks and keep their gradients

    def needed(self):
        """The tensors that the arguments name, in order."""
        return {
            name: text for name, text in self.tensors.items() if any(name in argument for argument in self.arguments)
        }

    def __str__(self):
        made = "".join(f"{name} = {text}; " for name, text in self.needed().items())
        ends = [self.state] * bool(self.state) + ["then written to"] * self.writes + ["watched"] * self.watched
        ends.append(f"derivatives of order {self.order}")
        return f"{made}{super().__str__()}  # {', '.join(ends)}"


@dataclass
class Program:
    classes: list
    functions: list
    calls: list

    def class_text(self):
        """The classes that something uses; torch.jit compiles no others, and so finds no fault in them."""
        text = self.function_text()
        parts = []
        for cls in reversed(self.classes):
            lines = "\n".join(cls.lines()) + "\n\n"
            if re.search(rf"\b{cls.name}\b", text):
                parts.insert(0, lines)
                text += lines
        return "".join(parts)

    def python_class_text(self):
        """As Python declares interfaces."""
        return re.sub(r"^class (\w+)\(Interface\):", r"@torch.jit.interface\nclass \1:", self.class_text(), flags=re.M)

    def function_text(self):
        return "\n".join("\n".join(f.lines()) + "\n" for f in self.functions)

    def __str__(self):
        return self.class_text() + self.function_text()

    def bodies(self):
        """Every list of statements, outer ones first."""
        todo = [f.body for f in self.functions] + [m.body for c in self.classes for m in c.methods]
        while todo:
            body = todo.pop(0)
            yield body
            todo += [clause.body for s in body for clause in s.clauses if clause.body is not None]

    def holders(self):
        """Everything with parts: clauses and expressions, outer ones first."""
        for body in self.bodies():
            for statement in body:
                for clause in statement.clauses:
                    yield from _holders(clause)


def _holders(holder):
    yield holder
    for part in holder.parts:
        if isinstance(part, Expr):
            yield from _holders(part)


class ForksAsCalls:
    """A program that calls at once what the other forks."""

    def __init__(self, program):
        self.program = program
        self.calls = program.calls

    def python_class_text(self):
        return _without_forks(self.program.python_class_text())

    def function_text(self):
        return _without_forks(self.program.function_text())


class OpaqueConditions:
    """A program whose conditions no compiler knows."""

    calls = ()

    def __init__(self, program):
        self.program = program

    def __str__(self):
        return "".join(map(_with_opaque_conditions, str(self.program).splitlines(True)))


def _with_opaque_conditions(line):
    line = re.sub(r"\bTrue\b", "torch.is_grad_enabled()", line)
    line = re.sub(r"\bFalse\b", "(not torch.is_grad_enabled())", line)
    if re.match(r" *while ", line):
        line = re.sub(r"\w+ is not None", "torch.is_grad_enabled()", line)
    return line


def _without_forks(text):
    text = re.sub(r"torch\.jit\.fork\((\w+)(?:, )?", r"\1(", text)
    return re.sub(r"torch\.jit\.wait\((\w+)\)", r"\1", text)
