# run: run
def difference(x):
  y = torch.diff(x)
  z = y * 2
  return y, z.relu(), z.sum()

def shuffled(x):
  y = torch.native_channel_shuffle(x, 1)
  z = y * 2
  return y, z.relu(), z.sum()

def dropped(x):
  y, mask = torch.native_dropout(x, 0.5, True)
  z = y * 2
  return y, mask, mask.dtype, z.relu(), z.sum()

# call: difference(torch.ones(3, 0))
# call: difference(torch.ones(3, 2))
# call: shuffled(torch.ones(1, 2, 0, 4))
# call: shuffled(torch.ones(1, 2, 1, 2))
# call: dropped(torch.ones(3, 0))
# call: dropped(torch.ones(3, 2))
# ---- expect
difference(torch.ones(3, 0)) -> (tensor([], size=(3, 0)), tensor([], size=(3, 0)), tensor(0.0))
  result[0] is x
difference(torch.ones(3, 2)) -> (tensor([[0.0], [0.0], [0.0]]), tensor([[0.0], [0.0], [0.0]]), tensor(0.0))
shuffled(torch.ones(1, 2, 0, 4)) -> (tensor([], size=(1, 2, 0, 4)), tensor([], size=(1, 2, 0, 4)), tensor(0.0))
  result[0] shares memory with x
shuffled(torch.ones(1, 2, 1, 2)) -> (tensor([[[[1.0, 1.0]], [[1.0, 1.0]]]]), tensor([[[[2.0, 2.0]], [[2.0, 2.0]]]]), tensor(8.0))
dropped(torch.ones(3, 0)) -> (tensor([], size=(3, 0)), tensor([], size=(3, 0)), 6, tensor([], size=(3, 0)), tensor(0.0))
  result[0] is x
dropped(torch.ones(3, 2)) -> (tensor([[2.0, 2.0], [2.0, 2.0], [0.0, 2.0]]), tensor([[True, True], [True, True], [False, True]], dtype=bool), 11, tensor([[4.0, 4.0], [4.0, 4.0], [0.0, 4.0]]), tensor(20.0))
  draws random numbers
