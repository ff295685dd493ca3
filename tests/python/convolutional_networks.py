"""Convolutional networks of the usual kinds, at full width; `width` divides their channels, for tests."""

import torch
import torch.nn.functional as F
from torch import nn


def convolution(inputs, outputs, kernel, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)
    )


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.first = convolution(inputs, outputs, 3, stride)
        self.second = convolution(outputs, outputs, 3)
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else convolution(inputs, outputs, 1, stride)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.second(self.relu(self.first(x)))
        y += self.shortcut(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        inner = outputs // 4
        self.body = nn.Sequential(
            convolution(inputs, inner, 1),
            nn.ReLU(inplace=True),
            convolution(inner, inner, 3, stride),
            nn.ReLU(inplace=True),
            convolution(inner, outputs, 1),
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, block, depths, widths, width: int):
        super().__init__()
        channels = 64 // width
        self.stem = nn.Sequential(
            convolution(3, channels, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, stride=2, padding=1)
        )
        blocks = []
        for i, (depth, outputs) in enumerate(zip(depths, widths)):
            for j in range(depth):
                blocks.append(block(channels, outputs // width, 2 if i > 0 and j == 0 else 1))
                channels = outputs // width
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.head = nn.Linear(channels, 1000 // width)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


def ResNet18(width=1):
    return ResNet(BasicBlock, (2, 2, 2, 2), (64, 128, 256, 512), width)


def ResNet50(width=1):
    return ResNet(Bottleneck, (3, 4, 6, 3), (256, 512, 1024, 2048), width)


class SqueezeExcitation(nn.Module):
    """With linear layers, so that the gate comes from outside of the convolutions' layout."""

    def __init__(self, channels: int):
        super().__init__()
        self.down = nn.Linear(channels, channels // 4)
        self.up = nn.Linear(channels // 4, channels)

    def forward(self, x):
        gate = F.adaptive_avg_pool2d(x, 1).flatten(1)
        gate = torch.sigmoid(self.up(F.relu(self.down(gate))))
        return x * gate.view(x.size(0), x.size(1), 1, 1)


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, excite: bool):
        super().__init__()
        inner = inputs * 6
        parts = [convolution(inputs, inner, 1), nn.ReLU6(), convolution(inner, inner, 3, stride, inner), nn.Hardswish()]
        if excite:
            parts.append(SqueezeExcitation(inner))
        self.body = nn.Sequential(*parts, convolution(inner, outputs, 1))
        self.same = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


class MobileNet(nn.Module):
    def __init__(self, width: int = 1):
        super().__init__()
        channels = 32 // width
        parts = [convolution(3, channels, 3, 2), nn.ReLU6()]
        for outputs, depth, stride, excite in (
            (16, 1, 1, False),
            (24, 2, 2, False),
            (32, 3, 2, True),
            (64, 4, 2, False),
            (96, 3, 1, True),
            (160, 3, 2, True),
            (320, 1, 1, False),
        ):
            for j in range(depth):
                parts.append(InvertedResidual(channels, outputs // width, stride if j == 0 else 1, excite))
                channels = outputs // width
        self.body = nn.Sequential(*parts, convolution(channels, 1280 // width, 1), nn.ReLU6())
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280 // width, 1000 // width))

    def forward(self, x):
        return self.head(self.body(x).mean([2, 3]))


class ConvNeXtBlock(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class LayerNorm2d(nn.LayerNorm):
    def forward(self, x):
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, width: int = 1):
        super().__init__()
        sizes = [size // width for size in (96, 192, 384, 768)]
        parts = [nn.Conv2d(3, sizes[0], 4, 4), LayerNorm2d(sizes[0])]
        for i, depth in enumerate((3, 3, 9, 3)):
            if i > 0:
                parts += [LayerNorm2d(sizes[i - 1]), nn.Conv2d(sizes[i - 1], sizes[i], 2, 2)]
            parts += [ConvNeXtBlock(sizes[i]) for _ in range(depth)]
        self.body = nn.Sequential(*parts)
        self.head = nn.Sequential(nn.LayerNorm(sizes[-1]), nn.Linear(sizes[-1], 1000 // width))

    def forward(self, x):
        return self.head(self.body(x).mean([-2, -1]))


class DenseLayer(nn.Module):
    def __init__(self, inputs: int, growth: int):
        super().__init__()
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, growth, 3, padding=1, bias=False)

    def forward(self, x):
        return torch.cat([x, self.conv(F.relu(self.norm(x)))], 1)


class DenseNet(nn.Module):
    """Batch norms before convolutions, where they do not fold; concatenations."""

    def __init__(self, width: int = 1):
        super().__init__()
        growth, channels = 32 // width, 64 // width
        parts = [nn.Conv2d(3, channels, 3, padding=1)]
        for _ in range(3):
            for _ in range(4):
                parts.append(DenseLayer(channels, growth))
                channels += growth
            parts += [nn.Conv2d(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
        self.body = nn.Sequential(*parts)

    def forward(self, x):
        return self.body(x)


class DoubleConvolution(nn.Sequential):
    def __init__(self, inputs: int, outputs: int):
        super().__init__(
            convolution(inputs, outputs, 3),
            nn.ReLU(inplace=True),
            convolution(outputs, outputs, 3),
            nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, width: int = 1):
        super().__init__()
        a, b, c = 32 // width, 64 // width, 128 // width
        self.down1, self.down2, self.middle = DoubleConvolution(3, a), DoubleConvolution(a, b), DoubleConvolution(b, c)
        self.up2, self.up1 = nn.ConvTranspose2d(c, b, 2, 2), nn.ConvTranspose2d(b, a, 2, 2)
        self.merge2, self.merge1 = DoubleConvolution(2 * b, b), DoubleConvolution(2 * a, a)
        self.head = nn.Conv2d(a, 2, 1)

    def forward(self, x):
        first = self.down1(x)
        second = self.down2(F.max_pool2d(first, 2))
        x = self.middle(F.max_pool2d(second, 2))
        x = self.merge2(torch.cat([self.up2(x), second], 1))
        x = self.merge1(torch.cat([self.up1(x), first], 1))
        return F.interpolate(self.head(x), scale_factor=2.0, mode="bilinear", align_corners=False)


class AudioBlock(nn.Module):
    def __init__(self, channels: int, dilation: int):
        super().__init__()
        self.dilated = nn.Conv1d(channels, channels, 3, padding="same", dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        return x + self.mix(F.leaky_relu(self.dilated(F.elu(x))))


class AudioNet(nn.Module):
    def __init__(self, width: int = 1):
        super().__init__()
        channels = 32 // width
        parts = [nn.Conv1d(1, channels, 7, padding=3)]
        for stride in (2, 4, 5):
            parts += [AudioBlock(channels, dilation) for dilation in (1, 3, 9)]
            parts += [nn.ELU(), nn.Conv1d(channels, 2 * channels, 2 * stride, stride, stride // 2)]
            channels *= 2
        parts += [nn.ConvTranspose1d(channels, channels // 2, 4, 2, 1), nn.GELU(), nn.Conv1d(channels // 2, 4, 3)]
        self.body = nn.Sequential(*parts)

    def forward(self, x):
        return self.body(x)


class VideoNet(nn.Module):
    def __init__(self, width: int = 1):
        super().__init__()
        a, b = 32 // width, 64 // width
        self.body = nn.Sequential(
            nn.Conv3d(3, a, 3, padding=1),
            nn.BatchNorm3d(a),
            nn.ReLU(),
            nn.MaxPool3d(2),
            nn.Conv3d(a, b, (1, 3, 3), padding=(0, 1, 1), groups=2),
            nn.SiLU(),
            nn.Conv3d(b, b, (3, 1, 1), padding=(1, 0, 0)),
            nn.ConvTranspose3d(b, a, 2, 2),
        )

    def forward(self, x):
        return self.body(x)
