from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Literal, TypedDict, overload

from typing_extensions import Unpack

#: Name: its variable in the environment, what it may be, its default, and what it is for.
descriptions: Mapping[str, str]

_Choices = Literal[
    "execution_mode",
    "kernels",
    "numerics",
    "perf_map",
    "source_ranges",
    "plans",
    "optimizer_errors",
    "check_facts",
    "fail_guard",
    "passes",
]
_Integers = Literal[
    "plans_per_function",
    "plans_per_loop",
    "hot_loop",
    "plan_nodes",
    "differentiable_nodes",
    "fork_threads",
    "untrusted_milliseconds",
    "untrusted_memory",
]

class _Options(TypedDict, total=False):
    execution_mode: Literal["interpret", "optimize"]
    kernels: Literal["off", "background", "now", "check"]
    numerics: Literal["default", "exact"]
    perf_map: Literal["off", "on"]
    source_ranges: Literal["off", "on"]
    plans: Literal["useful", "always", "loops"]
    optimizer_errors: Literal["report", "raise"]
    plans_per_function: int
    plans_per_loop: int
    hot_loop: int
    plan_nodes: int
    differentiable_nodes: int
    fork_threads: int
    untrusted_milliseconds: int
    untrusted_memory: int
    check_facts: Literal["off", "plans", "unoptimized"]
    fail_guard: str
    passes: str

# Each as an attribute, to read and to set.
execution_mode: Literal["interpret", "optimize"]
kernels: Literal["off", "background", "now", "check"]
numerics: Literal["default", "exact"]
perf_map: Literal["off", "on"]
source_ranges: Literal["off", "on"]
plans: Literal["useful", "always", "loops"]
optimizer_errors: Literal["report", "raise"]
plans_per_function: int
plans_per_loop: int
hot_loop: int
plan_nodes: int
differentiable_nodes: int
fork_threads: int
untrusted_milliseconds: int
untrusted_memory: int
check_facts: Literal["off", "plans", "unoptimized"]
fail_guard: str
passes: str

@overload
def get(name: None = None) -> dict[str, str | int]: ...
@overload
def get(name: _Choices) -> str: ...
@overload
def get(name: _Integers) -> int: ...

#: Sets options for the whole process: all of them, or none if one is wrong.
def set(**options: Unpack[_Options]) -> None: ...

#: Within the context, for the whole process; at its end, also by an exception, options are what they were before.
def override(**options: Unpack[_Options]) -> AbstractContextManager[None]: ...
