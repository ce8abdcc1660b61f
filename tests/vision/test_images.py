import base64
import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from odd_pictures import header_of_a_png
from PIL import Image

from dg_sglang.errors import ImageError
from dg_sglang.vision.images import MAX_BYTES, MAX_PIXELS, load_image, load_images


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    buffer = BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def test_paths_bytes_and_pictures_are_the_same(tmp_path: Path) -> None:
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 255, (4, 5, 3), np.uint8))
    file = tmp_path / "a.png"
    file.write_bytes(encoded(picture))
    loaded = load_images([picture, encoded(picture), file, str(file)])
    assert all(np.array_equal(np.array(image), np.array(picture)) for image in loaded)
    assert load_images(picture) == [picture]


def test_everything_becomes_rgb_with_white_behind_transparency() -> None:
    assert load_image(Image.new("L", (2, 2), 7)).getpixel((0, 0)) == (7, 7, 7)
    assert load_image(Image.new("RGBA", (2, 2), (0, 0, 0, 0))).getpixel((0, 0)) == (255, 255, 255)
    palette = Image.new("P", (2, 2))
    palette.info["transparency"] = 0
    assert load_image(encoded(palette, "GIF")).getpixel((0, 0)) == (255, 255, 255)
    assert load_image(Image.new("CMYK", (2, 2))).mode == "RGB"


RAMP = np.tile(np.arange(256), (2, 1))


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled(kind: str) -> None:
    loaded = load_image(encoded(Image.fromarray((RAMP * 257).astype(np.uint16)), kind))
    assert (np.asarray(loaded) == RAMP[..., None]).all()


@pytest.mark.parametrize("levels", [(RAMP / 255).astype(np.float32), RAMP.astype(np.float32), RAMP * 257])
def test_floats_and_wide_integers_are_scaled(levels: np.ndarray) -> None:
    kept = levels if levels.dtype == np.float32 else levels.astype(np.int32)
    assert (np.asarray(load_image(encoded(Image.fromarray(kept), "TIFF"))) == RAMP[..., None]).all()


@pytest.mark.parametrize("level", [-1.0, 256.0, float("nan"), float("inf")])
def test_floats_that_are_no_levels(level: float) -> None:
    levels = np.full((2, 2), 0.5, np.float32)
    levels[0, 0] = level
    with pytest.raises(ImageError, match="no grey levels"):
        load_image(encoded(Image.fromarray(levels), "TIFF"))


@pytest.mark.parametrize("level", [-1, 65536])
def test_integers_that_are_no_levels(level: int) -> None:
    with pytest.raises(ImageError, match="no grey levels"):
        load_image(encoded(Image.fromarray(np.full((2, 2), level, np.int32)), "TIFF"))


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "RGBA", "CMYK", "RGB", "YCbCr", "I;16", "I", "F"])
def test_white_stays_white_in_every_mode(mode: str) -> None:
    white: dict[str, Any] = {"CMYK": (0, 0, 0, 0), "YCbCr": (255, 128, 128), "I;16": 65535, "I": 65535, "F": 1.0}
    picture = Image.new("RGB", (3, 2), "white").convert("P") if mode == "P" else None
    picture = picture or Image.new(mode, (3, 2), white.get(mode, "white"))
    assert (np.asarray(load_image(picture)) == 255).all()


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "TIFF", "PNG"])
def test_the_first_frame_counts(kind: str) -> None:
    first, second = (Image.new("RGB", (8, 8), colour) for colour in ("white", "black"))
    file = BytesIO()
    first.save(file, kind, save_all=True, append_images=[second])
    assert (np.asarray(load_image(file.getvalue())) > 250).all()


@pytest.mark.parametrize("size", [(1, 5000), (5000, 1), (1, 1)])
def test_odd_sizes(size: tuple[int, int]) -> None:
    assert load_image(encoded(Image.new("RGB", size))).size == size


def test_rotation_in_the_file_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    buffer = BytesIO()
    Image.new("RGB", (4, 2)).save(buffer, "JPEG", exif=exif)
    assert load_image(buffer.getvalue()).size == (2, 4)


@pytest.mark.parametrize("source", [3, None, {"image": 1}, np.zeros((2, 2, 3))])
def test_not_an_image_at_all(source: object) -> None:
    with pytest.raises(ImageError, match="image 2 must be a PIL image, a path or bytes"):
        load_images([Image.new("RGB", (2, 2)), source])


def test_broken_files(tmp_path: Path) -> None:
    whole = encoded(Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)))
    for content in (
        b"",
        b"not an image",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n",
        whole[:100],
        whole[: len(whole) // 2],
    ):
        with pytest.raises(ImageError, match="can't be read as an image"):
            load_image(content)
    (tmp_path / "a.png").write_bytes(b"\x00\x01")
    with pytest.raises(ImageError, match="can't be read"):
        load_image(tmp_path / "a.png")
    with pytest.raises(ImageError, match="no such file"):
        load_image(tmp_path / "b.png")
    with pytest.raises(ImageError, match="URL"):
        load_image("https://example.org/a.png")


@pytest.mark.parametrize("size", [(60_000, 60_000), (MAX_PIXELS + 1, 1), (9450, 9440)])
def test_bombs_are_refused_by_their_header(size: tuple[int, int]) -> None:
    with pytest.raises(ImageError, match=r"image 1 .*(too large|more than 89,000,000).*scale it down"):
        load_images(header_of_a_png(*size))


def test_a_caller_may_take_less() -> None:
    assert load_image(Image.new("L", (5, 2)), max_pixels=10).size == (5, 2)
    with pytest.raises(ImageError, match="has 11 x 1 pixels, more than 10"):
        load_image(Image.new("L", (11, 1)), max_pixels=10)


def test_files_of_too_many_bytes_are_not_read(tmp_path: Path) -> None:
    with (tmp_path / "sparse.png").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ImageError, match="has 200,000,001 bytes, more than 200,000,000"):
        load_image(tmp_path / "sparse.png")


@pytest.mark.parametrize("size", [(0, 5), (5, 0), (0, 0)])
def test_pictures_without_pixels(size: tuple[int, int]) -> None:
    with pytest.raises(ImageError, match="no pixels"):
        load_image(Image.new("RGB", size))


HEIC = base64.b64decode(
    "AAAAHGZ0eXBoZWljAAAAAG1pZjFoZWljbWlhZgAAAXxtZXRhAAAAAAAAACFoZGxyAAAAAAAAAABwaWN0AAAAAAAAAAAAAAAAAAAAACJpbG9jAAAA"
    "AERAAAEAAQAAAAABoAABAAAAAAAAAE4AAAAjaWluZgAAAAAAAQAAABVpbmZlAgAAAAABAABodmMxAAAAAA5waXRtAAAAAAABAAAA/GlwcnAAAADc"
    "aXBjbwAAAHVodmNDAQNwAAAAkAAAAAAAHvAA/P34+AAADwNgAAEAGEABDAH//wNwAAADAJAAAAMAAAMAHroCQGEAAQApQgEBA3AAAAMAkAAAAwAA"
    "AwAeoCCBBZbqrprm4CGgwIAAAAyAAAADAIRiAAEABkQBwXPBiQAAABNjb2xybmNseAABAA0ABoAAAAAUaXNwZQAAAAAAAABAAAAAQAAAAChjbGFw"
    "AAAAGAAAAAEAAAAQAAAAAf///9gAAAAC////0AAAAAIAAAAQcGl4aQAAAAADCAgIAAAAGGlwbWEAAAAAAAAAAQABBYECAwWEAAAAVm1kYXQAAABK"
    "KAGvCchqxx4jmJb/h//+BPIYMT38+Uoc1W7FlA4TR5wggM4upUt3zVftBuc3roXrpPP0vfNVaN/fnWoyexed/dzwDfDnKsBtHZw="
)
"""24 x 16 pixels: the left half red, the right one blue."""


def test_heic_is_read_where_its_extra_is_installed() -> None:
    pytest.importorskip("pi_heif", reason="HEIC needs the extra `heic`")
    loaded = load_image(HEIC)
    assert loaded.size == (24, 16)
    assert np.asarray(loaded)[8, 4].argmax() == 0
    assert np.asarray(loaded)[8, 20].argmax() == 2


def test_heic_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Image.init()
    monkeypatch.delitem(Image.OPEN, "HEIF", raising=False)
    monkeypatch.setitem(sys.modules, "pi_heif", None)
    with pytest.raises(ImageError, match=r"image 1 .*is HEIC.*pip install 'dg-sglang\[heic\]'.*JPEG or PNG"):
        load_images(HEIC)


def test_a_pdf_names_the_way_to_its_pages() -> None:
    with pytest.raises(ImageError, match=r"is a PDF: .*render_page"):
        load_image(b"%PDF-1.7\n")
