# run: facts
def f(x, i):
  return x.t(), x.unsqueeze(0), x.view(-1), x[0], x[:, 0:1], x[None], x.flatten(), x.squeeze(), x.squeeze(0), x[i], x.permute(1, 0), x.unsqueeze(0).squeeze(0)
# call: f(torch.ones(2, 3), torch.tensor([0, 1]))
# ---- expect
# f(torch.ones(2, 3), torch.tensor([0, 1]))
%x: tensor(Float, [int, int]) on cpu, requires no gradient
%i: tensor(Long, [int]) on cpu, requires no gradient
%2: tensor(Float, [int, int]) on cpu, requires no gradient
%4: tensor(Float, [int, int, int]) on cpu, requires no gradient
%7: tensor(Float, [int]) on cpu, requires no gradient
%10: tensor(Float, [int]) on cpu, requires no gradient
%17: tensor(Float, [int, int]) on cpu, requires no gradient
%20: tensor(Float, [int, int]) on cpu, requires no gradient
%23: tensor(Float, [int, int, int]) on cpu, requires no gradient
%26: tensor(Float, [int]) on cpu, requires no gradient
%27: tensor(Float, ?) on cpu, requires no gradient
%29: tensor(Float, ?) on cpu, requires no gradient
%31: tensor(Float, [int, int]) on cpu, requires no gradient
%35: tensor(Float, [int, int]) on cpu, requires no gradient
%37: tensor(Float, [int, int, int]) on cpu, requires no gradient
%39: tensor(Float, ?) on cpu, requires no gradient
