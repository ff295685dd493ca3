"""Loading and saving archives."""

import os

import torch

from . import _C
from ._errors import UserError, missing_file, not_a_file
from ._runtime import Limits


def _device(map_location):
    if map_location is None or isinstance(map_location, torch.device):
        device = map_location
    elif isinstance(map_location, str):
        device = torch.device(map_location)
    else:
        raise ValueError(
            f"map_location should be either None, string or torch.device, but got type: {type(map_location)}"
        )
    if device is not None and device.type == "cuda" and not torch.cuda.is_available():
        raise RuntimeError("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.")
    return device


def load(f, map_location=None, _extra_files=None, *, trusted=False, allow_ops=(), limits=None, verify=False):
    """Loads a ``.pt`` archive that ``torch.jit.save`` (or torch::jit in C++) wrote.

    Nothing that the archive holds runs before a method is called, and its code is compiled when it is first called.

    Args:
        f: a path (str or os.PathLike), an object with ``read``, or bytes (any buffer). A file given by path is mapped,
            and a tensor's bytes are read when they are first touched.
        map_location: the device for all tensors; by default the one they were saved from.
        _extra_files: a dict whose keys name extra files; their contents are put in as bytes.
        trusted: whether you would let whoever made the archive run code on this machine. If not, its code may not call
            operators that touch files or the process, that believe their arguments' claims about memory, or that belong
            to other libraries than PyTorch; a method that does is an error when it is first called, before it runs. And
            an archive whose classes restore their objects by a ``__setstate__`` of their own is refused, since loading
            it would run that.
        allow_ops: names of what an untrusted archive may use nevertheless: ``"aten::from_file"``, ``"torchvision::*"``,
            ``"torch.classes.mylib.Store"``.
        limits: a :class:`cresset.Limits` on the time and memory of each call of the archive's code. That of memory also
            bounds what loading takes beside the file's own bytes, and that of time loading, which has a second more,
            and one for each 100 MB of the file.
        verify: whether to compare the checksums of all that the archive holds, which reads the whole file. Without it,
            a tensor whose bytes were damaged has other values.

    Returns:
        RecursiveScriptModule, which is a ``torch.nn.Module``.
    """
    if isinstance(allow_ops, str):
        raise TypeError(f"allow_ops is a list of names, not one: write [{allow_ops!r}]")
    if limits is not None and not isinstance(limits, Limits):
        raise TypeError(f"limits is a cresset.Limits, such as Limits(seconds=2, memory='1GB'), not {limits!r}")
    options = _C._LoadOptions(
        device=_device(map_location),
        extra_files=_extra_files,
        trusted=trusted,
        allow_ops=list(allow_ops),
        seconds=limits.seconds if limits is not None else None,
        memory=limits.memory if limits is not None else None,
        verify=verify,
    )
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        path = os.fsdecode(path)
        if not os.path.exists(path):
            raise missing_file(path)
        if os.path.isdir(path):
            raise not_a_file(path)
        return _C._load_path(path, options)
    if hasattr(f, "read"):
        return _C._load_buffer(f.read(), options)
    return _C._load_buffer(f, options)


def _files(extra_files):
    files = {}
    for name, contents in (extra_files or {}).items():
        if not isinstance(contents, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"the extra file '{name}' must be str or bytes, not {type(contents).__name__}")
        files[name] = contents.encode() if isinstance(contents, str) else bytes(contents)
    return files


def save(m, f, _extra_files=None, *, layout="current"):
    """Saves a script module, or a script function as a module with that forward.

    ``torch.jit.load`` and :func:`cresset.load` read the archive. The same module always becomes the same bytes,
    but for the folder that all of an archive stands in: the file's name without its extension, ``archive`` if there is no file.

    Args:
        m: what to save. What has no saved form (a future, a C++ object without pickling, a call of a Python function)
            is an error that names the attribute, or the line of code.
        f: a path (str or os.PathLike) or an object with ``write``. A file given by path is written beside its place and
            then put there, so it is never seen in part, and may be the one that ``m`` was loaded from.
        _extra_files: a dict of further files for the archive, from names to contents (str or bytes).
        layout: ``"current"``, or ``"model.json"`` for the layout of PyTorch 1.0 to 1.2 (docs/archives.md).
    """
    _check_forward(m)
    if isinstance(f, (str, os.PathLike)):
        _C._save_path(m, os.fsdecode(os.fspath(f)), _files(_extra_files), layout)
    else:
        f.write(_C._save_bytes(m, _files(_extra_files), layout))


def _check_forward(m):
    forward = getattr(m, "__dict__", {}).get("forward")
    if isinstance(forward, _C.ScriptFunction) and not isinstance(forward, _C.ScriptMethod):
        raise UserError(
            "The module's forward is a function that was set on the object, and archives have methods of classes: define forward in "
            "the class, or put the module into another one whose forward calls it"
        )


def save_to_buffer(m, _extra_files=None, *, layout="current"):
    """As :func:`save`, but returns the archive as bytes."""
    _check_forward(m)
    return _C._save_bytes(m, _files(_extra_files), layout)


def to_package(module, exporter):
    """What a ``torch.package.PackageExporter`` is to write for a script module: the module's archive is a record of the package."""
    record = f".data/ts_code/{exporter.get_unique_id()}/archive.pt"
    archive = save_to_buffer(module)
    exporter.zip_file.write_record(record, archive, len(archive))
    _keep_out(exporter)
    return from_package, (record,)


def _keep_out(exporter):
    """Cresset has parts in C++, so a package can't hold it: whatever the user's patterns say, it is extern."""
    patterns = dict(exporter.patterns)
    exporter.patterns.clear()
    exporter.extern("cresset.**")
    exporter.patterns.update(patterns)


def from_package(importer, record):
    """The script module in a record of a package. Whoever imports a package trusts it: it is Python code."""
    archive = importer.zip_reader.get_record(record)
    return load(archive, map_location=importer.last_map_location, trusted=True)


def reduced_to_package(reduction, exporter):
    """What a package is to write for what pickles are made of by functions of Cresset's: the same."""
    _keep_out(exporter)
    return made_from_package, reduction


def made_from_package(importer, function, args):
    return function(*args)


def export_opnames(m):
    """The operators that a script module's methods call, those of other modules and functions that they call included:
    a sorted list of names such as ``"aten::add.Tensor"``."""
    names = set()
    through_interfaces = set()  # names of methods whose modules only a run knows

    def collect(block):
        for node in block.nodes():
            schema = node.operatorSchema()
            if schema is not None:
                names.add(f"{schema.name}.{schema.overload_name}" if schema.overload_name else schema.name)
            elif node.kind() == "prim::CallMethod" and node.inputs()[0].type().kind() == "InterfaceType":
                through_interfaces.add(node["name"])
            for inner in node.blocks():
                collect(inner)
            if node.hasAttribute("Subgraph"):
                collect(node["Subgraph"])

    for name in m._c.method_names():
        collect(m._c.method(name).inlined_graph)
    done = set()
    while through_interfaces - done:
        name = min(through_interfaces - done)
        done.add(name)
        for module in m.modules():
            method = module._c.method(name)
            if method is not None:
                collect(method.inlined_graph)
    return sorted(names)
