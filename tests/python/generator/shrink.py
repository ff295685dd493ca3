"""Makes a program smaller while a property holds: deletes statements, functions and calls, unwraps blocks, and puts
smaller expressions in place of larger ones. Candidates need not compile; those that don't lack the property."""

import copy
import time

from .tree import Expr
from .types import Type

SIMPLEST = {
    "int": "1",
    "float": "1.0",
    "bool": "True",
    "str": '"a"',
    "complex": "1j",
    "Tensor": "torch.ones([2, 3])",
}


def size(program):
    return len(str(program)) + sum(len(str(c)) for c in program.calls)


def shrink(program, holds, budget=3000, seconds=30):
    """The smallest program found for which `holds` is true, asking at most `budget` times."""
    best = program
    end = time.monotonic() + seconds
    while budget > 0 and time.monotonic() < end:
        improved = False
        for candidate in _candidates(best):
            if size(candidate) >= size(best):
                continue
            budget -= 1
            if holds(candidate):
                best = candidate
                improved = True
                break
            if budget <= 0 or time.monotonic() > end:
                break
        if not improved:
            break
    return best


def _candidates(program):
    """Smaller programs, large steps first."""
    for index in range(len(program.calls)):
        if len(program.calls) > 1:
            other = copy.deepcopy(program)
            other.calls = [other.calls[index]]
            yield other
            if len(program.calls) > 2:
                other = copy.deepcopy(program)
                del other.calls[index]
                yield other
    for kind in ("functions", "classes"):
        for index in reversed(range(len(getattr(program, kind)))):
            other = copy.deepcopy(program)
            del getattr(other, kind)[index]
            if other.functions and other.calls:
                yield other
    for index, cls in enumerate(program.classes):
        for number, method in enumerate(cls.methods):
            other = copy.deepcopy(program)
            del other.classes[index].methods[number]
            yield other
            for parameter in reversed(range(len(method.parameters))):
                other = copy.deepcopy(program)
                del other.classes[index].methods[number].parameters[parameter]
                _drop_argument(other, method.name, parameter)
                yield other
    bodies = list(program.bodies())
    for length in (8, 4, 2, 1):
        for number, body in enumerate(bodies):
            for start in range(max(0, len(body) - length), -1, -length):
                if any(s.pinned for s in body[start : start + length]) and length == 1:
                    continue
                other = copy.deepcopy(program)
                del list(other.bodies())[number][start : start + length]
                yield other
    for number, body in enumerate(bodies):
        for start, statement in enumerate(body):
            for which, clause in enumerate(statement.clauses):
                if clause.body is not None:  # what is inside, without the block
                    other = copy.deepcopy(program)
                    target = list(other.bodies())[number]
                    target[start : start + 1] = target[start].clauses[which].body
                    yield other
                if len(statement.clauses) > 1 and which:
                    other = copy.deepcopy(program)
                    del list(other.bodies())[number][start].clauses[which]
                    yield other
    for number, holder in enumerate(program.holders()):
        for position, part in enumerate(holder.parts):
            if isinstance(part, Expr):
                for smaller in _smaller(part):
                    other = copy.deepcopy(program)
                    list(other.holders())[number].parts[position] = copy.deepcopy(smaller)
                    yield other
    for index, function in enumerate(program.functions):
        for number in reversed(range(len(function.parameters))):
            other = copy.deepcopy(program)
            del other.functions[index].parameters[number]
            _drop_argument(other, function.name, number)
            yield other
        if function.result is not None and function.body:
            other = copy.deepcopy(program)
            other.functions[index].annotated = False
            yield other


def _drop_argument(program, function, number):
    for call in program.calls:
        if call.function == function and len(call.arguments) > number:
            del call.arguments[number]


def _smaller(expression):
    """Expressions of the same type inside of it, and the simplest literal."""
    if expression.type.name in SIMPLEST:
        yield Expr(expression.type, [SIMPLEST[expression.type.name]])
    todo = expression.children
    while todo:
        child = todo.pop(0)
        if child.type == expression.type:
            yield child
        todo += child.children
    if expression.type.name == "List" and expression.type.args[0].name in SIMPLEST:
        yield Expr(expression.type, [f"[{SIMPLEST[expression.type.args[0].name]}]"])
    if expression.type == Type("Optional"):
        yield Expr(expression.type, ["None"])
