"""Rows of frame capture for what programs read of the environment. Part of `_recording.py`."""

import os

from ._recording_values import NoRow, Value

ENVIRONMENT = os.environ
ENVIRONMENT_GET = type(ENVIRONMENT).get
# Functions that read the environment, and the code that each is known with.
ENVIRONMENT_CODES = {
    function: function.__code__
    for function in (
        os.getenv,
        ENVIRONMENT_GET,
        type(ENVIRONMENT).__getitem__,
        ENVIRONMENT.encodekey,
        ENVIRONMENT.decodevalue,
    )
}


def reads_environment(function):
    return function is os.getenv or function is ENVIRONMENT_GET


class Environment:
    """What a recorder does for calls that read the environment."""

    def call_getenv(self, callee, arguments, names):
        """A variable of the environment; each run of the plan looks for it."""
        if callee.object is os.getenv:
            code = ENVIRONMENT_CODES[os.getenv]
            environment = Value(self.emit("LoadGlobal", self.register(callee), object="environ"), os.environ)
        else:
            code = ENVIRONMENT_CODES[ENVIRONMENT_GET]
            environment, *arguments = arguments
            if environment.object is not ENVIRONMENT:
                self.call_function(callee, [environment, *arguments], names)
                return
        if names or not 1 <= len(arguments) <= 2:
            raise NoRow(f"a call of {callee.object.__name__} with other arguments")
        self.has_code(callee.object, code)
        self.identical(callee)
        self.pending = self.variable_of_environment(environment, *arguments)

    def variable_of_environment(self, environment, name, default=None):
        if type(environment) is not Value or environment.object is not ENVIRONMENT:
            raise NoRow("an environment of its own kind")
        self.identical(environment)
        if self.class_attribute(environment, "get") is not ENVIRONMENT_GET:
            raise NoRow("an environment of its own kind")
        for function, code in ENVIRONMENT_CODES.items():
            self.has_code(function, code)
        names = self.instance_dict(environment)
        for part in ("encodekey", "decodevalue"):
            self.identical(self.dict_item(names, part, ENVIRONMENT.__dict__[part]))
        inputs = [environment, self.constant(self.key(name)), self.constant(None) if default is None else default]
        if type(inputs[2]) is not Value or type(inputs[2].object) not in (str, type(None)):
            raise NoRow("a variable of the environment with another default")
        return self.typed(self.read_by(self.constant(ENVIRONMENT_GET), inputs))
