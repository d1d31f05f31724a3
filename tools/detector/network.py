"""The detector's network: small, anchor-free, one stage. Only training needs it, and PyTorch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from webagent.vision.screen import KINDS

STRIDES = (4, 8)
# Of the longest side in pixels: an element is looked for with each stride whose range holds it.
RANGES = ((0, 60), (40, 10_000))


class Convolution(nn.Sequential):
    """A 3x3 (or other) convolution, normalised, then ReLU."""

    def __init__(self, before: int, after: int, *, size: int = 3, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(before, after, size, stride, size // 2, bias=False),
            nn.BatchNorm2d(after),
            nn.ReLU(inplace=True),
        )


class Block(nn.Module):
    """Two convolutions beside a way around them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            Convolution(width, width),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(x + self.inner(x))


class Head(nn.Module):
    """For each cell: how likely the middle of each kind is there, and how far its box goes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = Convolution(width, width)
        self.kinds = nn.Conv2d(width, len(KINDS), 1)
        self.sides = nn.Conv2d(width, 4, 1)
        # Nearly everywhere is nothing: start there, or the first steps are lost on it.
        nn.init.constant_(self.kinds.bias, -4.6)
        nn.init.constant_(self.sides.bias, 1.0)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.inner(x)
        return self.kinds(x), functional.softplus(self.sides(x))


class Network(nn.Module):
    """Logits of kinds (N, kinds, h, w) and distances left, top, right, bottom in cells.

    One such pair for each of `STRIDES`. Pictures are RGB from 0 to 1, their sides multiples
    of 32.
    """

    def __init__(self) -> None:
        super().__init__()
        self.to_4 = nn.Sequential(
            Convolution(3, 16, stride=2), Convolution(16, 24, stride=2), Block(24)
        )
        self.to_8 = nn.Sequential(Convolution(24, 48, stride=2), Block(48), Block(48))
        self.to_16 = nn.Sequential(Convolution(48, 64, stride=2), Block(64), Block(64))
        self.to_32 = nn.Sequential(Convolution(64, 72, stride=2), Block(72))
        self.from_32 = Convolution(72, 64, size=1)
        self.from_16 = Convolution(64, 48, size=1)
        self.merge_8 = Convolution(48, 48)
        self.from_8 = Convolution(48, 32, size=1)
        self.from_4 = Convolution(24, 32, size=1)
        self.heads = nn.ModuleList([Head(32), Head(48)])

    def forward(self, pictures: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        at_4 = self.to_4(pictures)
        at_8 = self.to_8(at_4)
        at_16 = self.to_16(at_8)
        at_16 = at_16 + _twice(self.from_32(self.to_32(at_16)))
        at_8 = self.merge_8(at_8 + _twice(self.from_16(at_16)))
        at_4 = self.from_4(at_4) + _twice(self.from_8(at_8))
        return [self.heads[0](at_4), self.heads[1](at_8)]


class Exported(nn.Module):
    """The network as the detector runs it: likelihoods at their local peaks only, 0 elsewhere.

    Its outputs are kinds and distances (in pixels) of the first stride, then of the second.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, pictures: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs: list[torch.Tensor] = []
        for stride, (logits, distances) in zip(STRIDES, self.network(pictures), strict=True):
            likely = torch.sigmoid(logits)
            highest = functional.max_pool2d(likely, 3, stride=1, padding=1)
            outputs += [likely * (likely == highest), distances * stride]
        return tuple(outputs)


def _twice(x: torch.Tensor) -> torch.Tensor:
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")
