"""Programs that others wrote, from PyPI, scripted or traced by torch.jit and by Cresset, and compared with eager PyTorch.

Each is run, saved by either tool and loaded by the other; traces run at further sizes. What is not installed is left
out: `pip install timm torchvision segmentation-models-pytorch kornia einops transformers x-transformers
rotary-embedding-torch vector-quantize-pytorch torch_geometric`. No weights are downloaded. docs/modules.md has the results.

    python examples/other_programs.py [NAME…]        a NAME may end in *
"""

import copy
import fnmatch
import importlib.util
import io
import os
import sys
import time
import warnings

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

import cresset


class Missing(Exception):
    pass


_torchvision = None


def define_nms():
    """torchvision's wheel on PyPI is built for CUDA, and its library does not load beside a torch without it. What is used
    of it here only needs two of its operators to have schemas."""
    global _torchvision
    if _torchvision is not None or not importlib.util.find_spec("torchvision"):
        return
    folder = importlib.util.find_spec("torchvision").submodule_search_locations[0]
    try:
        torch.ops.load_library(os.path.join(folder, "_C.so"))
    except OSError:
        _torchvision = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _torchvision.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def package(name):
    define_nms()
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Missing(f"{name} can't be imported: {error}") from error


class Function(nn.Module):
    """A function with no module of its own."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class OneOutput(nn.Module):
    """One of the results of a model that returns an object."""

    def __init__(self, model, output, options):
        super().__init__()
        self.model, self.output, self.options = model, output, options

    def forward(self, *inputs):
        return getattr(self.model(*inputs, **self.options), self.output)


def image(size=64):
    return torch.rand(1, 3, size, size)


def tokens(batch, length):
    return torch.randint(0, 50, (batch, length))


# Each entry makes a program and the inputs of its calls; the first call is the one that is traced.


def timm(name, size=64, **options):
    return lambda: (package("timm").create_model(name, num_classes=10, **options).eval(), [(image(size),)])


def vision(name, size=64, **options):
    return lambda: (getattr(package("torchvision.models"), name)(weights=None, **options).eval(), [(image(size),)])


def segmentation(name, encoder="resnet18"):
    return lambda: (
        getattr(package("segmentation_models_pytorch"), name)(encoder, encoder_weights=None).eval(),
        [(image(),)],
    )


def kornia(path, *inputs):
    def make():
        module, _, name = path.rpartition(".")
        return getattr(package("kornia." + module), name), [inputs]

    return make


def einops_layer(name, *arguments, **options):
    def make():
        layer = getattr(package("einops.layers.torch"), name)(*arguments, **options)
        return layer, [(torch.randn(2, 4, 6, 6),), (torch.randn(3, 4, 8, 2),)]

    return make


def einops_functions():
    einops = package("einops")

    def f(x):
        y = einops.rearrange(x, "b c (h p) w -> b (h w) (c p)", p=2)
        return einops.reduce(y, "b n c -> b c", "mean"), einops.repeat(y, "b n c -> b n c k", k=3)

    return Function(f), [(torch.randn(2, 4, 6, 6),), (torch.randn(3, 4, 8, 5),)]


def transformer(name, output, **sizes):
    def make():
        library = package("transformers")
        config = getattr(library, name.partition("/")[0])(vocab_size=50, **sizes)
        model = getattr(library, name.partition("/")[2])(config).eval()
        options = {"use_cache": False} if output == "logits" else {}
        return OneOutput(model, output, options).eval(), [(tokens(1, 7),), (tokens(3, 11),)]

    return make


def rotary():
    embedding = package("rotary_embedding_torch").RotaryEmbedding(dim=8, cache_if_possible=False)
    return Function(embedding.rotate_queries_or_keys), [(torch.randn(1, 2, 5, 8),), (torch.randn(2, 2, 9, 8),)]


def decoder(**options):
    def make():
        library = package("x_transformers")
        layers = library.Decoder(dim=16, depth=2, heads=2, **options)
        model = library.TransformerWrapper(num_tokens=50, max_seq_len=64, attn_layers=layers)
        return model.eval(), [(tokens(1, 7),), (tokens(3, 11),)]

    return make


def quantizer(name, **options):
    def make():
        model = getattr(package("vector_quantize_pytorch"), name)(dim=8, codebook_size=16, **options)
        return model.eval(), [(torch.randn(1, 7, 8),), (torch.randn(3, 11, 8),)]

    return make


def graph_layer(name, **options):
    def graph(nodes, edges):
        return torch.randn(nodes, 4), torch.randint(0, nodes, (2, edges))

    def make():
        layers = package("torch_geometric.nn")
        first = nn.Sequential(nn.Linear(4, 6), nn.ReLU()) if name == "GINConv" else 4
        layer = getattr(layers, name)(first, **({} if name == "GINConv" else {"out_channels": 6}), **options)
        return layer.eval(), [graph(5, 9), graph(8, 20)]

    return make


SMALL = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}

SCRIPTED = {
    **{
        "timm/" + name: timm(name)
        for name in ("resnet18", "efficientnet_b0", "convnext_atto", "mixnet_s", "edgenext_xx_small", "skresnet18")
    },
    "timm/vit_tiny_patch16_224": timm("vit_tiny_patch16_224", img_size=64),
    "timm/swin_tiny_patch4_window7_224": timm("swin_tiny_patch4_window7_224", img_size=64, window_size=4),
    **{
        "torchvision/" + name: vision(name)
        for name in ("shufflenet_v2_x0_5", "densenet121", "regnet_y_400mf", "swin_t", "mobilenet_v3_small")
    },
    "torchvision/vit_b_32": vision("vit_b_32", image_size=64),
    "torchvision/googlenet": vision("googlenet", 96, init_weights=False),
    **{"segmentation_models/" + name: segmentation(name) for name in ("Unet", "FPN", "Segformer", "DeepLabV3Plus")},
    **{
        "kornia/" + path: kornia(path, image(16), *more)
        for path, more in (
            ("color.rgb_to_hsv", ()),
            ("color.rgb_to_lab", ()),
            ("color.rgb_to_hls", ()),
            ("color.rgb_to_yuv", ()),
            ("losses.total_variation", ()),
            ("geometry.transform.hflip", ()),
            ("morphology.dilation", (torch.ones(3, 3),)),
            ("enhance.adjust_gamma", (0.3,)),
            ("geometry.transform.warp_affine", (torch.eye(2, 3)[None], (8, 8))),
        )
    },
    **{
        "torch_geometric/" + name: graph_layer(name)
        for name in ("GCNConv", "SAGEConv", "GINConv", "GraphConv", "TAGConv")
    },
    "einops/Rearrange": einops_layer("Rearrange", "b c (h p) (w q) -> b (c p q) h w", p=2, q=2),
    "einops/Reduce": einops_layer("Reduce", "b c (h 2) (w 2) -> b c h w", "max"),
    "einops/EinMix": einops_layer("EinMix", "b c h w -> b h w d", weight_shape="c d", bias_shape="d", c=4, d=5),
}

TRACED = {
    "einops/functions": einops_functions,
    "transformers/bert": transformer("BertConfig/BertModel", "last_hidden_state", **SMALL),
    "transformers/gpt2": transformer("GPT2Config/GPT2LMHeadModel", "logits", n_embd=16, n_layer=2, n_head=2),
    "transformers/llama": transformer("LlamaConfig/LlamaForCausalLM", "logits", num_key_value_heads=1, **SMALL),
    "transformers/qwen2": transformer("Qwen2Config/Qwen2ForCausalLM", "logits", num_key_value_heads=1, **SMALL),
    "transformers/mistral": transformer(
        "MistralConfig/MistralForCausalLM", "logits", num_key_value_heads=1, sliding_window=4, **SMALL
    ),
    "rotary_embedding_torch": rotary,
    "x_transformers/decoder": decoder(),
    "x_transformers/rotary": decoder(rotary_pos_emb=True),
    "x_transformers/alibi": decoder(alibi_pos_bias=True),
    "vector_quantize/VectorQuantize": quantizer("VectorQuantize"),
    "vector_quantize/ResidualVQ": quantizer("ResidualVQ", num_quantizers=2),
}


def run(program, inputs):
    torch.manual_seed(1)
    inputs = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
    return [leaf for leaf in tree_leaves(program(*inputs)) if isinstance(leaf, torch.Tensor)]


def judge(program, calls, expected):
    """ "ok", or what is wrong."""
    try:
        for inputs, wanted in zip(calls, expected, strict=True):
            torch.testing.assert_close(run(program, inputs), wanted, rtol=1e-4, atol=1e-4, equal_nan=True)
    except Exception as error:
        return " ".join(str(error).split())[:300]
    return "ok"


def saved(tool, program):
    buffer = io.BytesIO()
    tool.save(program, buffer)
    return io.BytesIO(buffer.getvalue())


def compare(make, traced):
    torch.manual_seed(0)
    program, calls = make()
    expected = [run(program, inputs) for inputs in calls]
    results, made = {}, {}
    for name, tool in (("torch.jit", torch.jit), ("cresset", cresset)):
        own = copy.deepcopy(program) if isinstance(program, nn.Module) else program
        start = time.perf_counter()
        try:
            if traced:
                made[name] = tool.trace(own, calls[0], check_trace=False, strict=False)
            else:
                made[name] = tool.script(own)
        except Exception as error:
            results[name] = " ".join(str(error).split())[:300]
            continue
        results[name + " ms"] = round(1e3 * (time.perf_counter() - start))
        results[name] = judge(made[name], calls, expected)
    for name, writer, reader in (("to torch.jit", "cresset", torch.jit), ("from torch.jit", "torch.jit", cresset)):
        if results.get(writer) != "ok":
            continue
        if not isinstance(program, nn.Module) and reader is cresset:
            continue  # torch.jit saves functions without their defaults
        try:
            options = {"trusted": True} if reader is cresset else {}
            loaded = reader.load(saved(torch.jit if writer == "torch.jit" else cresset, made[writer]), **options)
            results[name] = judge(loaded, calls, expected)
        except Exception as error:
            results[name] = " ".join(str(error).split())[:300]
    return results


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    patterns = sys.argv[1:] or ["*"]
    for table, traced in ((SCRIPTED, False), (TRACED, True)):
        for name, make in table.items():
            if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                continue
            try:
                results = compare(make, traced)
            except Missing as error:
                results = {"left out": str(error)}
            shown = "; ".join(f"{key}: {value}" for key, value in results.items())
            print(f"{'traced' if traced else 'scripted'} {name}: {shown}", flush=True)


if __name__ == "__main__":
    main()
