"""Loading archives."""

import os

import torch

from . import _C


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
        raise RuntimeError("Attempting to load onto a CUDA device but torch.cuda.is_available() is False.")
    return device


def load(f, map_location=None, _extra_files=None, *, trusted=False, allow_ops=(), limits=None):
    """Loads a ``.pt`` archive that ``torch.jit.save`` (or torch::jit in C++) wrote.

    Nothing that the archive holds runs before a method is called, and its code is compiled when it is first called.

    Args:
        f: a path (str or os.PathLike), an object with ``read``, or bytes (any buffer). A file given by path is mapped,
            and a tensor's bytes are read when they are first touched.
        map_location: the device for all tensors; by default the one they were saved from.
        _extra_files: a dict whose keys name extra files; their contents are put in as bytes.
        trusted: whether you would let whoever made the archive run code on this machine. If not, its code may not call
            operators that touch files or the process, that believe their arguments' claims about memory, or that belong
            to other libraries than PyTorch; a method that does is an error when it is first called, before it runs.
        allow_ops: names of what an untrusted archive may use nevertheless: ``"aten::from_file"``, ``"torchvision::*"``,
            ``"torch.classes.mylib.Store"``.
        limits: a :class:`cresset.Limits` on the time and memory of each call of the archive's code.

    Returns:
        RecursiveScriptModule, which is a ``torch.nn.Module``.
    """
    if isinstance(allow_ops, str):
        raise TypeError(f"allow_ops is a list of names, not one: write [{allow_ops!r}]")
    options = _C._LoadOptions(
        device=_device(map_location),
        extra_files=_extra_files,
        trusted=trusted,
        allow_ops=list(allow_ops),
        seconds=limits.seconds if limits is not None else None,
        memory=limits.memory if limits is not None else None,
    )
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        path = os.fsdecode(path)
        if not os.path.exists(path):
            raise ValueError(f"The provided filename {path} does not exist")
        if os.path.isdir(path):
            raise ValueError(f"The provided filename {path} is a directory")
        return _C._load_path(path, options)
    if hasattr(f, "read"):
        return _C._load_buffer(f.read(), options)
    return _C._load_buffer(f, options)
