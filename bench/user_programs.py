"""Programs of bench_programs.py: each returns a module, arguments of a call, and whether it is trained too."""

from typing import List

import torch
import torch.nn.functional as F
from torch import Tensor, nn

PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


@program
def gnn():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l1 = nn.Linear(32, 64)
            self.l2 = nn.Linear(64, 32)
            self.e = nn.Linear(64, 32)

        def forward(self, x, ei):
            src, dst = (ei[0], ei[1])
            for _ in range(3):
                m = torch.relu(self.e(torch.cat([x[src], x[dst]], 1)))
                agg = torch.zeros_like(x).index_add_(0, dst, m)
                deg = torch.bincount(dst, minlength=x.size(0)).clamp(min=1).unsqueeze(1)
                x = x + self.l2(F.silu(self.l1(agg / deg)))
            return x

    return (M(), (torch.randn(200, 32), torch.randint(0, 200, (2, 1200))), True)


@program
def rnn_attention():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.GRUCell(16, 32)
            self.q = nn.Linear(32, 32)
            self.o = nn.Linear(64, 8)

        def forward(self, x, mem):
            h = torch.zeros(x.size(1), 32)
            outs: List[Tensor] = []
            for t in range(x.size(0)):
                h = self.c(x[t], h)
                a = torch.softmax((self.q(h).unsqueeze(1) * mem).sum(-1) / 5.6, -1)
                ctx = (a.unsqueeze(-1) * mem).sum(1)
                outs.append(self.o(torch.cat([h, ctx], -1)))
            return torch.stack(outs)

    return (M(), (torch.randn(20, 4, 16), torch.randn(4, 10, 32)), True)


@program
def physics():

    class M(nn.Module):
        def forward(self, p, v, dt: float):
            for _ in range(10):
                d = p.unsqueeze(0) - p.unsqueeze(1)
                r2 = (d * d).sum(-1) + 0.01
                inv = r2.pow(-1.5)
                inv = inv - torch.diag_embed(torch.diagonal(inv))
                a = -(d * inv.unsqueeze(-1)).sum(1)
                v = v + a * dt
                p = p + v * dt
            return (p, v)

    return (M(), (torch.randn(64, 3), torch.randn(64, 3), 0.01), True)


@program
def mlp_small():
    m = nn.Sequential(*[x for _ in range(6) for x in (nn.Linear(24, 24), nn.LayerNorm(24), nn.GELU())])
    return (m, (torch.randn(8, 24),), True)


@program
def convnet():
    m = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    return (m, (torch.randn(4, 3, 32, 32),), True)


@program
def vae_loss():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(64, 64)
            self.m = nn.Linear(64, 16)
            self.v = nn.Linear(64, 16)
            self.d = nn.Linear(16, 64)

        def forward(self, x, eps):
            h = torch.tanh(self.a(x))
            mu = self.m(h)
            lv = self.v(h).clamp(-8, 8)
            z = mu + eps * (0.5 * lv).exp()
            r = torch.sigmoid(self.d(z))
            bce = -(x * torch.log(r + 1e-07) + (1 - x) * torch.log(1 - r + 1e-07)).sum(1)
            kl = -0.5 * (1 + lv - mu * mu - lv.exp()).sum(1)
            return (bce + kl).mean()

    return (M(), (torch.rand(32, 64), torch.randn(32, 16)), True)


@program
def boxes():

    class M(nn.Module):
        def forward(self, b, sc):
            keep: List[int] = []
            idx = torch.argsort(sc, descending=True)
            x1, y1, x2, y2 = (b[:, 0], b[:, 1], b[:, 2], b[:, 3])
            area = (x2 - x1) * (y2 - y1)
            while idx.numel() > 0:
                i = idx[0]
                keep.append(int(i))
                xx1 = torch.maximum(x1[i], x1[idx])
                yy1 = torch.maximum(y1[i], y1[idx])
                xx2 = torch.minimum(x2[i], x2[idx])
                yy2 = torch.minimum(y2[i], y2[idx])
                inter = (xx2 - xx1).clamp(min=0) * (yy2 - yy1).clamp(min=0)
                iou = inter / (area[i] + area[idx] - inter)
                idx = idx[iou <= 0.5]
            return torch.tensor(keep)

    b = torch.rand(100, 4)
    b[:, 2:] += b[:, :2]
    return (M(), (b, torch.rand(100)), False)


@program
def fft_filter():

    class M(nn.Module):
        def forward(self, x, k):
            y = torch.fft.rfft(x, dim=-1)
            m = y.abs()
            p = torch.angle(y)
            m = torch.where(m > k, m - k, torch.zeros_like(m))
            z = torch.polar(m, p)
            return torch.fft.irfft(z, n=x.size(-1), dim=-1) * 2 - x.mean(-1, keepdim=True)

    return (M(), (torch.randn(8, 512), torch.tensor(1.0)), False)


@program
def beam():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(50, 32)
            self.l = nn.LSTMCell(32, 32)
            self.o = nn.Linear(32, 50)

        def forward(self, n: int):
            tok = torch.zeros(4, dtype=torch.long)
            h = torch.zeros(4, 32)
            c = torch.zeros(4, 32)
            score = torch.zeros(4)
            for _ in range(n):
                h, c = self.l(self.e(tok), (h, c))
                lp = torch.log_softmax(self.o(h), -1) + score.unsqueeze(1)
                score, ix = lp.flatten().topk(4)
                b = ix // 50
                tok = ix % 50
                h = h[b]
                c = c[b]
            return (score, tok)

    return (M(), (20,), False)


@program
def transformer():
    m = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False
    )
    return (m, (torch.randn(4, 20, 64),), True)


@program
def kalman():

    class M(nn.Module):
        def forward(self, z, F_, H, Q, R):
            x = torch.zeros(4)
            P = torch.eye(4)
            out: List[Tensor] = []
            for t in range(z.size(0)):
                x = F_ @ x
                P = F_ @ P @ F_.t() + Q
                y = z[t] - H @ x
                S = H @ P @ H.t() + R
                K = P @ H.t() @ torch.linalg.inv(S)
                x = x + K @ y
                P = (torch.eye(4) - K @ H) @ P
                out.append(x)
            return torch.stack(out)

    return (
        M(),
        (
            torch.randn(20, 2),
            torch.eye(4) + 0.1 * torch.randn(4, 4),
            torch.randn(2, 4),
            torch.eye(4) * 0.01,
            torch.eye(2) * 0.1,
        ),
        True,
    )


@program
def spline():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(16, 12))
            self.register_buffer("g", torch.linspace(-1, 1, 16))

        def forward(self, x):
            b = torch.exp(-((x.unsqueeze(-1) - self.g) ** 2) * 8)
            y = torch.einsum("bik,ko->bo", b, self.w)
            return F.softplus(y).cumsum(-1) / (1 + y.abs().amax(1, keepdim=True))

    return (M(), (torch.randn(64, 6),), True)


@program
def unet1d():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.d1 = nn.Conv1d(1, 8, 4, 2, 1)
            self.d2 = nn.Conv1d(8, 16, 4, 2, 1)
            self.u2 = nn.ConvTranspose1d(16, 8, 4, 2, 1)
            self.u1 = nn.ConvTranspose1d(16, 1, 4, 2, 1)
            self.n = nn.GroupNorm(2, 8)

        def forward(self, x):
            a = F.leaky_relu(self.d1(x), 0.2)
            b = F.leaky_relu(self.d2(a), 0.2)
            c = F.glu(torch.cat([self.n(self.u2(b)), a], 1).repeat(1, 2, 1), 1)
            return torch.tanh(self.u1(c))

    return (M(), (torch.randn(2, 1, 256),), True)


@program
def masked_loss():

    class M(nn.Module):
        def forward(self, logits, t, mask):
            lp = F.log_softmax(logits.float(), -1)
            nll = -lp.gather(-1, t.unsqueeze(-1)).squeeze(-1)
            sm = -lp.mean(-1)
            l = (0.9 * nll + 0.1 * sm).masked_fill(~mask, 0.0)
            return l.sum() / mask.sum().clamp(min=1)

    return (M(), (torch.randn(8, 32, 100), torch.randint(0, 100, (8, 32)), torch.rand(8, 32) > 0.3), True)


@program
def adam():

    class M(nn.Module):
        def forward(self, ps: List[Tensor], gs: List[Tensor], ms: List[Tensor], vs: List[Tensor], t: int):
            for i in range(len(ps)):
                ms[i].mul_(0.9).add_(gs[i], alpha=0.1)
                vs[i].mul_(0.999).addcmul_(gs[i], gs[i], value=0.001)
                ps[i].addcdiv_(ms[i] / (1 - 0.9**t), (vs[i] / (1 - 0.999**t)).sqrt_().add_(1e-08), value=-0.001)

    L = [torch.randn(64, 64) for _ in range(8)]
    return (
        M(),
        (L, [torch.randn_like(x) for x in L], [torch.zeros_like(x) for x in L], [torch.zeros_like(x) for x in L], 5),
        False,
    )


@program
def rk4():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(4, 32)
            self.b = nn.Linear(32, 4)

        def field(self, x):
            return self.b(torch.tanh(self.a(x)))

        def forward(self, x, n: int, dt: float):
            for _ in range(n):
                k1 = self.field(x)
                k2 = self.field(x + 0.5 * dt * k1)
                k3 = self.field(x + 0.5 * dt * k2)
                k4 = self.field(x + dt * k3)
                x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return x

    return (M(), (torch.randn(16, 4), 10, 0.05), True)


@program
def sinkhorn():

    class M(nn.Module):
        def forward(self, x, y):
            C = torch.cdist(x, y)
            K = torch.exp(-C / 0.5)
            u = torch.ones(x.size(0)) / x.size(0)
            a = u
            b = torch.ones(y.size(0)) / y.size(0)
            v = b
            for _ in range(20):
                u = a / (K @ v + 1e-08)
                v = b / (K.t() @ u + 1e-08)
            return (u.unsqueeze(1) * K * v.unsqueeze(0) * C).sum()

    return (M(), (torch.randn(40, 3), torch.randn(50, 3)), True)


@program
def gat():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Linear(16, 32)
            self.a = nn.Parameter(torch.randn(4, 16))

        def forward(self, x, src, dst):
            h = self.w(x).view(-1, 4, 8)
            e = (torch.cat([h[src], h[dst]], -1) * self.a).sum(-1)
            e = F.leaky_relu(e, 0.2)
            m = torch.full((x.size(0), 4), -1000000000.0).scatter_reduce(0, dst.unsqueeze(1).expand(-1, 4), e, "amax")
            p = torch.exp(e - m[dst])
            z = torch.zeros(x.size(0), 4).index_add(0, dst, p)
            p = p / (z[dst] + 1e-09)
            return torch.zeros_like(h).index_add(0, dst, p.unsqueeze(-1) * h[src]).flatten(1)

    return (M(), (torch.randn(100, 16), torch.randint(0, 100, (600,)), torch.randint(0, 100, (600,))), True)


@program
def decode():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.q = nn.Linear(64, 64)
            self.k = nn.Linear(64, 64)
            self.v = nn.Linear(64, 64)
            self.o = nn.Linear(64, 64)
            self.f1 = nn.Linear(64, 128)
            self.f2 = nn.Linear(128, 64)
            self.n1 = nn.LayerNorm(64)
            self.n2 = nn.LayerNorm(64)

        def forward(self, x, n: int):
            B = x.size(0)
            K = torch.zeros(B, n, 64)
            V = torch.zeros(B, n, 64)
            for t in range(n):
                h = self.n1(x)
                K[:, t] = self.k(h)
                V[:, t] = self.v(h)
                q = self.q(h).view(B, 4, 1, 16)
                k = K[:, : t + 1].view(B, t + 1, 4, 16).transpose(1, 2)
                v = V[:, : t + 1].view(B, t + 1, 4, 16).transpose(1, 2)
                a = torch.softmax(q @ k.transpose(-1, -2) / 4.0, -1) @ v
                x = x + self.o(a.transpose(1, 2).reshape(B, 64))
                x = x + self.f2(F.gelu(self.f1(self.n2(x))))
            return x

    return (M(), (torch.randn(2, 64), 12), False)


@program
def wavenet():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = nn.ModuleList([nn.Conv1d(8, 16, 2, dilation=2**i) for i in range(5)])
            self.r = nn.ModuleList([nn.Conv1d(8, 8, 1) for i in range(5)])

        def forward(self, x):
            skip = torch.zeros_like(x)
            for c, r in zip(self.c, self.r):
                y = c(F.pad(x, (c.dilation[0], 0)))
                a, b = y.chunk(2, 1)
                z = torch.tanh(a) * torch.sigmoid(b)
                z = r(z)
                x = x + z
                skip = skip + z
            return F.relu(skip)

    return (M(), (torch.randn(2, 8, 128),), True)


@program
def stft_feat():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("win", torch.hann_window(128))
            self.register_buffer("fb", torch.rand(65, 20))

        def forward(self, x):
            S = torch.stft(x, 128, 64, window=self.win, return_complex=True).abs().pow(2)
            m = torch.log(torch.clamp(S.transpose(1, 2) @ self.fb, min=1e-06))
            m = (m - m.mean(1, keepdim=True)) / (m.std(1, keepdim=True) + 1e-05)
            d = m[:, 1:] - m[:, :-1]
            return torch.cat([m[:, 1:], d], -1)

    return (M(), (torch.randn(2, 2048),), False)


@program
def gp():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Parameter(torch.zeros(1))
            self.v = nn.Parameter(torch.zeros(1))

        def forward(self, x, y):
            d = (x.unsqueeze(1) - x.unsqueeze(0)).pow(2).sum(-1)
            K = torch.exp(self.v) * torch.exp(-0.5 * d / torch.exp(2 * self.l)) + 0.1 * torch.eye(x.size(0))
            L = torch.linalg.cholesky(K)
            a = torch.cholesky_solve(y.unsqueeze(1), L).squeeze(1)
            return 0.5 * (y * a).sum() + torch.log(torch.diagonal(L)).sum()

    return (M(), (torch.randn(30, 2), torch.randn(30)), True)


@program
def nucleus():

    class M(nn.Module):
        def forward(self, logits, p: float):
            pr = torch.softmax(logits / 0.8, -1)
            sp, ix = torch.sort(pr, descending=True, dim=-1)
            c = sp.cumsum(-1)
            sp = torch.where(c - sp > p, torch.zeros_like(sp), sp)
            sp = sp / sp.sum(-1, keepdim=True)
            return torch.zeros_like(pr).scatter(-1, ix, sp)

    return (M(), (torch.randn(4, 1000), 0.9), False)


@program
def fakequant():

    class M(nn.Module):
        def forward(self, x, w):
            sx = x.abs().amax(-1, keepdim=True) / 127
            q = torch.round(x / sx).clamp(-128, 127).to(torch.int8)
            sw = w.abs().amax(1, keepdim=True) / 127
            qw = torch.round(w / sw).clamp(-128, 127).to(torch.int8)
            return q.to(torch.float32) @ qw.to(torch.float32).t() * sx * sw.t()

    return (M(), (torch.randn(16, 64), torch.randn(32, 64)), False)


@program
def scan():

    class M(nn.Module):
        def forward(self, x, a: float):
            y = torch.empty_like(x)
            h = x[:, 0]
            y[:, 0] = h
            for t in range(1, x.size(1)):
                h = a * h + (1 - a) * x[:, t]
                y[:, t] = h
            return y

    return (M(), (torch.randn(8, 64), 0.9), False)


@program
def unetblock():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.g1 = nn.GroupNorm(4, 16)
            self.c1 = nn.Conv2d(16, 16, 3, padding=1)
            self.t = nn.Linear(32, 16)
            self.g2 = nn.GroupNorm(4, 16)
            self.c2 = nn.Conv2d(16, 16, 3, padding=1)
            self.qkv = nn.Conv2d(16, 48, 1)
            self.p = nn.Conv2d(16, 16, 1)

        def forward(self, x, t):
            h = self.c1(F.silu(self.g1(x))) + self.t(F.silu(t))[:, :, None, None]
            h = self.c2(F.silu(self.g2(h))) + x
            B, C, H, Wd = h.shape
            q, k, v = self.qkv(h).reshape(B, 48, H * Wd).chunk(3, 1)
            a = torch.softmax(torch.bmm(q.transpose(1, 2), k) / 4.0, -1)
            return h + self.p(torch.bmm(v, a.transpose(1, 2)).reshape(B, C, H, Wd))

    return (M(), (torch.randn(2, 16, 12, 12), torch.randn(2, 32)), True)


@program
def ppo():

    class M(nn.Module):
        def forward(self, lp, old, adv, val, ret):
            adv = (adv - adv.mean()) / (adv.std() + 1e-08)
            r = torch.exp(lp - old)
            l1 = -torch.min(r * adv, torch.clamp(r, 0.8, 1.2) * adv).mean()
            l2 = F.smooth_l1_loss(val, ret)
            return l1 + 0.5 * l2 - 0.01 * (-(lp.exp() * lp)).mean()

    return (M(), tuple(torch.randn(256) * 0.1 for _ in range(5)), True)


@program
def lstm_lm():

    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(100, 32)
            self.l = nn.LSTM(32, 32, 2, batch_first=True)
            self.o = nn.Linear(32, 100)

        def forward(self, x):
            h, _ = self.l(self.e(x))
            return F.cross_entropy(self.o(h).flatten(0, 1), x.flatten())

    return (M(), (torch.randint(0, 100, (4, 20)),), False)
