"""Programs as PyTorch's users write them, plain and by cresset.compile.

    python tests/python/capture_user_programs.py [part of a name]

Each program makes a function of a call's number and what it changes: modules, optimizers, tensors. It is called eight times
with arguments that change, plain and compiled, from the same state; results, what it has changed, gradients and random
numbers are to be equal. Printed: plans that ran in the last call, how many of them have compiled graphs, and what ran as Python.
"""

import copy
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import cresset

PROGRAMS = {}


def program(make):
    """`make()` returns a function of the call's number, and a list of what it changes."""
    PROGRAMS[make.__name__] = make
    return make


def mlp(*sizes, activation=nn.ReLU):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers[:-1])


def batch(i, width=6, classes=3):
    n = (4, 4, 5, 4, 7, 4, 4, 5)[i % 8]
    return torch.randn(n, width), torch.randint(0, classes, (n,))


# ---- loops of training


def loop(make_optimizer, width=6):
    net = nn.Sequential(nn.Linear(width, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3))
    return net, make_optimizer(net.parameters())


def training(net, optimizer, loss_of):
    """The body of a training loop."""

    def step(*arguments):
        optimizer.zero_grad()
        loss = loss_of(*arguments)
        loss.backward()
        optimizer.step()
        return loss

    return step


def of_optimizer(name, **options):
    def make():
        net, optimizer = loop(lambda p: getattr(torch.optim, name)(p, **options))

        return training(net, optimizer, lambda x, y: F.cross_entropy(net(x), y)), [net, optimizer], batch

    make.__name__ = f"train_with_{name}" + "".join(f"_{key}" for key in options if key != "lr")
    return program(make)


for kind, more in (
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), ("Adam", {}), ("Adam", {"amsgrad": True}), ("AdamW", {}), ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.9}), ("Adagrad", {}), ("Adadelta", {}), ("NAdam", {}), ("RAdam", {}), ("Adamax", {}), ("ASGD", {}), ("Rprop", {}),
    ("AdamW", {"foreach": False}),
):  # fmt: skip
    of_optimizer(kind, **more)


@program
def train_with_lbfgs():
    net = mlp(6, 8, 3, activation=nn.Tanh)
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

    def step(x, y):
        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            return loss

        return optimizer.step(closure)

    return step, [net], batch


@program
def clip_grad_norm():
    net, optimizer = loop(lambda p: torch.optim.SGD(p, lr=0.1))

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        return loss, norm

    return step, [net], batch


@program
def clip_grad_value():
    net, optimizer = loop(lambda p: torch.optim.AdamW(p))

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.01)
        optimizer.step()
        return loss.item()

    return step, [net], batch


@program
def scheduled():
    net, optimizer = loop(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss, scheduler.get_last_lr()

    return step, [net], batch


@program
def one_cycle_with_warm_up():
    net, optimizer = loop(lambda p: torch.optim.AdamW(p, lr=1e-3))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))

    def step(x, y):
        loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        return loss.detach(), optimizer.param_groups[0]["lr"]

    return step, [net], batch


@program
def scaled():
    net, optimizer = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step, [net], batch


@program
def averaged():
    net, optimizer = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    average = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        average.update_parameters(net)
        return loss

    return step, [net, average], batch


@program
def averaged_by_hand():
    net, optimizer = loop(lambda p: torch.optim.Adam(p))
    average = copy.deepcopy(net)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(average.parameters(), net.parameters()):
                p.mul_(0.9).add_(q, alpha=0.1)
        return loss

    return step, [net, average], batch


@program
def accumulating():
    net, optimizer = loop(lambda p: torch.optim.SGD(p, lr=0.1))

    def step(i, x, y):
        loss = F.cross_entropy(net(x), y) / 4
        loss.backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return loss

    return step, [net], lambda i: (i, *batch(i))


@program
def accumulating_large_gradients():
    net = mlp(6, 200, 200, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(xs, ys):
        optimizer.zero_grad(set_to_none=False)
        total = 0.0
        for x, y in zip(xs.split(2), ys.split(2)):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            total += loss.item()
        optimizer.step()
        return total

    return step, [net], lambda i: (torch.randn(4, 6), torch.randint(0, 3, (4,)))


@program
def frozen_layers():
    net, _ = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    for p in net[0].parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=1e-2)

    return training(net, optimizer, lambda x, y: F.cross_entropy(net(x), y)), [net], batch


@program
def tied_weights():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 8)
            self.body = nn.GRU(8, 8, batch_first=True)
            self.head = nn.Linear(8, 11, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, tokens):
            h, _ = self.body(self.embed(tokens))
            return self.head(h)

    net = Model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)

    def step(tokens):
        logits = net(tokens[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 11), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [net], lambda i: (torch.randint(0, 11, (3, 5 + i % 2)),)


@program
def epoch_over_a_loader():
    net, optimizer = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    loader = DataLoader(TensorDataset(torch.randn(10, 6), torch.randint(0, 3, (10,))), batch_size=4, shuffle=True)

    def epoch():
        net.train()
        total, correct, count = 0.0, 0, 0
        for x, y in loader:
            optimizer.zero_grad()
            out = net(x)
            loss = F.cross_entropy(out, y)
            loss.backward()
            optimizer.step()
            total += loss.item() * x.size(0)
            correct += (out.argmax(1) == y).sum().item()
            count += x.size(0)
        return total / count, correct / count

    return epoch, [net], lambda i: ()


@program
def evaluation_loop():
    net, _ = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    batches = [(torch.randn(4, 6), torch.randint(0, 3, (4,))) for _ in range(3)]

    @torch.no_grad()
    def evaluate():
        net.eval()
        total, correct = 0.0, torch.zeros((), dtype=torch.long)
        for x, y in batches:
            out = net(x)
            total += F.cross_entropy(out, y).item()
            correct += (out.argmax(dim=-1) == y).sum()
        return total / len(batches), correct

    return evaluate, [net], lambda i: ()


@program
def evaluation_under_inference_mode():
    net, _ = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    batches = [(torch.randn(4, 6), torch.randint(0, 3, (4,))) for _ in range(3)]

    def evaluate():
        net.eval()
        predictions = []
        with torch.inference_mode():
            for x, _ in batches:
                predictions.append(net(x).softmax(-1))
        return torch.cat(predictions)

    return evaluate, [net], lambda i: ()


@program
def early_stopping():
    net, optimizer = loop(lambda p: torch.optim.Adam(p, lr=0.01))

    class Stopper:
        def __init__(self):
            self.best, self.bad, self.state = float("inf"), 0, None

        def __call__(self, loss, model):
            if loss < self.best - 1e-3:
                self.best, self.bad = loss, 0
                self.state = {k: v.clone() for k, v in model.state_dict().items()}
            else:
                self.bad += 1
            return self.bad > 3

    stopper = Stopper()

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item(), stopper(loss.item(), net), stopper.bad

    return step, [net], batch


@program
def metrics_in_tensors():
    net, _ = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    confusion = torch.zeros(3, 3)
    totals = {"loss": torch.zeros(()), "count": 0}

    @torch.no_grad()
    def update(x, y):
        out = net(x)
        totals["loss"] += F.cross_entropy(out, y)
        totals["count"] += len(y)
        for t, p in zip(y, out.argmax(1)):
            confusion[t, p] += 1
        return totals["loss"] / totals["count"]

    return update, [net, confusion], batch


@program
def second_group_with_decay():
    net, _ = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    decay = [p for p in net.parameters() if p.dim() > 1]
    rest = [p for p in net.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}])

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return {"loss": loss.detach(), "norm": net[0].weight.grad.norm()}

    return step, [net], batch


@program
def checks_for_nan():
    net, optimizer = loop(lambda p: torch.optim.SGD(p, lr=0.1))
    skipped = []

    def step(i, x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y) * (float("nan") if i == 4 else 1.0)
        if not torch.isfinite(loss):
            skipped.append(i)
            return None
        loss.backward()
        optimizer.step()
        return loss, list(skipped)

    return step, [net], lambda i: (i, *batch(i))


# ---- networks and methods


@program
def gan():
    g, d = mlp(4, 8, 6), mlp(6, 8, 1, activation=lambda: nn.LeakyReLU(0.2))
    optimizer_g, optimizer_d = (torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.5, 0.999)) for net in (g, d))
    criterion = nn.BCEWithLogitsLoss()

    def step(real):
        n = real.size(0)
        optimizer_d.zero_grad()
        z = torch.randn(n, 4)
        fake = g(z)
        loss_d = criterion(d(real), torch.ones(n, 1)) + criterion(d(fake.detach()), torch.zeros(n, 1))
        loss_d.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = criterion(d(fake), torch.ones(n, 1))
        loss_g.backward()
        optimizer_g.step()
        return loss_d.item(), loss_g.item()

    return step, [g, d], lambda i: (torch.randn(4 + i % 2, 6),)


@program
def wgan_with_penalty():
    g, d = mlp(4, 8, 6), mlp(6, 8, 1, activation=nn.Softplus)
    optimizer = torch.optim.Adam(d.parameters(), lr=1e-2)

    def step(real):
        fake = g(torch.randn(real.size(0), 4)).detach()
        alpha = torch.rand(real.size(0), 1)
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        out = d(between)
        gradients = torch.autograd.grad(
            outputs=out, inputs=between, grad_outputs=torch.ones_like(out), create_graph=True, retain_graph=True
        )[0]
        penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean()
        loss = d(fake).mean() - d(real).mean() + 10 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, penalty

    return step, [d], lambda i: (torch.randn(4 + i % 2, 6),)


@program
def vae():
    class Vae(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder, self.decoder = mlp(6, 8, 8), mlp(4, 8, 6)

        def reparameterize(self, mu, logvar):
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std)
            return mu + eps * std

        def forward(self, x):
            mu, logvar = self.encoder(x).chunk(2, dim=-1)
            z = self.reparameterize(mu, logvar)
            return self.decoder(z), mu, logvar

    net = Vae()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(x):
        optimizer.zero_grad()
        out, mu, logvar = net(x)
        reconstruction = F.mse_loss(out, x, reduction="sum")
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        loss = reconstruction + kl
        loss.backward()
        optimizer.step()
        return loss, kl

    return step, [net], lambda i: (torch.rand(4 + i % 2, 6),)


@program
def diffusion_step():
    net = mlp(7, 16, 6, activation=nn.SiLU)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    betas = torch.linspace(1e-4, 0.02, 50)
    alphas_bar = torch.cumprod(1 - betas, 0)

    def step(x):
        t = torch.randint(0, 50, (x.shape[0],))
        noise = torch.randn_like(x)
        a = alphas_bar[t].view(-1, 1)
        noisy = a.sqrt() * x + (1 - a).sqrt() * noise
        predicted = net(torch.cat([noisy, t.float()[:, None] / 50], dim=1))
        loss = F.mse_loss(predicted, noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [net], lambda i: (torch.randn(4 + i % 2, 6),)


@program
def diffusion_sampling():
    net = mlp(7, 16, 6, activation=nn.SiLU)
    betas = torch.linspace(1e-4, 0.02, 6)
    alphas = 1 - betas
    bars = torch.cumprod(alphas, 0)

    @torch.no_grad()
    def sample(n):
        x = torch.randn(n, 6)
        for t in reversed(range(6)):
            time = torch.full((n, 1), t / 6)
            eps = net(torch.cat([x, time], 1))
            x = (x - betas[t] / (1 - bars[t]).sqrt() * eps) / alphas[t].sqrt()
            if t > 0:
                x = x + betas[t].sqrt() * torch.randn_like(x)
        return x

    return sample, [net], lambda i: (3 + i % 2,)


@program
def contrastive():
    encoder = mlp(6, 8, 4)
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    temperature = 0.5

    def step(a, b):
        z = F.normalize(torch.cat([encoder(a), encoder(b)]), dim=1)
        similarity = z @ z.t() / temperature
        n = a.shape[0]
        mask = torch.eye(2 * n, dtype=torch.bool)
        similarity = similarity.masked_fill(mask, float("-inf"))
        labels = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
        loss = F.cross_entropy(similarity, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [encoder], lambda i: (torch.randn(4 + i % 2, 6), torch.randn(4 + i % 2, 6))


@program
def momentum_contrast():
    query, queue = mlp(6, 8, 4), F.normalize(torch.randn(4, 16), dim=0)
    key = copy.deepcopy(query)
    for p in key.parameters():
        p.requires_grad = False
    optimizer = torch.optim.SGD(query.parameters(), lr=0.1)
    state = {"at": 0}

    def step(a, b):
        q = F.normalize(query(a), dim=1)
        with torch.no_grad():
            for pq, pk in zip(query.parameters(), key.parameters()):
                pk.data = pk.data * 0.99 + pq.data * 0.01
            k = F.normalize(key(b), dim=1)
        positive = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        negative = torch.einsum("nc,ck->nk", q, queue.clone().detach())
        logits = torch.cat([positive, negative], dim=1) / 0.07
        loss = F.cross_entropy(logits, torch.zeros(logits.shape[0], dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        at = state["at"]
        queue[:, at : at + 4] = k.T
        state["at"] = (at + 4) % 16
        return loss

    return step, [query, key, queue], lambda i: (torch.randn(4, 6), torch.randn(4, 6))


@program
def maml_with_functional_calls():
    net = mlp(1, 8, 1, activation=nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def loss_of(parameters, x, y):
        return F.mse_loss(torch.func.functional_call(net, parameters, (x,)), y)

    def step(x, y, x2, y2):
        parameters = dict(net.named_parameters())
        gradients = torch.func.grad(loss_of)(parameters, x, y)
        adapted = {name: p - 0.1 * gradients[name] for name, p in parameters.items()}
        loss = loss_of(adapted, x2, y2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [net], lambda i: tuple(torch.randn(4, 1) for _ in range(4))


@program
def maml_along_the_tape():
    net = mlp(1, 8, 1, activation=nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def forward(x, weights):
        h = torch.tanh(F.linear(x, weights[0], weights[1]))
        return F.linear(h, weights[2], weights[3])

    def step(x, y, x2, y2):
        weights = list(net.parameters())
        inner = F.mse_loss(forward(x, weights), y)
        gradients = torch.autograd.grad(inner, weights, create_graph=True)
        fast = [w - 0.1 * g for w, g in zip(weights, gradients)]
        loss = F.mse_loss(forward(x2, fast), y2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [net], lambda i: tuple(torch.randn(4, 1) for _ in range(4))


@program
def message_passing():
    class Gcn(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.linear = nn.Linear(a, b)

        def forward(self, x, edges):
            source, target = edges
            x = self.linear(x)
            degree = torch.zeros(x.size(0)).index_add_(0, target, torch.ones(target.size(0))).clamp(min=1)
            out = torch.zeros_like(x).index_add(0, target, x[source])
            return out / degree[:, None] + x

    first, second = Gcn(5, 8), Gcn(8, 3)
    net = nn.ModuleList([first, second])
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(x, edges, y, mask):
        net.train()
        optimizer.zero_grad()
        h = F.relu(first(x, edges))
        h = F.dropout(h, p=0.5, training=net.training)
        out = F.log_softmax(second(h, edges), dim=1)
        loss = F.nll_loss(out[mask], y[mask])
        loss.backward()
        optimizer.step()
        return float(loss)

    def arguments(i):
        n = 6 + i % 2
        return torch.randn(n, 5), torch.randint(0, n, (2, 12)), torch.randint(0, 3, (n,)), torch.arange(n) % 2 == 0

    return step, [net], arguments


@program
def attention_over_neighbours():
    lin, att = nn.Linear(5, 8), nn.Parameter(torch.randn(16))

    def forward(x, edges):
        h = lin(x)
        row, col = edges[0], edges[1]
        e = F.leaky_relu((torch.cat([h[row], h[col]], dim=-1) * att).sum(-1), 0.2)
        e = e - torch.full((x.size(0),), float("-inf")).scatter_reduce(0, row, e, "amax", include_self=False)[row]
        w = e.exp()
        total = torch.zeros(x.size(0)).scatter_add(0, row, w)
        w = w / (total[row] + 1e-16)
        return torch.zeros_like(h).index_add(0, row, h[col] * w[:, None])

    return (
        forward,
        [lin, att],
        lambda i: (torch.randn(6, 5), torch.cat([torch.arange(6).repeat(2, 1), torch.randint(0, 6, (2, 8))], 1)),
    )


@program
def beam_search():
    net = nn.Linear(8, 9)
    embed = nn.Embedding(9, 8)

    @torch.no_grad()
    def search(start, k):
        beams = [([start], 0.0)]
        for _ in range(4):
            candidates = []
            for tokens, score in beams:
                logits = net(embed(torch.tensor(tokens)).mean(0))
                logp = F.log_softmax(logits, -1)
                values, indices = logp.topk(k)
                for v, j in zip(values.tolist(), indices.tolist()):
                    candidates.append((tokens + [j], score + v))
            beams = sorted(candidates, key=lambda b: b[1], reverse=True)[:k]
        return beams

    return search, [net], lambda i: (i % 9, 2 + i % 2)


@program
def greedy_decoding_with_cache():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x, cache=None):
            b, t, c = x.shape
            q, k, v = (p.view(b, t, 2, 4).transpose(1, 2) for p in self.qkv(x).split(8, dim=2))
            if cache is not None:
                k = torch.cat([cache[0], k], dim=2)
                v = torch.cat([cache[1], v], dim=2)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
            return self.out(y.transpose(1, 2).reshape(b, t, c)), (k, v)

    embed, block, head = nn.Embedding(9, 8), Block(), nn.Linear(8, 9)
    nets = nn.ModuleList([embed, block, head]).eval()

    @torch.no_grad()
    def generate(tokens, n):
        cache, new = None, tokens
        for _ in range(n):
            h, cache = block(embed(new), cache)
            new = head(h[:, -1:]).argmax(-1)
            tokens = torch.cat([tokens, new], dim=1)
            if (new == 0).all():
                break
        return tokens

    return generate, [nets], lambda i: (torch.randint(1, 9, (1 + i % 2, 3)), 5)


@program
def sampling_with_temperature():
    head = nn.Linear(8, 20)

    @torch.no_grad()
    def sample(h, temperature, top_k, top_p):
        logits = head(h)[:, -1, :] / temperature
        if top_k is not None:
            v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
            logits[logits < v[:, [-1]]] = -float("inf")
        sorted_logits, order = torch.sort(logits, descending=True)
        cumulative = sorted_logits.softmax(-1).cumsum(-1)
        remove = cumulative > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = False
        logits = logits.masked_fill(remove.scatter(1, order, remove), float("-inf"))
        return torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)

    return sample, [head], lambda i: (torch.randn(2, 3, 8), 0.7 + 0.1 * i, None if i == 3 else 5, 0.9)


@program
def quantization_aware():
    class FakeQuantize(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x / scale)
            return torch.clamp(torch.round(x / scale), -8, 7) * scale

        @staticmethod
        def backward(ctx, g):
            (q,) = ctx.saved_tensors
            return g * ((q >= -8) & (q <= 7)), None

    class QLinear(nn.Linear):
        def forward(self, x):
            scale = self.weight.detach().abs().max() / 7
            return F.linear(x, FakeQuantize.apply(self.weight, scale), self.bias)

    net = nn.Sequential(QLinear(6, 8), nn.ReLU(), QLinear(8, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    return training(net, optimizer, lambda x, y: F.cross_entropy(net(x), y)), [net], batch


@program
def straight_through():
    net = mlp(6, 8, 6)

    def forward(x):
        h = net(x)
        q = torch.round(h * 4) / 4
        h = h + (q - h).detach()
        return h.pow(2).mean()

    return forward, [net], lambda i: (torch.randn(3, 6),)


@program
def distillation():
    teacher, student = mlp(6, 16, 3).eval(), mlp(6, 4, 3)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)

    def step(x, y, T=2.0, alpha=0.5):
        with torch.no_grad():
            targets = teacher(x)
        out = student(x)
        soft = F.kl_div(F.log_softmax(out / T, 1), F.softmax(targets / T, 1), reduction="batchmean") * T * T
        loss = alpha * F.cross_entropy(out, y) + (1 - alpha) * soft
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [student], batch


@program
def mixture_of_experts():
    class Moe(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(6, 3)
            self.experts = nn.ModuleList(mlp(6, 8, 6) for _ in range(3))

        def forward(self, x):
            weights, chosen = torch.topk(self.gate(x).softmax(-1), 2)
            weights = weights / weights.sum(-1, keepdim=True)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                rows, nth = torch.where(chosen == i)
                if rows.numel() == 0:
                    continue
                out[rows] += weights[rows, nth, None] * expert(x[rows])
            return out

    net = Moe()
    optimizer = torch.optim.Adam(net.parameters())

    return (
        training(net, optimizer, lambda x: (net(x) - x).square().mean()),
        [net],
        lambda i: (torch.randn(4 + i % 3, 6),),
    )


@program
def policy_gradient():
    policy = mlp(4, 8, 2, activation=nn.Tanh)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def episode(n):
        log_probs, rewards = [], []
        state = torch.randn(4)
        for _ in range(n):
            dist = torch.distributions.Categorical(logits=policy(state))
            action = dist.sample()
            log_probs.append(dist.log_prob(action))
            state = state * 0.9 + (action.float() - 0.5)
            rewards.append(-state.abs().sum().item())
        returns, g = [], 0.0
        for r in reversed(rewards):
            g = r + 0.9 * g
            returns.insert(0, g)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        loss = -(torch.stack(log_probs) * returns).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item(), sum(rewards)

    return episode, [policy], lambda i: (3 + i % 2,)


@program
def ppo_update():
    actor, critic = mlp(4, 8, 2, activation=nn.Tanh), mlp(4, 8, 1, activation=nn.Tanh)
    log_std = nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters(), log_std], lr=1e-2, eps=1e-5)

    def update(obs, actions, old, returns, advantages):
        dist = torch.distributions.Normal(actor(obs), log_std.exp())
        logp = dist.log_prob(actions).sum(-1)
        ratio = (logp - old).exp()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        unclipped = ratio * advantages
        clipped = torch.clamp(ratio, 0.8, 1.2) * advantages
        policy_loss = -torch.min(unclipped, clipped).mean()
        value_loss = 0.5 * (critic(obs).squeeze(-1) - returns).pow(2).mean()
        entropy = dist.entropy().sum(-1).mean()
        loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters(), log_std], 0.5)
        optimizer.step()
        return {"policy": policy_loss.item(), "value": value_loss.item(), "entropy": entropy.item()}

    return (
        update,
        [actor, critic, log_std],
        lambda i: (torch.randn(5, 4), torch.randn(5, 2), torch.randn(5), torch.randn(5), torch.randn(5)),
    )


@program
def dqn_update():
    online = mlp(4, 8, 2)
    target = copy.deepcopy(online)
    optimizer = torch.optim.RMSprop(online.parameters(), lr=1e-2)

    def update(i, s, a, r, s2, done):
        q = online(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            best = target(s2).max(1)[0]
            expected = r + 0.99 * best * (1 - done)
        loss = F.smooth_l1_loss(q, expected)
        optimizer.zero_grad()
        loss.backward()
        for p in online.parameters():
            p.grad.data.clamp_(-1, 1)
        optimizer.step()
        if i % 3 == 2:
            target.load_state_dict(online.state_dict())
        return loss

    def arguments(i):
        return (
            i,
            torch.randn(5, 4),
            torch.randint(0, 2, (5,)),
            torch.randn(5),
            torch.randn(5, 4),
            (torch.rand(5) > 0.5).float(),
        )

    return update, [online, target], arguments


@program
def soft_actor_critic():
    actor, q1, q2 = mlp(4, 8, 4), mlp(6, 8, 1), mlp(6, 8, 1)
    t1 = copy.deepcopy(q1)
    optimizer_q = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=1e-2)
    optimizer_a = torch.optim.Adam(actor.parameters(), lr=1e-2)

    def act(s):
        mean, log_std = actor(s).chunk(2, -1)
        std = log_std.clamp(-5, 2).exp()
        u = mean + std * torch.randn_like(mean)
        a = torch.tanh(u)
        logp = (-0.5 * ((u - mean) / std).pow(2) - std.log()).sum(-1) - torch.log(1 - a.pow(2) + 1e-6).sum(-1)
        return a, logp

    def update(s, a, r, s2):
        with torch.no_grad():
            a2, logp2 = act(s2)
            y = r + 0.99 * (t1(torch.cat([s2, a2], -1)).squeeze(-1) - 0.2 * logp2)
        sa = torch.cat([s, a], -1)
        loss_q = F.mse_loss(q1(sa).squeeze(-1), y) + F.mse_loss(q2(sa).squeeze(-1), y)
        optimizer_q.zero_grad()
        loss_q.backward()
        optimizer_q.step()
        new, logp = act(s)
        q = torch.min(q1(torch.cat([s, new], -1)), q2(torch.cat([s, new], -1))).squeeze(-1)
        loss_a = (0.2 * logp - q).mean()
        optimizer_a.zero_grad()
        loss_a.backward()
        optimizer_a.step()
        with torch.no_grad():
            for p, tp in zip(q1.parameters(), t1.parameters()):
                tp.data.mul_(0.995)
                tp.data.add_(0.005 * p.data)
        return loss_q.item(), loss_a.item()

    return (
        update,
        [actor, q1, q2, t1],
        lambda i: (torch.randn(5, 4), torch.randn(5, 2), torch.randn(5), torch.randn(5, 4)),
    )


# ---- vision, language, audio, …


@program
def mixup_with_label_smoothing():
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, y, lam):
        order = torch.randperm(x.size(0))
        mixed = lam * x + (1 - lam) * x[order]
        out = net(mixed)
        loss = lam * F.cross_entropy(out, y, label_smoothing=0.1) + (1 - lam) * F.cross_entropy(out, y[order])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, (out.argmax(1) == y).float().mean().item()

    return step, [net], lambda i: (torch.randn(4, 3, 6, 6), torch.randint(0, 3, (4,)), 0.3 + 0.05 * i)


@program
def segmentation_with_dice():
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(), nn.Conv2d(4, 1, 1))

    def dice(p, t, eps=1e-6):
        p, t = p.flatten(1), t.flatten(1)
        return 1 - ((2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()

    def forward(x, t):
        logits = net(x)
        return F.binary_cross_entropy_with_logits(logits, t) + dice(torch.sigmoid(logits), t)

    return forward, [net], lambda i: (torch.randn(2, 1, 6 + i % 2, 6), (torch.rand(2, 1, 6 + i % 2, 6) > 0.5).float())


@program
def boxes_without_overlap():
    def iou(a, b):
        area = lambda v: (v[:, 2] - v[:, 0]).clamp(min=0) * (v[:, 3] - v[:, 1]).clamp(min=0)  # noqa: E731
        low = torch.max(a[:, None, :2], b[None, :, :2])
        high = torch.min(a[:, None, 2:], b[None, :, 2:])
        wh = (high - low).clamp(min=0)
        inter = wh[..., 0] * wh[..., 1]
        return inter / (area(a)[:, None] + area(b) - inter + 1e-9)

    def nms(boxes, scores, threshold=0.3):
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            i = order[0].item()
            keep.append(i)
            if order.numel() == 1:
                break
            ious = iou(boxes[i : i + 1], boxes[order[1:]])[0]
            order = order[1:][ious <= threshold]
        return torch.tensor(keep, dtype=torch.long)

    def arguments(i):
        low = torch.rand(5 + i % 2, 2)
        return torch.cat([low, low + torch.rand(5 + i % 2, 2)], 1), torch.rand(5 + i % 2)

    return nms, [], arguments


@program
def features_by_hooks():
    net = mlp(6, 8, 8, 3)
    features = {}

    def save(name):
        def hook(module, inputs, output):
            features[name] = output.detach()

        return hook

    net[1].register_forward_hook(save("first"))
    net[3].register_forward_hook(save("second"))

    def forward(x):
        out = net(x)
        return out, {name: f.mean() for name, f in features.items()}

    return forward, [net], lambda i: (torch.randn(3 + i % 2, 6),)


@program
def class_activation_by_backward_hooks():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3))
    seen = {}
    net[0].register_forward_hook(lambda m, i, o: seen.update(a=o))
    net[0].register_full_backward_hook(lambda m, gi, go: seen.update(g=go[0]))

    def cam(x, c):
        net.zero_grad()
        net(x)[:, c].sum().backward()
        w = seen["g"].mean((2, 3), keepdim=True)
        return F.relu((w * seen["a"]).sum(1)).detach()

    return cam, [net], lambda i: (torch.randn(2, 1, 6, 6), i % 3)


@program
def adversarial_examples():
    net = mlp(6, 8, 3)

    def attack(x, y, eps):
        x = x.clone().detach().requires_grad_(True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            adv = (x + eps * x.grad.sign()).clamp(-2, 2)
        net.zero_grad()
        return adv, net(adv).argmax(1)

    return attack, [net], lambda i: (*batch(i), 0.1 + 0.01 * i)


@program
def projected_attack():
    net = mlp(6, 8, 3).eval()
    for p in net.parameters():
        p.requires_grad_(False)

    def attack(x, y, eps=0.3, alpha=0.1):
        adv = x.clone().detach() + torch.empty_like(x).uniform_(-eps, eps)
        for _ in range(3):
            adv.requires_grad = True
            loss = F.cross_entropy(net(adv), y)
            grad = torch.autograd.grad(loss, adv, retain_graph=False, create_graph=False)[0]
            adv = adv.detach() + alpha * grad.sign()
            delta = torch.clamp(adv - x, min=-eps, max=eps)
            adv = (x + delta).detach()
        return adv

    return attack, [net], batch


@program
def language_model_with_checkpoints():
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(8), nn.LayerNorm(8)
            self.attn = nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.1)
            self.ff = mlp(8, 16, 8, activation=nn.GELU)

        def forward(self, x, mask):
            h = self.n1(x)
            x = x + self.attn(h, h, h, attn_mask=mask, need_weights=False)[0]
            return x + self.ff(self.n2(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok, self.pos = nn.Embedding(11, 8), nn.Embedding(12, 8)
            self.blocks = nn.ModuleList(Block() for _ in range(2))
            self.head = nn.Linear(8, 11, bias=False)

        def forward(self, tokens):
            n = tokens.shape[1]
            x = self.tok(tokens) + self.pos(torch.arange(n, device=tokens.device))
            mask = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
            for block in self.blocks:
                x = checkpoint(block, x, mask, use_reentrant=False)
            return self.head(x)

    net = Model()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)

    def step(tokens):
        loss = F.cross_entropy(net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        return loss

    return step, [net], lambda i: (torch.randint(0, 11, (2, 6 + i % 2)),)


@program
def translation_with_teacher_forcing():
    enc, dec, embed, out = nn.GRU(8, 8, batch_first=True), nn.GRUCell(16, 8), nn.Embedding(9, 8), nn.Linear(8, 9)
    nets = nn.ModuleList([enc, dec, embed, out])
    optimizer = torch.optim.Adam(nets.parameters(), lr=1e-2)

    def step(i, source, target):
        keys, h = enc(embed(source))
        h = h[0]
        token = target[:, 0]
        loss = 0
        for t in range(1, target.size(1)):
            score = torch.bmm(keys, h.unsqueeze(2)).squeeze(2)
            context = torch.bmm(score.softmax(1).unsqueeze(1), keys).squeeze(1)
            h = dec(torch.cat([embed(token), context], 1), h)
            logits = out(h)
            loss += F.cross_entropy(logits, target[:, t], ignore_index=0)
            token = target[:, t] if i % 2 == 0 else logits.argmax(1)
        loss = loss / (target.size(1) - 1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [nets], lambda i: (i, torch.randint(1, 9, (2, 4)), torch.randint(1, 9, (2, 4)))


@program
def packed_sequences():
    lstm, head = nn.LSTM(5, 6, batch_first=True, bidirectional=True), nn.Linear(12, 2)

    def forward(x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        h, _ = lstm(packed)
        h, n = nn.utils.rnn.pad_packed_sequence(h, batch_first=True)
        return head(h.sum(1) / n[:, None])

    return forward, [lstm, head], lambda i: (torch.randn(3, 4, 5), torch.tensor([4, 2, 3 - i % 2]))


@program
def speech_with_ctc():
    conv, rnn, head = nn.Conv1d(5, 8, 3, stride=2, padding=1), nn.LSTM(8, 8), nn.Linear(8, 6)
    nets = nn.ModuleList([conv, rnn, head])
    optimizer = torch.optim.Adam(nets.parameters())

    def step(x, targets, n):
        h = F.relu(conv(x)).permute(2, 0, 1)
        h, _ = rnn(h)
        logp = head(h).log_softmax(-1)
        lengths = torch.full((x.size(0),), logp.size(0), dtype=torch.long)
        loss = F.ctc_loss(logp, targets, lengths, n, blank=0, zero_infinity=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [nets], lambda i: (torch.randn(2, 5, 20), torch.randint(1, 6, (2, 3)), torch.tensor([3, 2]))


@program
def spectral_loss():
    net = nn.Conv1d(1, 1, 5, padding=2)
    window = torch.hann_window(16)

    def magnitude(x):
        s = torch.stft(x, 16, 4, 16, window, return_complex=True)
        return torch.sqrt(s.real**2 + s.imag**2 + 1e-7)

    def forward(x, y):
        a, b = magnitude(net(x).squeeze(1)), magnitude(y.squeeze(1))
        return (a - b).norm() / b.norm() + F.l1_loss(a.log(), b.log())

    return forward, [net], lambda i: (torch.randn(2, 1, 64), torch.randn(2, 1, 64))


@program
def normalizing_flow():
    class Coupling(nn.Module):
        def __init__(self, flip):
            super().__init__()
            self.net, self.flip = mlp(2, 8, 4, activation=nn.Tanh), flip

        def forward(self, x):
            a, b = x.chunk(2, 1)
            if self.flip:
                a, b = b, a
            s, t = self.net(a).chunk(2, 1)
            s = torch.tanh(s)
            b = b * s.exp() + t
            return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)

    flow = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4))
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
    prior = torch.distributions.MultivariateNormal(torch.zeros(4), torch.eye(4))

    def step(x):
        total = x.new_zeros(x.size(0))
        for layer in flow:
            x, logdet = layer(x)
            total = total + logdet
        loss = -(prior.log_prob(x) + total).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [flow], lambda i: (torch.randn(4 + i % 2, 4),)


@program
def differential_equation():
    net = mlp(3, 8, 2, activation=nn.Tanh)

    def f(t, y):
        return net(torch.cat([y, t.expand(y.size(0), 1)], 1))

    def solve(y, t):
        ys = [y]
        for t0, t1 in zip(t[:-1], t[1:]):
            h = t1 - t0
            k1 = f(t0, y)
            k2 = f(t0 + h / 2, y + h / 2 * k1)
            k3 = f(t0 + h / 2, y + h / 2 * k2)
            k4 = f(t1, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            ys.append(y)
        return torch.stack(ys)

    return solve, [net], lambda i: (torch.randn(3, 2), torch.linspace(0, 1, 4))


@program
def physics_informed():
    net = mlp(2, 8, 1, activation=nn.Tanh)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(x, t):
        x, t = x.requires_grad_(True), t.requires_grad_(True)
        u = net(torch.cat([x, t], 1))
        ones = torch.ones_like(u)
        u_x = torch.autograd.grad(u, x, ones, create_graph=True)[0]
        u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
        loss = (u_t - 0.1 * u_xx).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [net], lambda i: (torch.rand(5, 1), torch.rand(5, 1))


@program
def spectral_and_weight_norms():
    net = nn.Sequential(
        nn.utils.parametrizations.spectral_norm(nn.Linear(6, 8)), nn.LeakyReLU(0.1),
        nn.utils.parametrizations.weight_norm(nn.Linear(8, 3)),
    )  # fmt: skip
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [net], batch


@program
def domain_adversarial():
    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.scale = scale
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -ctx.scale * g, None

    features, label, domain = mlp(6, 8), mlp(8, 3), mlp(8, 2)
    nets = nn.ModuleList([features, label, domain])
    optimizer = torch.optim.SGD(nets.parameters(), lr=0.1)

    def step(i, x, y, d):
        h = F.relu(features(x))
        scale = 2.0 / (1.0 + 2.718 ** (-i)) - 1
        loss = F.cross_entropy(label(h), y) + F.cross_entropy(domain(Reverse.apply(h, scale)), d)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [nets], lambda i: (i, *batch(3), torch.randint(0, 2, (4,)))


@program
def low_rank_adapters():
    class Lora(nn.Module):
        def __init__(self, base, r=2):
            super().__init__()
            self.base = base
            for p in base.parameters():
                p.requires_grad_(False)
            self.a = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
            self.b = nn.Parameter(torch.zeros(base.out_features, r))
            self.scaling = 2.0

        def forward(self, x):
            return self.base(x) + (x @ self.a.T @ self.b.T) * self.scaling

    net = nn.Sequential(Lora(nn.Linear(6, 8)), nn.ReLU(), Lora(nn.Linear(8, 3)))
    optimizer = torch.optim.AdamW(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step, [net], batch


@program
def vector_quantization():
    class Quantizer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("codes", torch.randn(5, 4))
            self.register_buffer("count", torch.ones(5))
            self.register_buffer("total", self.codes.clone())

        def forward(self, z):
            distance = z.pow(2).sum(1, keepdim=True) - 2 * z @ self.codes.t() + self.codes.pow(2).sum(1)
            index = distance.argmin(1)
            onehot = F.one_hot(index, 5).type_as(z)
            q = F.embedding(index, self.codes)
            if self.training:
                with torch.no_grad():
                    self.count.mul_(0.9).add_(onehot.sum(0), alpha=0.1)
                    self.total.mul_(0.9).add_(onehot.t() @ z, alpha=0.1)
                    self.codes.copy_(self.total / (self.count[:, None] + 1e-5))
            loss = F.mse_loss(z, q.detach())
            return z + (q - z).detach(), loss, index

    encoder, quantizer, decoder = mlp(6, 8, 4), Quantizer(), mlp(4, 8, 6)
    nets = nn.ModuleList([encoder, quantizer, decoder])
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])

    def step(x):
        q, commit, index = quantizer(encoder(x))
        loss = F.mse_loss(decoder(q), x) + 0.25 * commit
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, index

    return step, [nets], lambda i: (torch.randn(4 + i % 2, 6),)


@program
def gumbel_and_sinkhorn():
    def sinkhorn(scores, steps=3):
        q = torch.exp(scores / 0.5).t()
        q /= q.sum()
        k, n = q.shape
        for _ in range(steps):
            q /= q.sum(dim=1, keepdim=True)
            q /= k
            q /= q.sum(dim=0, keepdim=True)
            q /= n
        return (q * n).t()

    net = mlp(6, 8, 4)

    def forward(x, hard):
        logits = net(x)
        y = F.gumbel_softmax(logits, tau=0.7, hard=hard)
        with torch.no_grad():
            target = sinkhorn(logits)
        return -(target * F.log_softmax(logits, 1)).sum(1).mean() + y[:, 0].sum()

    return forward, [net], lambda i: (torch.randn(4, 6), i % 2 == 0)


@program
def radiance_field():
    net = mlp(15, 16, 4)

    def encode(x, n=2):
        return torch.cat([x, *[f(x * 2.0**i) for i in range(n) for f in (torch.sin, torch.cos)]], -1)

    def render(origins, directions, near=0.0, far=1.0, n=5):
        t = torch.linspace(near, far, n)
        t = t + torch.rand(*origins.shape[:-1], n) * (far - near) / n
        points = origins[..., None, :] + directions[..., None, :] * t[..., :, None]
        raw = net(encode(points.reshape(-1, 3))).view(*points.shape[:-1], 4)
        sigma, rgb = F.relu(raw[..., 3]), torch.sigmoid(raw[..., :3])
        delta = torch.cat([t[..., 1:] - t[..., :-1], torch.full_like(t[..., :1], 1e10)], -1)
        alpha = 1 - torch.exp(-sigma * delta)
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[..., :1]), 1 - alpha + 1e-10], -1), -1)[..., :-1]
        weights = alpha * through
        return (weights[..., None] * rgb).sum(-2), (weights * t).sum(-1)

    return render, [net], lambda i: (torch.randn(3 + i % 2, 3), torch.randn(3 + i % 2, 3))


@program
def word_vectors():
    centre, context = nn.Embedding(20, 6), nn.Embedding(20, 6, padding_idx=0)
    optimizer = torch.optim.SGD([*centre.parameters(), *context.parameters()], lr=0.5)

    def step(words, near, negative):
        v, u, n = centre(words), context(near), context(negative)
        positive = F.logsigmoid((v * u).sum(1))
        others = F.logsigmoid(-torch.bmm(n, v.unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(positive + others).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    ids = lambda *n: torch.randint(0, 20, n)  # noqa: E731
    return step, [centre, context], lambda i: (ids(4), ids(4), ids(4, 3))


@program
def conditional_random_field():
    transitions = nn.Parameter(torch.randn(4, 4))

    def score(emissions, mask):
        alpha = emissions[:, 0]
        for t in range(1, emissions.size(1)):
            new = torch.logsumexp(alpha.unsqueeze(2) + transitions + emissions[:, t].unsqueeze(1), dim=1)
            alpha = torch.where(mask[:, t].unsqueeze(1), new, alpha)
        return torch.logsumexp(alpha, 1).sum()

    def decode(emissions):
        best, back = emissions[0], []
        for e in emissions[1:]:
            total = best[:, None] + transitions + e
            best, index = total.max(0)
            back.append(index)
        path = [best.argmax().item()]
        for index in reversed(back):
            path.append(index[path[-1]].item())
        return path[::-1]

    def both(emissions, mask):
        with torch.no_grad():
            paths = [decode(e) for e in emissions]
        return score(emissions, mask), paths

    return both, [transitions], lambda i: (torch.randn(2, 4, 4), torch.rand(2, 4) > 0.3)


@program
def per_sample_gradients():
    net = mlp(6, 8, 3)

    def loss_of(parameters, x, y):
        out = torch.func.functional_call(net, parameters, (x.unsqueeze(0),))
        return F.cross_entropy(out, y.unsqueeze(0))

    def gradients(x, y):
        parameters = {k: v.detach() for k, v in net.named_parameters()}
        found = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(parameters, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in found.values()], 1).norm(dim=1)
        scale = (1.0 / (norms + 1e-6)).clamp(max=1.0)
        return {k: (g * scale.view(-1, *[1] * (g.dim() - 1))).mean(0) for k, g in found.items()}

    return gradients, [net], lambda i: (torch.randn(4, 6), torch.randint(0, 3, (4,)))


@program
def hessian_vector_product():
    net = mlp(6, 8, 3, activation=nn.Tanh)

    def product(x, y, *vectors):
        parameters = [p for p in net.parameters()]
        loss = F.cross_entropy(net(x), y)
        gradients = torch.autograd.grad(loss, parameters, create_graph=True)
        dot = sum((g * v).sum() for g, v in zip(gradients, vectors))
        return torch.autograd.grad(dot, parameters)

    return product, [net], lambda i: (*batch(i), *[torch.randn_like(p) for p in net.parameters()])


@program
def clusters():
    def kmeans(x, k, steps):
        centres = x[torch.randperm(x.size(0))[:k]]
        for _ in range(steps):
            index = torch.cdist(x, centres).argmin(1)
            new = torch.stack([x[index == j].mean(0) if (index == j).any() else centres[j] for j in range(k)])
            if torch.allclose(new, centres):
                break
            centres = new
        return centres, index

    return kmeans, [], lambda i: (torch.randn(12, 2), 3, 5)


@program
def gaussian_process():
    log_scale, log_noise = nn.Parameter(torch.zeros(())), nn.Parameter(torch.tensor(-2.0))
    optimizer = torch.optim.Adam([log_scale, log_noise], lr=0.1)

    def step(x, y):
        k = torch.exp(-0.5 * torch.cdist(x, x).pow(2) / log_scale.exp() ** 2) + (log_noise.exp() + 1e-4) * torch.eye(
            len(x)
        )
        chol = torch.linalg.cholesky(k)
        alpha = torch.cholesky_solve(y[:, None], chol)
        loss = 0.5 * (y @ alpha).squeeze() + chol.diagonal().log().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss, log_scale.item()

    return step, [log_scale, log_noise], lambda i: (torch.linspace(0, 1, 6)[:, None] + i * 0.01, torch.randn(6))


@program
def triplets_with_hard_negatives():
    net = mlp(6, 8, 4)
    optimizer = torch.optim.Adam(net.parameters())

    def step(x, y, margin=0.2):
        z = F.normalize(net(x), dim=-1)
        d = torch.cdist(z, z)
        same = y[:, None] == y[None]
        positive = (d * same).max(1).values
        negative = (d + 1e6 * same).min(1).values
        losses = F.relu(positive - negative + margin)
        active = losses[losses > 0]
        if active.numel() == 0:
            return None
        loss = active.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, [net], lambda i: (torch.randn(6, 6), torch.arange(6) // 2)


@program
def hyper_network():
    hyper, embed = nn.Linear(4, 6 * 3 + 3), nn.Embedding(3, 4)

    def forward(x, task):
        found = hyper(embed(torch.tensor(task)))
        w, b = found[:18].view(3, 6), found[18:]
        return F.linear(x, w, b).softmax(-1)

    return forward, [hyper, embed], lambda i: (torch.randn(3, 6), i % 3)


@program
def sets_and_masks():
    phi, rho = mlp(5, 8, 8), mlp(16, 8, 1)

    def forward(x, lengths):
        mask = torch.arange(x.size(1))[None, :] < lengths[:, None]
        h = phi(x)
        mean = (h * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(-1)
        most = h.masked_fill(~mask.unsqueeze(-1), -1e9).amax(1)
        return rho(torch.cat([mean, most], -1)).squeeze(-1)

    return forward, [phi, rho], lambda i: (torch.randn(3, 4, 5), torch.tensor([4, 2, 1 + i % 3]))


@program
def rotary_attention():
    qkv = nn.Linear(8, 24, bias=False)

    class Cache:
        def __init__(self):
            self.n, self.cos, self.sin = 0, None, None

        def get(self, n):
            if n > self.n:
                self.n = n
                freqs = torch.outer(torch.arange(n).float(), 1.0 / (100 ** (torch.arange(0, 4, 2).float() / 4)))
                emb = torch.cat((freqs, freqs), dim=-1)
                self.cos, self.sin = emb.cos(), emb.sin()
            return self.cos[:n], self.sin[:n]

    cache = Cache()

    def rotate(x):
        a, b = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
        return torch.cat((-b, a), dim=-1)

    def forward(x):
        b, n, _ = x.shape
        q, k, v = qkv(x).view(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4)
        cos, sin = cache.get(n)
        q, k = q * cos + rotate(q) * sin, k * cos + rotate(k) * sin
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)

    return forward, [qkv], lambda i: (torch.randn(2, 3 + i % 3, 8),)


@program
def state_space_scan():
    a, b, c = (nn.Parameter(torch.randn(4)) for _ in range(3))

    def scan(u):
        h = torch.zeros(u.size(0), 4)
        decay, ys = torch.exp(-F.softplus(a)), []
        for t in range(u.size(1)):
            h = decay * h + b * u[:, t, None]
            ys.append((h * c).sum(-1))
        return torch.stack(ys, 1)

    return scan, [a, b, c], lambda i: (torch.randn(2, 5),)


@program
def curriculum_with_state():
    class Trainer:
        def __init__(self):
            self.net = mlp(6, 8, 3)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            self.history, self.global_step = [], 0

        @property
        def difficulty(self):
            return min(1.0, 0.2 + 0.1 * self.global_step)

        def training_step(self, x, y):
            out = self.net(x * self.difficulty)
            return {"loss": F.cross_entropy(out, y), "accuracy": (out.argmax(1) == y).float().mean()}

        def fit_batch(self, x, y):
            self.net.train()
            logs = self.training_step(x, y)
            self.optimizer.zero_grad()
            logs["loss"].backward()
            self.optimizer.step()
            self.global_step += 1
            self.history.append(logs["loss"].item())
            return {k: v.item() for k, v in logs.items()}, len(self.history)

    trainer = Trainer()
    return trainer.fit_batch, [trainer.net], batch


# ---- speech, detection, recommendation, series, graphs, physics


@program
def scaler_with_clipping():
    net, optimizer = loop(lambda p: torch.optim.AdamW(p, lr=1e-2))
    scaler = torch.amp.GradScaler("cpu", init_scale=128.0)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach(), norm, scaler.state_dict()

    return step, [net], batch


def overlaps(a, b):
    corner = torch.max(a[:, None, :2], b[None, :, :2])
    sizes = (torch.min(a[:, None, 2:], b[None, :, 2:]) - corner).clamp(min=0)
    both = sizes[..., 0] * sizes[..., 1]
    area_a, area_b = ((t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1]) for t in (a, b))
    return both / (area_a[:, None] + area_b[None] - both + 1e-6)


@program
def detector_with_matched_boxes():
    net = nn.Conv2d(3, 10, 3, padding=1)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(image, boxes):
        out = net(image)
        count, _, height, width = out.shape
        out = out.view(count, 2, 5, height, width).permute(0, 3, 4, 1, 2).reshape(count, -1, 5)
        ys, xs = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centers = torch.stack([xs, ys], -1).float().view(-1, 1, 2).expand(-1, 2, -1).reshape(-1, 2)
        losses = {"class": 0.0, "box": 0.0}
        for i in range(count):
            middle = out[i, :, :2].sigmoid() + centers
            half = out[i, :, 2:4].exp().clamp(max=8) / 2
            found = torch.cat([middle - half, middle + half], -1)
            best, index = overlaps(found.detach(), boxes[i]).max(1)
            positive = best > 0.01
            losses["class"] = losses["class"] + F.binary_cross_entropy_with_logits(out[i, :, 4], positive.float())
            losses["box"] = losses["box"] + F.smooth_l1_loss(
                found[positive], boxes[i][index[positive]], reduction="sum"
            )
        optimizer.zero_grad()
        sum(losses.values()).backward()
        optimizer.step()
        return {key: float(value) for key, value in losses.items()}

    def arguments(i):
        corner = torch.rand(2, 3, 2) * 4
        return torch.randn(2, 3, 6, 6), torch.cat([corner, corner + 1 + torch.rand(2, 3, 2) * 2], -1)

    return step, [net, optimizer], arguments


@program
def interest_in_history():
    class Interest(nn.Module):
        def __init__(self):
            super().__init__()
            self.embeddings = nn.ModuleDict({key: nn.Embedding(10, 4, padding_idx=0) for key in ("item", "kind")})
            self.attention = nn.Sequential(nn.Linear(32, 8), nn.PReLU(), nn.Linear(8, 1))
            self.out = nn.Linear(16, 1)

        def forward(self, features):
            history = torch.cat([self.embeddings[key](features[f"past_{key}"]) for key in self.embeddings], -1)
            target = torch.cat([self.embeddings[key](features[key]) for key in self.embeddings], -1)
            target = target.unsqueeze(1).expand_as(history)
            parts = torch.cat([history, target, history - target, history * target], -1)
            scores = self.attention(parts).squeeze(-1).masked_fill(features["past_item"] == 0, -1e9)
            pooled = torch.einsum("bl,bld->bd", scores.softmax(-1), history)
            return self.out(torch.cat([pooled, target[:, 0]], -1)).squeeze(-1)

    net = Interest()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(features, label):
        out = net(features)
        loss = F.binary_cross_entropy_with_logits(out, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item(), round(out.mean().item(), 3), int((out > 0).sum())

    def arguments(i):
        many, one = ((lambda: torch.randint(0, 10, (3, 5))), (lambda: torch.randint(1, 10, (3,))))
        return dict(past_item=many(), past_kind=many(), item=one(), kind=one()), torch.rand(3)

    return step, [net, optimizer], arguments


@program
def convolutions_with_normed_weights():
    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            norm = nn.utils.parametrizations.weight_norm
            self.layers = nn.ModuleList(norm(nn.Conv1d(4 if i else 2, 4, 3, dilation=2**i)) for i in range(2))
            self.out = nn.Linear(4, 1)

        def forward(self, x):
            for i, layer in enumerate(self.layers):
                x = F.dropout(F.relu(layer(F.pad(x, (2 * 2**i, 0)))), 0.1, self.training)
            return self.out(x[..., -1])

    net = Causal()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(x, y):
        loss = F.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, [net, optimizer], lambda i: (torch.randn(2, 2, 9), torch.randn(2, 1))


@program
def policies_that_sample():
    body, policy = nn.Linear(4, 8), nn.Linear(8, 3)
    optimizer = torch.optim.Adam([*body.parameters(), *policy.parameters()], lr=1e-2)

    def step(observations, rewards):
        actions = torch.distributions.Categorical(logits=policy(torch.tanh(body(observations))).detach()).sample()
        found = torch.distributions.Categorical(logits=policy(torch.tanh(body(observations))))
        advantages = (rewards - rewards.mean()) / (rewards.std() + 1e-8)
        loss = -(found.log_prob(actions) * advantages).mean() - 0.01 * found.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item(), actions, found.probs.detach()

    return step, [body, policy, optimizer], lambda i: (torch.randn(6, 4), torch.randn(6))


@program
def targets_that_follow():
    critic, target = mlp(3, 8, 1), mlp(3, 8, 1)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2)

    def step(x, rewards):
        with torch.no_grad():
            wanted = rewards + 0.9 * target(x).squeeze(-1)
        loss = F.smooth_l1_loss(critic(x).squeeze(-1), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for source, followed in ((critic, target),):
                for p, q in zip(source.parameters(), followed.parameters()):
                    q.data.mul_(0.9)
                    q.data.add_(0.1 * p.data)
        return loss.item()

    return step, [critic, target, optimizer], lambda i: (torch.randn(5, 3), torch.randn(5))


@program
def energies_that_are_conserved():
    class Hamiltonian(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = mlp(4, 16, 1, activation=nn.Tanh)
            self.register_buffer("turn", torch.tensor([[0.0, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0], [0, -1, 0, 0]]))

        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_(True)
                (slope,) = torch.autograd.grad(self.net(x).sum(), x, create_graph=True)
            return slope @ self.turn.t()

    net = Hamiltonian()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

    def step(x, y):
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step, [net, optimizer], lambda i: (torch.randn(5, 4), torch.randn(5, 4))


@program
def greedy_matching():
    def match(costs):
        costs, found = costs.clone(), []
        for _ in range(costs.size(0)):
            i, j = divmod(int(costs.argmin()), costs.size(1))
            found.append((i, j))
            costs[i] = float("inf")
            costs[:, j] = float("inf")
        return found

    return match, [], lambda i: (torch.rand(4, 4),)


@program
def solver_by_fourier():
    def solve(f):
        n = f.shape[-1]
        k = torch.fft.fftfreq(n, 1 / n) * 6.28
        kx, ky = torch.meshgrid(k, k, indexing="ij")
        squares = kx**2 + ky**2
        squares[0, 0] = 1.0
        u = -torch.fft.fft2(f) / squares
        u[..., 0, 0] = 0
        return torch.fft.ifft2(u).real, torch.Size((n, *f.shape)).numel()

    return solve, [], lambda i: (torch.randn(8 + 2 * (i % 2), 8 + 2 * (i % 2)),)


# ---- the comparison


def contents(object):
    """The tensors that an object has, by name, and what else it says."""
    if isinstance(object, nn.Module):
        found = {**object.state_dict(keep_vars=True)}
        return found
    if isinstance(object, torch.optim.Optimizer):
        state = object.state_dict()
        return {"state": state["state"], "groups": state["param_groups"]}
    return object


def told(tensor):
    """What a tensor is beside its contents. Strides of dimensions of one element are nobody's."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride()) if size != 1]
    return tensor.shape, tensor.dtype, tensor.requires_grad, tensor.is_leaf, strides


def check(ours, theirs, where, tolerance=1e-4):
    """That two values are equal: gradients and what follows from them up to the order of sums."""
    if isinstance(theirs, (nn.Module, torch.optim.Optimizer)):
        ours, theirs = contents(ours), contents(theirs)
    assert type(ours) is type(theirs), (where, type(ours), type(theirs))
    if isinstance(theirs, torch.Tensor):
        assert told(ours) == told(theirs), (where, told(ours), told(theirs))
        torch.testing.assert_close(
            ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True, msg=lambda m: f"{where}: {m}"
        )
        if theirs.is_leaf:
            check(ours.grad, theirs.grad, f"{where}.grad", tolerance)
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key in theirs:
            check(ours[key], theirs[key], f"{where}[{key!r}]", tolerance)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs)):
            check(a, b, f"{where}[{i}]", tolerance)
    elif isinstance(theirs, float):
        assert ours == theirs or abs(ours - theirs) <= tolerance * max(1, abs(theirs)) or ours != ours, (
            where,
            ours,
            theirs,
        )
    else:
        assert ours == theirs, (where, ours, theirs)


def called(function, arguments, i):
    torch.manual_seed(1000 + i)
    values = arguments(i)
    try:
        result = function(*values)
    except Exception as error:  # noqa: BLE001  (which one is compared)
        result = (type(error).__name__, str(error))
    return result, torch.get_rng_state()


def run(name, count=8, counts=None):
    """Runs a program plain and compiled, and returns the compiled function. `counts` gets how often its plans had run before the
    last call."""
    worlds = []
    for _ in range(2):
        torch.manual_seed(7)
        worlds.append(PROGRAMS[name]())
    (plain, theirs, arguments), (function, ours, own_arguments) = worlds
    compiled = cresset.compile(function)
    for i in range(count):
        expected, state = called(plain, arguments, i)
        if counts is not None and i == count - 1:
            counts.append([plan.applied for plan in cresset.explain(compiled).plans])
        found, own_state = called(compiled, own_arguments, i)
        check(found, expected, f"{name}, call {i}, result")
        check(ours, theirs, f"{name}, call {i}, state")
        assert torch.equal(state, own_state), (name, i, "random numbers")
    return compiled


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    warnings.simplefilter("ignore")
    for name in [name for name in PROGRAMS if wanted in name]:
        cresset.reset()
        counts = []
        try:
            compiled = run(name, counts=counts)
        except AssertionError as error:
            print(f"{name}: DIFFERS {str(error)[:400]}", flush=True)
            continue
        found = cresset.explain(compiled)
        last = [plan for plan, before in zip(found.plans, counts[-1]) if plan.applied > before]
        where = ", ".join(f"{plan.first_line}-{plan.last_line} ({plan.graph_calls})" for plan in last)
        raised = sum(plan.raised for plan in found.plans)
        print(
            f"{name}: {len(last)} plans: {where}"
            + (f"; {raised} raised" if raised else "")
            + (f"; {found.off}" if found.off else "")
        )
        for line, reason in found.python:
            if "is not made yet" not in reason:
                print(f"    {line}: {reason}")


if __name__ == "__main__":
    main()
