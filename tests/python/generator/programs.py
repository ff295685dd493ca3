"""Whole programs: a few classes, a few functions that call earlier ones, and calls of each from outside."""

import random

from .expressions import Library
from .statements import StatementGenerator
from .tree import Call, Class, Function, Parameter, Program, Variable, simple
from .types import BOOL, FLOAT, INT, STR, TENSOR, UNIVERSE, parse

ATTRIBUTE_TYPES = ["int", "float", "str", "List[int]", "Dict[str, int]", "Tensor", "Optional[int]", "bool"]
ARGUMENT_TENSORS = [
    "torch.tensor([1.0, -2.5, 0.0])",
    "torch.arange(6.0).reshape(2, 3)",
    "torch.arange(6).reshape(2, 3)",
    "torch.tensor(2.0)",
    "torch.tensor([True, False, True])",
    "torch.tensor([float('nan'), float('inf'), -0.0])",
    "torch.ones(3, dtype=torch.float64)",
    "torch.ones(3, requires_grad=True)",
    "torch.zeros(0)",
    "torch.arange(6.0).reshape(3, 2).t()",
    "torch.zeros(2, 0)",
    "torch.tensor([9223372036854775807, -1])",
    "torch.tensor([1, 255], dtype=torch.uint8)",
    "torch.tensor([0.5, -0.0, 65504.0], dtype=torch.float16)",
    "torch.tensor([1 + 2j, -1j])",
]
ARGUMENT_INTS = [
    "0",
    "1",
    "2",
    "-1",
    "5",
    "-7",
    "9223372036854775807",
    "-9223372036854775808",
    "2147483648",
    "-4294967297",
    "9007199254740993",
]
ARGUMENT_FLOATS = [
    "0.0",
    "1.5",
    "-2.0",
    "-0.0",
    "float('inf')",
    "float('nan')",
    "1e308",
    "3.0",
    "float('-inf')",
    "5e-324",
    "-9.3e18",
]
ARGUMENT_STRINGS = ["''", "'a'", "'Ab c'", "'x,y,z'", "'12'", "' pad '", "'1.5e3'", "'ß日本'", "'naïve ü'"]
DEFAULTS = {INT: ["1", "-3"], FLOAT: ["0.5", "2.0"], BOOL: ["True"], STR: ['"d"']}
#: The share of programs that get one fault, so that both engines have something to refuse.
FAULTY = 0.05


def argument(rng, type_):
    """An argument as Python text."""
    name, args = type_.name, type_.args
    if type_ == INT:
        return rng.choice(ARGUMENT_INTS[:6]) if rng.random() < 0.85 else rng.choice(ARGUMENT_INTS)
    if type_ == FLOAT:
        return rng.choice(ARGUMENT_FLOATS)
    if type_ == BOOL:
        return rng.choice(["True", "False"])
    if type_ == STR:
        return rng.choice(ARGUMENT_STRINGS)
    if type_ == TENSOR:
        return rng.choice(ARGUMENT_TENSORS)
    if name == "complex":
        return rng.choice(["1+2j", "0j", "-1.5j"])
    if name == "Optional":
        return "None" if rng.random() < 0.4 else argument(rng, args[0])
    if name == "Union":
        return argument(rng, rng.choice(args))
    if name == "List":
        return "[" + ", ".join(argument(rng, args[0]) for _ in range(rng.choice([0, 1, 2, 3, 3, 4]))) + "]"
    if name == "Dict":
        items = [f"{argument(rng, args[0])}: {argument(rng, args[1])}" for _ in range(rng.choice([0, 1, 2, 3]))]
        return "{" + ", ".join(items) + "}"
    if name == "Tuple":
        return "(" + ", ".join(argument(rng, a) for a in args) + ("," if len(args) == 1 else "") + ")"
    raise AssertionError(type_)


class ProgramGenerator:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.library = Library()

    def program(self):
        rng = self.rng
        classes = []
        for index in range(rng.choice([0, 0, 1, 1, 2])):
            cls = self.make_class(index)
            classes.append(cls)
        for cls in [c for c in classes if c.methods]:
            if rng.random() < 0.5:
                classes.append(self.interface(cls))
        if rng.random() < 0.3:
            classes.append(self.enum())
        self.library.classes = classes
        for index in range(rng.randint(1, 3)):
            self.library.functions = [*self.library.functions, self.function(f"f{index}")]
        functions = self.library.functions
        calls = []
        for function in functions:
            for _ in range(2):
                calls.append(Call(function.name, [argument(rng, p.type) for p in function.parameters]))
        program = Program(classes, functions, calls)
        if rng.random() < FAULTY:
            self.spoil(program)
        return program

    def any_type(self):
        types, weights = zip(*UNIVERSE)
        return self.rng.choices(types, weights)[0]

    def parameters(self, most, prefix="a"):
        parameters = []
        for index in range(self.rng.randint(0 if most < 3 else 1, most)):
            type_ = self.any_type()
            default = None
            if type_ in DEFAULTS and (self.rng.random() < 0.2 or (parameters and parameters[-1].default)):
                default = self.rng.choice(DEFAULTS[type_])
            if parameters and parameters[-1].default is not None and default is None:
                break
            annotated = type_ != TENSOR or self.rng.random() < 0.5
            parameters.append(Parameter(f"{prefix}{index}", type_, default, annotated))
        return parameters

    def function(self, name):
        result = None if self.rng.random() < 0.08 else self.any_type()
        function = Function(name, self.parameters(4), result)
        function.annotated = self.rng.random() < 0.9 or result is None or result.name in ("Optional", "Union")
        self.fill(function, [])
        return function

    def fill(self, function, extra, python=False):
        body = StatementGenerator(self.rng, self.library, python, function.result)
        body.scope = [Variable(p.name, p.type) for p in function.parameters] + extra
        top = []
        for _ in range(self.rng.randint(2, 7)):
            body.blocks = 1
            top += body.statement()
        if function.result is not None:
            body.calls_allowed = True
            top.append(body.return_())
        function.body = top

    def make_class(self, index):
        rng = self.rng
        is_tuple = rng.random() < 0.35
        types = [parse(t) for t in ATTRIBUTE_TYPES]
        attributes = [(f"x{i}", rng.choice(types)) for i in range(rng.randint(1, 3))]
        cls = Class(f"{'N' if is_tuple else 'C'}{index}", attributes, is_tuple=is_tuple)
        if is_tuple:
            return cls
        for number in range(rng.randint(0, 2)):
            method = Function(f"m{number}", self.parameters(2, "p"), self.any_type(), is_method=True)
            self.library.classes = [cls]
            self_ = [Variable("self", cls.type, False)]
            self.fill(method, self_, python=True)
            self.library.classes = []
            cls.methods.append(method)
        return cls

    def interface(self, cls):
        """What a class does, without its attributes. Its methods have no defaults, which an interface can't see."""
        methods = []
        for method in cls.methods:
            parameters = [Parameter(p.name, p.type) for p in method.parameters]
            methods.append(Function(method.name, parameters, method.result, [simple("pass")], is_method=True))
        return Class(cls.name.replace("C", "I"), [], methods, implementer=cls)

    def enum(self):
        type_, values = self.rng.choice(
            [(INT, ["1", "-2", "9223372036854775807"]), (FLOAT, ["0.5", "-1.0", "1e308"]), (STR, ['"a"', '"ß"', '""'])]
        )
        return Class("E0", [("name", STR), ("value", type_)], members=list(zip("ABC", values)))

    def spoil(self, program):
        """Puts one expression of the wrong type, or a name that does not exist, somewhere."""
        rng = self.rng
        holders = [h for h in program.holders() if h.parts and hasattr(h, "type")]
        if not holders:
            return
        victim = rng.choice(holders)
        victim.parts = [rng.choice(["no_such_name", '"text"', "None", "[1, 2]", "3", "torch.ones(2)", "(1, 2.0)"])]


def generate(seed):
    """The program of a seed."""
    return ProgramGenerator(seed).program()
