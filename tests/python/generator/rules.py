"""The forms of the language that types alone make well-formed: one line each.

    result [weight] | template

A hole <type> takes an expression; <type:var> a variable that may be assigned, <type:name> any name of that type,
<type:local> one whose value may be written to, mostly; <type:same> is the name before.
T, K, V and U stand for any type, the same one within a line. The other holes are literals: <small> (0 to 4), <index>
(-3 to 3), <nonzero>, <short> (a float of 32 bits), <cmp> (a comparison), <text>, <spec> (a format spec). A form that fails for many arguments has a
low weight, or every program would end in its first lines.
"""

import functools
import re
from dataclasses import dataclass

from .types import Type, parse, unify, variables_of

EXPRESSIONS = r"""
int 4 | (<int> + <int>)
int 3 | (<int> - <int>)
int 2 | (<int> * <int>)
int 2 | (<int> // <nonzero>)
int 2 | (<int:name> % <nonzero>)
int | (-<int:name>)
int | (<int> & <int>)
int | (<int> | <int>)
int | (<int> ^ <int>)
int | (<int> << <small>)
int | (<int> >> <small>)
int | abs(<int>)
int | min(<int>, <int>)
int | max(<int>, <int>)
int 2 | len(<List[T]>)
int | len(<str>)
int | len(<Dict[K, V]>)
int | int(<float>)
int | int(<bool>)
int | ord("<letter>")
int 0.3 | int(<str>)
int 0.5 | <List[int]>[<index>]
int 2 | (<List[int]> + [<int>, <int>])[<zero>]
int | sum([e % 1000 for e in <List[int]>])
int | min(<List[int]>)
int | max(<List[int]>)
int | <List[int]>.count(<int>)
int 0.3 | <List[str]>.index(<str>)
int 0.3 | <List[int]>.pop()
int | <str>.find(<str>)
int | <str>.rfind(<str>)
int | <str>.count(<text>)
int 0.2 | <str>.index(<str>)
int | <Tuple[int, str]:name>[0]
int | <Tuple[int, int, int]:name>[<small3>]
int 0.2 | <Tuple[int, int, int]:name>[<int>]
int | (<int>, <int>, <int>)[abs(<int:name>) % 3]
int | sum([p[1] % 1000 for p in <Dict[str, int]>.items()])
int | sum([len(d) for d in <Dict[str, Dict[str, int]]>.values()])
int | math.floor(<float>)
int | math.ceil(<float>)
int | math.gcd(<int>, <int>)
int | math.factorial(<small>)
int | <Tensor>.dim()
int | <Tensor>.numel()
int 0.5 | <Tensor>.size(0)
int 0.5 | <Tensor>.size()[-1]
int 0.7 | int(<Tensor>.sum())
int | divmod(<int>, <nonzero>)[<bit>]
int | (<int> if <bool> else <int>)
int 0.5 | torch.jit.annotate(int, <int>)

float 3 | (<float> + <float>)
float 2 | (<float> - <float>)
float 2 | (<float> * <float>)
float 2 | (<float> / <float>)
float | (<int> / <nonzero>)
float | (<int> * <float>)
float | (<float> - <int>)
float | (<float> // <float>)
float | (<float:name> % <float>)
float | (<float> ** <small>)
float | (<float> ** <float>)
float | (-<float:name>)
float | abs(<float>)
float | min(<float>, <float>)
float | max(<float>, <float>)
float | max(<int>, <float>)
float | float(<int>)
float | float(<bool>)
float 0.5 | float(<str>)
float | round(<float>)
float 0.3 | <List[float]>[<index>]
float 1 | ([<float>] + <List[float]>)[<zero>]
float | sum(<List[float]>)
float | max(<List[float]>)
float | math.sqrt(abs(<float>))
float | math.exp(<float>)
float 0.5 | math.log(abs(<float>))
float | math.sin(<float>)
float | math.tanh(<float>)
float | math.fabs(<float>)
float | math.fmod(<float>, <float>)
float | math.copysign(<float>, <float>)
float | math.atan2(<float>, <float>)
float 0.3 | math.pow(<float>, <float>)
float | math.ldexp(<float>, <small>)
float | math.degrees(<float>)
float | math.modf(<float>)[<bit>]
float | float("inf")
float 0.5 | float("-nan")
float | float(<Tensor>.sum())
float | <Tuple[float, Tensor]:name>[0]
float | abs(<complex>)
float | divmod(<float>, <float>)[<bit>]

bool 3 | (<int> <cmp> <int>)
bool 2 | (<float> <cmp> <float>)
bool | (<int> <cmp> <float>)
bool | (<str> == <str>)
bool | (<str> < <str>)
bool | (<str> != <str>)
bool | (<List[int]> == <List[int]>)
bool | (<List[str]> != <List[str]>)
bool | (<int> in <List[int]>)
bool | (<str> not in <List[str]>)
bool | (<str> in <str>)
bool | (<K> in <Dict[K, V]>)
bool | (<text> in [<text>, <text>, <str>])
bool | (<int> in [<small>, <small>, <int>])
bool | (<complex> == <complex>)
bool 2 | (<bool> and <bool>)
bool 2 | (<bool> or <bool>)
bool 2 | (not <bool>)
bool | (<bool> == <bool>)
bool | (<bool> != <bool>)
bool 0.5 | (<bool> ^ <bool>)
bool 0.5 | (<bool> & <bool>)
bool 0.5 | (<bool> | <bool>)
bool | bool(<int>)
bool | bool(<float>)
bool | bool(<Tensor>.sum())
bool | bool(<Tensor>.sum() <cmp> <float>)
bool 0.5 | (<int> and <float>)
bool | (<Optional[T]:name> is None)
bool | (<Optional[T]:name> is not None)
bool 2 | (<Optional[int]:name> is not None and <Optional[int]:same> <cmp> <int>)
bool | (<Optional[int]:name> is None or <Optional[int]:same> <cmp> <int>)
bool | isinstance(<Union[int, str]:name>, int)
bool | isinstance(<Union[float, List[int]]:name>, float)
bool | any(<List[bool]>)
bool | all(<List[bool]>)
bool | <str>.startswith(<str>)
bool | <str>.endswith(<str>)
bool | <str>.isdigit()
bool | <str>.isalpha()
bool | <str>.isupper()
bool | <str>.istitle()
bool | <str>.isidentifier()
bool | math.isnan(<float>)
bool | math.isinf(<float>)
bool 0.2 | <Dict[K, bool]>[<K>]
bool | (<Tensor> is <Tensor>)
bool 0.5 | <Tensor>.requires_grad
bool 0.5 | <Tensor>.is_floating_point()
bool | torch.is_grad_enabled()
bool | torch.equal(<Tensor>, <Tensor>)

str 3 | (<str> + <str>)
str | (<str> * <small>)
str | str(<int>)
str | str(<float>)
str | str(<bool>)
str | str(<List[int]>)
str | str(<List[float]>)
str | str(<List[str]>)
str | str(<Tuple[int, str]>)
str | str(<Dict[str, int]>)
str 0.5 | str(<complex>)
str 0.5 | str(<Dict[str, List[int]]>)
str | <str>[<small>:]
str | <str>[:<index>]
str | <str>[::<step>]
str | <str>[<index>:<index>]
str 0.5 | <str>[<index>]
str | <str>.upper()
str | <str>.lower()
str | <str>.title()
str | <str>.capitalize()
str | <str>.swapcase()
str | <str>.strip()
str | <str>.lstrip("<letter>")
str | <str>.rstrip()
str | <str>.replace(<text>, <str>)
str | <str>.replace(<text>, <str>, <small>)
str | <str>.join(<List[str]>)
str | <str>.center(<small>)
str | <str>.ljust(<small>, "<letter>")
str | <str>.zfill(<small>)
str | <str>.expandtabs()
str | <str>.partition(<text>)[<small3>]
str | <str>.split(",")[0]
str 0.4 | <List[str]>[<index>]
str 1 | (<List[str]> + [<str>])[<zero>]
str | "{}-{}".format(<int>, <str>)
str | "<{}>".format(<T>)
str 2 | ("%s|%d" % (<str>, <int>))
str | ("%f %f" % (<short>, <short>))
str 0.5 | ("%s %e %c" % (<bool>, <short>, "<letter>"))
str | ("%s" % <List[int]>)
str 0.05 | ("%s %s" % (<T>, <V>, 1))
str | hex(<int>)
str | oct(<int>)
str | bin(<int>)
str | chr(<letter_code>)
str | <Tuple[int, str]:name>[1]
str | (<str> if <bool> else <str>)
str 0.1 | <Dict[K, str]>[<K>]

complex 2 | complex(<float>, <float>)
complex | (<complex> + <complex>)
complex | (<complex> - <float>)
complex | (<complex> * <complex>)
complex | (<complex> / <complex>)
complex | (<int> * <complex>)
complex | (-<complex:name>)
complex | complex(<int>)

T 0.7 | (<T> if <bool> else <T>)
T 0.15 | <List[T]>[<index>]
T 0.6 | (<List[T]> + [<T>])[<zero>]
T 0.1 | <Dict[K, T]>[<K>]
T 0.5 | <Dict[K, T]>.get(<K>, <T>)
T 0.4 | <Dict[K, T]:name>.setdefault(<K>, <T>)

List[T] 2 | [<T>, <T>]
List[T] | [<T>]
List[T] | [<T>, <T>, <T>]
List[T] | torch.jit.annotate(List[T], [])
List[T] 2 | (<List[T]> + <List[T]>)[:<small>]
List[T] | <List[T]>[<small>:]
List[T] | <List[T]>[<index>:<index>]
List[T] | <List[T]>[::<step>]
List[T] | <List[T]>[<index>:<index>:<step>]
List[T] 0.5 | <List[T]>[slice(<index>, <index>)]
List[T] 0.3 | <List[T]>[slice(<small>, None, <step>)]
List[T] | <List[T]>.copy()
List[T] | list(<List[T]>)
List[T] 0.5 | ([<T>] * <small>)
List[T] 0.5 | (<small> * <List[T]>[:2])
List[int] | list([i for i in range(<small>)])
List[int] | list(range(<small>, <index>, <step>))
List[int] | sorted(<List[int]>)
List[float] | sorted(<List[float]>)
List[str] | sorted(<List[str]>)
List[str] 2 | <str>.split()
List[str] | <str>.split(<text>)
List[str] | <str>.split("<letter>", <small>)
List[str] | <str>.rsplit()
List[str] | <str>.splitlines()
List[str] | list(<str>)
List[str] 0.5 | list([c for c in <str>])
List[K] | list(<Dict[K, V]>.keys())
List[V] | list(<Dict[K, V]>.values())
List[K] | list([k for k in <Dict[K, V]:name>])
List[int] | <Tensor>.size()
List[int] | <Tensor>.shape
List[Tensor] | torch.unbind(<Tensor>)
List[Tensor] | torch.split(<Tensor>, 1)
List[Tensor] | torch.chunk(<Tensor>, 2, dim=0)
List[Optional[int]] 2 | torch.jit.annotate(List[Optional[int]], [<int>, None])
List[Optional[int]] | <List[Optional[int]]:name>[:2]
List[Optional[int]] | <List[Optional[int]]:name>.copy()
List[List[int]] | [<List[int]>, <List[int]>]
List[Tuple[int, str]] | [(<int>, <str>), (<int>, <str>)]

Dict[K, V] 3 | {<K>: <V>, <K>: <V>}
Dict[K, V] | {<K>: <V>}
Dict[K, V] | torch.jit.annotate(Dict[K, V], {})
Dict[K, V] | <Dict[K, V]>.copy()
Dict[K, V] 0.5 | dict(<Dict[K, V]>)
Dict[str, int] | dict([(<text>, <int:name>), (<str:name>, <small>)])

Tuple[T, V] 2 | (<T>, <V>)
Tuple[T, V] 0.3 | <Tuple[T, V, U]:name>[:2]
Tuple[T, V] 0.3 | <Tuple[T, V, U]:name>[slice(0, 2)]
Tuple[T, V] 0.5 | ((<T>,) + (<V>,))
Tuple[int, int, int] 0.5 | (<Tuple[int, int, int]:name>[:1] + (<int>, <int>))
Tuple[int, int, int] 2 | (<int>, <int>, <int>)
Tuple[int, str] | (<Tuple[int, str]> if <bool> else <Tuple[int, str]>)
Tuple[int, str] 0.5 | <Dict[int, str]:var>.popitem()

Tensor 2 | torch.tensor(<List[float]>)
Tensor | torch.tensor(<List[int]>)
Tensor | torch.tensor([<float>, <float>, <float>])
Tensor | torch.tensor(<float>)
Tensor | torch.tensor(<bool>)
Tensor | torch.ones([2, 3])
Tensor | torch.zeros(3)
Tensor | torch.arange(3)
Tensor | torch.full([3], <float>)
Tensor | torch.arange(<small>, dtype=torch.float64)
Tensor 2 | (<Tensor> + <Tensor>)
Tensor | (<Tensor> - <float>)
Tensor | (<int> * <Tensor>)
Tensor | (<Tensor> / <Tensor>)
Tensor | (<Tensor> // 2)
Tensor | (<float> / <Tensor>)
Tensor | (2 ** <Tensor>)
Tensor | (<Tensor> ** 2)
Tensor | (-<Tensor:name>)
Tensor | (<Tensor> <cmp> <Tensor>)
Tensor | (<Tensor> <cmp> <int>)
Tensor | torch.relu(<Tensor>)
Tensor | <Tensor>.relu()
Tensor | torch.where(<Tensor> > <float>, <Tensor>, <Tensor>)
Tensor | torch.cat([<Tensor>, <Tensor>])[:3]
Tensor | torch.stack([<Tensor>, <Tensor>])[0]
Tensor | <Tensor>.sum()
Tensor | <Tensor>.sum(dim=0)
Tensor | <Tensor>.sum(-1, keepdim=True)
Tensor | <Tensor>.max()
Tensor 0.5 | <Tensor>.max(dim=0)[<bit>]
Tensor | torch.max(<Tensor>, dim=-1).values
Tensor | <Tensor>.clone()
Tensor | <Tensor>.detach()
Tensor | <Tensor>.to(torch.float64)
Tensor | <Tensor>.float()
Tensor | <Tensor>.long()
Tensor | <Tensor>.reshape(-1)[:3]
Tensor | <Tensor>.view(-1)
Tensor | <Tensor>.t()
Tensor | <Tensor>.T
Tensor 2 | <Tensor>[0]
Tensor | <Tensor>[..., 0]
Tensor | <Tensor>.reshape(-1)[:1]
Tensor 0.5 | <Tensor>[::2]
Tensor | <Tensor>[None]
Tensor 0.5 | <Tensor>[<small>, <small>:]
Tensor 0.5 | <Tensor>[<Tensor> > 0]
Tensor 0.5 | <Tensor>[torch.tensor([0, 1])]
Tensor | torch.clamp(<Tensor>, min=<float>, max=2.0)
Tensor | torch.clamp(<Tensor>, max=<Optional[float]>)
Tensor 0.5 | torch.nn.functional.relu(<Tensor>)
Tensor 0.5 | torch.matmul(<Tensor>, <Tensor>)
Tensor 0.5 | (<Tensor> @ <Tensor>)
Tensor | <Tensor>.add(<Tensor>, alpha=2)
Tensor | <Tuple[float, Tensor]:name>[1]
Tensor 0.5 | torch.add(input=<Tensor>, other=<float>)

Optional[T] 3 | <T>
Optional[T] 2 | None
Optional[T] | (<T> if <bool> else None)
Union[int, str] | <int>
Union[int, str] | <str>
Union[float, List[int]] | <float>
Union[float, List[int]] | <List[int]>
Optional[V] | <Dict[K, V]:name>.get(<K>)
"""

#: What torch.jit knows only where it reads Python, as it does for classes.
PYTHON_EXPRESSIONS = r"""
bool 4 | (<int> <cmp> <int> <cmp> <int>)
bool 2 | (<float> <cmp> <int> <cmp> <float>)
str 4 | f"{<int:name>}|{<str:name>}"
str 2 | f"<letter>{<float:name>}"
"""

STATEMENTS = r"""
4 | <int:var> += <int>
1 | <int:var> -= <int>
1 | <int:var> *= <int>
1 | <int:var> |= <int>
1 | <int:var> ^= <int>
1 | <int:var> <<= <small>
1 | <int:var> >>= <small>
2 | <float:var> += <float>
1 | <float:var> *= <float>
1 | <float:var> /= <float>
1 | <float:var> -= <int>
2 | <str:var> += <text>
1 | <Tensor:var> = <Tensor:name> + <Tensor>
2 | <Tensor:name> += <Tensor>
1 | <Tensor:name> *= <float>
1 | <Tensor:name>.add_(<float>)
1 | <Tensor:name>.zero_()
1 | <Tensor:name>.mul_(<Tensor>)
1 | <Tensor:name>[0] = <float>
1 | <Tensor:name>[:1] = <Tensor>
1 | <Tensor:name>[0] += <float>
1 | <Tensor:name>[...] = <int>
0.5 | <Tensor:name>[<Tensor:name> > 0] = <float>
1 | <Tensor:name>.copy_(<Tensor>)
4 | <List[T]:name>.append(<T>)
1 | <List[T]:name>.insert(<index>, <T>)
1 | <List[T]:name>.extend(<List[T]>[:2])
0.5 | <List[T]:name>.pop()
0.2 | <List[T]:name>.pop(<index>)
1 | <List[T]:name>.reverse()
0.5 | <List[T]:name>.clear()
1 | <List[int]:name>.sort()
1 | <List[float]:name>.sort(reverse=<bool>)
1 | <List[str]:name>.sort()
0.5 | <List[int]:name>.remove(<int>)
1 | <List[T]:name>[<index>] = <T>
0.5 | <List[int]:name>[<index>] += <small>
0.3 | <List[str]:name>[<index>] += <text>
0.5 | <List[T]:name> += [<T>]
0.2 | del <List[T]:name>[<index>]
4 | <Dict[K, V]:name>[<K>] = <V>
1 | <Dict[K, V]:name>.setdefault(<K>, <V>)
1 | <Dict[K, V]:name>.update(<Dict[K, V]>)
0.1 | <Dict[K, V]:name>.pop(<K>)
0.5 | <Dict[K, V]:name>.clear()
0.2 | <Dict[K, int]:name>[<K>] += <small>
0.2 | del <Dict[K, V]:name>[<K>]
0.2 | <Dict[str, List[int]]:name>[<str>].append(<int>)
0.5 | <Dict[str, Dict[str, int]]:name>[<str>] = <Dict[str, int]:name>
0.2 | <Dict[str, Dict[str, int]]:name>[<str>][<str>] = <int>
0.3 | <List[List[int]]:name>[<index>].append(<int>)
1 | print(<T>)
2 | print(<int>, <str>, <float>)
1 | print(<List[T]>, <Dict[str, int]>)
1 | print("<letter>", <Tuple[int, str]>, <Optional[int]>)
1 | print(<bool>, None, <complex>)
0.3 | assert <bool>
0.3 | assert <int> <cmp> <int>, <str>
0.5 | pass
"""


@dataclass(frozen=True)
class Hole:
    kind: str  # "expression", "variable", "name", "same", or the name of a literal
    type: Type | None = None


@dataclass(eq=False)
class Rule:
    result: Type | None
    weight: float
    parts: tuple  # of str and Hole

    def bindings(self, type_):
        return unify(self.result, type_, {})

    @functools.cached_property
    def free_variables(self):
        used = set()
        for part in self.parts:
            if isinstance(part, Hole) and part.type is not None:
                used |= variables_of(part.type)
        found = used | {v for part in self.parts if isinstance(part, str) for v in VARIABLE_IN_TEXT.findall(part)}
        return sorted(found)


LITERALS = {
    "small",
    "small3",
    "bit",
    "zero",
    "index",
    "step",
    "nonzero",
    "cmp",
    "text",
    "letter",
    "letter_code",
    "short",
    "letter_b",
    "plain_float",
}
VARIABLE_IN_TEXT = re.compile(r"(?<![.\w])[TKVU]\b")
_HOLE = re.compile(r"<([A-Za-z]\w*(?:\[[\w\[\], ]*\])?(?::\w+)?)>")


def _parts(template):
    parts = []
    for index, piece in enumerate(_HOLE.split(template)):
        if index % 2 == 0:
            if piece:
                parts.append(piece)
        elif piece in LITERALS:
            parts.append(Hole(piece))
        else:
            text, _, kind = piece.partition(":")
            kind = {"": "expression", "var": "variable"}.get(kind, kind)
            parts.append(Hole(kind, parse(text)))
    return tuple(parts)


def _read(table):
    for line in table.strip().splitlines():
        if line.strip():
            head, template = line.split(" | ", 1)
            yield head.strip(), _parts(template)


def _expression_rules(table):
    for head, parts in _read(table):
        match = re.fullmatch(r"(.*?)(?: ([\d.]+))?", head)
        yield Rule(parse(match[1]), float(match[2] or 1), parts)


def expression_rules(table):
    """The rules of a table like EXPRESSIONS."""
    return list(_expression_rules(table))


def statement_rules(table):
    """The rules of a table like STATEMENTS."""
    return [Rule(None, float(head), parts) for head, parts in _read(table)]


EXPRESSION_RULES = expression_rules(EXPRESSIONS)
PYTHON_RULES = [*EXPRESSION_RULES, *_expression_rules(PYTHON_EXPRESSIONS)]
STATEMENT_RULES = statement_rules(STATEMENTS)
