"""Cresset: a compiler and runtime for PyTorch programs. The names are torch.jit's wherever torch.jit has the thing."""

import os

import torch  # noqa: F401  (the extension needs torch's libraries loaded)

from . import _C, functional, options, passes
from ._backends import register_backend, to_backend, to_backend_selective
from ._C import (
    Future,
    Graph,
    ScriptFunction,
    ScriptMethod,
    function_from_graph,
    parse_schema,
    parse_type,
)
from ._capture import (
    BackendError,
    CaptureExplanation,
    allow_in_graph,
    compile,
    disable,
    graph_break,
    is_compiling,
    reset,
)
from ._containers import ScriptDict, ScriptList
from ._decorators import (
    Attribute,
    Final,
    _overload,  # noqa: F401
    _overload_method,  # noqa: F401
    export,
    ignore,
    unused,
)
from ._errors import (
    ArchiveError,
    ArchiveIsADirectoryError,
    ArchiveNotFoundError,
    CompileError,
    Error,
    InternalError,
    LimitError,
    ScriptError,
    ScriptWarning,
    UserError,
)
from ._freeze import freeze, optimize_for_inference, run_frozen_optimizations
from ._graphs import parse_ir
from ._objects import RecursiveScriptModule, ScriptModule, ScriptObject, TopLevelTracedModule, TracedModule
from ._optimization import (
    explain,
    get_execution_mode,
    last_executed_optimized_graph,
    optimized_execution,
    set_execution_mode,
    set_fusion_strategy,
    wait_for_compilation,
)
from ._patch import patch_torch_jit
from ._profile import ScriptProfile
from ._program import CompilationUnit
from ._runtime import (
    Await,
    Limits,
    annotate,
    collect_all,
    enable_onednn_fusion,
    fork,
    get_num_fork_threads,
    is_scripting,
    isinstance,
    onednn_fusion_enabled,
    set_num_fork_threads,
    wait,
    wait_all,
)
from ._runtime import (
    _awaitable as _awaitable,
)
from ._runtime import (
    _awaitable_nowait as _awaitable_nowait,
)
from ._runtime import (
    _awaitable_wait as _awaitable_wait,
)
from ._script import interface, script, script_method
from ._serialization import export_opnames, load, save
from ._static import StaticModule, StaticRuntime, load_static_module, out_variant, static_module
from ._trace import TracerWarning, TracingCheckError, is_tracing, script_if_tracing, trace, trace_module
from .functional import functionalize

#: torch.jit's name of it.
RecursiveScriptClass = ScriptObject

__version__ = _C.__version__

#: What CMAKE_PREFIX_PATH needs so that find_package(Cresset) finds the library in this package.
cmake_prefix_path = os.path.dirname(os.path.abspath(__file__))

__all__ = [
    "ArchiveError",
    "ArchiveIsADirectoryError",
    "ArchiveNotFoundError",
    "Attribute",
    "Await",
    "BackendError",
    "CaptureExplanation",
    "CompilationUnit",
    "CompileError",
    "Error",
    "Final",
    "Future",
    "Graph",
    "InternalError",
    "LimitError",
    "Limits",
    "RecursiveScriptClass",
    "RecursiveScriptModule",
    "ScriptDict",
    "ScriptError",
    "ScriptFunction",
    "ScriptList",
    "ScriptMethod",
    "ScriptModule",
    "ScriptObject",
    "ScriptProfile",
    "ScriptWarning",
    "StaticModule",
    "StaticRuntime",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "UserError",
    "allow_in_graph",
    "annotate",
    "collect_all",
    "compile",
    "disable",
    "enable_onednn_fusion",
    "explain",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "function_from_graph",
    "functional",
    "functionalize",
    "get_execution_mode",
    "get_num_fork_threads",
    "graph_break",
    "ignore",
    "interface",
    "is_compiling",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "last_executed_optimized_graph",
    "load",
    "load_static_module",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "options",
    "out_variant",
    "parse_ir",
    "parse_schema",
    "parse_type",
    "passes",
    "patch_torch_jit",
    "register_backend",
    "reset",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_execution_mode",
    "set_fusion_strategy",
    "set_num_fork_threads",
    "static_module",
    "to_backend",
    "to_backend_selective",
    "trace",
    "trace_module",
    "unused",
    "wait",
    "wait_all",
    "wait_for_compilation",
]
