"""Blocks of statements: control flow, scopes, refinement.

A block may read what outer blocks define; what it defines itself ends with it. Loops run a few times each and nest
twice, and what grows in a loop is cut to a length, so that programs end soon and stay small.
"""

from .expressions import ExpressionGenerator, is_choice, nests_choice
from .rules import Hole
from .tree import Clause, Expr, Stmt, Variable, simple
from .types import BOOL, INT, STR, TENSOR, Type, list_of, parse

MAX_LOOPS = 2
MAX_BLOCKS = 4


class StatementGenerator(ExpressionGenerator):
    """The body of one function."""

    def __init__(self, rng, library, python, result):
        super().__init__(rng, library, python)
        self.result = result
        self.loops = 0
        self.blocks = 0
        self.budget = rng.randint(4, 14)

    def block(self, length):
        """Statements in a scope of their own."""
        mark = len(self.scope)
        self.blocks += 1
        body = []
        for _ in range(length):
            if self.budget <= 0:
                break
            self.budget -= 1
            body += self.statement()
        self.blocks -= 1
        del self.scope[mark:]
        return body

    def statement(self):
        rng = self.rng
        forms = [
            (self.declare, 6),
            (self.assign, 4),
            (self.from_rule, 9),
            (self.alias, 1),
            (self.unpack, 1),
            (self.set_attribute, 2),
        ]
        if self.blocks < MAX_BLOCKS:
            forms += [(self.branch, 3), (self.refine, 2), (self.no_grad, 0.5)]
            if self.loops < MAX_LOOPS:
                forms += [(self.for_range, 1.5), (self.for_each, 2), (self.while_loop, 1)]
        if self.loops:
            forms.append((self.leave_loop, 1.5))
        if self.blocks > 1:
            forms += [(self.early_return, 0.8), (self.raise_, 0.4)]
        if self.library.functions and not self.loops:
            forms.append((self.fork, 0.5))
        for _ in range(5):
            form = rng.choices([f for f, _ in forms], [w for _, w in forms])[0]
            made = form()
            if made:
                return made
        return self.declare()

    # ---- names ----

    def bounded(self, expression):
        """In a loop a string or list may only grow to a length."""
        if self.loops and expression.type == STR:
            return Expr(STR, [expression, "[:24]"])
        if self.loops and expression.type.name == "List" and not nests_choice(expression.type):
            return Expr(expression.type, [expression, "[:6]"])
        return expression

    def declare(self):
        type_ = self.any_type(classes=True)
        name = self.fresh()
        cls = self.library.class_of(type_)
        if cls:
            value = self.construct(cls, 3)
        elif type_.name == "List" and not nests_choice(type_) and self.rng.random() < 0.2:
            value = self.comprehension(type_, 3, plain=True)
        else:
            value = self.bounded(self.expression(type_))
        annotate = is_choice(type_) or nests_choice(type_) or self.rng.random() < 0.2 or bool(cls and cls.implementer)
        variable = Variable(name, type_)
        self.scope.append(variable)
        return [simple(f"{name}: {type_} = " if annotate else f"{name} = ", value, defines=[variable])]

    def assign(self):
        variable = self.named(Type("T"), assignable=True)
        if variable is None or self.library.class_of(variable.type):
            return None
        if self.loops and variable.type == TENSOR:
            return [simple(f"{variable.name} = ", self.expression(TENSOR), ".reshape(-1)[:6]", defines=[variable])]
        return [simple(f"{variable.name} = ", self.bounded(self.expression(variable.type)), defines=[variable])]

    def from_rule(self):
        rules = self.language.statements
        rule = self.rng.choices(rules, [r.weight for r in rules])[0]
        parts = self.fill_parts(rule, {}, 3)
        if parts is None:
            return None
        written = [v for v in self.scope if v.name == parts[0]] if isinstance(rule.parts[0], Hole) else []
        return [simple(*parts, defines=written[-1:])]

    def alias(self):
        variable = self.named(Type("T"))
        if variable is None or is_choice(variable.type):
            return None
        name = self.fresh()
        self.scope.append(Variable(name, variable.type))
        return [simple(f"{name} = {variable.name}")]

    def unpack(self):
        types = [self.value_type() for _ in range(self.rng.randint(2, 3))]
        value = self.expression(Type("Tuple", tuple(types)), 3)
        names = [self.fresh() for _ in types]
        variables = [Variable(n, t) for n, t in zip(names, types)]
        self.scope += variables
        return [simple(", ".join(names) + " = ", value, defines=variables)]

    def set_attribute(self):
        objects = [
            (v, a)
            for v in self.scope
            for c in [self.library.class_of(v.type)]
            if c and c.is_plain
            for a in c.attributes
        ]
        if not objects:
            return None
        variable, (name, type_) = self.rng.choice(objects)
        if type_ == INT and self.rng.random() < 0.4:
            return [simple(f"{variable.name}.{name} += ", self.expression(INT))]
        return [simple(f"{variable.name}.{name} = ", self.bounded(self.expression(type_)))]

    # ---- control flow ----

    def branch(self):
        condition = self.expression(BOOL)
        clauses = [Clause(["if ", condition, ":"], self.block(self.rng.randint(1, 3)))]
        if self.rng.random() < 0.25:
            clauses.append(Clause(["elif ", self.expression(BOOL), ":"], self.block(self.rng.randint(1, 2))))
        if self.rng.random() < 0.6:
            clauses.append(Clause(["else:"], self.block(self.rng.randint(1, 2))))
            if self.rng.random() < 0.4:  # a name that all branches define lives on
                type_ = self.value_type()
                name = self.fresh()
                variable = Variable(name, type_)
                for clause in clauses:
                    clause.body.insert(0, simple(f"{name} = ", self.expression(type_, 2), defines=[variable]))
                self.scope.append(variable)
        return [Stmt(clauses)]

    def refine(self):
        choices = [v for v in self.scope if is_choice(v.type)]
        if not choices:
            return None
        variable = self.rng.choice(choices)
        if variable.type.name == "Optional":
            inner, other = variable.type.args[0], None
            test = f"{variable.name} is not None"
        else:
            inner, other = variable.type.args
            spelled = "list" if inner.name == "List" else str(inner)
            test = f"isinstance({variable.name}, {spelled})"
        form = self.rng.random()
        if form < 0.2 and other is None:
            self.refined(variable, inner)
            return [simple(f"assert {test}")]
        if form < 0.35 and other is None:
            leave = self.leaving()
            if str(leave[-1].clauses[0]) not in ("break", "continue"):  # torch.jit does not refine after these
                self.refined(variable, inner)
            return [Stmt([Clause([f"if {variable.name} is None:"], leave)])]
        body = self.refined_block(variable, inner)
        clauses = [Clause([f"if {test}:"], body)]
        if self.rng.random() < 0.6:
            body = self.refined_block(variable, other) if other else self.block(2)
            clauses.append(Clause(["else:"], body))
        return [Stmt(clauses)]

    def refined(self, variable, inner):
        """From here on the name has the narrower type; it hides the wider one, which comes back with the outer block."""
        self.scope.append(Variable(variable.name, inner, assignable=False))

    def refined_block(self, variable, inner):
        hidden = [v for v in self.scope if v.name == variable.name]
        saved = list(self.scope)
        self.scope = [v for v in self.scope if v not in hidden] + [Variable(variable.name, inner, False)]
        body = self.block(self.rng.randint(1, 3))
        self.scope = saved
        return body

    def leaving(self):
        if self.loops and self.rng.random() < 0.5:
            return [simple(self.rng.choice(["break", "continue"]))]
        return self.early_return() if self.rng.random() < 0.6 else self.raise_()

    def for_range(self):
        name = self.fresh("i")
        bounds = self.rng.choice(
            [
                lambda: [str(self.rng.randint(0, 4))],
                lambda: [str(self.rng.randint(0, 3)), ", ", str(self.rng.randint(-1, 6)), ", ", "2"],
                lambda: ["4, 0, -1"],
                lambda: ["min(abs(", self.expression(INT, 2), "), 3)"],
                lambda: ["len(", self.expression(list_of(self.value_type()), 1), ")"],
            ]
        )()
        return self.loop([f"for {name} in range(", *bounds, "):"], [Variable(name, INT)])

    loop_forms = 7  # of for_each; the last ones are over lists

    def for_each(self):
        first, second = self.value_type(), self.value_type()
        a, b = self.fresh("e"), self.fresh("e")

        def sequence(t):
            return Expr(list_of(t), [self.expression(list_of(t), 2), "[:4]"])

        form = self.rng.randrange(self.loop_forms)
        if form == 0:
            return self.loop([f"for {a}, {b} in zip(", sequence(first), ", ", sequence(second), "):"],
                             [Variable(a, first), Variable(b, second)])  # fmt: skip
        if form == 1:
            return self.loop([f"for {a}, {b} in enumerate(", sequence(first), "):"],
                             [Variable(a, INT), Variable(b, first)])  # fmt: skip
        if form == 2:
            items = self.dict_type(first)
            return self.loop([f"for {a}, {b} in ", self.expression(items, 2), ".items():"],
                             [Variable(a, STR), Variable(b, items.args[1])])  # fmt: skip
        return self.for_other(form, a) or self.loop([f"for {a} in ", sequence(first), ":"], [Variable(a, first)])

    def dict_type(self, value):
        """The type of a dict to go through, of such values if there are expressions for it."""
        return parse("Dict[str, int]")

    def for_other(self, form, name):
        """A loop over what is no list; None for forms that are."""
        if form == 3:
            return self.loop([f"for {name} in ", self.expression(STR, 2), "[:4]:"], [Variable(name, STR)])
        if form == 4:
            return self.loop([f"for {name} in ", self.expression(TENSOR, 2), ":"], [Variable(name, TENSOR)])
        return None

    def while_loop(self):
        counter = self.fresh("n")
        limit = str(self.rng.randint(1, 4))
        condition = [f"while {counter} < {limit}"]
        if self.rng.random() < 0.5:
            condition += [" and ", self.expression(BOOL, 2)]
        loop = self.loop([*condition, ":"], [Variable(counter, INT, assignable=False)])
        loop[0].clauses[0].body.insert(0, simple(f"{counter} += 1", pinned=True))
        return [simple(f"{counter} = 0", pinned=True), *loop]

    def loop(self, header, variables):
        mark = len(self.scope)
        self.scope += variables
        self.loops += 1
        body = self.block(self.rng.randint(1, 4))
        self.loops -= 1
        del self.scope[mark:]
        return [Stmt([Clause(header, body, variables)])]

    def leave_loop(self):
        word = self.rng.choice(["break", "continue"])
        return [Stmt([Clause(["if ", self.expression(BOOL, 2), ":"], [simple(word)])])]

    def early_return(self):
        return [self.return_()]

    def return_(self):
        if self.result is None:
            return simple("return")
        return simple("return ", self.expression(self.result, 3))

    def raise_(self):
        kind = self.rng.choice(["ValueError", "RuntimeError", "Exception", "IndexError", "NotImplementedError"])
        return [simple(f"raise {kind}(", self.expression(STR, 2), ")")]

    def no_grad(self):
        return [Stmt([Clause(["with torch.no_grad():"], self.block(2))])]

    def fork(self):
        usable = [f for f in self.library.functions if f.result is not None]
        if not usable:
            return None
        function = self.rng.choice(usable)
        future, name = self.fresh("u"), self.fresh()
        arguments = self.arguments(function.parameters, 2)
        start = simple(f"{future} = torch.jit.fork({function.name}", *([", "] if arguments else []), *arguments, ")")
        wait = simple(f"{name} = torch.jit.wait({future})")
        wait.clauses[0].defines = [Variable(name, function.result)]
        self.scope += wait.clauses[0].defines
        return [start, wait]
