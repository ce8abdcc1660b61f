"""Pictures as the encoder reads them: soft tokens, computed once for each picture."""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

MAX_BYTES = 256 * 2**20
"""Of soft tokens kept; the least recently used go first. A picture of 280 soft tokens takes 1.6 MB in the 26B model."""


class ImageFeatures:
    """The vision tower of one encoder, with a cache by the pictures' pixels.

    Not safe for threads: the engine's lock guards it.

    Attributes:
        computed: how many pictures went through the tower so far.
    """

    def __init__(self, encoder: Any, pooling: int, *, max_bytes: int = MAX_BYTES) -> None:
        """`pooling`: patches along one side of a soft token (`vision_config.pooling_kernel_size`)."""
        self._encoder = encoder
        self._area = pooling**2
        self._max_bytes = max_bytes
        self._kept: OrderedDict[bytes, Tensor] = OrderedDict()
        self._bytes = 0
        self.computed = 0

    def embed(self, tokens: Tensor, images: Mapping[str, Tensor]) -> Tensor:
        """Input embeddings [1, n, hidden] of a prompt's tokens [1, n], soft tokens in place of its image tokens.

        Args:
            images: `pixel_values` [pictures, patches, pixels of a patch] and `image_position_ids` [pictures, patches,
                2], −1 where a patch is padding; all pictures in the order of the prompt.
        """
        embedded: Tensor = self._encoder.get_input_embeddings()(tokens)
        features = torch.cat(self._features(images["pixel_values"], images["image_position_ids"]))
        place = (tokens == self._encoder.config.image_token_id).unsqueeze(-1)
        return embedded.masked_scatter(place, features.to(embedded))

    def _features(self, pixels: Tensor, positions: Tensor) -> list[Tensor]:
        """The soft tokens [count, hidden] of each picture; those that are not kept go through the tower together."""
        keys = [_key(*row) for row in zip(pixels, positions, strict=True)]
        found = {key: self._kept[key] for key in keys if key in self._kept}
        missing = {key: row for row, key in enumerate(keys) if key not in found}
        if missing:
            rows = list(missing.values())
            output = self._encoder.get_image_features(pixels[rows], positions[rows], return_dict=True)
            counts = (positions[rows] >= 0).all(-1).sum(-1) // self._area
            found |= zip(missing, output.pooler_output.split(counts.tolist()), strict=True)
            self.computed += len(rows)
        for key in dict.fromkeys(keys):
            self._keep(key, found[key])
        return [found[key] for key in keys]

    def _keep(self, key: bytes, features: Tensor) -> None:
        if key in self._kept:
            self._kept.move_to_end(key)
            return
        self._kept[key] = features.clone()  # a part of a larger tensor would keep all of it
        self._bytes += features.nbytes
        while self._bytes > self._max_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= dropped.nbytes


def _key(pixels: Tensor, positions: Tensor) -> bytes:
    digest = hashlib.sha256(str(tuple(pixels.shape)).encode())
    for tensor in (pixels, positions):
        digest.update(tensor.contiguous().cpu().numpy().tobytes())
    return digest.digest()
