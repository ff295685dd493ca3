"""PyTorch's table of operators with samples of their arguments, op_db.

For each iterator over samples PyTorch looks for its own test through all frames of the stack and the sources of their files; below pytest that takes longer than
most samples. There is none here.
"""

from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

__all__ = ["op_db"]

for user in (common_utils, core):
    user.extract_test_fn = lambda: None
