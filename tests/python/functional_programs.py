"""Random programs over tensors with views and mutation, as Python functions; run eagerly and functionalized, compared;
also with gradients and under vmap.

``python tests/python/functional_programs.py [COUNT] [FIRST] [graphs]`` runs COUNT of them (100,000), beginning with seed FIRST;
`graphs`: as scripts with branches and loops, whose graphs are functionalized, with arguments that share memory.
"""

import collections
import contextlib
import random
import re
import sys

import torch

import cresset


def memory(tensors):
    """Which of them share memory, and where each lies in it."""
    return [
        [a.untyped_storage()._cdata == b.untyped_storage()._cdata for b in tensors] + [a.storage_offset()]
        for a in tensors
    ]


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in flat(item)]
    return []


def bits(tensor):
    """What two tensors are compared by."""
    plain = tensor.detach().resolve_conj().resolve_neg()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    values = (
        plain.double().nan_to_num(nan=12345.678).flatten().tolist() if plain.dtype != torch.bool else plain.tolist()
    )
    return values, str(tensor.dtype), tuple(tensor.shape), tensor.stride(), tensor.requires_grad


class Outcome:
    """What a call has done: results, arguments, memory, or the exception."""

    def __init__(self, function, arguments):
        torch.manual_seed(0)
        self.error = self.result = None
        try:
            self.result = function(*arguments)
        except Exception as error:
            self.error = error
        tensors = flat(self.result) + flat(list(arguments))
        self.tensors = tensors
        self.bits = [bits(tensor) for tensor in tensors]
        self.memory = memory(tensors)
        self.same = [[a is b for b in tensors] for a in tensors]


def differences(expected, found, parts=("bits", "memory", "same")):
    if (expected.error is None) != (found.error is None):
        return [f"errors: {expected.error!r} and {found.error!r}"]
    told = []
    for what in parts:
        if getattr(expected, what) != getattr(found, what):
            told.append(f"{what}: {getattr(expected, what)} and {getattr(found, what)}")
    return told


# ---- Programs

VIEWS = (
    lambda r, x: f"{x}[{r.randrange(-1, 1)}]" if True else "",
    lambda r, x: f"{x}[{r.randrange(2)}:]",
    lambda r, x: f"{x}[::2]",
    lambda r, x: f"{x}.t() if {x}.dim() == 2 else {x}",
    lambda r, x: f"{x}.transpose(0, -1)",
    lambda r, x: f"{x}.unsqueeze({r.randrange(2)})",
    lambda r, x: f"{x}.squeeze()",
    lambda r, x: f"{x}.view(-1) if {x}.is_contiguous() else {x}",
    lambda r, x: f"{x}.reshape(-1)",
    lambda r, x: f"{x}.flatten()",
    lambda r, x: f"{x}.detach()",
    lambda r, x: f"{x}.diagonal() if {x}.dim() > 1 else {x}",
    lambda r, x: f"{x}.split(1)[{r.randrange(-1, 1)}]",
    lambda r, x: f"{x}.unbind(0)[-1]",
    lambda r, x: f"{x}.chunk(2, -1)[-1]",
    lambda r, x: f"{x}.movedim(0, -1)",
    lambda r, x: f"{x}.narrow(0, 0, 1)",
    lambda r, x: f"{x}.as_strided((2,), (1,)) if {x}.numel() > 3 else {x}",
    lambda r, x: f"{x}.expand_as({x})",
    lambda r, x: f"{x}.view_as({x})",
    lambda r, x: f"{x}.unfold(0, 1, 1)",
)

WRITES = (
    lambda r, x, y: f"{x}.add_({r.randrange(1, 4)})",
    lambda r, x, y: f"{x}.mul_({y}.sum())",
    lambda r, x, y: f"{x}.copy_({y}.mean())",
    lambda r, x, y: f"{x}.fill_({r.randrange(3)})",
    lambda r, x, y: f"{x}.zero_()",
    lambda r, x, y: f"{x}.clamp_(max=2)",
    lambda r, x, y: f"{x}.sub_({y}.max())",
    lambda r, x, y: f"{x}.exp_().tanh_()",
    lambda r, x, y: f"{x}.normal_()",
    lambda r, x, y: f"{x}.uniform_(0, 2)",
    lambda r, x, y: f"{x}[0] = {y}.sum()",
    lambda r, x, y: f"{x}[..., -1] += 1",
    lambda r, x, y: f"{x}.masked_fill_({x} > 1, 0.5)",
    lambda r, x, y: f"torch.add({x}, 1, out={x})",
    lambda r, x, y: f"torch.mul({x}, {y}.sum(), out={x})",
    lambda r, x, y: f"{x}.index_fill_(0, torch.tensor([0]), 3)",
)

METADATA = (
    lambda r, x: f"{x}.transpose_(0, -1)",
    lambda r, x: f"{x}.unsqueeze_(0)",
    lambda r, x: f"{x}.squeeze_()",
)

PURE = (
    lambda r, x, y: f"{x} * 2",
    lambda r, x, y: f"{x} + {y}.sum()",
    lambda r, x, y: f"{x}.clone()",
    lambda r, x, y: f"{x}.sin()",
    lambda r, x, y: f"torch.zeros_like({x})",
    lambda r, x, y: "torch.ones(2, 3)",
    lambda r, x, y: f"torch.cat([{x}.flatten(), {y}.flatten()])[:4]",
    lambda r, x, y: f"torch.where({x} > 0, {x}, {x} * 3)",
)


def program(seed, gradients=False, elements_decide=True):
    """The text of a function of two tensors, and how to make them. `elements_decide`: branches ask for elements, which vmap
    does not allow."""
    r = random.Random(seed)
    names = ["x", "y"]
    lines = []
    own = set()  # tensors whose sizes may change: made inside
    for step in range(r.randrange(3, 12)):
        name, source, other = f"v{step}", r.choice(names), r.choice(names)
        kind = r.random()
        if kind < 0.4:
            lines.append(f"{name} = {r.choice(VIEWS)(r, source)}")
            names.append(name)
        elif kind < 0.75:
            lines.append(r.choice(WRITES[:8] + WRITES[10:13] if gradients else WRITES)(r, source, other))
        elif kind < 0.8 and own:
            lines.append(r.choice(METADATA)(r, r.choice(sorted(own))))
        elif kind < 0.85:
            condition = f"{source}.flatten()[0] > 0" if elements_decide else f"{source}.dim() > 1"
            lines.append(f"if {source}.numel() and {condition}: {other}.add_(1)")
        else:
            lines.append(f"{name} = {r.choice(PURE)(r, source, other)}")
            names.append(name)
            own.add(name)
    results = r.sample(names, min(len(names), r.randrange(1, 4)))
    body = "\n".join("    " + line for line in lines)
    text = f"def f(x, y):\n{body}\n    return {', '.join(results)},\n"
    shapes = r.choice([((3, 4), (3, 4)), ((4,), (2, 2)), ((1, 5), (5,)), ((2, 3, 2), (1,)), ((5, 5), (3,))])
    alias = r.random()
    return text, shapes, alias


def arguments(shapes, alias, gradients=False):
    torch.manual_seed(1)
    x, y = (torch.randn(shape) for shape in shapes)
    if gradients:
        x, y = x.requires_grad_(), y.requires_grad_()
        return (x, y), (x * 1, y * 1)
    if alias < 0.1:
        y = x[0]
    elif alias < 0.15:
        y = x
    elif alias < 0.25 and x.dim() > 1:
        x = x.transpose(0, 1)
    elif alias < 0.35 and x.dim() > 1:
        x = torch.randn(*shapes[0][:-1], shapes[0][-1] * 2)[..., ::2]
    return (x, y), (x, y)


def compile_text(text):
    scope = {"torch": torch}
    exec(text, scope)  # the program that was just made
    return scope["f"]


def check(seed):
    text, shapes, alias = program(seed)
    function = compile_text(text)
    expected = Outcome(function, arguments(shapes, alias)[1])
    found = Outcome(cresset.functionalize(function), arguments(shapes, alias)[1])
    if refused(found):
        return "refused", text
    told = differences(expected, found)
    return ("differs", text + "\n" + "\n".join(told)) if told else ("equal", text)


CONTEXTS = {
    "inference mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "no gradients": torch.no_grad,
}


def check_contexts(seed):
    """In modes of the thread, around the call and, with other seeds, around what makes the arguments."""
    text, shapes, alias = program(seed)
    function = compile_text(text)
    for name, context in CONTEXTS.items():

        def run(form, context=context):
            with context() if seed % 2 else contextlib.nullcontext():
                given = arguments(shapes, alias)[1]
            with context():
                return Outcome(form, given)

        expected, found = run(function), run(cresset.functionalize(function))
        if refused(found):
            return "refused", text
        told = differences(expected, found)
        kinds = [[t.is_inference() for t in outcome.tensors] for outcome in (expected, found)]
        if told or kinds[0] != kinds[1]:
            return "differs", "\n".join([text, name, *told, str(kinds)])
    return "equal", text


def check_vmap(seed):
    """Under vmap of both arguments, with the transform within and around. What vmap itself refuses says nothing."""
    text, shapes, _ = program(seed, gradients=True, elements_decide=False)  # without random numbers
    function = compile_text(text)

    def mapped(form):
        torch.manual_seed(1)
        x, y = (torch.randn(2, *shape) for shape in shapes)
        return Outcome(form, (x, y))

    expected = mapped(torch.vmap(function))
    if expected.error is not None:
        return "refused", text
    for form in (torch.vmap(cresset.functionalize(function)), cresset.functionalize(torch.vmap(function))):
        found = mapped(form)
        if refused(found):
            return "refused", text
        # Whether results of vmap are views of others is not compared: vmap's own operators make them.
        if found.error is not None or [b[:3] for b in expected.bits] != [b[:3] for b in found.bits]:
            return "differs", text + f"\n{found.error!r}\n{expected.bits} and {found.error or found.bits}"
    return "equal", text


def refused(outcome):
    return isinstance(outcome.error, cresset.UserError) and "cresset.functionalize" in str(outcome.error)


def gradients(function, shapes, alias):
    leaves, given = arguments(shapes, alias, gradients=True)
    outcome = Outcome(function, given)
    if outcome.error is not None:
        return outcome, None
    try:
        total = sum(
            (t.double().abs().sum() for t in outcome.tensors if t.requires_grad), torch.zeros((), dtype=torch.double)
        )
        # By the leaves, and by what comes in and out, which is on the same tape.
        by = [*leaves, *(tensor for tensor in outcome.tensors if tensor.requires_grad)]
        grads = torch.autograd.grad(total, by, allow_unused=True) if total.requires_grad else [None] * len(by)
    except RuntimeError as error:
        return outcome, str(error)[:100]
    return outcome, grads


def place(tensor):
    """Where a tensor is in autograd."""
    try:
        return tensor._version, tensor.is_leaf, tensor._is_view(), tensor.retains_grad
    except RuntimeError as error:
        return str(error)[:100]


def check_gradients(seed):
    text, shapes, alias = program(seed, gradients=True)
    function = compile_text(text)
    expected, grads = gradients(function, shapes, alias)
    found, found_grads = gradients(cresset.functionalize(function), shapes, alias)
    if refused(found):
        return "refused", text
    told = differences(expected, found)
    if isinstance(grads, str) and "its base or another view" in grads:
        return "erased", text  # autograd's error is about views that eager can't make again
    places, found_places = ([place(tensor) for tensor in o.tensors] for o in (expected, found))
    if not told and places != found_places:
        told.append(f"places: {places} and {found_places}")
    if not told and isinstance(grads, str) != isinstance(found_grads, str):
        told.append(f"backward: {grads} and {found_grads}")
    elif not told and grads is not None and not isinstance(grads, str):
        for a, b in zip(grads, found_grads, strict=True):
            if (a is None) != (b is None) or (a is not None and not torch.allclose(a, b, atol=1e-6, equal_nan=True)):
                told.append(f"gradients: {a} and {b}")
    return ("differs", text + "\n" + "\n".join(told)) if told else ("equal", text)


# ---- Programs of graphs: scripts

VIEW_STEPS = ["{}[0]", "{}[-1]", "{}[1:]", "{}[::2]", "{}.t()", "{}.unsqueeze(0)", "{}.view(-1)", "{}.diagonal()", "{}.unbind(0)[0]",
              "{}.transpose(0, -1)", "{}.chunk(2)[0]", "{}.squeeze()", "{}.unbind(0)[n - 2]", "{}.chunk(2)[1 - n]",
              "{{'k': {}}}['k']", "[{}][0]"]  # fmt: skip
#: What loops go through.
PIECES = ["chunk(2)", "unbind(0)", "split(1)", "tensor_split(3)"]
WRITE_STEPS = ["{}.add_(1)", "{}.mul_(2)", "{}.copy_({}.sum())", "{}.neg_()", "{}.fill_(3)", "{}.add_({}.mean())",
               "{}.clamp_(0, 50)", "{}.masked_fill_({} > 20, 7)"]  # fmt: skip
#: Those of which autograd keeps what they write, or what it becomes.
KEEPING_STEPS = ["{}.mul_({}.mean())", "{}.div_(2 + {}.mean().abs())", "{}.sigmoid_()", "{}.tanh_()", "{}.square_()", "{}.relu_()",
                 "{}.addcmul_({}.mean(), torch.ones(()))", "{}.clamp_min_({}.mean())"]  # fmt: skip
#: Those that functional calls take, and those that make a tensor a view of itself.
OTHER_STEPS = ["torch.sub({0}, 1, out={0})", "torch.exp2({1}, out={0})", "{}.pow_(2)", "{}.unsqueeze_(0)", "{}.t_()", "{}.squeeze_()",
               "{}.transpose_(0, -1)", "torch._foreach_neg_([{0}])", "torch._foreach_add_([{0}, {1}], 1)"]  # fmt: skip


def random_program(seed, writes=WRITE_STEPS, more="", no_grad=0.0, views=VIEW_STEPS):
    """The script of a function of a 4×4 tensor, a bool and a number, with views, writes, branches and loops; `more`: a
    further tensor that it takes and uses; `no_grad`: how many of its lines begin a block without gradients."""
    rng = random.Random(seed)
    further = f", {more}: Tensor" if more else ""
    lines = [f"def f(x: Tensor, c: bool, n: int{further}):", f"  t0 = {rng.choice(['x * 1', 'x', 'x.t() * 2'])}"]
    count = 1

    def block(indent, names, depth, length):
        nonlocal count
        names = list(names)
        for _ in range(length):
            pad = "  " * indent
            if no_grad and depth < 2 and rng.random() < no_grad:
                lines.append(f"{pad}with torch.no_grad():")
                names = block(indent + 1, names, depth + 1, rng.randint(1, 4))
                continue
            kind, name = rng.random(), rng.choice(names)
            if kind < 0.4:
                lines.append(f"{pad}t{count} = {rng.choice(views).format(name)}")
                names.append(f"t{count}")
                count += 1
            elif kind < 0.75:
                lines.append(pad + rng.choice(writes).format(name, rng.choice(names)))
            elif kind < 0.85 or depth == 2:
                lines.append(f"{pad}t{count} = {name} * 2")
                names.append(f"t{count}")
                count += 1
            elif kind < 0.93:
                joined, count = f"t{count}", count + 1
                for condition in ("if c", "else"):
                    lines.append(f"{pad}{condition}:")
                    inner = block(indent + 1, names, depth + 1, rng.randint(1, 4))
                    made = rng.choice([name, f"{rng.choice(inner)} * 3", f"{name}.neg()", inner[-1]])
                    lines.append(f"{pad}  {joined} = {made}")
                names.append(joined)
            else:
                over_pieces, variable, count = rng.random() < 0.5, f"i{count}", count + 1
                lines.append(f"{pad}for {variable} in {f'{name}.{rng.choice(PIECES)}' if over_pieces else 'range(n)'}:")
                block(indent + 1, [*names, variable] if over_pieces else names, depth + 1, rng.randint(1, 4))
        return names

    names = block(1, ["t0", "x", more] if more else ["t0"], 0, rng.randint(3, 10))
    lines.append("  return (" + ", ".join(names[-4:]) + ",)")
    return "\n".join(lines) + "\n"


#: Of two 4×4 tensors, the arguments of a program.
SHARED = (
    lambda x, y: (x, y),
    lambda x, y: (x, x),
    lambda x, y: (x, x[1]),
    lambda x, y: (x, x.t()),
    lambda x, y: (x, x.view(-1)),
    lambda x, y: (x[:3], x[1:]),
    lambda x, y: (x[0], x),
    lambda x, y: (x[:2], x[2:]),
    lambda x, y: (x, x.detach()),
)
#: Eager PyTorch's errors about mutation itself, which functional programs do not raise (docs/functionalization.md).
ERASED = (
    "refer to a single memory location",
    "is a view and is being modified inplace",
    "or another view of its base has been modified inplace",
    "has been modified by an inplace operation",
    "one of the variables needed for gradient computation has been modified",
    "Such functions do not allow the output views to be modified inplace",
)
RESIZED = "changed the sizes of a tensor that it writes to"  # raised instead


FUNCTIONAL, REINPLACED = 1, 2  # among the forms


IMPORTS = "from torch import Tensor\n"


def graph_forms(text, distinct_inputs=False):
    """Of a program as Python runs it: a script, functionalized, reinplaced."""
    plain = cresset.CompilationUnit(text).f
    graph = plain.inlined_graph.copy()
    cresset.passes.functionalize(graph, distinct_inputs=distinct_inputs)
    functional = cresset.function_from_graph("functional", graph.copy())
    cresset.passes.reinplace(graph, distinct_inputs=distinct_inputs)
    return plain, functional, cresset.function_from_graph("reinplaced", graph)


def without_numbers(error):
    """An error of autograd, which names nodes that eager and Cresset number otherwise: MulBackward0."""
    return re.sub(r"Backward\d", "Backward", str(error))


def says(error, texts):
    return error is not None and any(text in str(error) for text in texts)


def check_graph(seed):
    text = random_program(seed, WRITE_STEPS + OTHER_STEPS if seed % 2 else WRITE_STEPS, more="y")
    forms = graph_forms(text)
    end = "equal"
    for choice in (True, False):
        outcomes = []
        for form in (compile_text(IMPORTS + text), *forms):
            x, y = SHARED[seed % len(SHARED)](torch.arange(16.0).view(4, 4), torch.arange(16.0, 32.0).view(4, 4))
            outcomes.append(Outcome(form, (x, choice, 2, y)))
        expected = outcomes[0]
        if says(expected.error, ERASED) or any(says(found.error, (RESIZED,)) for found in outcomes[1:]):
            end = "erased"
            continue
        if expected.error is not None:  # what is raised before an argument is written leaves it
            if any(found.error is None for found in outcomes[1:]):
                return "differs", text + f"\n{expected.error!r}"
            end = "raised"
            continue
        told = [line for found in outcomes[1:] for line in differences(expected, found, ("bits", "memory"))]
        if told:
            return "differs", text + "\n" + "\n".join(told)
    return end, text


#: In which programs run; what they are given, and what writes they have besides.
GRAPH_CONTEXTS = {
    "inference": (torch.inference_mode, []),
    "autocast": (lambda: torch.autocast("cpu", torch.bfloat16), ["{}.add_(torch.mm(y, y.t()).mean())", "{}.mul_(torch.matmul(y, y[0]).sum())"]),
    "channels last": (contextlib.nullcontext, ["{}.add_({}.amax())"]),
    "no gradients": (torch.no_grad, []),
}  # fmt: skip


def with_four_dims(text):
    """The program as one of tensors of four dimensions in channels-last layout, which `view` and `t` do not take."""
    for old, new in ((".t()", ".transpose(0, 1)"), (".t_()", ".transpose_(0, 1)"), (".view(-1)", ".narrow(1, 1, 2)")):
        text = text.replace(old, new)
    return text


def check_graph_contexts(seed):
    """In a context; in `inference_mode` the tensors are made there, too."""
    context = list(GRAPH_CONTEXTS)[seed % len(GRAPH_CONTEXTS)]
    enter, writes = GRAPH_CONTEXTS[context]
    text = random_program(seed, WRITE_STEPS + writes, more="y")
    is_image = context == "channels last"
    if is_image:
        text = with_four_dims(text)
    forms = graph_forms(text, distinct_inputs=True)
    end = "equal"
    for choice in (True, False):
        outcomes = []
        for form in (compile_text(IMPORTS + text), *forms):
            for _ in range(1 if form is not forms[FUNCTIONAL] else 3):  # by its plan, too
                with enter():
                    x, y = torch.arange(16.0).view(4, 4), torch.arange(16.0, 32.0).view(4, 4)
                    if is_image:
                        x, y = (
                            t.view(4, 4, 1, 1).expand(4, 4, 2, 2).to(memory_format=torch.channels_last)
                            for t in (x * 1, y)
                        )
                    outcome = Outcome(form, (x, choice, 2, y))
                outcomes.append(outcome)
        expected = outcomes[0]
        if says(expected.error, ERASED):
            end = "erased"
        elif expected.error is not None:
            end = "raised"
            if any(found.error is None for found in outcomes[1:]):
                return "differs", text + f"\n{expected.error!r}"
        else:
            told = [line for found in outcomes[1:] for line in differences(expected, found, ("bits", "memory"))]
            if told:
                return "differs", f"{context}\n" + text + "\n" + "\n".join(told)
    return end, text


def gradients_of_each(form, seed, choice):
    """The outcome, and for each result the gradients of the inputs by it, or the error."""
    # Of these numbers sums are exact: those of compiled kernels are added in another order.
    leaves = [torch.arange(16.0).view(4, 4).mul(0.125).requires_grad_(), torch.ones(4, 4).requires_grad_()]
    x, y = SHARED[seed % len(SHARED)](leaves[0] * 1, leaves[1] * 1)
    outcome = Outcome(form, (x, choice, 2, y))
    grads = []
    for tensor in outcome.tensors if outcome.error is None else ():
        if not tensor.requires_grad:
            grads.append(None)
            continue
        weights = torch.arange(1.0, tensor.numel() + 1).view(tensor.shape)
        try:
            total = (tensor * weights).sum()
            grads.append(torch.autograd.grad(total, leaves, retain_graph=True, allow_unused=True))
        except RuntimeError as error:
            grads.append(error)
    return outcome, grads


def same_gradients(a, b):
    if a is None or b is None:
        return a is b
    zero = torch.zeros(())
    return all(
        torch.allclose(zero if s is None else s, zero if t is None else t, 1e-4, 1e-4, equal_nan=True)
        for s, t in zip(a, b, strict=True)
    )


def check_graph_gradients(seed):
    """By each result and argument."""
    writes = [step for step in WRITE_STEPS + KEEPING_STEPS + OTHER_STEPS if "out=" not in step]
    text = random_program(seed, writes, more="y", no_grad=(seed % 3) * 0.1)
    forms = graph_forms(text)
    end = "equal"
    for choice in (True, False):
        eager = compile_text(IMPORTS + text)
        (expected, grads), *others = [gradients_of_each(form, seed, choice) for form in (eager, *forms)]
        if says(expected.error, ERASED) or any(says(found.error, (RESIZED,)) for found, _ in others):
            end = "erased"
            continue
        if expected.error is not None:
            if any(found.error is None for found, _ in others):
                return "differs", text + f"\n{expected.error!r}"
            end = "raised"
            continue
        for number, (found, found_grads) in enumerate(others):
            # What is written in place again, autograd may have kept; a script's plan may keep more than it does.
            if number != FUNCTIONAL and says(found.error, ERASED):
                continue
            if told := differences(expected, found, ("bits", "memory")):
                return "differs", text + "\n" + "\n".join(told)
            for a, b in zip(grads, found_grads, strict=True):
                if (
                    isinstance(a, RuntimeError)
                    and isinstance(b, RuntimeError)
                    and without_numbers(a) == without_numbers(b)
                ):
                    continue
                if isinstance(a, RuntimeError) or (number != FUNCTIONAL and isinstance(b, RuntimeError)):
                    if not says(a if isinstance(a, RuntimeError) else b, ERASED):
                        return "differs", text + f"\n{a!r} and {b!r}"
                elif says(b, ERASED) and cresset.functional.writes_left(forms[0].inlined_graph):
                    # To autograd a region is one node, whose backward pass goes through what was written later, too.
                    end = "left"
                elif isinstance(b, RuntimeError) or not same_gradients(a, b):
                    return "differs", text + f"\n{number}: gradients {a} and {b}"
    return end, text


def mapped_gradients(form, choice):
    """Of vmap over both tensors: results, and gradients by both of their weighted sum, by autograd outside and by grad around."""
    x = torch.arange(32.0).view(2, 4, 4).mul(0.125)
    y = torch.ones(2, 4, 4)
    forward = Outcome(lambda x, y: torch.vmap(lambda a, b: form(a * 1, choice, 2, b * 1))(x, y), (x, y))

    def total(x, y):
        results = torch.vmap(lambda a, b: form(a * 1, choice, 2, b * 1))(x, y)
        weights = (torch.arange(1.0, t.numel() + 1).view(t.shape) for t in results)
        return sum(((t * w).sum() for t, w in zip(results, weights, strict=True)), torch.zeros(()))

    def outside(x, y):
        x, y = x.clone().requires_grad_(), y.clone().requires_grad_()
        value = total(x, y)
        if not value.requires_grad:
            return [torch.zeros_like(x), torch.zeros_like(y)]
        grads = torch.autograd.grad(value, (x, y), allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g in grads]

    return [forward, Outcome(outside, (x, y)), Outcome(torch.func.grad(total, argnums=(0, 1)), (x, y))]


def check_graph_vmap(seed):
    """Under vmap, and its gradients. What vmap itself refuses says nothing; within it, writes may be where it refuses them. Of "values" only
    those say something: autograd refuses the original's gradients."""
    # Of what autograd does not keep, and with one view for each operator, it takes gradients.
    writes = [step for step in WRITE_STEPS + KEEPING_STEPS * (seed % 2) if "masked_fill_" not in step]
    slices = ["{}[:-1]", "{}[-2:]", "{}[..., 1:9]", "{}[-3:-1]", "{}[..., 7:]", "{}.chunk(2)[-1]"]
    views = [step for step in VIEW_STEPS + slices if seed % 2 or not ("unbind" in step or "chunk" in step)]
    text = random_program(seed, writes, more="y", views=views)
    forms = graph_forms(text)
    ends = set()
    for choice in (True, False):
        expected, *others = [mapped_gradients(form, choice) for form in (compile_text(IMPORTS + text), *forms)]
        for number, found in enumerate(others):
            for a, b in zip(expected, found, strict=True):
                if a.error is not None:
                    ends.add("refused" if a is expected[0] else "values")
                    continue
                # What is written in place again, autograd may have kept, or vmap not allow.
                if number == REINPLACED and says(b.error, (*ERASED, "vmap: inplace arithmetic")):
                    continue
                if b.error is not None or not all(
                    torch.allclose(s, t, 1e-4, 1e-4, equal_nan=True)
                    for s, t in zip(flat(a.result), flat(b.result), strict=True)
                ):
                    return "differs", text + f"\n{number}: {a.result} and {b.error!r} {b.result}"
    return next((end for end in ("refused", "values") if end in ends), "equal"), text


def ends_of(check, seeds):
    """How often each end came. Raises AssertionError with the texts of the first programs that differ."""
    ends, differing = collections.Counter(), []
    for seed in seeds:
        end, text = check(seed)
        ends[end] += 1
        differing += [text] if end == "differs" else []
    assert not differing, "\n\n".join(differing[:3])
    return ends


def main(count, first, checks):
    counts = {}
    for seed in range(first, first + count):
        for one in checks:
            outcome, text = one(seed)
            counts[one.__name__, outcome] = counts.get((one.__name__, outcome), 0) + 1
            if outcome == "differs":
                print(f"{one.__name__} {seed}:\n{text}\n", flush=True)
    print(counts)
    return 1 if any(outcome == "differs" for _, outcome in counts) else 0


if __name__ == "__main__":
    cresset.options.numerics = "exact"  # as conftest.py
    graphs = "graphs" in sys.argv
    numbers = [int(argument) for argument in sys.argv[1:] if argument != "graphs"]
    checks = (
        (check_graph, check_graph_gradients, check_graph_vmap, check_graph_contexts)
        if graphs
        else (check, check_gradients, check_vmap, check_contexts)
    )
    sys.exit(main(*(numbers + [100000, 0][len(numbers) :]), checks))
