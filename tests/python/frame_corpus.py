"""Functions for the cut-point suite (test_frames.py): each takes a list that it may write what happens into.

`FUNCTIONS` has them by name. Short ones stand as text, one idea each, so that a version of Python that lacks the syntax
skips them (`SOURCES_311` and so on). No torch: the suite runs on Pythons that have none.
"""

import sys
import textwrap
import warnings

SUPPORT = '''
import sys, warnings, contextlib, functools, itertools, collections, dataclasses, enum, traceback, asyncio, weakref

class Tracked:
    live = 0
    def __init__(self, name="", log=None):
        self.name = name
        self.log = log
        Tracked.live += 1
    def __del__(self):
        Tracked.live -= 1
        if self.log is not None: self.log.append("del " + self.name)

class Manager:
    def __init__(self, log, suppress=False, value="entered"):
        self.log, self.suppress, self.value = log, suppress, value
    def __enter__(self):
        self.log.append("enter")
        return self.value
    def __exit__(self, kind, value, traceback):
        self.log.append(("exit", kind and kind.__name__, str(value), traceback and traceback.tb_lineno))
        return self.suppress

class Failing:
    def __enter__(self): raise KeyError("enter")
    def __exit__(self, *a): return True
class FailingExit:
    def __enter__(self): return self
    def __exit__(self, *a): raise IndexError("exit")

class Loud:
    """Every operation is written down."""
    def __init__(self, log, n=3): self.log, self.n = log, n
    def note(self, *a): self.log.append(a); return a[-1]
    def __getattr__(self, name):
        if name.startswith("_"): raise AttributeError(name)
        return self.note("getattr", name)
    def __setattr__(self, name, value):
        if name not in ("log", "n"): self.log.append(("set", name, value))
        object.__setattr__(self, name, value)
    def __delattr__(self, name): self.log.append(("delattr", name)); object.__delattr__(self, name)
    def __getitem__(self, key): return self.note("getitem", repr(key))
    def __setitem__(self, key, value): self.log.append(("setitem", repr(key), value))
    def __delitem__(self, key): self.log.append(("delitem", repr(key)))
    def __len__(self): return self.note("len", self.n)
    def __bool__(self): return self.note("bool", self.n > 2)
    def __iter__(self): self.log.append("iter"); return iter(range(self.n))
    def __contains__(self, x): return self.note("contains", x == 1)
    def __call__(self, *a, **k): return self.note("call", a, tuple(k.items()))
    def __add__(self, o): return self.note("add", o)
    def __radd__(self, o): return self.note("radd", o)
    def __iadd__(self, o): self.log.append(("iadd", o)); return self
    def __neg__(self): return self.note("neg", 1)
    def __pos__(self): return self.note("pos", 1)
    def __invert__(self): return self.note("invert", 1)
    def __eq__(self, o): return self.note("eq", o == 3)
    __hash__ = None
    def __lt__(self, o): return self.note("lt", "text")
    def __matmul__(self, o): return self.note("matmul", o)
    def __format__(self, spec): return "<" + spec + ">"
    def __repr__(self): return "Loud"

class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y

class Base:
    kind = "base"
    def greet(self, name="you"): return "hello " + name
    @property
    def prop(self): return [self.kind]
    @classmethod
    def make(cls): return cls()
    @staticmethod
    def plain(x): return x * 2

def simple(a, b=2, *rest, c=3, **named): return (a, b, rest, c, sorted(named.items()))
def thrower(x):
    if x > 1: raise ValueError("thrower", x)
    return x
def numbers(n):
    for i in range(n): yield i
def inner_frame(): return sys._getframe(1).f_code.co_name, sys._getframe(1).f_lineno
GLOBAL = 7
COUNTER = 0
'''

# One function each: the name, then its body.
SOURCES = (
    r"""
== constant
return 42
== arithmetic
a, b = 7, 3
return a + b, a - b, a * b, a / b, a // b, a % b, a ** b, a << b, a >> b, a & b, a | b, a ^ b, -a, +a, ~a, not a
== in_place
a = 7
a += 1; a -= 2; a *= 3; a /= 2; a //= 1; a %= 5; a **= 2
b = 12
b <<= 2; b >>= 1; b &= 14; b |= 1; b ^= 2
return a, b
== matmul
l = Loud(log)
return l @ 3
== matmul_in_place
l = Loud(log)
l @= 4
return l
== loud_operators
l = Loud(log)
return l + 1, 2 + l, -l, +l, ~l, l == 3, l < 3, l != 2
== loud_in_place
l = Loud(log)
l += 5
return l is not None
== comparisons
return 1 < 2, 1 <= 1, 1 == 2, 1 != 2, 3 > 4, 3 >= 3, 1 < 2 < 3, 3 > 2 > 5
== identity
x = []
return x is x, x is not [], None is None, x is None
== contains
return 1 in [1], 2 not in (1, 2), "a" in "abc", "k" in {"k": 1}, 5 in {1, 2}
== contains_loud
return 1 in Loud(log), 2 not in Loud(log)
== boolean_chain
a, b, c = 0, "x", []
return a or b or c, a and b, b and c, not (a or b), (a or c) and b
== boolean_loud
l = Loud(log)
return bool(l and 1), (l or 2) is l, not l
== conditional
return "yes" if log == [] else "no"
== if_elif
out = []
for x in range(5):
    if x == 0: out.append("zero")
    elif x % 2: out.append("odd")
    else: out.append("even")
return out
== if_none
def pick(x):
    if x is None: return "none"
    if x is not None and x: return "some"
    return "empty"
return pick(None), pick(1), pick(0)
== none_jumps
out = []
for x in (None, 1, None, 2):
    if x is None: continue
    while x is not None:
        out.append(x)
        x = None
return out
== while_loop
n = 0
while n < 7:
    n += 1
    if n == 3: continue
    if n == 6: break
else: n = 100
return n
== while_else
n = 0
while n < 3: n += 1
else: n += 10
return n
== for_else
for i in range(3):
    if i == 5: break
else: return "else", i
== for_break
for i in range(10):
    if i == 4: break
else: i = -1
return i
== nested_loops
out = []
for i in range(3):
    for j in range(i):
        if j == 1: break
        out.append((i, j))
return out
== loop_over_dict
d = {"a": 1, "b": 2}
out = []
for k, v in d.items(): out.append(k * v)
for k in d: out.append(k)
return out
== loop_over_loud
return [x for x in Loud(log)]
== loop_over_string
out = ""
for c in "abc": out = c + out
return out
== loop_mutates
items = [1, 2, 3]
for x in items:
    if len(items) < 6: items.append(x * 10)
return items
== loop_dict_changes
d = {1: 1}
for k in d: d[k + 1] = 0
== iterator_raises
class It:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        self.n += 1
        if self.n == 3: raise OSError("next")
        return self.n
out = []
try:
    for x in It(): out.append(x)
except OSError as e: out.append(str(e))
return out
== not_iterable
for x in 3: pass
== locals_read
a = 1; b = [2]
return sorted(k for k in locals() if k != "log")
== unbound_local
if log: x = 1
return x
== unbound_after_del
x = 1
del x
return x
== delete_unbound
if log: y = 1
del y
== delete_variable
t = Tracked("t", log)
del t
log.append("after")
return Tracked.live
== rebinding_frees
t = Tracked("one", log)
t = Tracked("two", log)
t = None
return Tracked.live
== swap
a, b = 1, 2
a, b = b, a
return a, b
== swap_three
a, b, c = 1, 2, 3
a, b, c = c, a, b
return a, b, c
== swap_four
a, b, c, d = [1], [2], [3], [4]
a, b, c, d = d, c, b, a
return a, b, c, d
== chained_assignment
a = b = c = []
a.append(1)
return b, c is a
== walrus
if (n := len("abc")) > 2: return n
== augmented_element
d = {"a": [1]}
d["a"] += [2]
l = [1, 2]
l[0] += 5; l[-1] *= 3
return d, l
== augmented_attribute
class Box: pass
b = Box(); b.v = 1
b.v += 2; b.v **= 3
return b.v
== globals_read
return GLOBAL, len("ab"), simple(1)
== globals_missing
return NOT_DEFINED_ANYWHERE
== globals_store
global COUNTER
COUNTER = COUNTER + 1
COUNTER -= 1
return COUNTER
== globals_delete
global TEMPORARY
TEMPORARY = 3
del TEMPORARY
return "TEMPORARY" in globals()
== attribute_reads
b = Base()
return b.kind, b.prop, b.greet(), b.greet("me"), Base.make().kind, Base.plain(4), b.plain(3)
== attribute_missing
return Base().nothing
== attribute_missing_method
return Base().nothing(1)
== attribute_of_none
x = None
return x.foo
== attribute_loud
l = Loud(log)
l.foo = 3
del l.foo
return l.bar, l.foo
== attribute_loud_delete
l = Loud(log)
del l.never
== subscript_loud
l = Loud(log)
l[1] = 2
del l[3:4]
return l[0], l[1:2], l[1:2:3], l[..., 0]
== slices
x = list(range(10))
x[2:4] = [20, 30, 40]
del x[0:2]
return x[1:3], x[:2], x[-2:], x[::3], x[::-1], "text"[1:3], x[None:None]
== subscript_errors
return [1, 2][5]
== subscript_key_error
return {}["missing"]
== subscript_of_int
return (3)[0]
== store_errors
x = (1, 2)
x[0] = 3
== build_containers
a = 1
return (a, 2), [a, 3], {a, 4}, {a: 5, "k": a}, {"x": a, "y": 2}, [], (), {}
== build_unhashable
return {[1]: 2}
== build_unhashable_set
x = []
return {x, 1}
== unpack_list_displays
a, b = [1, 2], (3,)
return [*a, *b, 4], (*a, *b), {*a, *b}, [*"ab"], {**{"x": 1}, "y": 2, **{"z": 3}}
== unpack_error_star
return [*3]
== unpack_error_mapping
return {**3}
== unpack_sequence
a, b = "xy"
(c, d), e = [[1, 2], 3]
f, g, h = {1: 0, 2: 0, 3: 0}
i, j = numbers(2)
return a, b, c, d, e, f, g, h, i, j
== unpack_too_many
a, b = [1, 2, 3]
== unpack_too_many_generator
a, b = numbers(4)
== unpack_too_few
a, b, c = (1, 2)
== unpack_too_few_generator
a, b, c = numbers(2)
== unpack_not_iterable
a, b = 3
== unpack_star
a, *b = [1, 2, 3]
*c, d = (1,)
e, *f, g = "wxyz"
return a, b, c, d, e, f, g
== unpack_star_generator
a, *b, c = numbers(5)
return a, b, c
== unpack_star_too_few
a, *b, c = [1]
== calls
return simple(1), simple(1, 5), simple(1, c=9), simple(1, 2, 3, 4), simple(1, z=3, y=2), simple(b=1, a=0)
== calls_star
a = [1, 2]; k = {"c": 5, "q": 6}
return simple(*a), simple(*a, **k), simple(0, *a, z=1, **k), simple(**{"a": 1}), simple(*numbers(3)), simple(*(1, 2))
== calls_star_duplicate
return simple(1, **{"c": 1}, **{"c": 2})
== calls_star_not_mapping
return simple(**3)
== calls_star_not_iterable
return simple(*3)
== calls_star_non_string
return simple(1, **{2: 3})
== calls_mapping
class M:
    def keys(self): log.append("keys"); return ["a"]
    def __getitem__(self, k): log.append(k); return 8
return simple(**M())
== calls_missing_argument
return simple()
== calls_unexpected
return thrower(1, y=2)
== call_not_callable
x = 3
return x(1)
== call_loud
return Loud(log)(1, k=2)
== call_builtin
return max(1, 2), max([3, 4], key=lambda x: -x), sorted("cab", reverse=True), isinstance(3, int), sum(range(4))
== call_bound_method
append = log.append
append(1); log.append(2)
m = "a-b".split
return m("-"), "-".join(["x", "y"])
== call_class
p = Point(1, y=2)
return p.x, p.y
== call_partial
f = functools.partial(simple, 1, c=4)
return f(2), f(b=3)
== keyword_evaluation_order
def note(x): log.append(x); return x
return simple(note(1), c=note(2), b=note(3))
== keyword_argument_raises
return simple(1, c=thrower(2), d=4)
== method_keywords
return Base().greet(name="z")
== long_names
x = simple(1, aaaa=1, bbbb=2, cccc=3, dddd=4, eeee=5)
return x
== super_call
class Child(Base):
    def greet(self, name="x"): return "child " + super().greet(name)
    @property
    def prop(self): return super().prop + [super().kind]
c = Child()
return c.greet(), c.prop
== super_explicit
class Child(Base):
    def greet(self): return super(Child, self).greet("explicit")
return Child().greet()
== super_missing
class Child(Base):
    def bad(self): return super().nothing
return Child().bad()
== closure
x = 1
def get(): return x
def add(n):
    nonlocal x
    x += n
    return get()
return add(2), add(3), x
== closure_unbound
def get(): return later
try: get()
except NameError as e: log.append(str(e))
later = 1
return get()
== closure_delete
x = 1
def get(): return x
del x
return get()
== closure_argument
def make(a, *, b):
    def inner(c=a): return a, b, c
    return inner
return make(1, b=2)(), make(3, b=4)(5)
== closure_loop
fs = [lambda i=i: i for i in range(3)] + [lambda: i for i in range(3)]
return [f() for f in fs]
== nested_functions
def a():
    def b():
        def c(): return inner_frame()
        return c()
    return b()
return a()
== defaults
def f(a, b=[1], *, c={"k": 1}) -> "text": return a, b, c
f.attr = 3
return f(0), f.__defaults__, f.__kwdefaults__, f.__annotations__, f.__name__, f.__qualname__, f.attr
== annotations
def f(a: int, b: "str" = "x", *c: float, d: bool = True, **e: list) -> None: pass
return sorted(f.__annotations__)
== lambda_
return (lambda a, b=2, *c: (a, b, c))(1), (lambda: (yield))().gi_code.co_name
== decorator
def deco(f):
    log.append("deco")
    @functools.wraps(f)
    def w(*a): return ("w",) + f(*a)
    return w
@deco
def g(x): return (x,)
return g(1)
== recursion
def fact(n): return 1 if n <= 1 else n * fact(n - 1)
return fact(10)
== recursion_error
def forever(n): return forever(n + 1) + 1
try: forever(0)
except RecursionError as e: return "RecursionError", type(e).__name__
== list_comprehension
y = 2
return [x * y for x in range(4) if x % 2], [[a for a in range(b)] for b in range(3)]
== comprehension_shadows
x = "outer"
l = [x for x in range(3)]
return l, x
== set_dict_comprehension
return {x % 2 for x in range(4)}, {k: v for k, v in zip("ab", (1, 2))}
== comprehension_raises
x = "kept"
try: return [thrower(x) for x in range(4)]
except ValueError as e: return str(e), x
== generator_expression
return list(x + 1 for x in range(3)), sum(i for i in (1, 2)), tuple(x for x in "ab" if x != "a")
== generator
def g(n):
    for i in range(n):
        got = yield i
        log.append(got)
    return "done"
it = g(3)
out = [next(it), it.send("a"), it.send("b")]
try: next(it)
except StopIteration as e: out.append(e.value)
return out
== generator_throw
def g():
    while True:
        try: yield 1
        except ValueError as e:
            log.append(str(e))
            yield 2
it = g()
return next(it), it.throw(ValueError("x")), next(it), it.throw(ValueError("y"))
== generator_close
def g():
    try: yield 1
    finally: log.append("closed")
it = g()
next(it)
it.close()
return log[-1]
== generator_throw_unhandled
def g():
    try:
        yield 1
        yield 2
    finally: log.append("finally")
it = g()
next(it)
it.throw(KeyError("k"))
== yield_from
def inner():
    x = yield 1
    log.append(x)
    return "inner"
def outer():
    r = yield from inner()
    yield r
    yield from [5, 6]
it = outer()
return next(it), it.send("s"), next(it), next(it)
== generator_raises
def g():
    yield 1
    raise OSError("g")
out = []
for x in g(): out.append(x)
== generator_stop_iteration
def g():
    yield 1
    raise StopIteration
return list(g())
== generator_dropped
def g():
    t = Tracked("in", log)
    yield 1
it = g()
next(it)
del it
return list(log)
== generator_state
it = numbers(2)
return it.gi_frame is not None, next(it), it.gi_frame.f_lineno > 0, list(it), it.gi_frame
== coroutine
async def one(x): return x + 1
async def many():
    out = []
    for i in range(3): out.append(await one(i))
    return out
c = many()
try: c.send(None)
except StopIteration as e: return e.value
== async_with_for
class A:
    async def __aenter__(self): log.append("aenter"); return 1
    async def __aexit__(self, *a): log.append("aexit"); return True
async def agen():
    for i in range(2): yield i
async def run():
    out = []
    async with A() as a: out.append(a); raise ValueError
    async for x in agen(): out.append(x)
    return out, [y async for y in agen()]
c = run()
try: c.send(None)
except StopIteration as e: return e.value
== async_raises
async def bad(): raise KeyError("async")
async def run():
    try: await bad()
    except KeyError as e: log.append(str(e))
    await bad()
c = run()
c.send(None)
== awaitable_class
class Aw:
    def __await__(self):
        x = yield "asked"
        return x
async def run(): return await Aw()
c = run()
first = c.send(None)
try: c.send("answer")
except StopIteration as e: return first, e.value
== try_except
try: thrower(5)
except ValueError as e: return e.args
== try_except_else_finally
out = []
for n in (0, 5):
    try: thrower(n)
    except ValueError: out.append("except")
    else: out.append("else")
    finally: out.append("finally")
return out
== try_nested
try:
    try: thrower(3)
    except KeyError: log.append("wrong")
    finally: log.append("inner finally")
except (TypeError, ValueError) as e: log.append(str(e))
return log
== try_reraise
try:
    try: thrower(3)
    except ValueError:
        log.append("again")
        raise
except ValueError as e: return [f.name for f in traceback.extract_tb(e.__traceback__)]
== try_raise_from
try:
    try: {}["k"]
    except KeyError as e: raise TypeError("new") from e
except TypeError as e: return type(e.__cause__).__name__, e.__suppress_context__
== try_raise_from_none
try:
    try: {}["k"]
    except KeyError: raise TypeError("new") from None
except TypeError as e: return e.__cause__, type(e.__context__).__name__
== try_context
try: thrower(2)
except ValueError: {}["context"]
== try_unbinds
try: thrower(2)
except ValueError as e: pass
return e
== finally_return
try: thrower(2)
finally: return "swallowed"
== finally_overrides
try: return "try"
finally: log.append("finally")
== finally_raises
try: raise KeyError(1)
finally: thrower(7)
== finally_break
for i in range(3):
    try: continue
    finally: break
return i
== except_in_loop
out = []
for i in range(4):
    try:
        if i == 2: raise KeyError(i)
        out.append(thrower(i))
    except (KeyError, ValueError) as e: out.append(type(e).__name__)
return out
== except_bare
try: 1 / 0
except: return sys.exc_info()[0].__name__
== except_not_a_class
try: thrower(2)
except "text": pass
== except_exc_info
try: 1 / 0
except ZeroDivisionError:
    inside = sys.exc_info()[0].__name__
    try: [][1]
    except IndexError: deeper = sys.exc_info()[0].__name__
    again = sys.exc_info()[0].__name__
return inside, deeper, again, sys.exc_info()
== raise_class
raise ValueError
== raise_instance
raise ValueError("text", 3)
== raise_nothing
raise
== raise_wrong
raise 3
== raise_in_argument
return simple(1, thrower(2), 3)
== raise_in_expression
return 1 + (2 * (thrower(4)))
== assertion
assert 1 + 1 == 2, "fine"
assert log, "wrong " + str(len(log))
== assertion_plain
assert not log
assert log
== raise_locals_kept
t = Tracked("kept", log)
try: thrower(3)
except ValueError as e:
    frame = e.__traceback__.tb_frame
    return frame.f_locals["t"] is t, frame.f_lineno, e.__traceback__.tb_lineno
== multi_line_raise
x = [
    1,
    thrower(
        2
    ),
]
== multi_line_operator
a = 1
b = (a +
     "text"
     )
== attribute_line
a = None
return (
    a
    .foo
    .bar
)
== deep_exception
def a(n): return thrower(n) if n > 3 else a(n + 1)
return a(0)
== exception_group_of_handlers
def f(x):
    try:
        try:
            if x == 0: raise KeyError
            if x == 1: raise ValueError
            if x == 2: raise TypeError
            return "none"
        except KeyError: return "key"
        finally: log.append(x)
    except ValueError: return "value"
return f(0), f(1), f(3), f(2)
== exceptions_are_freed
try: raise ValueError(Tracked("in error", log))
except ValueError: pass
return Tracked.live, list(log)
== with_
with Manager(log) as m: log.append(m)
return list(log)
== with_two
with Manager(log) as a, Manager(log, value=2) as b: log.append((a, b))
return list(log)
== with_suppress
with Manager(log, suppress=True): thrower(5)
return list(log)
== with_raises
with Manager(log): thrower(6)
== with_return
with Manager(log): return "returned"
== with_break
for i in range(3):
    with Manager(log):
        if i == 1: break
        continue
return i, log
== with_target
class Box: pass
b = Box()
with Manager(log) as b.x: pass
with Manager(log, value=(1, 2)) as (c, d): pass
return b.x, c, d
== with_not_a_manager
with 3: pass
== with_half_a_manager
class Half:
    def __enter__(self): return 1
with Half(): pass
== with_enter_raises
with Failing(): log.append("never")
== with_exit_raises
with FailingExit(): log.append("inside")
== with_exit_raises_in_raise
with FailingExit(): thrower(4)
== with_nested_suppress
with Manager(log, suppress=True):
    with Manager(log):
        with Manager(log): thrower(2)
    log.append("never")
return log
== with_contextlib
@contextlib.contextmanager
def cm():
    log.append("in")
    try: yield 5
    except ValueError: log.append("caught")
    finally: log.append("out")
with cm() as x: thrower(x)
return x
== with_instance_exit
class C:
    def __enter__(self): return self
    def __exit__(self, *a): log.append("class"); return False
c = C()
c.__exit__ = lambda *a: log.append("instance")
with c: pass
return log
== class_statement
class A(Base, metaclass=type):
    "text"
    x = [GLOBAL]
    y = [i for i in range(2)]
    def f(self): return __class__.__name__
    class Inner: z = 1
return A.x, A.y, A().f(), A.Inner.z, A.__doc__, A.__qualname__
== class_closure
v = 3
class A:
    w = v
    def get(self): return v + self.w
return A().get()
== class_keywords
class Meta(type):
    def __new__(m, name, bases, ns, **k): log.append(sorted(k.items())); return super().__new__(m, name, bases, ns)
    def __init__(self, *a, **k): super().__init__(*a)
class A(metaclass=Meta, flag=True): pass
return A.__name__
== class_raises
class A:
    x = thrower(3)
== class_decorated
@dataclasses.dataclass
class D:
    a: int = 1
    b: list = dataclasses.field(default_factory=list)
return D(), D(2, [3]) == D(2, [3])
== class_slots
class S:
    __slots__ = ("a",)
s = S()
s.a = 1
try: s.b = 2
except AttributeError as e: log.append("no b")
return s.a
== class_descriptor
class D:
    def __get__(self, o, t): log.append("get"); return 5
    def __set__(self, o, v): log.append(("set", v))
class A: d = D()
a = A()
a.d = 3
return a.d
== class_getattr
class A:
    def __getattr__(self, n): return n + "!"
    def __getattribute__(self, n):
        log.append(n)
        return object.__getattribute__(self, n)
return A().foo, A().bar
== enum_
class Color(enum.Enum):
    RED = 1
    BLUE = 2
return [c.name for c in Color], Color(2), Color.RED is Color["RED"]
== named_tuple
P = collections.namedtuple("P", "a b")
p = P(1, b=2)
a, b = p
return p.a, p, a + b, p._replace(a=5)
== deque_
d = collections.deque([1, 2, 3], maxlen=3)
d.append(4)
return list(d), d[0]
== match_values
def m(x):
    match x:
        case 1: return "one"
        case "a" | "b": return "letter"
        case None: return "none"
        case _: return "other"
return m(1), m("b"), m(None), m(3.5)
== match_sequence
def m(x):
    match x:
        case []: return "empty"
        case [a]: return a
        case [a, *rest, b] if len(rest) > 1: return a, rest, b
        case (a, b): return b, a
        case _: return "no"
return m([]), m([1]), m((1, 2)), m([1, 2, 3, 4]), m("ab"), m([1, 2, 3])
== match_mapping
def m(x):
    match x:
        case {"k": v, **rest}: return v, rest
        case {}: return "dict"
        case _: return "no"
return m({"k": 1, "l": 2}), m({}), m(3)
== match_class
def m(p):
    match p:
        case Point(0, y): return y
        case Point(x=x, y=0): return x
        case int() | float(): return "number"
        case str(s): return s
        case _: return "no"
return m(Point(0, 5)), m(Point(3, 0)), m(2), m("s"), m(Point(1, 1))
== f_strings
x = 3.14159; s = "q"; w = 8
return f"{x:.2f}|{s!r}|{s!s:>{w}}|{s!a}|{x=}|{{}}|{1 + 1}|{Loud(log):abc}|{Loud(log)!r:>6}"
== f_string_raises
class B:
    def __format__(self, s): raise LookupError(s)
return f"a{B():spec}b"
== string_formatting
return "%s-%d" % ("a", 3), "{} {k}".format(1, k=2), "a" "b", "x" * 3
== import_module
import os.path
import math as m
from math import sqrt, pi as p
return os.path.basename("/a/b"), m.floor(1.5), sqrt(4.0), round(p, 2)
== import_missing
import surely_not_a_module
== import_missing_name
from math import surely_not_a_name
== import_submodule
import collections.abc
from collections import abc
return abc is collections.abc
== warnings_
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    warnings.warn("one")
    warnings.warn("two", stacklevel=2)
return [(str(x.message), x.lineno) for x in w][:1]
== frames
return inner_frame(), sys._getframe().f_lineno, sys._getframe().f_code.co_name
== frame_locals
secret = 5
return sys._getframe().f_locals["secret"]
== frame_escapes
kept = Tracked("in frame")
f = sys._getframe()
log.append(f.f_lineno)
return f.f_code.co_name
== frame_kept_after
def inner():
    value = [1, 2]
    return sys._getframe()
f = inner()
return f.f_locals["value"], f.f_lineno, f.f_code.co_name
== frame_in_exception
def inner():
    value = "held"
    raise KeyError(value)
try: inner()
except KeyError as e: return e.__traceback__.tb_next.tb_frame.f_locals["value"], e.__traceback__.tb_next.tb_frame.f_lineno
== traceback_text
try: thrower(9)
except ValueError: return traceback.format_exc().count("thrower"), traceback.format_exc().splitlines()[-1]
== eval_exec
x = 5
ns = {}
exec("y = 2 * 3", ns)
return eval("x + 1"), ns["y"]
== vars_dir
class A:
    def __init__(self): self.p = 1
return vars(A()), "p" in dir(A())
== sort_key
return sorted([3, 1, 2], key=lambda x: -x), max("ab", "c", key=len)
== map_filter_zip
return list(map(lambda x: x + 1, [1, 2])), list(filter(None, [0, 1])), list(zip("ab", [1, 2])), list(enumerate("a"))
== itertools_
return list(itertools.chain([1], [2])), [k for k, g in itertools.groupby("aab")]
== lru_cache
calls = []
@functools.lru_cache
def f(x): calls.append(x); return x * 2
return f(1), f(1), f(2), calls, f.cache_info().hits
== print_
print("printed", 1, sep="-", file=sys.stderr if False else __import__("io").StringIO())
return "ok"
== int_overflow
return 2 ** 100, int("9" * 30) + 1, (1 << 70) >> 68
== float_specials
inf = float("inf")
return inf, -inf, inf - inf != inf - inf, 1e308 * 10, -0.0, 0.1 + 0.2
== zero_division
return 1 // 0
== type_error_operator
return 1 + "a"
== type_error_compare
return 1 < "a"
== type_error_unary
return -"a"
== long_function
total = 0
a0 = 1; a1 = 2; a2 = 3; a3 = 4; a4 = 5
total += a0 + a1 * a2 - a3 // a4
total += len([a0, a1, a2]) + sum((a3, a4))
x = {"a": total}; y = [x]; z = (y, x)
for i in range(3):
    total += i if i else -1
    if total > 100: break
return total, z
== many_constants
return [100, 101, 102, 103, 104, 105, "a", "b", "c", 1.5, 2.5, (1, 2), None, True, b"x", 3j]
== del_attribute_and_item
class A: pass
a = A(); a.x = 1; l = [1, 2, 3]; d = {"k": 1}
del a.x, l[1], d["k"]
return vars(a), l, d
== del_missing_item
d = {}
del d["k"]
== object_lifetimes
def make(): return Tracked("temp", log)
make()
log.append("next")
[make(), make()]
x = (make(), 1)[1]
return list(log)
== temporaries_in_call
return simple(Tracked("arg", log).name, Tracked("b", log).name), list(log)
== weak_reference
t = Tracked("w")
r = weakref.ref(t)
alive = r() is t
del t
return alive, r() is None
== deep_stack
return [1, [2, [3, [4, [5, simple(6, 7, *[8], **{"z": 9})]]]]]
== stack_when_raising
t = [Tracked("a", log), Tracked("b", log), simple(1, thrower(3))]
== nested_ternary_calls
return simple(1 if log else 2, *([3] if not log else []), c=(lambda: 4)())
== star_expr_in_index
d = {(1, 2): "t"}
k = (1,)
return d[1, 2], d[(*k, 2)]
== global_shadowed_builtin
len = lambda x: "mine"
return len([1])
== finally_in_generator_with_return
def g():
    try:
        yield 1
        return 2
    finally: log.append("f")
return list(g()), log
== loop_with_try_and_with
out = []
for i in range(3):
    try:
        with Manager(log, suppress=(i == 1)):
            if i: raise ValueError(i)
            out.append("ok")
    except ValueError as e: out.append(e.args[0])
return out
== set_operations
a = {1, 2}; b = {2, 3}
a |= b
return a & b, a - b, a ^ {9}, a >= b
== bytes_and_memory
b = bytearray(b"abc")
b[0] = 65
return bytes(b), memoryview(b)[1], b"x" + b"y"
== property_raises
class A:
    @property
    def p(self): raise AttributeError("inside")
return A().p
== slot_descriptor_method
return [].append.__name__, "".join.__self__, dict.fromkeys("a")
== compare_chain_effects
def n(x): log.append(x); return x
return n(1) < n(5) < n(3) < n(9), log
== extended_arguments
"""
    + "".join(f"v{i} = {i * 1000 + 0.5}\n" for i in range(270))
    + r"""if v269 > v0 and v1: v3 = v268
else: v3 = v267
for q in (v265, v266): v264 += q
return v3, v264, v260
"""
)

SOURCES_311 = r"""
== except_star
try: raise ExceptionGroup("g", [ValueError(1), KeyError(2), TypeError(3)])
except* ValueError as e: log.append(len(e.exceptions))
except* KeyError: log.append("key")
== starred_index
class A:
    def __class_getitem__(cls, k): return k
t = (1, 2)
return A[*t, 3]
"""

SOURCES_312 = r"""
== type_parameters
def f[T](x: T) -> T: return x
class B[T]:
    y: T
type A = int
return f(3), f.__type_params__[0].__name__, A.__value__
== nested_f_string
x = {"a": 1}
return f"{x["a"]}{f"{1 + 1}"}"
"""


def parse(text):
    parts = text.split("\n== ")[1:]
    for part in parts:
        name, body = part.split("\n", 1)
        yield name.strip(), body


def build():
    """A module's globals for each function, so that none sees what another did: {name: function}."""
    texts = SOURCES
    if sys.version_info >= (3, 11):
        texts += SOURCES_311
    if sys.version_info >= (3, 12):
        texts += SOURCES_312
    functions = {}
    for name, body in parse(texts):
        assert name not in functions, name
        namespace = {"__name__": "corpus_" + name}
        exec(compile(SUPPORT, "<support>", "exec"), namespace)
        source = f"def {name}(log):\n" + textwrap.indent(body, "    ")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(source, f"<{name}>", "exec"), namespace)
        functions[name] = namespace[name]
    return functions


FUNCTIONS = build()
