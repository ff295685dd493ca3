# run: run
def f(x):
  return x.is_contiguous(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last), x.is_contiguous()
# call: f(torch.ones(1, 2, 2, 2))
# call: f(torch.ones(1, 2, 2, 2).contiguous(memory_format=torch.channels_last))
# call: f(torch.ones(1, 1, 1, 1))
# ---- expect
f(torch.ones(1, 2, 2, 2)) -> (False, tensor([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]]), True)
  result[1], strides (8, 1, 4, 2)
f(torch.ones(1, 2, 2, 2).contiguous(memory_format=torch.channels_last)) -> (True, tensor([[[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]]), False)
  result[1], strides (8, 1, 4, 2)
  result[1] is x
f(torch.ones(1, 1, 1, 1)) -> (True, tensor([[[[1.0]]]]), True)
  result[1] is x
