# run: static
# The last three results are used by nothing, and not computed.
def f(weight, indices, offsets, mode: int):
  a = torch.embedding_bag(weight, indices, offsets, False, mode, False, None, False, None)[0]
  b = torch.embedding_bag(weight, indices, offsets, False, mode, False, None, False, 1)[0]
  return torch.relu(a + b)
# let: w = torch.arange(12.).view([6, 2])
# call: f(w, torch.tensor([0, 1, 5, 2]), torch.tensor([0, 1, 1]), 0)
# call: f(w, torch.tensor([0, 1, 5, 2]), torch.tensor([0, 1, 1]), 1)
# call: f(w, torch.tensor([0, 1, 5, 2]), torch.tensor([0, 1, 1]), 2)
# ---- expect
f(w, torch.tensor([0, 1, 5, 2]), torch.tensor([0, 1, 1]), 0): tensor([[0.0, 2.0], [0.0, 0.0], [30.0, 35.0]])
f(w, torch.tensor([0, 1, 5, 2]), torch.tensor([0, 1, 1]), 1): tensor([[0.0, 2.0], [0.0, 0.0], [12.333334, 14.333334]])
f(w, torch.tensor([0, 1, 5, 2]), torch.tensor([0, 1, 1]), 2): tensor([[0.0, 2.0], [0.0, 0.0], [20.0, 22.0]])
# f
f: 1 plan
plan for weight: Float(*, *), indices: Long(*), offsets: Long(*)
  3 out variant: aten::embedding_bag.padding_idx, planned  # bags-of-embeddings.py:4:6
  4 out variant: aten::embedding_bag.padding_idx, planned  # bags-of-embeddings.py:5:6
  5 out variant: aten::add.Tensor, planned  # bags-of-embeddings.py:6:20
  6 fallback: aten::relu  # bags-of-embeddings.py:6:9
  9: steps 3 to 5, 4 * weight.size(1) * %9.size(0) bytes, at 0 to 24
  21: steps 4 to 5, 4 * weight.size(1) * %21.size(0) bytes, at 64 to 88
  29: steps 5 to 6, 4 * weight.size(1) * broadcast(%9.size(0), %21.size(0)) bytes, at 128 to 152
  memory: 192 bytes for 3 results of 72 bytes; no less than 192 are needed at once
