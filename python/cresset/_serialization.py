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


def load(f, map_location=None, _extra_files=None):
    """Loads a ``.pt`` archive that ``torch.jit.save`` (or torch::jit in C++) wrote.

    Nothing that the archive holds runs before a method is called, and its code is compiled when it is first called.

    Args:
        f: a path (str or os.PathLike), an object with ``read``, or bytes (any buffer). A file given by path is mapped,
            and a tensor's bytes are read when they are first touched.
        map_location: the device for all tensors; by default the one they were saved from.
        _extra_files: a dict whose keys name extra files; their contents are put in as bytes.

    Returns:
        RecursiveScriptModule, which is a ``torch.nn.Module``.
    """
    device = _device(map_location)
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        path = os.fsdecode(path)
        if not os.path.exists(path):
            raise ValueError(f"The provided filename {path} does not exist")
        if os.path.isdir(path):
            raise ValueError(f"The provided filename {path} is a directory")
        return _C._load_path(path, device, _extra_files)
    if hasattr(f, "read"):
        return _C._load_buffer(f.read(), device, _extra_files)
    return _C._load_buffer(f, device, _extra_files)
