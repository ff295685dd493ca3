"""Live functionalization of programs whose tensors and NumPy arrays are one memory: each sees what is written to the others."""

import numpy as np
import pytest
import torch

import cresset


def without_views(f):
    return cresset.functionalize(f, remove="mutations_and_views")


def chained(*forms):
    def form(f):
        for each in forms:
            f = each(f)
        return f

    return form


F, V = cresset.functionalize, without_views
FORMS = {
    "F": F,
    "V": V,
    "FF": chained(F, F),
    "FV": chained(V, F),
    "VF": chained(F, V),
    "VV": chained(V, V),
    "FFF": chained(F, F, F),
}


def array_of_an_argument_read(x):
    t = torch.as_tensor(x.numpy())
    x.mul_(2)
    return t * 1


def array_of_an_argument_written(x):
    t = torch.as_tensor(x.numpy())
    t.mul_(2)
    return x * 1


def both_are_written(x):
    t = torch.as_tensor(x.numpy())
    x.mul_(2)
    t.add_(1)
    return x * 1


def array_of_a_value(x):
    y = x * 1
    t = torch.from_numpy(y.numpy())
    y.mul_(2)
    t.add_(1)
    return y * 1, t * 1


def array_that_numpy_writes(x):
    y = x * 1
    a = y.numpy()
    a += 1
    t = torch.from_numpy(a)
    a[0] = 7
    return y * 1, t * 1


def array_that_the_program_reads(x):
    a = np.zeros(3, np.float32)
    t = torch.from_numpy(a)
    t.add_(x)
    first = a.sum().item()
    t[1:].mul_(2)
    return first, a.sum().item()


def two_tensors_of_an_array(x):
    a = np.zeros(3, np.float32)
    t, u = torch.from_numpy(a), torch.from_numpy(a)
    t.add_(x)
    v = u * 1
    u[0] = 5
    return v, t * 1


def parts_of_an_array(x):
    a = np.zeros(3, np.float32)
    t, u = torch.from_numpy(a), torch.from_numpy(a)[1:]
    t.add_(x)
    u.mul_(5)
    t[0] = 9
    a[2] = 4
    return torch.from_numpy(a) * 1 + t, u * 1


def replay_memory(x):
    buffer = np.zeros((4, 3), np.float32)
    for i in range(3):
        torch.from_numpy(buffer)[i] = x * i
    return torch.from_numpy(buffer).mean(0), torch.from_numpy(buffer[1:3]).sum()


def bytes_of_a_value(x):
    y = x.clone()
    t = torch.frombuffer(memoryview(y.numpy()), dtype=torch.float32)
    t += 2
    y += 1
    return t * 1, y * 1


PROGRAMS = [
    array_of_an_argument_read,
    array_of_an_argument_written,
    both_are_written,
    array_of_a_value,
    array_that_numpy_writes,
    array_that_the_program_reads,
    two_tensors_of_an_array,
    parts_of_an_array,
    replay_memory,
    bytes_of_a_value,
]


def same(expected, seen):
    if isinstance(expected, tuple):
        return len(expected) == len(seen) and all(map(same, expected, seen))
    return torch.equal(expected, seen) if isinstance(expected, torch.Tensor) else expected == seen


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_tensors_and_arrays_of_one_memory(program, form):
    plain, x = torch.arange(1.0, 4.0), torch.arange(1.0, 4.0)
    expected, seen = program(plain), FORMS[form](program)(x)
    assert same(expected, seen), (expected, seen)
    assert torch.equal(plain, x)


@pytest.mark.parametrize("form", FORMS)
def test_arguments_of_one_array(form):
    array = np.ones(3, np.float32)

    def program(x, y):
        x.mul_(2)
        z = y * 1
        y[1:].add_(3)
        return z, x * 1

    expected = program(torch.from_numpy(array.copy()), torch.ones(3))
    x, y = torch.from_numpy(array), torch.from_numpy(array)
    z, seen = FORMS[form](program)(x, y)
    assert torch.equal(z, torch.full((3,), 2.0))
    assert torch.equal(seen, torch.tensor([2.0, 5.0, 5.0])) and array.tolist() == [2, 5, 5]
    assert len(expected) == 2
