"""torch.manual_seed without its calls for accelerators that are not there: importing this is all.

PyTorch keeps such a call for when CUDA, XPU or MTIA is initialized, with the text of the whole stack for its error message. In tests, which seed before
each call of each engine, that text was four fifths of the time of some files. Where there is no such device the call can never be made.
"""

import torch

for device, user in ((torch.cuda, torch.cuda.random), (torch.xpu, torch.xpu.random), (torch.mtia, torch.mtia)):
    if hasattr(user, "_lazy_call") and not device.is_available():
        user._lazy_call = lambda call, **options: None
