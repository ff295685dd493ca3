"""Python that is not in the language. Each bad_… program is rejected at the line with the comment, for that reason."""

import torch
from torch import Tensor


def bad_try(x: Tensor):
    try:  # error: try blocks aren't supported; test for the error's cause with 'if' before the call
        return x + 1
    except RuntimeError:
        return x


def bad_try_finally(x: Tensor):
    y = x
    try:  # error: try blocks aren't supported; test for the error's cause with 'if' before the call
        y = x + 1
    finally:
        y = x
    return y


def bad_lambda(x: Tensor):
    f = lambda y: y + 1  # error: Lambda aren't supported; write a function with def  # noqa: E731
    return f(x)


def bad_lambda_argument(xs: list[int]):
    return sorted(xs, key=lambda v: -v)  # error: Lambda aren't supported; write a function with def


def bad_yield(x: Tensor):
    yield x  # error: Yield aren't supported; append to a list and return it


def bad_yield_from(xs: list[int]):
    yield from xs  # error: Yield aren't supported; append to a list and return it


async def bad_async(x: Tensor):  # error: async functions, loops and 'with' aren't supported; use torch.jit.fork
    return x


def bad_nested_function(x: Tensor):
    def inner(y: Tensor):  # error: function definitions aren't supported inside a function; move it out and pass what it uses as arguments
        return y

    return inner(x)


def bad_nested_function_without_parameters(x: Tensor):
    def inner():  # error: function definitions aren't supported inside a function; move it out and pass what it uses as arguments
        return x

    return inner()


def bad_nested_class(x: Tensor):
    class C:  # error: class definitions aren't supported inside a function; move it out
        pass

    return x


def bad_import(x: Tensor):
    import math  # error: import statements aren't supported inside a program; import outside of it

    return x * math.pi


def bad_import_from(x: Tensor):
    from math import pi  # error: import statements aren't supported inside a program; import outside of it

    return x * pi


COUNT = 0


def bad_global(x: Tensor):
    global COUNT  # error: global variables aren't supported; pass the value as an argument, or keep it in an attribute
    COUNT += 1
    return x


def make_nonlocal():
    count = 0

    def bad(x: Tensor):
        nonlocal count  # error: nonlocal variables aren't supported; pass the value as an argument and return it
        count += 1
        return x

    return bad


bad_nonlocal = make_nonlocal()


def bad_walrus(x: int):
    if (y := x + 1) > 2:  # error: NamedExpr aren't supported; assign on a line of its own
        return y
    return x


def bad_match(x: int):
    match x:  # error: 'match' statements are not supported; write if and elif
        case 1:
            return 2
    return 3


def bad_varargs(*xs: Tensor):  # error: Compiled functions can't take variable number of arguments: '*' parameters are not supported; pass a list
    return xs[0]


def bad_kwargs(x: Tensor, **options: int):  # error: Compiled functions can't take variable number of arguments: '**' parameters are not supported; write the parameters one by one
    return x


def bad_positional_only(x: Tensor, /, y: Tensor):  # error: positional-only parameters are not supported; leave out the '/'
    return x + y


def bad_set(x: int):
    s = {1, 2, x}  # error: Set aren't supported; use a list or a dict
    return x in s


def bad_set_comprehension(xs: list[int]):
    return len({x % 2 for x in xs})  # error: set comprehensions are not supported; write a list comprehension: [… for … in …]


def bad_bytes(x: Tensor):
    y = b"abc"  # error: bytes literals are not supported; TorchScript has only str: leave out the prefix b
    return y


def bad_starred_dict(a: dict[str, int]):
    return {**a, "b": 1}  # error: Dict expansion ('**') is not supported; use dict.update


def bad_double_star_call(x: Tensor, options: dict[str, float]):
    return torch.add(x, x, **options)  # error: keyword-arg expansion is not supported; write the keyword arguments one by one


def bad_for_else(xs: list[int]):
    for x in xs:
        if x > 1:
            break
    else:  # error: else branches of for loops aren't supported; set a variable before 'break' and test it
        return 0
    return 1


def bad_while_else(x: int):
    while x > 0:
        x -= 1
    else:  # error: else branches of while loops aren't supported; set a variable before 'break' and test it
        x = 1
    return x


def bad_bare_raise(x: int):
    if x > 0:
        raise  # error: a 'raise' without an exception is not supported; write raise and the exception
    return x


def bad_delete_attribute(x: Tensor):
    del x.grad  # error: del statements are only supported for deleting list and dict items and variables
    return x


def bad_type_statement(x: int):
    y: int  # a declaration only
    return y  # error: undefined value y


def bad_matmul_of_lists(x: list[int]):
    return x @ x  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'List[int]'.


def bad_imaginary_float(x: float):
    return x + 1j + "s"  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'complex'.


def bad_ellipsis_value(x: Tensor):
    return ...  # error: '...' can't be used as a value


def bad_slice_value(x: Tensor):
    return slice(0, 1)  # error: a slice can't be used as a value


def bad_print_keyword(x: Tensor):
    print(x, end="")  # error: print doesn't accept any keyword arguments
    return x


def bad_assign_to_call(x: Tensor):
    x.view(-1)[0] = 1
    (x + 1)[0] = 2
    x.shape[0] = 3  # fine: a list
    x.size()[0], y = 1, 2
    z[0] = 1  # error: undefined value z  # noqa: F821
    return y


def bad_unicode_name(x: Tensor):
    größe = 1  # error: invalid character 'ö' (U+00F6); names and operators are written in ASCII
    return x + größe


def bad_await(x: Tensor):
    return awaited(x)  # error: undefined value awaited  # noqa: F821


bad_lambda_itself = lambda x: x + 1  # error: Expected a single top-level function: a lambda can't be compiled; write a function with def  # noqa: E731


def bad_augmented_tuple(x: int):
    a = (1, 2)
    a += (x,)
    a -= (x,)  # error: Expected a value of type 'Tensor' for argument 'self' but instead found type 'Tuple[int, int, int]'.
    return a
