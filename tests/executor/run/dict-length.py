# run: run
from typing import Dict
def f(d: Dict[str, Tensor], by_number: Dict[int, Tensor], x: Tensor):
  n = len(d)
  d["new"] = x
  return n, len(d), len(by_number), [x] * len(d)
# call: f({}, {}, torch.ones(2))
# call: f({"a": torch.ones(1), "b": torch.ones(1)}, {3: torch.ones(1)}, torch.ones(2))
# ---- expect
f({}, {}, torch.ones(2)) -> (0, 1, 0, [tensor([1.0, 1.0])])
  d becomes {'new': tensor([1.0, 1.0])}
  result[3][0] is x
f({"a": torch.ones(1), "b": torch.ones(1)}, {3: torch.ones(1)}, torch.ones(2)) -> (2, 3, 1, [tensor([1.0, 1.0]), tensor([1.0, 1.0]), tensor([1.0, 1.0])])
  d becomes {'a': tensor([1.0]), 'b': tensor([1.0]), 'new': tensor([1.0, 1.0])}
  result[3][0] is x
  result[3][1] is x
  result[3][2] is x
