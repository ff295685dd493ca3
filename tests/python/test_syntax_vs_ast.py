"""The parser against Python's own: random programs within the grammar must have the same trees and the same ranges.

`expected` converts Python's `ast` to the shape of Cresset's trees; `cresset-opt --print-tree=ranges` prints the actual one.
A node is [kind, range or None, child…], a leaf is bytes. Ranges are compared where `ast` has them. They follow from its
places by torch.jit's rule: an expression reaches from its first token to the end of its last operand, so closing
brackets, and parentheses around an expression, are no part of it, but for those of a subscript and the opening one of a
call without arguments.
"""

import ast
import io
import os
import random
import re
import shutil
import subprocess
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def tool():
    found = os.environ.get("CRESSET_OPT") or shutil.which("cresset-opt")
    if not found:
        built = sorted(ROOT.glob("build*/**/cresset-opt"), key=lambda p: p.stat().st_mtime)
        found = str(built[-1]) if built else None
    if not found:
        pytest.skip("cresset-opt is not built (set CRESSET_OPT to its path)")
    return found


def print_tree(source, path):
    path.write_bytes(source.encode())
    done = subprocess.run([tool(), "--print-tree=ranges", str(path)], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return parse_trees(done.stdout.decode())


# ---- the tool's output ----

TOKEN = re.compile(
    r"""\s*(?:(?P<open>\((?P<kind>(?:[^()@\s"]|\ (?!\()|[@](?!\d)|(?<=\()[@])+)@(?P<r>\d+:\d+-\d+:\d+))
    |(?P<close>\))|"(?P<string>(?:[^"\\]|\\.)*)"|(?P<atom>[^\s()]+))""",
    re.X | re.S,
)
ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


def unquote(text):
    out = bytearray()
    for m in re.finditer(r"\\([0-7]{3}|.)|([^\\]+)", text, re.S):
        if m[2] is not None:
            out += m[2].encode()
        elif len(m[1]) == 3:
            out.append(int(m[1], 8))
        else:
            out.append(ESCAPES.get(m[1], ord(m[1])))
    return bytes(out)


def parse_trees(text):
    roots, stack, at = [], [], 0
    text = text.rstrip()
    while at < len(text):
        m = TOKEN.match(text, at)
        assert m, text[at : at + 80]
        at = m.end()
        if m["open"]:
            numbers = tuple(int(n) for n in re.findall(r"\d+", m["r"]))
            stack.append([m["kind"], numbers])
            continue
        if m["close"]:
            node = stack.pop()
        elif m["string"] is not None:
            node = unquote(m["string"])
        else:
            node = m["atom"].encode()
        (stack[-1] if stack else roots).append(node)
    return roots


# ---- what it should be ----

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "floordiv",
    ast.Mod: "%",
    ast.Pow: "pow",
    ast.MatMult: "@",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "|",
    ast.BitAnd: "&",
    ast.BitXor: "^",
}
COMPARE = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "<",
    ast.LtE: "le",
    ast.Gt: ">",
    ast.GtE: "ge",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


class Expected:
    def __init__(self, source):
        self.source = source
        self.lines = source.encode().split(b"\n")
        self.ranges = True

    def range(self, n):
        return (*self.begin(n), *self.end(n)) if self.ranges else None

    def begin(self, n):
        first = None
        if isinstance(n, (ast.BinOp, ast.Compare)):
            first = n.left
        elif isinstance(n, ast.BoolOp):
            first = n.values[0]
        elif isinstance(n, ast.IfExp):
            first = n.body
        elif isinstance(n, ast.Call):
            first = n.func
        elif isinstance(n, (ast.Attribute, ast.Subscript)):
            first = n.value
        elif isinstance(n, ast.Assign):
            first = n.targets[0]
        elif isinstance(n, (ast.AnnAssign, ast.AugAssign)):
            first = n.target
        elif isinstance(n, ast.Expr):
            first = n.value
        elif isinstance(n, ast.Tuple) and not self.is_parenthesized(n):
            first = n.elts[0]
        elif isinstance(n, ast.Slice):
            first = n.lower
        return self.begin(first) if first else (n.lineno, n.col_offset)

    def end(self, n):
        """The end of the last operand, unless a name or a keyword comes after it."""
        last = None
        if isinstance(n, ast.BinOp):
            last = n.right
        elif isinstance(n, ast.BoolOp):
            last = n.values[-1]
        elif isinstance(n, ast.Compare):
            last = n.comparators[-1]
        elif isinstance(n, ast.UnaryOp):
            last = n.operand
        elif isinstance(n, ast.IfExp):
            last = n.orelse
        elif isinstance(n, ast.Call):
            arguments = [*n.args, *(k.value for k in n.keywords)]
            return max(map(self.end, [*arguments, n.func])) if arguments else self.after_open(n)
        elif isinstance(n, ast.Slice):
            parts = [p for p in (n.lower, n.upper, n.step) if p]
            last = parts[-1] if parts and not self.text(n).rstrip().endswith(":") else None
        elif isinstance(n, (ast.Tuple, ast.List, ast.Set)):
            last = n.elts[-1] if n.elts else None
        elif isinstance(n, ast.Dict):
            last = n.values[-1] if n.values else None
        elif isinstance(n, (ast.ListComp, ast.DictComp)):
            last = (n.generators[-1].ifs or [n.generators[-1].iter])[-1]
        elif isinstance(n, ast.AnnAssign):
            last = n.value or n.annotation
        elif isinstance(n, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Starred)):
            last = n.value
        elif isinstance(n, ast.Assert):
            last = n.msg or n.test
        elif isinstance(n, ast.Raise):
            last = n.exc
        elif isinstance(n, ast.Delete):
            last = n.targets[-1]
        if last:
            return self.end(last)
        if isinstance(n, (ast.Tuple, ast.List, ast.Dict)):
            return (n.lineno, n.col_offset + 1)
        return (n.end_lineno, n.end_col_offset)

    def after_open(self, call):
        """The end of the parenthesis of a call without arguments."""
        before = self.text(call).rpartition("(")[0].split("\n")
        column = len(before[-1].encode()) + (call.col_offset if len(before) == 1 else 0)
        return (call.lineno + len(before) - 1, column + 1)

    def text(self, n):
        # Not ast.get_source_segment, which splits the whole source at each call.
        first, last = n.lineno - 1, n.end_lineno - 1
        if first == last:
            return self.lines[first][n.col_offset : n.end_col_offset].decode()
        middle = self.lines[first + 1 : last]
        return b"\n".join([self.lines[first][n.col_offset :], *middle, self.lines[last][: n.end_col_offset]]).decode()

    def list(self, items):
        return ["list", None, *items]

    def option(self, item):
        return ["option", None] if item is None else ["option", None, item]

    def ident(self, name):
        return ["ident", None, name.encode()]

    def node(self, n, kind, *children):
        return [kind, self.range(n), *children]

    def annotation(self, n):
        return None if n is None else self.expr(n)

    def target(self, n):
        if isinstance(n, (ast.Tuple, ast.List)):
            return self.node(n, "tuple literal", self.list(map(self.target, n.elts)))
        if isinstance(n, ast.Starred):
            return self.node(n, "starred", self.target(n.value))
        return self.expr(n)

    def exprs(self, items):
        return self.list([self.expr(i) for i in items])

    def stmts(self, items):
        return self.list([self.stmt(i) for i in items])

    def format(self, values, spec=False):
        text, args = "", []
        for v in values:
            if isinstance(v, ast.Constant):
                for run in re.findall(r"[{}]+|[^{}]+", v.value):
                    text += "{}" if run[0] in "{}" else run
                    args += [["string_literal", None, run.encode()]] if run[0] in "{}" else []
                continue
            ranges, self.ranges = self.ranges, False  # Python before 3.12 has wrong ones here
            args.append(self.expr(v.value))
            text += "{" + ("" if v.conversion < 0 else "!" + chr(v.conversion))
            if v.format_spec is not None:
                inner, more = self.format(v.format_spec.values, True)
                text += ":" + inner
                args += more
            text += "}"
            self.ranges = ranges
        return text, args

    def is_parenthesized(self, n):
        text = self.text(n)
        if text[0] != "(":
            return False
        depth = 0
        # In brackets, where line breaks are no tokens; the end of the first bracket is the end of the text, if it is its own.
        tokens = [
            t.string for t in tokenize.generate_tokens(io.StringIO(f"({text})").readline) if t.type == tokenize.OP
        ]
        for i, token in enumerate(tokens[1:-1]):
            depth += (token in "([{") - (token in ")]}")
            if depth == 0:
                return i == len(tokens) - 3
        return False

    def expr(self, n):
        t = type(n)
        if t is ast.Name:
            return self.node(n, "variable", self.ident(n.id))
        if t is ast.Constant:
            v = n.value
            if v is None or v is True or v is False:
                return self.node(n, str(v))
            if v is ...:
                return self.node(n, "dots")
            if isinstance(v, str):
                return self.node(n, "string_literal", v.encode())
            return self.node(n, "const", self.text(n).encode() if self.ranges else None)
        if t is ast.JoinedStr:
            if not any(isinstance(v, ast.FormattedValue) for v in n.values):
                return self.node(n, "string_literal", "".join(v.value for v in n.values).encode())
            text, args = self.format(n.values)
            callee = [".", None, ["string_literal", None, text.encode()], self.ident("format")]
            return self.node(n, "apply", callee, self.list(args), self.list([]))
        if t is ast.Attribute:
            return self.node(n, ".", self.expr(n.value), self.ident(n.attr))
        if t is ast.BinOp:
            return self.node(n, BINARY[type(n.op)], self.expr(n.left), self.expr(n.right))
        if t is ast.BoolOp:
            kind = "and" if isinstance(n.op, ast.And) else "or"
            left = self.expr(n.values[0])
            for v in n.values[1:]:
                left = [kind, None, left, self.expr(v)]
            left[1] = self.range(n)
            return left
        if t is ast.Compare:
            if len(n.ops) == 1:
                return self.node(n, COMPARE[type(n.ops[0])], self.expr(n.left), self.expr(n.comparators[0]))
            ops = [[COMPARE[type(o)], None] for o in n.ops]
            return self.node(n, "comparison chain", self.exprs([n.left, *n.comparators]), self.list(ops))
        if t is ast.UnaryOp:
            if isinstance(n.op, ast.UAdd) and isinstance(n.operand, ast.Constant):
                return self.node(n, "const", self.text(n.operand).encode() if self.ranges else None)
            if isinstance(n.op, ast.USub) and isinstance(n.operand, ast.Constant) and n.operand.value == 2**63:
                return self.node(n, "const", b"-9223372036854775808")
            kind = {ast.USub: "unary minus", ast.UAdd: "+", ast.Not: "not", ast.Invert: "~"}[type(n.op)]
            return self.node(n, kind, self.expr(n.operand))
        if t is ast.IfExp:
            return self.node(n, "if expression", self.expr(n.test), self.expr(n.body), self.expr(n.orelse))
        if t is ast.Call:
            keys = [["attribute", None, self.ident(k.arg), self.expr(k.value)] for k in n.keywords]
            return self.node(n, "apply", self.expr(n.func), self.exprs(n.args), self.list(keys))
        if t is ast.Subscript:
            s = n.slice
            if isinstance(s, ast.Tuple) and len(s.elts) > 1 and self.ranges and not self.is_parenthesized(s):
                return self.node(n, "subscript", self.expr(n.value), self.exprs(s.elts))
            return self.node(n, "subscript", self.expr(n.value), self.list([self.expr(s)]))
        if t is ast.Slice:
            parts = [self.option(p and self.expr(p)) for p in (n.lower, n.upper, n.step)]
            return self.node(n, "slice", *parts)
        if t is ast.Starred:
            return self.node(n, "starred", self.expr(n.value))
        if t in (ast.Tuple, ast.List, ast.Set):
            kind = {ast.Tuple: "tuple literal", ast.List: "list literal", ast.Set: "set literal"}[t]
            return self.node(n, kind, self.exprs(n.elts))
        if t is ast.Dict:
            return self.node(n, "dict literal", self.exprs(n.keys), self.exprs(n.values))
        if t in (ast.ListComp, ast.DictComp):
            loops = [["for", None, self.target(g.target), self.expr(g.iter), self.exprs(g.ifs)] for g in n.generators]
            if t is ast.ListComp:
                return self.node(n, "list comprehension", self.expr(n.elt), self.list(loops))
            return self.node(n, "dict comprehension", self.expr(n.key), self.expr(n.value), self.list(loops))
        raise NotImplementedError(ast.dump(n))

    def stmt(self, n):
        t = type(n)
        if t is ast.Expr:
            return self.node(n, "expression statement", self.expr(n.value))
        if t is ast.Assign:
            targets = self.list([self.target(x) for x in n.targets])
            return self.node(n, "assign", targets, self.option(self.expr(n.value)), self.option(None))
        if t is ast.AnnAssign:
            value = self.option(n.value and self.expr(n.value))
            return self.node(
                n, "assign", self.list([self.target(n.target)]), value, self.option(self.expr(n.annotation))
            )
        if t is ast.AugAssign:
            return self.node(n, "augmented assign", self.expr(n.target), [BINARY[type(n.op)], None], self.expr(n.value))
        if t is ast.If:
            return self.node(n, "if", self.expr(n.test), self.stmts(n.body), self.stmts(n.orelse))
        if t is ast.While:
            return self.node(n, "while", self.expr(n.test), self.stmts(n.body))
        if t is ast.For:
            return self.node(n, "for", self.target(n.target), self.expr(n.iter), self.stmts(n.body))
        if t is ast.With:
            items = [
                [
                    "with item",
                    None,
                    self.expr(i.context_expr),
                    self.option(i.optional_vars and self.expr(i.optional_vars)),
                ]
                for i in n.items
            ]
            return self.node(n, "with", self.list(items), self.stmts(n.body))
        if t is ast.Return:
            return self.node(n, "return", self.expr(n.value) if n.value else ["None", None])
        if t is ast.Raise:
            return self.node(n, "raise", self.expr(n.exc))
        if t is ast.Assert:
            return self.node(n, "assert", self.expr(n.test), self.option(n.msg and self.expr(n.msg)))
        if t is ast.Delete:
            flat, todo = [], list(n.targets)
            while todo:
                x = todo.pop(0)
                if isinstance(x, (ast.Tuple, ast.List)):
                    todo[:0] = x.elts
                else:
                    flat.append(self.expr(x))
            return self.node(n, "delete", self.list(flat))
        if t in (ast.Pass, ast.Break, ast.Continue):
            return self.node(n, t.__name__.lower())
        marks = self.exprs(getattr(n, "decorator_list", []))
        if t is ast.FunctionDef:
            a = n.args
            defaults = [None] * (len(a.args) - len(a.defaults)) + a.defaults
            params = []
            for only, args, values in (("False", a.args, defaults), ("True", a.kwonlyargs, a.kw_defaults)):
                for p, d in zip(args, values):
                    kind = self.option(self.annotation(p.annotation))
                    params.append(
                        ["param", None, self.ident(p.arg), kind, self.option(d and self.expr(d)), [only, None]]
                    )
            decl = ["decl", None, self.list(params), self.option(self.annotation(n.returns))]
            return self.node(n, "def", self.ident(n.name), decl, self.stmts(n.body), marks)
        if t is ast.ClassDef:
            return self.node(n, "class", self.ident(n.name), self.exprs(n.bases), self.stmts(n.body), marks)
        raise NotImplementedError(ast.dump(n))


def expected(source):
    e = Expected(source)
    trees = []
    for n in ast.parse(source).body:
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            continue
        tree = e.stmt(n)
        trees.append(tree[2] if tree[0] == "expression statement" else tree)
    return trees


def difference(want, got, path=""):
    if isinstance(want, list) and isinstance(got, list):
        if want[0] != got[0]:
            return f"{path}: kind {want[0]} expected, {got[0]} found"
        if want[1] is not None and want[1] != got[1]:
            return f"{path}/{want[0]}: range {want[1]} expected, {got[1]} found"
        if len(want) != len(got):
            return f"{path}/{want[0]}: {len(want) - 2} children expected, {len(got) - 2} found"
        for i, (w, g) in enumerate(zip(want[2:], got[2:])):
            if d := difference(w, g, f"{path}/{want[0]}[{i}]"):
                return d
        return None
    return None if want is None or want == got else f"{path}: {want!r} expected, {got!r} found"


def check(source, path):
    want, got = expected(source), print_tree(source, path)
    assert len(want) == len(got)
    lines = source.split("\n")
    for w, g in zip(want, got):
        if d := difference(w, g):
            r = w[1] or (1, 0, len(lines), 0)
            text = "\n".join(lines[r[0] - 1 : r[2]])
            pytest.fail(f"{path} line {r[0]}: {d}\n{text[:2000]}", pytrace=False)


# ---- random programs ----


class Generator:
    """Text within the grammar, with the freedom in layout that people take."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.brackets = 0

    def pick(self, *items):
        return self.r.choice(items)

    def sp(self):
        if self.brackets and self.r.random() < 0.03:
            return self.pick("\n", "\n    ", "  # a comment\n", " # type: ignore\n", "\\\n", "\n\n\t")
        return self.pick("", " ", " ", " ", "  ", "\t", "\\\n " if self.r.random() < 0.02 else " ")

    def gap(self):
        return self.sp() or " "

    def inside(self, make):
        self.brackets += 1
        text = make()
        self.brackets -= 1
        return text

    def name(self):
        return self.pick("x", "y", "_z", "self", "foo_1", "T", "matches", "fx", "bar", "iff", "typed")

    def number(self):
        return self.pick(
            "0",
            "1",
            "42",
            "1_000",
            "0x1F",
            "0o17",
            "0b1_01",
            "1.5",
            ".5",
            "5.",
            "1e-3",
            "1E5",
            "2j",
            "1.5e3J",
            "00",
            "9223372036854775807",
            "1_0.0_1",
            "0.0",
        )

    def string_body(self, quote):
        return "".join(
            self.pick(
                "a",
                "b c",
                "\\n",
                "\\\\",
                "\\'",
                '\\"',
                "\\x41",
                "\\u00e9",
                "\\U0001F600",
                "é",
                "…",
                "\\101",
                "#",
                "\\d",
                "",
            )
            for _ in range(self.r.randrange(4))
        )

    def string(self):
        parts = []
        for _ in range(self.pick(1, 1, 1, 2, 3)):
            quote = self.pick('"', "'", '"""', "'''")
            prefix = self.pick("", "", "", "u", "r", "R", "f", "rf")
            if "f" in prefix:
                body = "".join(
                    self.pick(
                        "a",
                        "{{",
                        "}}",
                        " b",
                        "{x}",
                        "{ y + 1 }",
                        "{x!r}",
                        "{x:.2f}",
                        "{x!s:>{y}}",
                        "{foo(x)[0]}",
                        "{x=}",
                        "{x = }",
                        "{x=!s}",
                        "{x=:3}",
                        "{ {1: 2}[1] }",
                        "{x, y}",
                        "{x != y}",
                        "{(x == y)}",
                    )
                    for _ in range(self.r.randrange(5))
                )
            else:
                body = self.string_body(quote)
                if "r" in prefix.lower():
                    body = body.replace("\\", "") if self.r.random() < 0.5 else body.replace("\\\\", "")
            if len(quote) == 3:
                body = body.replace("b", "b\n") if self.r.random() < 0.3 and "f" not in prefix else body
            parts.append(prefix + quote + body + quote)
        return self.pick(" ", "  ").join(parts)

    def expr(self, d, low=0):
        """An expression whose operators all bind at least as tightly as `low` (Python's order), or in parentheses."""
        choice = self.r.random()
        if d <= 0:
            return self.atom(0)
        if choice < 0.3:
            return self.postfix(d)
        if choice < 0.36:
            return "(" + self.inside(lambda: self.sp() + self.expr(d - 1) + self.sp()) + ")"
        level = self.r.randrange(13)
        text = self.operator(d - 1, level)
        if level < low:
            return "(" + self.inside(lambda: self.operator(d - 1, level)) + ")"
        return text

    def operator(self, d, level):
        e, s = self.expr, self.sp
        if level == 0:
            return f"{e(d, 1)} if {e(d, 1)} else {e(d, 0)}"
        if level == 1:
            return " or ".join(e(d, 2) for _ in range(self.pick(2, 2, 3)))
        if level == 2:
            return " and ".join(e(d, 3) for _ in range(self.pick(2, 2, 3)))
        if level == 3:
            return "not " + e(d, 3)
        if level == 4:
            text = e(d, 5)
            for _ in range(self.pick(1, 1, 2, 3)):
                op = self.pick("<", ">", "==", "!=", "<=", ">=", " in ", " not in ", " is ", " is not ", " not  in ")
                text += s() + op + s() + e(d, 5)
            return text
        binary = {5: "|", 6: "^", 7: "&", 8: ("<<", ">>"), 9: ("+", "-"), 10: ("*", "/", "//", "%", "@")}
        if level in binary:
            text = e(d, level)
            for _ in range(self.pick(1, 1, 2, 4)):
                text += s() + self.pick(*binary[level]) + s() + e(d, level + 1)
            return text
        if level == 11:
            return self.pick("-", "~", "-", "- ") + e(d, 11)
        return self.postfix(d) + s() + "**" + s() + e(d, 11)

    def items(self, make, least=0, trailing=True):
        n = self.r.randrange(least, 4)
        text = ("," + self.sp()).join(self.sp() + make() for _ in range(n))
        return text + (self.pick("", ",", " , ") if n and trailing else self.sp())

    def star_or(self, d):
        return "*" + self.expr(d, 5) if self.r.random() < 0.1 else self.expr(d)

    def atom(self, d):
        k = self.r.randrange(14 if d > 0 else 8)
        if k < 4:
            return self.name()
        if k == 4:
            return self.number()
        if k == 5:
            return self.string()
        if k < 8:
            return self.pick("True", "False", "None", "...")
        if k == 8:
            return "[" + self.inside(lambda: self.items(lambda: self.star_or(d - 1))) + "]"
        if k == 9:

            def tuple_():
                n = self.r.randrange(4)
                if n == 0:
                    return ""
                if n == 1:
                    return self.expr(d - 1) + self.sp() + ","
                return (self.sp() + ",").join(self.star_or(d - 1) for _ in range(n)) + self.pick("", ",")

            return "(" + self.inside(tuple_) + ")"
        if k == 10:
            return "{" + self.inside(lambda: self.items(lambda: f"{self.expr(d - 1)}: {self.expr(d - 1)}")) + "}"
        if k == 11:
            return "{" + self.inside(lambda: self.items(lambda: self.star_or(d - 1), 1)) + "}"
        loop = lambda: (
            f" for {self.loop_target()} in {self.expr(d - 1, 1)}"
            + "".join(f" if {self.expr(d - 1, 1)}" for _ in range(self.pick(0, 0, 1, 2)))
        )
        if k == 12:
            return "[" + self.inside(lambda: self.expr(d - 1) + loop() + self.sp()) + "]"
        return "{" + self.inside(lambda: f"{self.expr(d - 1)} : {self.expr(d - 1)}" + loop()) + "}"

    def postfix(self, d):
        text = self.atom(d)
        if text[0] in "0123456789." or text[-1] == "j":
            text = "(" + text + ")"
        for _ in range(self.r.randrange(4)):
            k = self.r.randrange(3)
            if k == 0:
                text += self.pick(".", ".", " . ") + self.name()
            elif k == 1:
                text += self.pick("", "", " ") + "(" + self.inside(lambda: self.arguments(d - 1)) + ")"
            else:
                text += self.pick("", "", " ") + "[" + self.inside(lambda: self.indices(d - 1)) + "]"
        return text

    def arguments(self, d):
        positional = [self.star_or(d) for _ in range(self.r.randrange(3))]
        names = self.r.sample(["a", "b", "dim"], self.r.randrange(3))
        args = positional + [f"{n}{self.sp()}={self.sp()}{self.expr(d)}" for n in names]
        text = (self.sp() + "," + self.sp()).join(args)
        return self.sp() + text + (self.pick("", ",", ", ") if args else "")

    def indices(self, d):
        def one():
            if self.r.random() < 0.4:
                part = lambda: self.expr(d) if self.r.random() < 0.5 else ""
                return part() + ":" + part() + (self.pick("", ":" + part()))
            return self.pick("None", "...", self.expr(d))

        n = self.pick(1, 1, 2, 3)
        if n == 1 and self.r.random() < 0.1:
            return self.name() + ","  # a tuple of one
        return (self.sp() + "," + self.sp()).join(one() for _ in range(n)) + (self.pick("", ",") if n > 1 else "")

    def target(self, d=1):
        k = self.r.randrange(7)
        if k < 3:
            return self.name()
        if k == 3:
            return f"{self.name()}.{self.name()}"
        if k == 4:
            return f"{self.name()}[" + self.inside(lambda: self.indices(d)) + "]"
        if d <= 0:
            return self.name()
        return self.pick("({})", "[{}]").format(self.targets(d - 1))

    def targets(self, d):
        n = self.pick(1, 2, 3)
        items = [self.target(d) for _ in range(n)]
        if self.r.random() < 0.3:
            i = self.r.randrange(n)
            items[i] = "*" + items[i].lstrip("([").rstrip(")],") if items[i].isidentifier() else items[i]
        text = ", ".join(items)
        return text + ("," if n == 1 else self.pick("", ","))

    def loop_target(self):
        return self.name() if self.r.random() < 0.5 else self.targets(1)

    def tuple_or(self, d):
        return self.expr(d) if self.r.random() < 0.8 else self.expr(d) + ", " + self.star_or(d) + self.pick("", ",")

    def annotation(self):
        return self.pick(
            "int", "Tensor", "List[int]", "Dict[str, Tensor]", "Optional[torch.Tensor]", "Tuple[int, ...]", "a.b.C"
        )

    def simple(self, in_loop, in_function):
        k = self.r.randrange(14 if in_loop else 12)
        if k == 0:
            return self.expr(3)
        if k < 4:
            left = "".join(
                self.pick(self.target(), self.targets(1)) + self.sp() + "=" + self.sp()
                for _ in range(self.pick(1, 1, 2))
            )
            return left + self.tuple_or(3)
        if k == 4:
            value = "" if self.r.random() < 0.3 else " = " + self.tuple_or(2)
            return f"{self.name()}{self.sp()}: {self.annotation()}{value}"
        if k == 5:
            return f"{self.name()}.{self.name()} : {self.annotation()} = {self.expr(1)}"
        if k == 6:
            op = self.pick("+", "-", "*", "/", "//", "%", "@", "&", "|", "^", "<<", ">>", "**")
            return self.pick("x", "x.y", "x[0]", "x[1:, ...]") + self.sp() + op + "=" + self.sp() + self.expr(2)
        if k == 7:
            return "assert " + self.expr(2) + self.pick("", ", " + self.string())
        if k == 8:
            return "raise " + self.pick("ValueError", "E(x, )") + self.pick("", "('no')")
        if k == 9:
            return "del " + self.pick("x", "x[0]", "x, y", "(x, y[0])", "x.y,", "[x]")
        if k == 10:
            return "return" + self.pick("", " " + self.tuple_or(2)) if in_function else "pass"
        if k == 11:
            return "pass"
        return self.pick("break", "continue")

    def suite(self, indent, d, in_loop, in_function=True):
        if self.r.random() < 0.15:
            return (
                " "
                + "; ".join(self.simple(in_loop, in_function) for _ in range(self.pick(1, 2)))
                + self.pick("", ";")
                + "\n"
            )
        inner = indent + self.pick("  ", "    ", " ", "\t")
        lines = [self.pick("", "  # why\n", "\n\n")]
        for _ in range(self.pick(1, 2, 3)):
            lines.append(self.statement(inner, d - 1, in_loop, in_function))
            if self.r.random() < 0.15:
                lines.append(self.pick("\n", "   # comment\n", " \t \n", "# outside\n"))
        head = self.pick("\n", "  # a comment\n")
        return head + "".join(l if l.strip() else "\n" for l in lines)

    def statement(self, indent, d, in_loop=False, in_function=True):
        k = self.r.randrange(10) if d > 0 else 0
        if k < 6:
            return indent + self.simple(in_loop, in_function) + self.pick("", "", " ;", "  # c") + "\n"
        if k == 6:
            text = f"{indent}if {self.expr(2)}:" + self.suite(indent, d, in_loop, in_function)
            for _ in range(self.pick(0, 0, 1, 2)):
                text += f"{indent}elif {self.expr(1)}:" + self.suite(indent, d, in_loop, in_function)
            return text + self.pick("", f"{indent}else :" + self.suite(indent, d, in_loop, in_function))
        if k == 7:
            return f"{indent}while {self.expr(2)}:" + self.suite(indent, d, True, in_function)
        if k == 8:
            return f"{indent}for {self.loop_target()} in {self.tuple_or(2)}:" + self.suite(indent, d, True, in_function)
        items = self.pick(
            "f(x)", "f(x) as y", "a, b as c", "(a as b, c)", "(a, b)", "(a, b,)", "(a).b() as c", "(a)", "(a) as b, (c)"
        )
        return f"{indent}with {items}:" + self.suite(indent, d, in_loop, in_function)

    def function(self, indent, method=False):
        params = [f"p{i}" + self.pick("", ": " + self.annotation()) for i in range(self.r.randrange(4))]
        params += [f"d{i}" + self.pick("", " : int") + "=" + self.expr(1) for i in range(self.r.randrange(2))]
        if self.r.random() < 0.3:
            params += ["*"] + [f"k{i}" + self.pick("", f" = {self.expr(0)}") for i in range(self.pick(1, 2))]
        if method:
            params.insert(0, "self")
        text = (indent + "@" + self.pick("export\n", "a.b\n", "a.b(1)\n")) if self.r.random() < 0.3 else ""
        split = self.pick(", ", ",\n      ")
        text += (
            f"{indent}def {self.name()}{self.pick('', ' ')}({split.join(params)}{self.pick('', ',') if params else ''})"
        )
        text += self.pick("", f" -> {self.annotation()}") + ":"
        return text + self.suite(indent, 3, False)

    def class_(self):
        text = "@mark\n" if self.r.random() < 0.2 else ""
        text += "class C" + self.pick("", "()", "(Module)", "(a.B, C,)") + ":\n"
        for _ in range(self.pick(1, 3, 5)):
            text += self.pick(
                "  x : int\n",
                "  y : Optional[a.b.C] = None\n",
                '  __parameters__ = ["a", "b", ]\n',
                '  """doc"""\n',
                "  pass\n",
                '  __annotations__["0"] = __torch__.M\n',
                self.function("  ", True),
                self.function("  ", True),
            )
        return text

    def program(self, count):
        make = lambda: self.pick(
            lambda: self.expr(4) + "\n",
            lambda: self.statement("", 3, False, False),
            lambda: self.function(""),
            self.class_,
        )()
        return "".join(make() for _ in range(count))


def valid(source):
    """Whether Python takes it, and means no more than the trees hold: a parenthesized target with a type is "not simple"."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def random_program(seed, count):
    g, pieces = Generator(seed), []
    while len(pieces) < count:
        piece = g.program(1)
        if valid(piece):
            pieces.append(piece)
    return "".join(pieces)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(int(os.environ.get("CRESSET_SYNTAX_SEEDS", "20"))))
def test_random_programs(seed, tmp_path):
    check(random_program(seed, 100), tmp_path / "program.py")


@pytest.mark.filterwarnings("ignore")
def test_given_files(tmp_path):
    """Files named by CRESSET_SYNTAX_FILES, separated by colons: code of real archives."""
    for name in filter(None, os.environ.get("CRESSET_SYNTAX_FILES", "").split(":")):
        check(Path(name).read_text(), tmp_path / "program.py")
