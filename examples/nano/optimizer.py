"""Muon: momentum, then the nearest orthogonal matrix (Jordan et al. 2024, github.com/KellerJordan/Muon)."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


def orthogonalised(matrices: Tensor, steps: int = 5) -> Tensor:
    """Roughly U V^T of each matrix [N, rows, columns]; quintic iteration with the original coefficients."""
    x = matrices / (matrices.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    for _ in range(steps):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.mT if tall else x


class Muon:
    """Parameters of equal shape are stacked, so that small matrices are handled in few operations."""

    def __init__(self, parameters: Sequence[nn.Parameter], momentum: float = 0.95, weight_decay: float = 0.02) -> None:
        self.momentum, self.weight_decay = momentum, weight_decay
        self.groups: dict[tuple[int, int], list[nn.Parameter]] = {}
        for parameter in parameters:
            self.groups.setdefault((parameter.shape[-2], parameter.shape[-1]), []).append(parameter)
        self.buffers = {shape: torch.zeros(len(group), *shape) for shape, group in self.groups.items()}

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One update with Nesterov momentum at a learning rate."""
        for shape, group in self.groups.items():
            gradient = torch.stack([p.grad.view(shape) if p.grad is not None else p.new_zeros(shape) for p in group])
            buffer = self.buffers[shape].mul_(self.momentum).add_(gradient)
            update = orthogonalised(gradient + self.momentum * buffer) * max(1, shape[0] / shape[1]) ** 0.5
            for parameter, change in zip(group, update, strict=True):
                parameter.mul_(1 - rate * self.weight_decay).add_(change.view_as(parameter), alpha=-rate)

    def state_dict(self) -> dict[str, Any]:
        """Momentum buffers by shape."""
        return {f"{rows}x{columns}": buffer for (rows, columns), buffer in self.buffers.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what state_dict gave."""
        for (rows, columns), buffer in self.buffers.items():
            buffer.copy_(state[f"{rows}x{columns}"])
