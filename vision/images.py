"""Images in: whatever people pass becomes a loaded RGB picture, or an error that names it."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from dg_sglang.errors import ImageError

if TYPE_CHECKING:
    from PIL.Image import Image


_DEEP = {"I": 257.0, "F": 1.0}
"""What a level of Pillow's modes of more than 8 bits is divided by: 16 bits a level, or floats."""
_FORMATS = ("PNG", "JPEG", "MPO", "TIFF", "WEBP", "GIF", "BMP", "PPM", "JPEG2000", "AVIF", "HEIF")


def readable_formats() -> list[str]:
    """The picture formats that are read: no drawing programs such as EPS, which Pillow gives to Ghostscript to run."""
    from PIL import Image

    Image.init()
    return [name for name in _FORMATS if name in Image.OPEN]


def load_image(source: object, name: str = "the image") -> Image:
    """One picture, decoded completely, upright (EXIF orientation applied), in RGB, transparency over white.

    Of an animation the first frame counts. Grey levels of 16 bits are scaled to 8, and so are floats if none is above
    1; floats up to 255 are taken as they are.

    Args:
        source: a PIL image, a file's path, or an encoded file's bytes.
        name: how error messages call it.

    Raises:
        ImageError: Pillow is missing, the file doesn't exist, or it is not a readable image.
    """
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImageError("images need Pillow: pip install pillow") from error

    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        raise ImageError(f"{name} is a URL ({source}): download it and pass the file or its bytes")
    if not isinstance(source, Image.Image | str | Path | bytes):
        raise ImageError(f"{name} must be a PIL image, a path or bytes, got {type(source).__name__}")
    try:
        if isinstance(source, str | Path) and not Path(source).is_file():
            raise ImageError(f"{name}: no such file: {source}")
        picture = source if isinstance(source, Image.Image) else Image.open(_file(source), formats=readable_formats())
        picture.load()
        picture = _eight_bits(ImageOps.exif_transpose(picture), name)
        if picture.has_transparency_data:
            layer = picture.convert("RGBA")
            picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
        return picture.convert("RGB")
    except ImageError:
        raise
    except Exception as error:  # Pillow's decoders say "broken" in many ways
        raise ImageError(f"{name} can't be read as an image: {error}") from error


def load_images(sources: object) -> list[Image]:
    """The pictures of one request, in order. `sources` is a sequence, or a single picture.

    Raises:
        ImageError: as `load_image`; the message counts images from 1.
    """
    single = isinstance(sources, str | bytes) or not isinstance(sources, Sequence)
    items = [sources] if single else list(sources)  # type: ignore[call-overload]
    return [load_image(item, f"image {number}") for number, item in enumerate(items, start=1)]


def _eight_bits(picture: Image, name: str) -> Image:
    """Grey levels of more than 8 bits scaled to 8: Pillow's own conversion would cut them off at 255."""
    import numpy as np
    from PIL import Image

    kind = picture.mode.partition(";")[0]
    if kind not in _DEEP:
        return picture
    levels = np.asarray(picture).astype(np.float64) / _DEEP[kind]
    if not levels.size:
        return picture.convert("L")
    low, high = float(levels.min()), float(levels.max())
    if not (low >= 0 and high <= 255):  # neither holds where one is no number
        raise ImageError(
            f"{name} has levels from {low * _DEEP[kind]:g} to {high * _DEEP[kind]:g}, which are no grey levels: scale "
            f"them to {'0 … 65535' if kind == 'I' else '0 … 1'}"
        )
    if kind == "F" and high <= 1:
        levels *= 255
    return Image.fromarray(levels.round().astype(np.uint8))


def _file(source: str | Path | bytes) -> Path | BytesIO:
    return BytesIO(source) if isinstance(source, bytes) else Path(source)
