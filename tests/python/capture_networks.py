"""Networks of torch.nn and of packages by cresset.compile, in evaluation and in training: results are to have eager's bits,
gradients its values; and what became of them, as a table, beside the graphs and breaks of torch.compile.

    pip install --no-deps --target FOLDER timm transformers torch_geometric …
    PYTHONPATH=$PYTHONPATH:FOLDER python tests/python/capture_networks.py [part of a name]

Columns: plans that a call runs; how many of them have compiled graphs, and the operator calls in these; lines that run as the
Python that they are; checks that failed in 8 calls of 3 sizes after the first 16.
"""

import copy
import os
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

import cresset
from cresset import _capture, _frames

# ruff: noqa: PLC0415  (imports belong to their networks)

NETWORKS = {}


def network(function):
    NETWORKS[function.__name__] = function
    return function


@network
def mlp():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 4)), lambda n: (
        torch.randn(n, 8),
    )


@network
def transformer_layer():
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0), lambda n: (torch.randn(n, 5, 16),)


@network
def transformer():
    return nn.Transformer(16, 2, 1, 1, 32, batch_first=True, dropout=0.0), lambda n: (
        torch.randn(n, 4, 16),
        torch.randn(n, 3, 16),
    )


@network
def lstm():
    return nn.LSTM(8, 8, 2), lambda n: (torch.randn(3, n, 8),)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda a, b: nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True))  # noqa: E731
        self.down, self.middle, self.up = block(3, 8), block(8, 8), block(16, 4)

    def forward(self, x):
        a = self.down(x)
        b = self.middle(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2.0)
        return self.up(torch.cat([a, b], 1))


@network
def unet():
    return Unet(), lambda n: (torch.randn(n, 3, 8, 8),)


@network
def timm_resnet():
    import timm

    return timm.create_model("resnet10t"), lambda n: (torch.randn(n, 3, 64, 64),)


@network
def timm_vit():
    import timm

    return timm.create_model("vit_tiny_patch16_224", img_size=64, depth=2), lambda n: (torch.randn(n, 3, 64, 64),)


@network
def timm_mixer():
    import timm

    return timm.create_model("mixer_s32_224", img_size=64), lambda n: (torch.randn(n, 3, 64, 64),)


@network
def timm_convnext():
    import timm

    return timm.create_model("convnext_atto", depths=(1, 1, 1, 1)), lambda n: (torch.randn(n, 3, 64, 64),)


@network
def timm_mobilenet():
    import timm

    return timm.create_model("mobilenetv3_small_050"), lambda n: (torch.randn(n, 3, 64, 64),)


def ids(n):
    return torch.randint(0, 50, (n, 6))


@network
def transformers_bert():
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
    return BertModel(config), lambda n: (ids(n),)


@network
def transformers_gpt2():
    from transformers import GPT2Config, GPT2Model

    config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2, use_cache=False)
    return GPT2Model(config), lambda n: (ids(n),)


@network
def transformers_llama():
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
    )
    return LlamaModel(config), lambda n: (ids(n),)


@network
def transformers_t5():
    from transformers import T5Config, T5EncoderModel

    config = T5Config(vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    return T5EncoderModel(config), lambda n: (ids(n),)


SMALL = {"vocab_size": 50, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}


@network
def transformers_llama_states():
    """With all hidden states, which forward hooks collect."""
    from transformers import LlamaConfig, LlamaModel

    return LlamaModel(LlamaConfig(**SMALL, output_hidden_states=True)), lambda n: (ids(n),)


@network
def transformers_llama_causal():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**SMALL)), lambda n: (ids(n),)


@network
def transformers_mistral():
    from transformers import MistralConfig, MistralModel

    return MistralModel(MistralConfig(**SMALL, num_key_value_heads=2)), lambda n: (ids(n),)


@network
def transformers_qwen2():
    from transformers import Qwen2Config, Qwen2Model

    return Qwen2Model(Qwen2Config(**SMALL, num_key_value_heads=2)), lambda n: (ids(n),)


class Gnn(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.first, self.second = kind(8, 8), kind(8, 4)

    def forward(self, x, edges):
        return self.second(F.elu(self.first(x, edges)), edges)


def graph(n):
    return torch.randn(n + 4, 8), torch.randint(0, n + 4, (2, 12))


@network
def geometric_sage():
    from torch_geometric.nn import SAGEConv

    return Gnn(SAGEConv), graph


@network
def geometric_gat():
    from torch_geometric.nn import GATConv

    return Gnn(lambda a, b: GATConv(a, b, heads=1)), graph


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def observe(module, inputs, training):
    """Results and buffers; gradients."""
    module.zero_grad()
    torch.manual_seed(7)
    inputs = [t.clone().requires_grad_(training) if t.is_floating_point() else t for t in inputs]
    with torch.set_grad_enabled(training):
        results = tensors_in(module(*inputs))
    if training:
        sum(t.pow(2).sum() for t in results if t.requires_grad).backward()
    gradients = [t.grad.clone() for t in [*module.parameters(), *inputs] if t.grad is not None]
    return [t.detach() for t in results] + [b.clone() for b in module.buffers()], gradients


def plans():
    """{plan: (how often it ran, how often a check failed, how many calls its graphs have)}"""
    found = {}
    for code in _capture._known_codes():
        for _, plan in _frames.plans_of(code, None):
            found[plan] = (*plan.counts[:2], plan.info.num_calls)
    return found


def python_lines():
    """But for those of nn.Module's own calls."""
    return {
        (code.co_filename, _capture.line_at(code, position)): reason
        for code in _capture._known_codes()
        for position, reason in _capture._notes.get(id(code), {}).items()
        if reason != _capture.END and code.co_filename != torch.nn.modules.module.__file__
    }


def compare(name, training, verbose=False):
    """A row of the table: [plans, with graphs, calls in graphs, lines of Python, failed checks]."""
    torch.manual_seed(0)
    module, inputs_of = NETWORKS[name]()
    module.train(training)
    cresset.reset()
    reference, compiled = copy.deepcopy(module), cresset.compile(module)

    def check(n):
        torch.manual_seed(n)
        inputs = inputs_of(n)
        (expected, gradients), (seen, seen_gradients) = (observe(m, inputs, training) for m in (reference, compiled))
        assert len(expected) == len(seen) and len(gradients) == len(seen_gradients), name
        for a, b in zip(expected, seen, strict=True):
            assert a.dtype == b.dtype and torch.equal(a.nan_to_num(), b.nan_to_num()), (name, training, "results")
        for a, b in zip(gradients, seen_gradients, strict=True):
            assert torch.allclose(a, b, rtol=1e-4, atol=1e-5), (name, training, "gradients", (a - b).abs().max())

    for _ in range(16):
        check(2)
    warm = plans()
    for i in range(8):
        check(2 + i % 3)
    later = plans()
    failed = sum(counts[1] - warm.get(plan, (0, 0))[1] for plan, counts in later.items())
    check(2)
    last = plans()
    ran = [(counts[0] - later[plan][0], counts[2]) for plan, counts in last.items() if plan in later]
    if verbose:
        for (file, line), reason in sorted(python_lines().items()):
            print(f"    {os.path.basename(file)}:{line}: {reason}")
    return [
        sum(count for count, _ in ran),
        sum(count for count, size in ran if size),
        sum(count * size for count, size in ran),
        len(python_lines()),
        failed,
    ]


def graphs_of_peer(name, training):
    """Graphs and breaks of torch.compile."""
    import torch._dynamo

    module, inputs_of = NETWORKS[name]()
    module.train(training)
    torch._dynamo.reset()
    with torch.set_grad_enabled(training):
        report = torch._dynamo.explain(module)(*inputs_of(2))
    return [report.graph_count, report.graph_break_count]


def main():
    part = next((a for a in sys.argv[1:] if not a.startswith("-")), "")
    verbose, no_peer = "-v" in sys.argv, "--no-peer" in sys.argv
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(
        "| network | plans of a call | with graphs | calls in graphs | lines of Python | failed checks | torch.compile |"
    )
    print("|---|---|---|---|---|---|---|")
    wrong = 0
    for name in NETWORKS:
        if part not in name:
            continue
        for training in (False, True):
            title = f"{name}, {'training' if training else 'evaluation'}"
            try:
                row = compare(name, training, verbose)
            except AssertionError as error:
                wrong += 1
                print(f"| {title} | DIFFERS: {error}", flush=True)
                continue
            try:
                peer = "" if no_peer else "{} graphs, {} breaks".format(*graphs_of_peer(name, training))
            except Exception as error:
                peer = type(error).__name__
            print(f"| {title} | {' | '.join(map(str, row))} | {peer} |", flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
