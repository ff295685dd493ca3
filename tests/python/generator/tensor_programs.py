"""Programs over tensors, for the optimizer and for gradients: a module with methods, functions, and calls of the module
with other sizes, dtypes, layouts and needs of gradients.

Types of tensors have their sizes (types.py), so most programs run to their end, in every call: n and m are sizes that the
arguments bring, k is one that the module's parameters have, and 1 is 1. The text is a script, and Python with the same
meaning: `execution` of tensor programs runs it as both.
"""

import random
from dataclasses import dataclass

from .expressions import Language, Library, is_choice
from .rules import expression_rules, statement_rules
from .statements import StatementGenerator
from .tree import Class, Clause, Expr, Function, Parameter, Program, Stmt, TensorCall, Variable, simple
from .types import BOOL, FLOAT, INT, SIZE_VARIABLES, STR, TENSOR, Type, parse, unify

EXPRESSIONS = r"""
int 2 | (<int> + <int>)
int | (<int> - <int>)
int | (<int> * <small>)
int | max(<int>, <int>)
int 3 | <Tensor[A, B]:name>.size(<bit>)
int 2 | <Tensor[A]:name>.shape[0]
int | <X:name>.dim()
int | <X:name>.numel()
int | len(<List[T]:name>)
int 0.5 | (<int> if <bool> else <int>)
int 0.3 | int((<X> > 0.0).sum())

float 2 | (<float> * <plain_float>)
float | (<float> + <plain_float>)
float | float(<int>)
float 0.4 | float(<X:name>.detach().sum())
float 0.2 | float(<Tensor>.item())

bool 4 | (<int> <cmp> <int>)
bool | (<float> <cmp> <plain_float>)
bool 2 | <X:name>.requires_grad
bool | torch.is_grad_enabled()
bool | (not <bool>)
bool | (<bool> and <bool>)
bool | (<bool> or <bool>)
bool 0.5 | (<X:name> is <X:name>)
bool 0.5 | bool(<X>.sum() > 0.0)
bool 0.5 | (<Optional[T]:name> is None)
bool 0.3 | <X:name>.is_contiguous()
bool 0.2 | <X:name>.is_floating_point()
bool 0.3 | (<X:name>.dtype == <X:name>.dtype)

X 4 | (<X> + <X>)
X 3 | (<X> - <X>)
X 5 | (<X> * <X>)
X | (<X> / (<X>.abs() + 1.0))
X 0.4 | (<X> / <X>)
X 2 | (<X> * <plain_float>)
X | (<float> * <X>)
X | torch.rsub(<X>, <plain_float>)
X | (<X> + <int>)
X | (-<X>)
X | (<X> ** 2)
X 0.3 | ((<X>.abs() + 0.5) ** <plain_float>)
X 2 | (<X> * <Tensor>)
X | (<Tensor> + <X>)
X 2 | torch.sin(<X>)
X | <X>.cos()
X 2 | torch.tanh(<X>)
X | torch.sigmoid(<X>)
X 2 | torch.relu(<X>)
X | torch.exp(-<X>.abs())
X | torch.sqrt(<X>.abs() + 0.5)
X | torch.log(<X>.abs() + 1.0)
X 0.5 | torch.nn.functional.gelu(<X>)
X 0.5 | torch.nn.functional.silu(<X>)
X 0.5 | torch.nn.functional.leaky_relu(<X>, 0.1)
X 0.5 | torch.nn.functional.softplus(<X>)
X 0.5 | torch.erf(<X>)
X 0.5 | torch.rsqrt(<X>.abs() + 0.5)
X 0.3 | torch.reciprocal(<X>.abs() + 0.5)
X 0.3 | torch.atan2(<X>, <X>.abs() + 1.0)
X 0.3 | torch.sign(<X>)
X 0.3 | torch.floor(<X>)
X 0.3 | torch.fmod(<X>, 2.0)
X 0.3 | torch.expm1(-<X>.abs())
X | torch.where(<X> > <X>, <X>, <X>)
X | torch.clamp(<X>, min=<plain_float>, max=2.0)
X 0.5 | <X>.clamp(min=-0.5)
X | torch.maximum(<X>, <X>)
X 0.5 | torch.minimum(<X>, <X>)
X 0.5 | torch.addcmul(<X>, <X>, <X>, value=0.5)
X 0.5 | torch.lerp(<X>, <X>, 0.25)
X | torch.add(<X>, <X>, alpha=2)
X 0.5 | torch.rsub(<X>, <X>)
X | torch.stack([<X>, <X>]).sum(0)
X | torch.stack([<X>, <X>], -1)[..., 0]
X 0.5 | torch.stack([<X>, <X>]).unbind(0)[<bit>]
X 0.5 | torch.stack([<X>, <X>]).mean(0)
X | <X:name>.reshape(-1).view(<X:same>.shape)
X 0.5 | <X:name>.flatten().view_as(<X:same>)
X 0.5 | <X>.unsqueeze(0).squeeze(0)
X 0.5 | <X>[None][0]
X 0.5 | <Tensor>.expand_as(<X:name>)
X | <X>.clone()
X | <X>.detach()
X 0.5 | <X>.contiguous()
X 0.5 | <X>.to(torch.float64)
X 0.3 | <X>.to(<X:name>.dtype)
X 0.3 | <X>.type_as(<X:name>)
X 0.2 | <X>.float().double()
X 0.2 | <X>.data
X | torch.zeros_like(<X:name>)
X | torch.ones_like(<X:name>)
X 0.5 | torch.full_like(<X:name>, <plain_float>)
X 0.3 | torch.rand_like(<X:name>)
X 0.2 | torch.dropout(<X>, 0.5, <bool>)
X 0.5 | <X>.masked_fill(<X> > 0.0, <plain_float>)
X 0.3 | torch.nan_to_num(<X>)
X | (<X> if <bool> else <X>)

Tensor[A] 0.05 | (<Tensor[A]> * <Tensor[B]>)
Tensor[A] 2 | <Tensor[A, B]>.sum(1)
Tensor[B] 2 | <Tensor[A, B]>.sum(0)
Tensor[A] | <Tensor[A, B]>.mean(-1)
Tensor[A] 0.5 | <Tensor[A, B]>.max(1)[0]
Tensor[A] 0.5 | <Tensor[A, B]>.amax(1)
Tensor[A] 0.5 | torch.logsumexp(<Tensor[A, B]>, 1)
Tensor[A] 0.3 | torch.prod(<Tensor[A, B]>, 1)
Tensor[A] 0.3 | <Tensor[A, B]>.var(1, unbiased=False)
Tensor[A] 0.3 | (<Tensor[A, B]> * <Tensor[A, B]>).sum(1)
Tensor[A] | <Tensor[A, B]>[:, 0]
Tensor[B] | <Tensor[A, B]>[0]
Tensor[B] | <Tensor[A, B]>[-1]
Tensor[A] | <Tensor[A, B]>.select(1, 0)
Tensor[A] 0.5 | <Tensor[A, A]>.diagonal()
Tensor[A] 2 | (<Tensor[A, B]> @ <Tensor[B]>)
Tensor[A] | torch.mv(<Tensor[A, B]>, <Tensor[B]>)
Tensor[B] | (<Tensor[A]> @ <Tensor[A, B]>)
Tensor[A] | <Tensor[A, 1]>.squeeze(1)
Tensor[A] 0.5 | <Tensor[A, 1]>.view(-1)
Tensor[A] | torch.cat([<Tensor[A]>, <Tensor[A]>]).chunk(2)[<bit>]
Tensor[A] | torch.cat([<Tensor[A]:name>, <Tensor[B]>])[:<Tensor[A]:same>.size(0)]
Tensor[A] 0.5 | torch.cumsum(<Tensor[A]>, 0)
Tensor[A] 0.5 | torch.softmax(<Tensor[A]>, 0)
Tensor[A] 0.5 | <Tensor[A]>.flip([0])
Tensor[A] | <Tensor[B]>[<Index[A, B]>]
Tensor[A] 0.5 | <Tensor[B]>.index_select(0, <Index[A, B]>)
Tensor[A] 0.3 | torch.zeros_like(<Tensor[A]:name>).index_add(0, <Index[B, A]>, <Tensor[B]:name>.to(<Tensor[A]:same>.dtype))

Tensor[A, B] 3 | (<Tensor[A, B]> + <Tensor[B]>)
Tensor[A, B] 2 | (<Tensor[A, 1]> * <Tensor[A, B]>)
Tensor[A, B] | (<Tensor[A, 1]> * <Tensor[B]>)
Tensor[A, B] | (<Tensor[A]>.unsqueeze(1) - <Tensor[B]>)
Tensor[A, B] | (<Tensor[A]>[:, None] * <Tensor[A, B]>)
Tensor[A, B] 3 | (<Tensor[A, C]> @ <Tensor[C, B]>)
Tensor[A, B] | torch.mm(<Tensor[A, C]>, <Tensor[C, B]>)
Tensor[A, B] | torch.addmm(<Tensor[B]>, <Tensor[A, C]>, <Tensor[C, B]>)
Tensor[A, B] 2 | torch.nn.functional.linear(<Tensor[A, C]>, <Tensor[B, C]>, <Tensor[B]>)
Tensor[A, B] 0.5 | torch.nn.functional.linear(<Tensor[A, C]>, <Tensor[B, C]>)
Tensor[A, B] 2 | <Tensor[B, A]>.t()
Tensor[A, B] | <Tensor[B, A]>.transpose(0, 1)
Tensor[A, B] 0.5 | <Tensor[B, A]>.permute(1, 0)
Tensor[A, B] | torch.outer(<Tensor[A]>, <Tensor[B]>)
Tensor[A, B] | torch.cat([<Tensor[A, B]>, <Tensor[A, B]>], 1).chunk(2, 1)[<bit>]
Tensor[A, B] | torch.cat([<Tensor[A, B]:name>, <Tensor[C, B]>])[:<Tensor[A, B]:same>.size(0)]
Tensor[A, B] | torch.softmax(<Tensor[A, B]>, <bit>)
Tensor[A, B] 0.5 | torch.log_softmax(<Tensor[A, B]>, 1)
Tensor[A, B] 0.5 | torch.nn.functional.layer_norm(<Tensor[A, B]:name>, [<Tensor[A, B]:same>.size(1)])
Tensor[A, B] 0.5 | torch.cumsum(<Tensor[A, B]>, <bit>)
Tensor[A, B] 0.5 | <Tensor[A, B]>.flip([1])
Tensor[A, B] 0.3 | torch.tril(<Tensor[A, B]>)
Tensor[A, B] 0.5 | <Tensor[A, 1]>.expand(-1, <Tensor[C, B]:name>.size(1))
Tensor[A, B] | <Tensor[B]>.expand(<Tensor[A, C]:name>.size(0), -1)
Tensor[A, B] 0.5 | <Tensor[A, 1]>.repeat(1, <Tensor[C, B]:name>.size(1))
Tensor[A, B] | <Tensor[C, B]>[<Index[A, C]>]
Tensor[A, B] 0.5 | <Tensor[C, B]>.index_select(0, <Index[A, C]>)
Tensor[A, B] 0.5 | torch.nn.functional.embedding(<Index[A, C]>, <Tensor[C, B]>)
Tensor[A, B] | <Tensor[A, B, C]>.sum(-1)
Tensor[A, B] | <Tensor[A, C, B]>.mean(1)
Tensor[A, B] 0.5 | <Tensor[C, A, B]>[0]
Tensor[A, B] 0.5 | <Tensor[A, B, C]>[..., -1]
Tensor[A, 1] 3 | <Tensor[A, B]>.sum(1, keepdim=True)
Tensor[A, 1] | <Tensor[A, B]>.mean(-1, True)
Tensor[A, 1] 2 | <Tensor[A]>.unsqueeze(1)
Tensor[A, 1] | <Tensor[A]>[:, None]
Tensor[1, B] | <Tensor[B]>[None]
Tensor[1, B] | <Tensor[A, B]>.sum(0, keepdim=True)
Tensor[1, B] | <Tensor[A, B]>[:1]
Tensor[A, B, C] 2 | (<Tensor[A, B]>.unsqueeze(-1) * <Tensor[C]>)
Tensor[A, B, C] | (<Tensor[A, B]>[:, :, None] + <Tensor[B, C]>)
Tensor[A, B, C] | <Tensor[B, C]>.expand(<Tensor[A, B]:name>.size(0), -1, -1)
Tensor[A, B, C] 0.5 | torch.bmm(<Tensor[A, B, B]>, <Tensor[A, B, C]>)
Tensor[A, B, C] | (<Tensor[A, B, B]> @ <Tensor[B, C]>)
Tensor[A, B, C] | <Tensor[C, B, A]>.permute(2, 1, 0)
Tensor[A, B, C] | <Tensor[A, C, B]>.transpose(-1, -2)
Tensor[A, B, C] 0.3 | torch.einsum("ab,bc->abc", [<Tensor[A, B]>, <Tensor[B, C]>])

Tensor 3 | <X>.sum()
Tensor 2 | <X>.mean()
Tensor | <Tensor[A]>[0]
Tensor 0.5 | <Tensor[A, B]>[0, -1]
Tensor | torch.dot(<Tensor[A]>, <Tensor[A]>)
Tensor 0.5 | torch.linalg.vector_norm(<X>)
Tensor 0.5 | <X>.max()
Tensor 0.5 | torch.nn.functional.mse_loss(<X>, <X>)
Tensor 0.5 | torch.tensor(<float>, dtype=torch.float64)
Tensor 0.5 | torch.trace(<Tensor[A, A]>)

Index[A, B] | <Index[A, B]>.flip(0)
Index[A, B] 0.5 | <Index[A, B]>.clone()

T 0.5 | (<T>, <V>)[0]
T 0.5 | (<List[T]> + [<T>])[<zero>]
T 0.1 | <List[T]:name>[<index>]
T 0.5 | <Tuple[T, V]:name>[0]
T 0.5 | <Tuple[V, T]:name>[1]
T 0.3 | <Dict[str, T]:name>["<letter>"]
T 0.3 | {"a": <T>, "b": <T>}["<letter_b>"]

List[T] 2 | [<T>, <T>]
List[T] | [<T>]
List[T] | [<T>, <T>, <T>]
List[T] 0.5 | <List[T]:name>[:<small>]
List[T] 0.5 | (<List[T]> + <List[T]>)
List[X] 0.5 | list(torch.stack([<X>, <X>]).unbind(0))
List[X] 0.5 | list([e * 2.0 for e in <List[X]>])
List[Tensor[B]] | list(<Tensor[A, B]>.unbind(0))
List[Tensor[A]] 0.5 | list(torch.unbind(<Tensor[A, B]>, 1))
List[Tensor[1, B]] | list(torch.split(<Tensor[A, B]>, 1))
Dict[str, T] | {"a": <T>, "b": <T>}
Dict[str, T] | {"a": <T>}
Tuple[T, V] 2 | (<T>, <V>)
Optional[T] 3 | <T>
Optional[T] | None
Optional[T] 0.5 | (<T> if <bool> else None)
"""

STATEMENTS = r"""
3 | <X:local> += <X>
1 | <X:local> -= <X>
2 | <X:local> *= <plain_float>
1 | <X:local> *= <X>
1 | <X:local>.add_(<X>, alpha=2)
1 | <X:local>.mul_(<Tensor>)
1 | <X:local>.copy_(<X>)
1 | <X:local>.zero_()
0.5 | <X:local>.fill_(<plain_float>)
1 | <X:local>.clamp_(min=-1.0)
1 | <X:local>.relu_()
0.5 | <X:local>.sigmoid_()
0.5 | <X:local>.tanh_()
0.5 | <X:local>.neg_()
0.5 | <X:local>.masked_fill_(<X> > 0.0, <plain_float>)
0.5 | <Tensor[A]:local>[<Tensor[A]> > 0.5] = <plain_float>
0.5 | <Tensor[A, B]:local>[<Tensor[A, B]> > 0.5] = <plain_float>
0.5 | <X:local>.detach_()
0.3 | <X:local>.requires_grad_()
0.3 | torch.relu_(<X:local>)
0.3 | torch.mul(<X:name>, <X:same>, out=<X:local>.detach())
1 | <X:local>.view(-1)[:1].add_(<plain_float>)
0.5 | <X:local>.detach().add_(<plain_float>)
1 | <Tensor[A, B]:local>[0] = <Tensor[B]>
1 | <Tensor[A, B]:local>[:, 0] = <Tensor[A]>
1 | <Tensor[A, B]:local>[:, :1].add_(<Tensor[A, 1]>)
1 | <Tensor[A, B]:local>[-1].mul_(<plain_float>)
1 | <Tensor[A, B]:local>.t().add_(<Tensor[B, A]>)
0.5 | <Tensor[A, B]:local>.add_(<Tensor[B]>)
0.5 | <Tensor[A, B]:local>.addmm_(<Tensor[A, C]>, <Tensor[C, B]>)
0.5 | <Tensor[A, B]:local>.select(0, 0).copy_(<Tensor[B]>)
1 | <Tensor[A]:local>[0] = <Tensor>
0.5 | <Tensor[A]:local>[0].sub_(<plain_float>)
0.5 | <Tensor[A]:local>[<Index[B, A]>] = <Tensor[B]>
0.5 | <Tensor[A]:local>.unsqueeze(0).mul_(<Tensor[A]>)
3 | <List[T]:local>.append(<T>)
0.5 | <List[T]:local>.extend(<List[T]>)
0.3 | <List[T]:local>.pop()
0.5 | <List[T]:local>.insert(0, <T>)
1 | <List[T]:local>[<zero>] = <T>
1 | <List[X]:local>[0] += <X>
0.3 | <List[T]:local>.reverse()
2 | <Dict[str, T]:local>["<letter_b>"] = <T>
0.3 | <Dict[str, X]:local>["a"] *= <plain_float>
0.5 | print("<letter>", <int>, <bool>)
0.2 | assert <bool>, "<letter>"
"""

SIZES = [Type("n"), Type("m"), Type("k")]

TENSOR_TYPES = {
    "Tensor": 2,
    "Tensor[n]": 3,
    "Tensor[m]": 2,
    "Tensor[k]": 2,
    "Tensor[n, m]": 5,
    "Tensor[m, n]": 2,
    "Tensor[n, k]": 2,
    "Tensor[k, m]": 1,
    "Tensor[k, k]": 1,
    "Tensor[n, n]": 1,
    "Tensor[n, 1]": 1,
    "Tensor[1, m]": 0.5,
    "Tensor[n, m, k]": 1,
}
OTHER_TYPES = {
    "int": 2,
    "float": 1,
    "bool": 1,
    "List[Tensor[n]]": 1,
    "List[Tensor[n, m]]": 2,
    "Dict[str, Tensor[n]]": 1,
    "Dict[str, Tensor[n, m]]": 1,
    "Tuple[Tensor[n, m], Tensor[m]]": 1,
    "Tuple[Tensor[n], int]": 0.5,
    "Tuple[Tensor, Tensor[n]]": 0.5,
    "Optional[Tensor[n]]": 1,
    "Optional[Tensor[n, m]]": 1,
    "List[int]": 0.3,
}
TENSOR_CHOICES = [(parse(text), weight) for text, weight in TENSOR_TYPES.items()]
UNIVERSE = TENSOR_CHOICES + [(parse(text), weight) for text, weight in OTHER_TYPES.items()]
LANGUAGE = Language(expression_rules(EXPRESSIONS), statement_rules(STATEMENTS), UNIVERSE)

#: The sizes of the module's own tensors.
K = 3
MODULE = Type("M")
#: Name, type, the line that makes it, and whether methods may set it.
ATTRIBUTES = [
    ("w0", parse("Tensor[k]"), "torch.nn.Parameter(values(101, (3,)))", False),
    ("w1", parse("Tensor[k, k]"), "torch.nn.Parameter(values(102, (3, 3)))", False),
    ("w2", parse("Tensor"), "torch.nn.Parameter(values(103, ()))", False),
    ("b0", parse("Tensor[k]"), "values(104, (3,))", True),
    ("b1", parse("Tensor[k, k]"), "values(105, (3, 3)).t()", False),
    ("o0", parse("Optional[Tensor[k]]"), "None", True),
    ("c0", INT, "1", True),
    ("p0", BOOL, "True", False),
    ("s0", FLOAT, "0.5", False),
]


def weighted(rng, choices):
    values, weights = zip(*choices)
    return rng.choices(values, weights)[0]


class TensorStatements(StatementGenerator):
    """The body of one function over tensors."""

    def __init__(self, rng, library, result):
        super().__init__(rng, library, False, result)
        self.language = LANGUAGE
        self.fresh_values = set()  # names of values that no autograd graph minds being written to
        self.budget = rng.randint(3, 12)

    # ---- types and names ----

    def bind(self, variable):
        if variable in SIZE_VARIABLES:
            return self.rng.choice(SIZES)
        if variable == "X" or self.rng.random() < 0.8:
            known = [v.type for v in self.scope if v.type.name == "Tensor"]
            return self.rng.choice(known) if known and self.rng.random() < 0.7 else weighted(self.rng, TENSOR_CHOICES)
        return self.value_type()

    def value_type(self):
        while True:
            found = super().value_type()
            if found != MODULE and found.name != "Index":
                return found

    def any_type(self, classes=False):
        return super().any_type()

    def named(self, pattern, assignable=False):
        found = super().named(pattern, assignable)
        return None if found is not None and found.type == MODULE else found

    def local(self, pattern, assignable=False):
        found = [v for v in self.scope if v.name in self.fresh_values and unify(pattern, v.type, {}) is not None]
        if found:
            return self.rng.choice(found[-6:])
        return self.named(pattern, assignable) if self.rng.random() < 0.08 else None

    def declare(self):
        made = super().declare()
        if "(" in str(made[0].clauses[0]) or "[" in str(made[0].clauses[0]):
            self.fresh_values.add(self.scope[-1].name)
        return made

    def alias(self):
        # A list under two names is one list, as in Python; a number is of no interest.
        variable = self.named(parse("X")) if self.rng.random() < 0.7 else self.named(parse("List[T]"))
        if variable is None:
            return None
        name = self.fresh()
        self.scope.append(Variable(name, variable.type))
        return [simple(f"{name} = {variable.name}")]

    def bounded(self, expression):
        if self.loops and expression.type.name == "List":
            return Expr(expression.type, [expression, "[:6]"])
        return expression

    def assign(self):
        variable = self.named(parse("X")) if self.rng.random() < 0.7 else self.named(Type("T"))
        if variable is None or is_choice(variable.type) or not variable.assignable or "." in variable.name:
            return None
        return [simple(f"{variable.name} = ", self.bounded(self.expression(variable.type)))]

    loop_forms = 5

    def dict_type(self, value):
        return Type("Dict", (STR, value))

    def for_other(self, form, name):
        if form != 3:
            return None
        # Elements of a tensor are results of one unbind to Python, of a select each to a script. That shows where an iteration
        # writes to the tensor, so these are of a copy.
        rows = self.expression(parse("Tensor[n, m]"), 2)
        made = self.loop([f"for {name} in (", rows, ").clone():"], [Variable(name, parse("Tensor[m]"))])
        made[0].clauses[0].body.insert(0, simple(f"{name} = {name}.clone()", pinned=True))
        return made

    def set_attribute(self):
        if not any(v.name == "self" for v in self.scope):
            return None
        name, type_, _, _ = self.rng.choice([a for a in ATTRIBUTES if a[3]])
        if type_ == INT:
            made = self.expression(INT, 1)
            return [simple(f"self.{name} = (self.{name} + ", made, ") % 997")]  # Python's ints have no bounds
        if name == "b0" and self.rng.random() < 0.5:
            return [simple("self.b0.add_(", self.expression(type_, 2), ".detach())")]
        made = ["(", self.expression(parse("Tensor[k]"), 2), ")[None][0]"]  # no parameter: Python would register it
        return [simple(f"self.{name} = ", *made, ".detach()" if self.rng.random() < 0.8 else "")]

    # ---- expressions ----

    def size_of(self, size):
        """An int as text; every function has parameters with all sizes."""
        if size.name in ("1", "k"):
            return {"1": "1", "k": str(K)}[size.name]
        places = [
            f"{v.name}.size({i})"
            for v in self.scope
            if v.type.name == "Tensor"
            for i, other in enumerate(v.type.args)
            if other == size
        ]
        return self.rng.choice(places)

    def leaf(self, type_):
        variable = self.named(type_)
        return Expr(type_, [variable.name]) if variable and self.rng.random() < 0.95 else self.literal(type_)

    def layer(self, type_):
        """What the module's layer makes of something, in methods."""
        if len(type_.args) != 2 or type_.args[1] != SIZES[2] or not any(v.name == "self" for v in self.scope):
            return None
        return Expr(type_, ["self.l0(", self.leaf(type_), ")"])

    def derived(self, type_):
        """Something small that comes from a name in scope; None if there is nothing that fits."""
        found = []
        for v in self.scope:
            if v.type.name != "Tensor":
                continue
            sizes, wanted = v.type.args, type_.args
            if not wanted:
                found += [f"{v.name}.sum()", f"{v.name}.mean()"]
            elif len(wanted) == 1:
                if sizes[:1] == wanted and len(sizes) == 2:
                    found += [f"{v.name}.sum(1)", f"{v.name}[:, 0]", f"{v.name}.mean(-1)"]
                if sizes[1:] == wanted:
                    found += [f"{v.name}.sum(0)", f"{v.name}[-1]"]
            elif len(wanted) == 2 and sizes == wanted[::-1]:
                found += [f"{v.name}.t()", f"{v.name}.transpose(0, 1)"]
            elif len(wanted) == 2 and sizes == wanted[:1]:
                found.append(f"{v.name}.unsqueeze(1).expand({', '.join(['-1', self.size_of(wanted[1])])})")
            elif sizes and sizes == wanted[1:]:
                found.append(f"{v.name}.expand({', '.join([self.size_of(wanted[0])] + ['-1'] * len(sizes))})")
        return Expr(type_, [self.rng.choice(found)]) if found else None

    def literal(self, type_):
        rng = self.rng
        if type_.name == "Tensor":
            made = self.layer(type_) if rng.random() < 0.3 else None
            if made:
                return made
            made = self.derived(type_) if rng.random() < 0.8 else None
            if made:
                return made
            known = [v.name for v in self.scope if v.type.name == "Tensor" and v.name[0] == "a"]
            sizes = ", ".join(self.size_of(size) for size in type_.args)
            make = rng.choice(["zeros", "ones", "full", "arange"])
            dtype = f"dtype={rng.choice(known)}.dtype" if known and rng.random() < 0.6 else "dtype=torch.float64"
            if make == "full":
                return Expr(type_, [f"torch.full([{sizes}], {rng.choice(['0.5', '-1.5', '2.0'])}, {dtype})"])
            if make == "arange" and len(type_.args) == 1:
                return Expr(type_, [f"torch.arange({sizes}, {dtype})"])
            return Expr(type_, [f"torch.{make.replace('arange', 'ones')}([{sizes}], {dtype})"])
        if type_.name == "Index":
            length, below = map(self.size_of, type_.args)
            return Expr(type_, [f"(torch.arange({length}) % {below})"])
        if type_ == INT:
            return Expr(type_, [rng.choice(["0", "1", "2", "3", "-1"])])
        if type_ == FLOAT:
            return Expr(type_, [rng.choice(["0.5", "-1.5", "2.0", "0.1", "1.0"])])
        if type_.name == "Dict":
            return Expr(type_, ['{"a": ', self.literal(type_.args[1]), "}"])
        return super().literal(type_)

    # ---- statements ----

    def statement(self):
        forms = [
            (self.inner_gradient, 0.5),
            (self.inner_backward, 0.2),
            (self.chunks, 0.3),
            (self.leaf_of_its_own, 0.3),
            (self.cond_raise, 0.3),
            (self.guarded_write, 1.2),
            (self.enable_grad, 0.2),
            (self.written_product, 0.8),
        ]
        draw = self.rng.random() * 12
        for form, weight in forms:
            if draw < weight:
                made = form()
                if made:
                    return made
            draw -= weight
        return super().statement()

    def inner_gradient(self):
        """A gradient with respect to something that may require one."""
        variables = [v for v in self.scope if v.type.name == "Tensor"]
        variable = self.rng.choice(variables)
        other = self.expression(variable.type, 2)
        options = self.rng.choice(["", ", create_graph=True", ", create_graph=True", ", retain_graph=True"])
        gradient = self.fresh("g")
        name = self.fresh()
        inner = [
            simple(
                f"{gradient} = torch.autograd.grad([(",
                other,
                f" * {variable.name}).sum()], [{variable.name}]{options})[0]",
            ),
            Stmt([Clause([f"if {gradient} is not None:"], [simple(f"{name} = {gradient}")])]),
        ]
        self.scope.append(Variable(name, variable.type))
        self.fresh_values.add(name)
        first = simple(f"{name} = {variable.name} * 2.0")
        return [first, Stmt([Clause([f"if {variable.name}.requires_grad and torch.is_grad_enabled():"], inner)])]

    def inner_backward(self):
        """A backward pass in the middle, which adds to the gradients of leaves."""
        variable = self.rng.choice([v for v in self.scope if v.type.name == "Tensor"])
        made = ["(", self.expression(variable.type, 2), f" * {variable.name}).sum().backward("]
        backward = simple(*made, self.rng.choice([")", "retain_graph=True)"]))
        return [Stmt([Clause([f"if {variable.name}.requires_grad and torch.is_grad_enabled():"], [backward])])]

    def guarded_write(self):
        """A write to anything, where autograd allows it: to arguments, their views, the module's tensors."""
        variable = self.rng.choice([v for v in self.scope if v.type.name == "Tensor" and v.name[0] != "e"])
        rules = [r for r in self.language.statements if getattr(r.parts[0], "kind", "") == "local"]
        rules = [r for r in rules if unify(r.parts[0].type, variable.type, {}) is not None]
        rule = self.rng.choices(rules, [r.weight for r in rules])[0]
        parts = self.fill_parts(rule, unify(rule.parts[0].type, variable.type, {}), 2)
        if parts is None:
            return None
        parts[0] = variable.name
        guard = f"if not {variable.name}.requires_grad:" if self.rng.random() < 0.7 else "with torch.no_grad():"
        return [Stmt([Clause([guard], [simple(*parts)])])]

    def written_product(self):
        """What is fresh and contiguous, and written to at once."""
        type_ = weighted(
            self.rng, [(parse(t), 1) for t in ("Tensor[n, m]", "Tensor[n, k]", "Tensor[m, n]", "Tensor[n, n]")]
        )
        rows, columns = type_.args
        inner = self.rng.choice(SIZES)
        left, right = (self.leaf(Type("Tensor", sizes)) for sizes in ((rows, inner), (inner, columns)))
        end = self.rng.choice(["", ".detach()", ".detach()"])
        name = self.fresh()
        made = [
            [f"{name} = torch.mm(", left, f"{end}, ", right, f"{end})"],
            [f"{name} = torch.nn.functional.linear(", left, f"{end}, ", right, f".t(){end})"],
            [f"{name} = torch.ones([{self.size_of(rows)}, {self.size_of(columns)}], dtype=torch.float64)"],
        ]
        writes = [
            "relu_()",
            "mul_(0.5)",
            "add_(1)",
            "sigmoid_()",
            "clamp_(min=-0.5)",
            "neg_()",
            "sub_(0.25)",
            "tanh_()",
        ]
        body = [simple(*self.rng.choice(made))]
        for write in self.rng.sample(writes, self.rng.randint(1, 2)):
            if self.rng.random() < 0.3:
                body += [simple(f"{(view := self.fresh())} = {name}{self.rng.choice(['.t()', '[0]', '.exp()', ''])}")]
                if str(body[-1].clauses[0]).endswith(("exp()", name)):
                    self.scope.append(Variable(view, type_))
            body.append(simple(f"{name}.{write}"))
        self.scope.append(Variable(name, type_))
        self.fresh_values.add(name)
        return body

    def enable_grad(self):
        return [Stmt([Clause(["with torch.enable_grad():"], self.block(2))])]

    def chunks(self):
        """Both halves of something, by names of their own."""
        type_ = weighted(self.rng, [(parse(t), 1) for t in ("Tensor[n]", "Tensor[n, m]", "Tensor[k]")])
        first, second = self.fresh(), self.fresh()
        made = [self.expression(type_, 2), ", ", self.expression(type_, 2)]
        self.scope += [Variable(first, type_), Variable(second, type_)]
        form = self.rng.choice([".chunk(2)", ".chunk(2, dim=0)"])
        return [simple(f"{first}, {second} = torch.cat([", *made, f"]){form}")]

    def leaf_of_its_own(self):
        type_ = weighted(self.rng, TENSOR_CHOICES)
        made = simple(f"{(name := self.fresh())} = (", self.expression(type_, 2), ").detach().clone().requires_grad_()")
        self.scope.append(Variable(name, type_))
        return [made]

    def return_(self):
        """The result uses more than one of the variables, so that less of a program is dead."""
        if self.result is not None and self.result.name == "Tuple" and self.result.args[0] == TENSOR:
            return self.return_on_the_way()
        if self.result is None or self.result.name != "Tensor":
            return super().return_()
        made = self.expression(self.result, 2)
        own = [v for v in self.scope if v.type.name == "Tensor" and v.name[0] == "v"]
        others = [v for v in self.scope if v.type.name == "Tensor" and v.name[0] != "v"]
        used = self.rng.sample(own, min(len(own), self.rng.randint(0, 4)))
        for variable in used + self.rng.sample(others, self.rng.randint(0, min(2, len(others)))):
            end = self.rng.choice([".sum()", ".mean()", ".sum().tanh()", ".max()"])
            made = Expr(self.result, ["(", made, f" + {variable.name}{end})"])
        return simple("return ", made)

    def return_on_the_way(self):
        """A number and what it, perhaps, was computed from."""
        results, total = [], self.expression(TENSOR, 1)
        for type_ in self.result.args[1:]:
            known = [v.name for v in self.scope if v.type == type_ and v.name[0] == "v"]
            if known and self.rng.random() < 0.9:
                results += [", ", name := self.rng.choice(known)]
                if self.rng.random() < 0.7:
                    end = self.rng.choice([".sum()", ".mean()", ".sum().tanh()", ".max()"])
                    total = Expr(TENSOR, ["(", total, f" + {name}{end})"])
            else:
                results += [", ", self.expression(type_, 2)]
        return simple("return (", total, *results, ")")

    def cond_raise(self):
        condition = self.expression(BOOL, 1)
        kind = self.rng.choice(["ValueError", "RuntimeError", "IndexError"])
        name = self.rng.choice([v.name for v in self.scope if v.type.name == "Tensor"])
        rare = self.rng.choice([f"{name}.numel() == 4", f"{name}.numel() == 1", f"not {name}.requires_grad"])
        return [Stmt([Clause(["if ", condition, f" and {rare}:"], [simple(f'raise {kind}("stop")')])])]

    def raise_(self):
        if self.rng.random() < 0.6:
            return [self.return_()]
        return [simple(f'raise {self.rng.choice(["ValueError", "RuntimeError", "IndexError"])}("stop")')]

    def fork(self):
        return None


@dataclass
class ModuleClass(Class):
    """The module of a tensor program, as Python declares it."""

    def lines(self):
        yield f"class {self.name}(torch.nn.Module):"
        yield "  o0: Optional[Tensor]"
        yield "  def __init__(self):"
        yield "    super().__init__()"
        yield "    self.l0 = torch.nn.Linear(3, 3, dtype=torch.float64)"
        yield "    self.l0.weight = torch.nn.Parameter(values(106, (3, 3)))"
        yield "    self.l0.bias = torch.nn.Parameter(values(107, (3,)))"
        for name, _, made, _ in ATTRIBUTES:
            if name[0] == "b":
                yield f'    self.register_buffer("{name}", {made})'
            else:
                yield f"    self.{name} = {made}"
        for method in self.methods:
            yield from method.lines(1)


class TensorProgram(Program):
    def __str__(self):
        functions = "\n".join("\n".join(f.lines()) + "\n" for f in self.functions)
        return functions + "\n" + "\n".join("\n".join(c.lines()) for c in self.classes) + "\n"


class TensorProgramGenerator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.library = Library()

    def program(self):
        rng = self.rng
        for index in range(rng.choice([0, 1, 1, 2])):
            self.library.functions = [*self.library.functions, self.function(f"f{index}")]
        cls = ModuleClass(MODULE.name, [(name, type_) for name, type_, _, _ in ATTRIBUTES])
        self.library.classes = [cls]
        for name in [*[f"m{i}" for i in range(rng.choice([0, 0, 1]))], "forward"]:
            method = self.function(name, is_method=True)
            cls.methods.append(method)
        forward = cls.methods[-1]
        calls = Calls(rng, forward).calls()
        if self.library.functions and rng.random() < 0.5:
            calls += Calls(rng, self.library.functions[-1]).calls()[:4]
        return TensorProgram([cls], self.library.functions, calls)

    def function(self, name, is_method=False):
        rng = self.rng
        # All sizes are somewhere among the parameters.
        shape = rng.choice(["Tensor[n, m]", "Tensor[n, m]", "Tensor[m, n]"])
        types = [parse(shape)]
        for _ in range(rng.randint(0, 4)):
            types.append(weighted(rng, UNIVERSE) if rng.random() < 0.4 else weighted(rng, TENSOR_CHOICES))
        parameters = [Parameter(f"a{i}", t) for i, t in enumerate(types)]
        result = weighted(rng, UNIVERSE) if rng.random() < 0.5 else weighted(rng, TENSOR_CHOICES)
        if name == "forward" and result in (INT, FLOAT, BOOL):
            result = TENSOR
        if rng.random() < 0.2:
            result = Type("Tuple", (TENSOR, *(weighted(rng, TENSOR_CHOICES) for _ in range(rng.randint(1, 3)))))
        function = Function(name, parameters, result, is_method=is_method, observed=False)
        body = TensorStatements(rng, self.library, result)
        body.scope = [Variable(p.name, p.type) for p in parameters]
        if is_method:
            body.scope.append(Variable("self", MODULE, False))
            body.scope += [Variable(f"self.{n}", t, False) for n, t, _, _ in ATTRIBUTES if t.name == "Tensor"][
                : rng.randint(0, 5)
            ]
            rng.shuffle(body.scope)
        top = []
        for _ in range(rng.randint(2, 8)):
            body.blocks = 1
            top += body.statement()
        body.calls_allowed = True
        top.append(body.return_())
        function.body = top
        return function


class Calls:
    """The calls of one function: of one kind with several sizes, then of other kinds."""

    def __init__(self, rng, function):
        self.rng = rng
        self.function = function

    def calls(self):
        rng = self.rng
        sizes = [(2, 3), (4, 2), (3, 3), (1, 2), (3, 1), (1, 1), (5, 4), (2, 2)]
        if rng.random() < 0.15:
            sizes.append((0, 2))
        made = []
        kind = self.kind(first=True)
        for _ in range(3):
            made.append(self.call(kind, rng.choice(sizes)))
        other = self.kind()
        made += [self.call(other, rng.choice(sizes)) for _ in range(2)]
        state = rng.choice(["torch.no_grad()", "torch.no_grad()", "torch.inference_mode()", 'torch.autocast("cpu")'])
        made.append(self.call(kind, rng.choice(sizes), state))
        made.append(self.call(self.kind(), rng.choice(sizes)))
        made.append(self.call(kind, rng.choice(sizes)))
        return made

    def kind(self, first=False):
        """What does not change with sizes: dtypes, layouts, which arguments are the same."""
        rng = self.rng
        draw = rng.random()
        dtype = "float64" if draw < 0.75 or first and draw < 0.9 else "float32" if draw < 0.9 else None
        share = rng.random() < 0.4
        return (rng.randrange(1 << 30), dtype, share, rng.random() < 0.85)

    def call(self, kind, sizes, state=""):
        self.tensors = {}
        self.bases = []  # (name, type) of tensors that later arguments may share
        self.sizes = {"n": sizes[0], "m": sizes[1], "k": K, "1": 1}
        seed, self.dtype, self.share, self.gradients = kind
        self.choose = random.Random(seed)
        arguments = [self.argument(p.type) for p in self.function.parameters]
        order = self.rng.choice([1, 1, 2])
        writes = self.rng.random() < 0.15
        watched = not writes and self.rng.random() < 0.2
        return TensorCall(self.function.name, arguments, dict(self.tensors), state, order, writes, watched)

    def argument(self, type_):
        choose = self.choose
        if type_ == INT:
            return self.rng.choice(["0", "1", "2", "3"])
        if type_ == FLOAT:
            return self.rng.choice(["0.5", "-1.5", "2.0"])
        if type_ == BOOL:
            return choose.choice(["True", "False"])
        if type_.name == "Tensor":
            return self.tensor(type_)
        if type_.name == "Optional":
            return "None" if choose.random() < 0.4 else self.argument(type_.args[0])
        if type_.name == "List":
            return "[" + ", ".join(self.argument(type_.args[0]) for _ in range(choose.choice([1, 2, 2, 3]))) + "]"
        if type_.name == "Dict":
            keys = ["a", "b", "c"][: choose.choice([1, 2, 2, 3])]
            return "{" + ", ".join(f'"{key}": {self.argument(type_.args[1])}' for key in keys) + "}"
        assert type_.name == "Tuple", type_
        return "(" + ", ".join(map(self.argument, type_.args)) + ",)"

    def tensor(self, type_):
        choose = self.choose
        shape = [self.sizes[size.name] for size in type_.args]
        if self.share and self.bases and choose.random() < 0.6:
            shared = self.shared(type_)
            if shared:
                return shared + (".detach()" if choose.random() < 0.1 else "")
        layout = choose.random()
        if layout < 0.6 or not shape:
            name = self.base(shape)
            self.bases.append((name, type_))
            return name + (" * 2" if layout < 0.1 else "")
        if layout < 0.75:
            name = self.base([shape[0] + 1, *shape[1:]])
            return f"{name}[1:]"
        if layout < 0.87 and len(shape) > 1:
            name = self.base([*shape[:-2], shape[-1], shape[-2]])
            return f"{name}.transpose(-1, -2)"
        name = self.base([1, *shape[1:]])
        return f"{name}.expand({', '.join(map(str, shape))})"

    def shared(self, type_):
        found = []
        for name, known in self.bases:
            if known == type_:
                found += [name, name, f"{name}.view_as({name})", f"{name}[...]"]
            elif len(known.args) == 2 and known.args[::-1] == type_.args:
                found.append(f"{name}.t()")
            elif 0 in [self.sizes[size.name] for size in known.args]:
                continue
            elif len(known.args) == 2 and known.args[1:] == type_.args:
                found.append(f"{name}[0]")
            elif len(known.args) == 2 and known.args[:1] == type_.args:
                found.append(f"{name}[:, 0]")
            elif known.args == type_.args[1:] and known.args:
                found.append(f"{name}.expand({self.sizes[type_.args[0].name]}, {', '.join(['-1'] * len(known.args))})")
        return self.choose.choice(found) if found else None

    def base(self, shape):
        choose = self.choose
        dtype = self.dtype or choose.choice(["float64", "float64", "float32", "int64", "bfloat16"])
        gradient = self.gradients and dtype != "int64" and choose.random() < 0.6
        name = f"t{len(self.tensors)}"
        self.tensors[name] = f'values({len(self.tensors) + 1}, {tuple(shape)}, "{dtype}"{", True" if gradient else ""})'
        return name


def generate(seed):
    """The tensor program of a seed."""
    return TensorProgramGenerator(seed).program()
