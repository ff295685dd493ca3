"""Runs PyTorch's own tests of torch.jit with Cresset in the place of torch.jit: `python tools/torch_tests.py PYTORCH/test/test_jit.py -k TestList`.

PYTORCH is a source tree of PyTorch, of the installed torch's version or a near one (Debian's source package `pytorch` is
one). Arguments after the file are pytest's; with `--engine torch` the tests run on torch.jit itself, to compare. What
fails and is no difference of docs/differences.md is work to do.
"""

import argparse
import os
import sys
from pathlib import Path

#: Names that older tests import and newer versions of torch lack: (module, name, stand-in).
REMOVED = [
    ("torch.jit.frontend", "_IS_ASTUNPARSE_INSTALLED", True),
    ("torch.autograd._functions.utils", "check_onnx_broadcast", None),
    ("torch.export", "export_for_training", None),
    ("torch.testing._internal.common_utils", "BUILD_WITH_CAFFE2", False),
    ("torch.testing._internal.common_cuda", "tf32_is_not_fp32", lambda: False),
    ("torch.testing._internal.common_nn", "new_module_tests", []),
    ("torch.testing._internal.common_nn", "criterion_tests", []),
    ("torch.testing._internal.jit_metaprogramming_utils", "additional_module_tests", []),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a test file of PyTorch's: test_jit.py, or one of test/jit/")
    parser.add_argument("--engine", choices=["cresset", "torch"], default="cresset")
    parser.add_argument(
        "--values",
        action="store_true",
        help="don't ask of test_ops_jit.py's operators which are differentiable subgraphs",
    )
    args, rest = parser.parse_known_args()
    if not args.file.is_file():
        parser.error(f"{args.file}: no such file")
    root = next(path for path in args.file.resolve().parents if path.name == "test" or path == path.parent)
    if root == root.parent:
        parser.error(f"{args.file} is not below a folder 'test' of PyTorch's sources")

    import importlib

    import pytest

    # First: torch's test utilities wrap the classes that are there when they are imported.
    if args.engine == "cresset":
        import cresset

        cresset.patch_torch_jit(trusted=True)
    from torch.testing._internal import common_utils

    common_utils.GRAPH_EXECUTOR = common_utils.ProfilingMode.PROFILING
    common_utils.TEST_BAILOUTS = False
    if args.values:
        from torch.testing._internal import common_jit

        common_jit.JitCommonTestCase.assertAutodiffNode = lambda *args: None
    for module, name, stand_in in REMOVED:
        module = importlib.import_module(module)
        if not hasattr(module, name):
            setattr(module, name, stand_in)
    # Their conftest.py is for another version of pytest; tests import each other from their folder.
    sys.path.insert(0, str(root))
    file = args.file.resolve()
    os.chdir(root)
    # pytest would keep the warnings that tests look for on stderr.
    plugins = ["-p", "no:cacheprovider", "-p", "no:warnings"]
    return pytest.main([*plugins, "--noconftest", "--rootdir", str(root), str(file), *rest])


if __name__ == "__main__":
    sys.exit(main())
