"""Images in: whatever people pass becomes a loaded RGB picture, or an error that names it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from dg_sglang.errors import ImageError

if TYPE_CHECKING:
    from PIL.Image import Image


MAX_PIXELS = 89_000_000
"""Of a picture: from a little more on, Pillow warns of decompression bombs."""
MAX_BYTES = 200_000_000
"""Of an encoded file."""
_DEEP = {"I": 257.0, "F": 1.0}
"""What a level of Pillow's modes of more than 8 bits is divided by: 16 bits a level, or floats."""
_SIGNATURE = 16
_HEIF_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_FORMATS = ("PNG", "JPEG", "MPO", "TIFF", "WEBP", "GIF", "BMP", "PPM", "JPEG2000", "AVIF", "HEIF")


def readable_formats() -> list[str]:
    """The picture formats that are read: no drawing programs such as EPS, which Pillow gives to Ghostscript to run.

    HEIF (HEIC) is among them where the extra `heic` is installed.
    """
    from PIL import Image

    Image.init()
    if "HEIF" not in Image.OPEN:
        with suppress(ImportError):
            import pi_heif

            pi_heif.register_heif_opener()
    return [name for name in _FORMATS if name in Image.OPEN]


def load_image(source: object, name: str = "the image", *, max_pixels: int = MAX_PIXELS) -> Image:
    """One picture, decoded completely, upright (EXIF orientation applied), in RGB, transparency over white.

    Of an animation, or of a file with several pages, the first counts. Grey levels of 16 bits are scaled to 8, and so
    are floats if none is above 1; floats up to 255 are taken as they are. CMYK is converted without its colour profile.

    Args:
        source: a PIL image, a file's path, or an encoded file's bytes.
        name: how error messages call it.
        max_pixels: a larger picture is refused before it is decoded, and a file of more than `MAX_BYTES` before it is
            read.

    Raises:
        ImageError: Pillow is missing, the file doesn't exist, is too large, or is not a readable image.
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
        with nullcontext(source) if isinstance(source, Image.Image) else _opened(source, name) as picture:
            _check_size(picture.size, name, max_pixels)
            picture.load()
            picture = _eight_bits(ImageOps.exif_transpose(picture), name)
        if picture.has_transparency_data:
            layer = picture.convert("RGBA")
            picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
        return picture.convert("RGB")
    except ImageError:
        raise
    except Image.DecompressionBombError as error:
        raise ImageError(f"{name} is too large to decode safely ({error}): scale it down, or crop it") from error
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
    levels = np.asarray(picture).astype(np.float32) / _DEEP[kind]
    low, high = float(levels.min()), float(levels.max())
    if not (low >= 0 and high <= 255):  # neither holds where one is no number
        raise ImageError(
            f"{name} has levels from {low * _DEEP[kind]:g} to {high * _DEEP[kind]:g}, which are no grey levels: scale "
            f"them to {'0 … 65535' if kind == 'I' else '0 … 1'}"
        )
    if kind == "F" and high <= 1:
        levels *= 255
    return Image.fromarray(levels.round().astype(np.uint8))


def _opened(source: str | Path | bytes, name: str) -> Image:
    """An encoded file's picture, not decoded yet."""
    from PIL import Image, UnidentifiedImageError

    if isinstance(source, bytes):
        size, start = len(source), source[:_SIGNATURE]
    else:
        source = Path(source)
        if not source.is_file():
            raise ImageError(f"{name}: no such file: {source}")
        size = source.stat().st_size
        with source.open("rb") as file:
            start = file.read(_SIGNATURE)
    if size > MAX_BYTES:
        raise ImageError(f"{name} has {size:,} bytes, more than {MAX_BYTES:,}: scale it down, or compress it")
    try:
        return Image.open(BytesIO(source) if isinstance(source, bytes) else source, formats=readable_formats())
    except UnidentifiedImageError as error:
        raise ImageError(f"{name} can't be read as an image: {_advice(start) or error}") from error


def _advice(start: bytes) -> str | None:
    """What to do with a file that Pillow doesn't know, by its first bytes."""
    if start.startswith(b"%PDF-"):
        return "it is a PDF: make a picture of a page by dg_sglang.vision.pages.render_page"
    if start[4:8] == b"ftyp" and start[8:12] in _HEIF_BRANDS:
        return "it is HEIC, which needs pip install 'dg-sglang[heic]'; or convert it to JPEG or PNG"
    return None


def _check_size(size: tuple[int, int], name: str, max_pixels: int) -> None:
    width, height = size
    if not width * height:
        raise ImageError(f"{name} has no pixels")
    if width * height > max_pixels:
        raise ImageError(f"{name} has {width} x {height} pixels, more than {max_pixels:,}: scale it down, or crop it")
