"""The pictures of a server's requests, read as the engine reads them: within the same limits, to the same pixels."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import cache
from typing import Any
from urllib.parse import unquote, urlparse

from dg_sglang import checkpoint as checkpoints
from dg_sglang.chat import blind
from dg_sglang.errors import DgError, ImageError
from dg_sglang.plugin.service import named
from dg_sglang.vision.images import load_image


async def read_pictures(original: Any, processor: Any, image_data: Any = None, **others: Any) -> Any:
    """Load pictures before upstream does, and refuse them where the checkpoint can't see.

    Upstream decodes whatever Pillow knows, of any size, does not turn it upright, and shows what lies under a
    transparent place.
    """
    if not image_data:
        return await original(processor, image_data=image_data, **others)
    try:
        if not _sees(processor.server_args.model_path) and not _warms_up(image_data):
            raise blind(processor.server_args.model_path)
        loading = [asyncio.to_thread(_load, item, f"image {number}") for number, item in enumerate(image_data, 1)]
        loaded = await asyncio.gather(*loading)
    except DgError as refusal:
        raise ValueError(named(refusal)) from refusal
    return await original(processor, image_data=loaded, **others)


def _load(item: Any, name: str) -> Any:
    """One of a request's pictures, decoded; what a client has already made into pixels or embeddings stays."""
    from sglang.srt.utils.common import ImageData, get_image_bytes

    source = getattr(item, "url", item)
    if not isinstance(source, str | bytes):
        return item
    if isinstance(source, str) and source.startswith("file://"):
        source = unquote(urlparse(source).path)
    try:
        data = get_image_bytes(source)
    except (OSError, ValueError) as error:
        raise ImageError(f"{name} can't be fetched: {error}") from error
    picture = load_image(data, name)
    return replace(item, url=picture) if isinstance(item, ImageData) else picture


def _warms_up(image_data: Any) -> bool:
    """Whether it is the picture that upstream sends itself, to any model with a vision tower, before it is ready."""
    from sglang.srt.entrypoints.http_server import MINIMUM_PNG_PICTURE_BASE64

    return all(str(getattr(item, "url", item)).endswith(MINIMUM_PNG_PICTURE_BASE64) for item in image_data)


@cache
def _sees(model: str) -> bool:
    return checkpoints.sees(checkpoints.inspect(checkpoints.resolve(model, download=False)))
