"""Programs of packages from PyPI that script or trace their modules with torch.jit, one function each.

A function imports its package, makes a small module and its inputs, and returns (compile, inputs): `compile()` calls
torch.jit as the package's users do, and returns what they call. torch.jit is whatever stands there: bench_packages.py
runs each program with torch.jit, and with Cresset in its place.
"""

import os
import tempfile

import torch
from torch import nn

# ruff: noqa: PLC0415  (imports belong to their programs)

PROGRAMS = {}


def program(package):
    def add(function):
        PROGRAMS[function.__name__] = (package, function)
        return function

    return add


def without_torchvisions_kernels():
    """Declares torchvision's operators: its wheels' kernels want the CUDA build of PyTorch, and nothing here calls them."""
    library = torch.library.Library("torchvision", "DEF")
    boxes = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
    sizes = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
    for schema in (
        "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
        f"roi_align({boxes}, int sampling_ratio, bool aligned) -> Tensor",
        f"qroi_align({boxes}, int sampling_ratio, bool aligned) -> Tensor",
        f"_roi_align_backward(Tensor grad, Tensor rois, float scale, SymInt h, SymInt w, {sizes}, int ratio, bool aligned) -> Tensor",
        f"ps_roi_align({boxes}, int sampling_ratio) -> (Tensor, Tensor)",
        f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor map, float scale, SymInt h, SymInt w, int ratio, {sizes}) -> Tensor",
        f"roi_pool({boxes}) -> (Tensor, Tensor)",
        f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, float scale, SymInt h, SymInt w, {sizes}) -> Tensor",
        f"ps_roi_pool({boxes}) -> (Tensor, Tensor)",
        f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor map, float scale, SymInt h, SymInt w, {sizes}) -> Tensor",
        "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt a, SymInt b, SymInt c, "
        "SymInt d, SymInt e, SymInt f, SymInt g, SymInt h, bool use_mask) -> Tensor",
        "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt a, "
        "SymInt b, SymInt c, SymInt d, SymInt e, SymInt f, SymInt g, SymInt h, bool use_mask) "
        "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    ):
        library.define(schema)
    return library


def scripted(module, *inputs):
    return lambda: torch.jit.script(module), inputs


def traced(module, *inputs):
    return lambda: torch.jit.trace(module, inputs), inputs


# Equivariant networks and physics.


@program("e3nn")
def e3nn_tensor_product():
    from e3nn import o3
    from e3nn.util.jit import script

    module = o3.FullyConnectedTensorProduct("4x0e+4x1o", "2x0e+2x1o", "4x0e+4x1o+2x2e")
    return lambda: script(module), (torch.randn(10, 16), torch.randn(10, 8))


@program("e3nn")
def e3nn_gate():
    from e3nn.nn import Gate
    from e3nn.util.jit import script

    module = Gate("8x0e", [torch.tanh], "4x0e", [torch.sigmoid], "4x1o")
    return lambda: script(module), (torch.randn(10, 24),)


@program("e3nn")
def e3nn_spherical_harmonics():
    from e3nn import o3
    from e3nn.util.jit import script

    module = o3.SphericalHarmonics([0, 1, 2, 3], normalize=True)
    return lambda: script(module), (torch.randn(10, 3),)


@program("e3nn")
def e3nn_norm_activation_traced():
    from e3nn import nn as e3
    from e3nn.util.jit import trace_module

    module = e3.NormActivation("4x0e+4x1o", torch.sigmoid)
    x = torch.randn(5, 16)
    return lambda: trace_module(module, {"forward": (x,)}), (x,)


@program("torchani")
def torchani_aev():
    import torchani

    module = torchani.AEVComputer.like_2x() if hasattr(torchani.AEVComputer, "like_2x") else None
    species = torch.tensor([[0, 1, 2, 0, 0]])
    return lambda: torch.jit.script(module), (species, torch.randn(1, 5, 3, generator=torch.Generator().manual_seed(1)))


@program("torchdiffeq")
def torchdiffeq_rk4_traced():
    from torchdiffeq import odeint

    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))

    class Solve(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return odeint(lambda t, y: self.net(y), x, torch.linspace(0, 1, 5), method="rk4")

    return traced(Solve(), torch.randn(4, 3))


@program("torch-harmonics")
def torch_harmonics_sht_traced():
    from torch_harmonics import RealSHT

    return traced(RealSHT(16, 32), torch.randn(2, 16, 32))


# Images.


@program("timm")
def timm_resnet():
    import timm

    return scripted(timm.create_model("resnet10t", scriptable=True).eval(), torch.randn(1, 3, 64, 64))


@program("timm")
def timm_vit():
    import timm

    model = timm.create_model("vit_tiny_patch16_224", img_size=64, depth=2, scriptable=True).eval()
    return scripted(model, torch.randn(1, 3, 64, 64))


@program("timm")
def timm_mobilenet():
    import timm

    return scripted(timm.create_model("mobilenetv3_small_050", scriptable=True).eval(), torch.randn(1, 3, 64, 64))


@program("timm")
def timm_convnext_traced():
    import timm

    return traced(timm.create_model("convnext_atto", depths=(1, 1, 2, 1)).eval(), torch.randn(1, 3, 64, 64))


@program("torchvision")
def torchvision_googlenet():
    import torchvision

    model = torchvision.models.googlenet(weights=None, init_weights=False, aux_logits=True).eval()
    return scripted(model, torch.randn(1, 3, 64, 64))


@program("torchvision")
def torchvision_segmentation():
    import torchvision

    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None).eval()
    return scripted(model, torch.randn(1, 3, 64, 64))


@program("torchvision")
def torchvision_swin():
    import torchvision

    model = torchvision.models.SwinTransformer([4, 4], 24, [1, 1], [2, 4], [4, 4], num_classes=10).eval()
    return scripted(model, torch.randn(1, 3, 64, 64))


@program("segmentation-models-pytorch")
def smp_unet():
    import segmentation_models_pytorch as smp

    return scripted(smp.Unet("resnet18", encoder_weights=None).eval(), torch.randn(1, 3, 64, 64))


@program("segmentation-models-pytorch")
def smp_fpn_traced():
    import segmentation_models_pytorch as smp

    return traced(smp.FPN("resnet18", encoder_weights=None).eval(), torch.randn(1, 3, 64, 64))


@program("efficientnet-pytorch")
def efficientnet_traced():
    from efficientnet_pytorch import EfficientNet

    model = EfficientNet.from_name("efficientnet-b0", num_classes=10).eval()
    model.set_swish(memory_efficient=False)
    return traced(model, torch.randn(1, 3, 64, 64))


@program("facenet-pytorch")
def facenet_traced():
    from facenet_pytorch import InceptionResnetV1

    return traced(InceptionResnetV1(pretrained=None, num_classes=10).eval(), torch.randn(1, 3, 96, 96))


@program("open-clip-torch")
def open_clip_text():
    from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg

    model = CLIP(
        32,
        CLIPVisionCfg(layers=2, width=64, patch_size=16, image_size=32),
        CLIPTextCfg(context_length=16, vocab_size=100, width=64, heads=2, layers=2),
    ).eval()
    return scripted(model, torch.randn(1, 3, 32, 32), torch.randint(0, 100, (1, 16)))


@program("vit-pytorch")
def vit_pytorch_traced():
    from vit_pytorch.simple_vit import SimpleViT

    model = SimpleViT(image_size=32, patch_size=8, num_classes=10, dim=32, depth=2, heads=2, mlp_dim=64).eval()
    return traced(model, torch.randn(1, 3, 32, 32))


@program("kornia")
def kornia_blur_traced():
    import kornia

    return traced(kornia.filters.GaussianBlur2d((3, 3), (1.5, 1.5)), torch.rand(1, 2, 16, 16))


@program("kornia")
def kornia_color():
    import kornia

    # Archives of functions have no defaults.
    return scripted(kornia.color.rgb_to_hsv, torch.rand(1, 3, 8, 8), 1e-8)


@program("pytorch-msssim")
def msssim_traced():
    from pytorch_msssim import SSIM

    return traced(SSIM(data_range=1.0, channel=3), torch.rand(1, 3, 24, 24), torch.rand(1, 3, 24, 24))


@program("einops")
def einops_layers():
    from einops.layers.torch import Rearrange, Reduce

    model = nn.Sequential(
        Rearrange("b c (h p) w -> b (c p) h w", p=2), Reduce("b c h w -> b c", "max"), nn.Linear(6, 4)
    )
    return scripted(model, torch.randn(2, 3, 8, 8))


# Graphs.


def _edges():
    return torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])


@program("torch-geometric")
def geometric_gcn():
    from torch_geometric.nn import GCNConv

    return scripted(GCNConv(4, 8), torch.randn(5, 4), _edges())


@program("torch-geometric")
def geometric_sage():
    from torch_geometric.nn import SAGEConv

    return scripted(SAGEConv(4, 8), torch.randn(5, 4), _edges())


@program("torch-geometric")
def geometric_gat_traced():
    from torch_geometric.nn import GATConv

    return traced(GATConv(4, 8, heads=2), torch.randn(5, 4), _edges())


@program("torch-geometric")
def geometric_network():
    from torch_geometric.nn import GIN

    return scripted(GIN(4, 8, num_layers=2).eval(), torch.randn(5, 4), _edges())


# Sequences, speech, language.


@program("rwkv")
def rwkv_model():
    os.environ["RWKV_JIT_ON"] = "1"
    os.environ["RWKV_CUDA_ON"] = "0"
    from rwkv.model import RWKV

    generator = torch.Generator().manual_seed(2)
    width, words = 32, 50

    def random(*sizes):
        return torch.randn(*sizes, generator=generator) * 0.1

    weights = {"emb.weight": random(words, width), "head.weight": random(words, width)}
    for name in ("ln_out", "blocks.0.ln0"):
        weights |= {f"{name}.weight": torch.ones(width), f"{name}.bias": torch.zeros(width)}
    for i in range(2):
        for name in ("ln1", "ln2"):
            weights |= {f"blocks.{i}.{name}.weight": torch.ones(width), f"blocks.{i}.{name}.bias": torch.zeros(width)}
        for name in ("time_mix_k", "time_mix_v", "time_mix_r"):
            weights[f"blocks.{i}.att.{name}"] = random(1, 1, width).abs()
        for name in ("time_mix_k", "time_mix_r"):
            weights[f"blocks.{i}.ffn.{name}"] = random(1, 1, width).abs()
        weights |= {f"blocks.{i}.att.time_decay": random(width), f"blocks.{i}.att.time_first": random(width)}
        for name in ("key", "value", "receptance", "output"):
            weights[f"blocks.{i}.att.{name}.weight"] = random(width, width)
        weights[f"blocks.{i}.ffn.key.weight"] = random(4 * width, width)
        weights[f"blocks.{i}.ffn.value.weight"] = random(width, 4 * width)
        weights[f"blocks.{i}.ffn.receptance.weight"] = random(width, width)
    folder = tempfile.mkdtemp()
    torch.save(weights, os.path.join(folder, "small.pth"))

    def compile():
        model = RWKV(model=os.path.join(folder, "small"), strategy="cpu fp32", verbose=False)
        return lambda tokens: model.forward(tokens, None)[0]

    return compile, ([1, 2, 3],)


@program("silero-vad")
def silero_archive():
    import silero_vad

    path = os.path.join(os.path.dirname(silero_vad.__file__), "data", "silero_vad.jit")
    return lambda: torch.jit.load(path), (torch.randn(1, 512), 16000)


@program("conformer")
def conformer_traced():
    from conformer import ConformerBlock

    block = ConformerBlock(dim=16, dim_head=8, heads=2, ff_mult=2, conv_expansion_factor=2, conv_kernel_size=5).eval()
    return traced(block, torch.randn(1, 12, 16))


@program("asteroid-filterbanks")
def filterbank_traced():
    from asteroid_filterbanks import STFTFB, Encoder

    return traced(Encoder(STFTFB(n_filters=32, kernel_size=32, stride=16)), torch.randn(1, 1, 256))


@program("pytorch-crf")
def crf_traced():
    from torchcrf import CRF

    return traced(CRF(4, batch_first=True), torch.randn(2, 5, 4), torch.randint(0, 4, (2, 5)))


@program("rotary-embedding-torch")
def rotary_traced():
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(dim=8, cache_if_possible=False)

    class Rotate(nn.Module):
        def __init__(self):
            super().__init__()
            self.rotary = rotary

        def forward(self, x):
            return self.rotary.rotate_queries_or_keys(x)

    return traced(Rotate(), torch.randn(1, 2, 6, 16))


# Spikes, tables, measures, flows, processes, signals.


@program("norse")
def norse_lif_traced():
    from norse.torch import LIFCell

    cell = LIFCell()

    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell = cell

        def forward(self, x):
            spikes, state = self.cell(x)
            return spikes, state.v, state.i

    return traced(Step(), torch.rand(2, 5) * 3)


@program("snntorch")
def snntorch_leaky_traced():
    import snntorch

    return traced(snntorch.Leaky(beta=0.9), torch.rand(2, 5), torch.rand(2, 5))


@program("pytorch-tabnet")
def tabnet_traced():
    from pytorch_tabnet.tab_network import TabNetNoEmbeddings

    return traced(
        TabNetNoEmbeddings(6, 2, n_d=4, n_a=4, n_steps=2, group_attention_matrix=torch.eye(6)).eval(), torch.randn(8, 6)
    )


@program("torchmetrics")
def torchmetrics_error():
    from torchmetrics import MeanSquaredError

    return scripted(MeanSquaredError(), torch.randn(8), torch.randn(8))


@program("torchmetrics")
def torchmetrics_retrieval():
    from torchmetrics.functional.retrieval import retrieval_average_precision

    return scripted(retrieval_average_precision, torch.rand(8), torch.tensor([0, 1, 0, 1, 1, 0, 0, 1]))


@program("nflows")
def nflows_traced():
    from nflows.transforms import MaskedAffineAutoregressiveTransform

    return traced(MaskedAffineAutoregressiveTransform(4, 8), torch.randn(3, 4))


@program("gpytorch")
def gpytorch_kernel_traced():
    import gpytorch

    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    class Matrix(nn.Module):
        def __init__(self):
            super().__init__()
            self.kernel = kernel

        def forward(self, x, y):
            return self.kernel(x, y).to_dense()

    return traced(Matrix(), torch.randn(5, 2), torch.randn(4, 2))


@program("geomloss")
def geomloss_traced():
    from geomloss import SamplesLoss

    return traced(SamplesLoss("gaussian", blur=0.5), torch.randn(6, 2), torch.randn(5, 2))


@program("kymatio")
def kymatio_traced():
    from kymatio.torch import Scattering1D

    return traced(Scattering1D(J=3, shape=64, Q=2), torch.randn(1, 64))


@program("pytorch-lightning")
def lightning_to_torchscript():
    import pytorch_lightning

    class Model(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

        def forward(self, x):
            return self.layer(x).softmax(-1)

    return lambda: Model().to_torchscript(), (torch.randn(3, 4),)


# Forces of molecules, medical images, probabilistic programs, detection.


@program("mace-torch")
def mace_forces():
    import numpy as np
    from e3nn import o3
    from e3nn.util import jit
    from mace import modules

    irreps = o3.Irreps("16x0e + 16x1o")
    model = modules.ScaleShiftMACE(
        r_max=4.0, num_bessel=8, num_polynomial_cutoff=5, max_ell=2,
        interaction_cls=modules.interaction_classes["RealAgnosticResidualInteractionBlock"],
        interaction_cls_first=modules.interaction_classes["RealAgnosticInteractionBlock"],
        num_interactions=2, num_elements=3, hidden_irreps=irreps, MLP_irreps=o3.Irreps("16x0e"),
        atomic_energies=np.array([-1.0, -3.0, -2.0]), avg_num_neighbors=8.0, atomic_numbers=[1, 6, 8], correlation=2,
        gate=torch.nn.functional.silu, atomic_inter_scale=1.0, atomic_inter_shift=0.0,
    )  # fmt: skip

    class Energy(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, positions, attributes, edges):
            shifts = torch.zeros(edges.size(1), 3)
            data = {
                "positions": positions.clone(), "node_attrs": attributes, "edge_index": edges, "shifts": shifts, "unit_shifts": shifts,
                "cell": torch.eye(3) * 20.0, "batch": torch.zeros(positions.size(0), dtype=torch.long),
                "ptr": torch.tensor([0, positions.size(0)]), "head": torch.tensor([0]),
            }  # fmt: skip
            found = self.model(data, training=True, compute_force=True)
            forces = found["forces"]
            assert forces is not None
            return found["energy"], forces

    positions = torch.randn(12, 3) * 2
    distances = (positions[None] - positions[:, None]).norm(dim=-1)
    edges = torch.nonzero((distances < 4.0) & (distances > 0)).t().contiguous()
    attributes = torch.nn.functional.one_hot(torch.arange(12) % 3, 3).float()
    return lambda: torch.jit.script(Energy(jit.compile(model))), (positions, attributes, edges)


@program("nequip")
def nequip_energy():
    from e3nn.util import jit
    from nequip.model import model_from_config
    from nequip.utils import Config

    config = {
        "model_builders": ["SimpleIrrepsConfig", "EnergyModel", "ForceOutput"], "num_types": 3, "r_max": 4.0, "num_layers": 2, "l_max": 1, "parity": True,
        "num_features": 8, "num_bessels_per_basis": 8, "BesselBasis_trainable": True, "PolynomialCutoff_p": 6, "invariant_layers": 2,
        "invariant_neurons": 16, "avg_num_neighbors": 6.0, "use_sc": True, "type_names": ["H", "C", "O"], "model_dtype": "float32", "default_dtype": "float32",
        "chemical_symbols": ["H", "C", "O"],
    }  # fmt: skip
    model = model_from_config(Config.from_dict(config), initialize=True)

    class Energy(nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, positions, types, edges):
            found = self.model({"pos": positions.clone(), "atom_types": types, "edge_index": edges})
            return found["total_energy"], found["forces"]

    positions = torch.randn(12, 3) * 2
    distances = (positions[None] - positions[:, None]).norm(dim=-1)
    edges = torch.nonzero((distances < 4.0) & (distances > 0)).t().contiguous()
    types = (torch.arange(12) % 3).unsqueeze(-1)
    return lambda: torch.jit.script(Energy(jit.script(model))), (positions, types, edges)


@program("monai")
def monai_unet():
    from monai.networks.nets import UNet

    return scripted(
        UNet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1).eval(), torch.randn(1, 1, 32, 32)
    )


@program("monai")
def monai_segresnet():
    from monai.networks.nets import SegResNet

    return scripted(SegResNet(2, init_filters=8, blocks_down=(1, 1), blocks_up=(1,)).eval(), torch.randn(1, 1, 32, 32))


@program("pyro-ppl")
def pyro_potential_traced():
    import pyro
    import pyro.distributions as dist
    from pyro.infer.mcmc.util import initialize_model

    data = torch.randn(20) * 2 + 1

    def model(data):
        mean = pyro.sample("mean", dist.Normal(0.0, 5.0))
        scale = pyro.sample("scale", dist.LogNormal(0.0, 1.0))
        with pyro.plate("data", 20):
            pyro.sample("x", dist.Normal(mean, scale), obs=data)

    def compile():
        start, potential, _, _ = initialize_model(model, (data,), jit_compile=True, skip_jit_warnings=True)
        return lambda mean, scale: potential({"mean": mean, "scale": scale})

    return compile, (torch.tensor(0.5), torch.tensor(0.1))


@program("pyro-ppl")
def pyro_elbo_traced():
    import pyro
    import pyro.distributions as dist
    from pyro.infer import JitTrace_ELBO

    def model(x):
        weight = pyro.sample("weight", dist.Normal(torch.zeros(4), 1.0).to_event(1))
        with pyro.plate("rows", x.size(0)):
            pyro.sample("y", dist.Normal(x[:, :4] @ weight, 0.5), obs=x[:, 4])

    def guide(x):
        mean = pyro.param("mean", torch.zeros(4))
        scale = pyro.param("scale", torch.ones(4), constraint=dist.constraints.positive)
        pyro.sample("weight", dist.Normal(mean, scale).to_event(1))

    def compile():
        pyro.clear_param_store()
        bound = JitTrace_ELBO(num_particles=2, vectorize_particles=False, ignore_jit_warnings=True)
        return lambda x: bound.differentiable_loss(model, guide, x)

    return compile, (torch.randn(8, 5),)


@program("ultralytics")
def ultralytics_detection_traced():
    from ultralytics.nn.tasks import DetectionModel

    model = DetectionModel("yolov8n.yaml", verbose=False).eval().fuse()
    for module in model.modules():
        if hasattr(module, "export"):
            module.export = True
    image = torch.rand(1, 3, 64, 64)
    model(image)
    return lambda: torch.jit.trace(model, image, strict=False, check_trace=False), (image,)
