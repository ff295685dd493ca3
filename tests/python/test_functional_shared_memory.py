"""Nested live levels that take several tensors which share memory: of the level around, of its views, from outside."""

import functools
import itertools

import pytest
import torch

import cresset

F = cresset.functionalize
V = functools.partial(cresset.functionalize, remove="mutations_and_views")
LEVELS = {"F": F, "FF": lambda f: F(F(f)), "V": V, "VF": lambda f: V(F(f)), "FV": lambda f: F(V(f))}

OUTSIDE = {
    "whole": lambda t: t,
    "rows": lambda t: t[1:],
    "columns": lambda t: t[:, 1:3],
    "transposed": lambda t: t.t(),
}
VIEWS = {
    "itself": lambda t: t,
    "part": lambda t: t[1:],
    "column": lambda t: t[:, 1],
    "gaps": lambda t: t[:, ::2],
    "transposed": lambda t: t.t(),
    "flat": lambda t: t.view(-1),
    "diagonal": lambda t: t.diagonal(),
    "bits": lambda t: t.view(torch.int32),
    "detached": lambda t: t.detach(),
    "piece": lambda t: t.unbind(0)[1],
    "view of a view": lambda t: t[1:].t()[1:],
}


def write(t):
    return t.mul_(2) if t.is_floating_point() else t.bitwise_xor_(1 << 20)


def outcome(program, form):
    """What the program returns, and then after a write to each result; the error's first words if it raises."""
    try:
        results = program(form)
    except (RuntimeError, IndexError) as error:
        return str(error)[:60]
    found = [t.clone() for t in results]
    strides = [t.stride() for t in results]
    for result in results:
        write(result)
    return found, strides, [t.clone() for t in results]


def agree(program, levels):
    expected, found = outcome(program, lambda f: f), outcome(program, LEVELS[levels])
    assert isinstance(expected, str) == isinstance(found, str), (expected, found)
    if isinstance(expected, str):
        assert expected == found
        return
    assert all(torch.equal(a, b) for a, b in zip(expected[0], found[0], strict=True)), (expected[0], found[0])
    if "V" not in levels:  # where results are copies
        assert expected[1] == found[1]
        assert all(torch.equal(a, b) for a, b in zip(expected[2], found[2], strict=True)), (expected[2], found[2])


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("outside", OUTSIDE)
def test_views_that_the_level_around_has_made(outside, levels, late):
    """`late`: an inner level takes what has more of the memory than the level around has had."""

    def program(form, first, second):
        x = torch.arange(16.0).view(4, 4) + 1

        def outer(q):
            a, b = VIEWS[first](q), VIEWS[second](q)
            write(q)

            def inner(z):
                write(z)
                total = b.sum()
                write(b)
                if late:
                    write(x)
                return z * 1, total, b * 1, q + 1, b

            results = form(inner)(a)
            write(b)
            return [*results, a, q]

        return [*form(outer)(OUTSIDE[outside](x)), x]

    for first, second in itertools.product(VIEWS, VIEWS):
        agree(functools.partial(program, first=first, second=second), levels)


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("first", VIEWS)
def test_three_levels_that_take_one_more_tensor_each(first, levels):
    def program(form, second, third):
        x = torch.arange(16.0).view(4, 4) + 1

        def outer(q):
            a = VIEWS[first](q)

            def middle(z):
                b = VIEWS[second](q)
                write(z)

                def inner(y):
                    c = VIEWS[third](q)
                    write(y)
                    write(c)
                    return c * 1, y * 1, a * 1

                results = form(inner)(b)
                write(b)
                return [*results, b, z * 1]

            return [*form(middle)(a), a, q]

        return [*form(outer)(x[:]), x]

    for second, third in itertools.product(
        ["itself", "column", "transposed", "bits", "piece"], ["part", "gaps", "flat"]
    ):
        agree(functools.partial(program, second=second, third=third), levels)


@pytest.mark.parametrize("levels", LEVELS)
def test_complex_parts_that_nested_levels_share(levels):
    parts = {
        "real": lambda t: t.real,
        "imag": lambda t: t.imag[1:],
        "pairs": torch.view_as_real,
        "conj": lambda t: t.conj(),
        "negative": lambda t: t.conj().imag,
        "itself": lambda t: t,
    }

    def program(form, first, second):
        x = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1)

        def outer(q):
            a, b = parts[first](q), parts[second](q)

            def inner(z):
                z.mul_(2)
                b.add_(1)
                return z * 1, b * 1

            return [*form(inner)(a), a.resolve_conj() * 1]

        return [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in [*form(outer)(x), x]]

    for first, second in itertools.product(parts, parts):
        expected, found = program(lambda f: f, first, second), program(LEVELS[levels], first, second)
        assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True)), (first, second, expected, found)


@pytest.mark.parametrize("levels", LEVELS)
def test_an_inner_level_that_raises(levels):
    def program(form):
        x = torch.arange(4.0)

        def inner(z):
            z.mul_(5)
            raise ValueError

        def outer(q):
            part, other = q[1:], q[:2]
            q.add_(1)
            with pytest.raises(ValueError):  # noqa: PT011
                form(lambda z: (other.sum(), inner(z)))(part)
            part.add_(10)
            return part * 1, other * 1

        return [*form(outer)(x), x]

    agree(program, levels)


@pytest.mark.parametrize("levels", ["F", "FF"])
def test_memory_that_an_inner_level_gives_away(levels):
    """An array of one tensor sees what is written to another one with its memory."""

    def program(form):
        x = torch.arange(6.0)
        arrays = []

        def outer(q):
            a, b = q[1:], q[:3]

            def inner(z):
                b.add_(1)
                arrays.append(z.numpy())
                b.mul_(2)
                return torch.from_numpy(arrays[0]) * 1

            return form(inner)(a), a * 1

        return [*form(outer)(x), x, torch.from_numpy(arrays[0])]

    expected, found = program(lambda f: f), program(LEVELS[levels])
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True)), (expected, found)


@pytest.mark.parametrize("levels", ["F", "FF", "FFF"])
@pytest.mark.parametrize("view", [lambda t: t.squeeze(), lambda t: t[1:], lambda t: t.view(2, 2)])
def test_recorded_views_of_views_made_without_gradients(view, levels):
    form = {**LEVELS, "FFF": lambda f: F(F(F(f)))}[levels]

    def program(form):
        leaf = torch.arange(4.0).requires_grad_()

        def body(x):
            with torch.no_grad():
                unrecorded = x.view(-1)
            return unrecorded, view(unrecorded)

        unrecorded, recorded = form(body)(leaf * 1)
        node = type(recorded.grad_fn).__name__
        with pytest.raises(RuntimeError, match="no_grad"):
            recorded.add_(1)
        return node, recorded.is_leaf, recorded.requires_grad, unrecorded.is_leaf

    assert program(lambda f: f) == program(form)


@pytest.mark.parametrize("levels", ["F", "FF", "FFF"])
def test_pieces_of_views_in_levels_within_levels(levels):
    """What a level emits for a composite operator of one further inside is none of that one's program."""
    form = {**LEVELS, "FFF": lambda f: F(F(F(f)))}[levels]

    def program(form):
        w = torch.tensor(1.5, requires_grad=True)

        def outer(q):
            view = q.view_as(q)
            q.mul_(w)

            def inner(z):
                piece = view.chunk(2)[0]
                with torch.no_grad():
                    view.add_(view)
                return z, piece.shape[0] * z

            return [*form(inner)(q), view]

        results = form(outer)(torch.arange(3.0) + 1)
        return [*results, *torch.autograd.grad(sum(r.sum() for r in results), w)]

    expected, found = program(lambda f: f), program(form)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True)), (expected, found)


BITS = {
    "conj": lambda t: t.conj(),
    "transposed conj": lambda t: t.mH,
    "negative": torch._neg_view,
    "itself": lambda t: t,
    "part": lambda t: t[:, :1].conj(),
}


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("levels", ["F", "FF"])
@pytest.mark.parametrize("second", BITS)
@pytest.mark.parametrize("first", BITS)
def test_conjugate_and_negative_views_from_outside(first, second, levels, batched):
    def program(form):
        leaf = torch.complex(torch.arange(4.0), torch.arange(4.0) + 1).view(2, 2).requires_grad_()
        a, b = BITS[first](leaf), BITS[second](leaf)
        run = form(lambda y: (y * a[:, :1], a.sum() * y.sum(), b * 1))
        if batched:
            run = torch.vmap(run, in_dims=0)
        results = run(torch.stack([b, b]) if batched else b)
        loss = sum(r.real.sum() * (i + 1) for i, r in enumerate(results))
        (gradient,) = torch.autograd.grad(loss, leaf)
        x = leaf.detach().clone()
        c, d = BITS[first](x), BITS[second](x)
        written = form(lambda y: (d * 1, y.add_(1j), d * 1, d.mul_(2), y * 1))(c)
        return [t.resolve_conj().resolve_neg() for t in (*results, gradient, *written, x)]

    expected, found = program(lambda f: f), program(LEVELS[levels])
    for a, b in zip(expected, found, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("levels", ["V", "VF"])
def test_conjugate_views_of_other_tensors_from_outside_without_views(levels):
    x = torch.tensor([1 + 2j])
    with pytest.raises(cresset.UserError, match="conjugate or negative view"):
        LEVELS[levels](lambda y, z: y * z)(x, x.conj())


@pytest.mark.parametrize("levels", ["F", "FF", "FFF", "FFFF"])
@pytest.mark.parametrize(
    "view",
    [lambda t: t.imag, lambda t: t.real, torch.view_as_real, lambda t: t.conj(), torch._neg_view, lambda t: t[1:]],
)
def test_recorded_writes_to_views_that_autograd_makes_again(view, levels):
    """By the view's own function, for which the program is asked that has the view."""

    def program(form):
        def all_levels(f):
            for _ in levels:
                f = form(f)
            return f

        leaf = torch.complex(torch.ones(2, 2), torch.zeros(2, 2)).requires_grad_()

        def within(x):
            x = x * 1
            all_levels(lambda q: q.add_(1))(view(x))
            return x

        def outside(x):
            x = x * 1
            all_levels(lambda q: q.mul_(2))(view(x))
            return x

        def next_level(x):
            x = x * 1
            all_levels(lambda y: all_levels(lambda z: z.mul_(3))(view(y)))(x)
            return x

        results = []
        for f in (form(within), outside, next_level):
            x = f(leaf)
            results += [x.detach(), *torch.autograd.grad(torch.view_as_real(x).sum(), leaf)]
        return results

    expected, found = program(lambda f: f), program(F)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True)), (expected, found)


@pytest.mark.parametrize("levels", ["F", "FF"])
def test_writes_to_expanded_tensors_and_as_strided_of_gaps(levels):
    def expanded(form):
        x = torch.arange(4.0).reshape(2, 2)
        wide = x.expand(2, 2, 2)
        form(lambda _: wide.zero_())(1)
        return x

    def gaps(form):
        x = torch.arange(8.0).reshape(2, 4)
        part = x[:, ::2]
        return form(lambda y: y.as_strided(y.shape, y.stride(), y.storage_offset()).add_(1))(part), x

    for program in (expanded, gaps):
        expected, found = list(program(lambda f: f)), list(program(LEVELS[levels]))
        assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True)), (expected, found)


@pytest.mark.parametrize("levels", ["F", "FF"])
def test_pieces_that_are_written_without_gradients(levels):
    """Autograd can't make them again, and need not: what takes them is not recorded."""

    def program(form):
        x = torch.ones(3, requires_grad=True) * 1

        def body(_):
            piece = x.split(1)[-1]

            def inner(q):
                with torch.no_grad():
                    piece.mul_(2)
                return q * 0 + piece.detach()

            return form(inner)(x)

        return form(body)(x)

    assert torch.equal(program(lambda f: f), program(LEVELS[levels]))


@pytest.mark.parametrize("levels", ["F", "FF"])
@pytest.mark.parametrize("around", [lambda f: f, F])
def test_as_strided_of_shared_memory_is_a_view_for_autograd(around, levels):
    def program(form, around):
        w = torch.tensor(2.0, requires_grad=True)

        def body(y):
            y = y * 1
            part = y[:2]
            result = form(lambda d: (d.add_(1), part.as_strided((1,), (1,), 0))[1])(y)
            result.mul_(w)
            return y * 1

        result = around(body)(torch.arange(4.0) + 1)
        return result, *torch.autograd.grad(result.sum(), w)

    expected, found = program(lambda f: f, lambda f: f), program(LEVELS[levels], around)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True)), (expected, found)
