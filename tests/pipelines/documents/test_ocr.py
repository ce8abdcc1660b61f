import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from made_documents import make_scan
from PIL import Image

from dg_sglang.errors import DamagedDocumentError, DocumentError
from dg_sglang.pipelines import load_document
from dg_sglang.pipelines.documents.ocr import _padded, flatten

TEXT = [(40, 60, "Receipt 118204"), (40, 120, "TOTAL"), (300, 120, "15.06")]


@pytest.mark.heavy
@pytest.mark.parametrize("suffix", ["png", "webp"])
def test_image_files_are_read(tmp_path: Path, suffix: str) -> None:
    document = load_document(make_scan(tmp_path / f"scan.{suffix}", TEXT))
    assert document.text.split() == ["Receipt", "118204", "TOTAL", "15.06"]
    assert document.pages[0].source == "ocr"


@pytest.mark.heavy
def test_the_resolution_makes_points_of_pixels(tmp_path: Path) -> None:
    document = load_document(make_scan(tmp_path / "scan.png", TEXT, dpi=200))
    assert (round(document.pages[0].width), round(document.pages[0].height)) == (420, 300)
    box = document.places[-1].word.box
    assert abs(box[0] - 300) < 6
    assert abs(box[3] - 120) < 8


@pytest.mark.heavy
def test_exif_orientation_is_applied(tmp_path: Path) -> None:
    path = make_scan(tmp_path / "scan.png", TEXT)
    turned = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # shown after a quarter turn clockwise
    Image.open(path).transpose(Image.Transpose.ROTATE_90).save(turned, exif=exif, quality=95, dpi=(150, 150))
    assert "TOTAL" in load_document(turned).text


@pytest.mark.heavy
def test_every_page_of_a_tiff_is_read(tmp_path: Path) -> None:
    page = Image.open(make_scan(tmp_path / "scan.png", TEXT))
    path = tmp_path / "pages.tiff"
    page.save(path, save_all=True, append_images=[page])
    assert [place.page for place in load_document(path).places if place.word.text == "TOTAL"] == [1, 2]


@pytest.mark.heavy
def test_an_empty_page_among_others(tmp_path: Path) -> None:
    page = Image.open(make_scan(tmp_path / "scan.png", TEXT))
    path = tmp_path / "pages.tiff"
    page.save(path, save_all=True, append_images=[Image.new("RGB", page.size, "white"), page])
    document = load_document(path)
    assert [len(page.lines) > 0 for page in document.pages] == [True, False, True]


@pytest.mark.heavy
@pytest.mark.parametrize("size", [(1, 1), (1, 3000), (3000, 2)])
def test_a_picture_without_text(tmp_path: Path, size: tuple[int, int]) -> None:
    Image.new("RGB", size, "white").save(tmp_path / "line.png")
    with pytest.raises(DocumentError, match="no text found on any of its 1 page"):
        load_document(tmp_path / "line.png")


@pytest.mark.parametrize(("shape", "padded"), [((1, 800), (100, 800)), ((90, 9), (90, 11)), ((9, 9), (9, 9))])
def test_thin_pictures_are_padded(shape: tuple[int, int], padded: tuple[int, int]) -> None:
    picture = _padded(np.zeros((*shape, 3), np.uint8))
    assert picture.shape[:2] == padded
    assert picture.sum() == 255 * 3 * (padded[0] * padded[1] - shape[0] * shape[1])


@pytest.mark.parametrize(
    "content",
    [
        b"BM" + bytes(60),
        b"\0\0\1\0\1\0" + bytes(20),
        b"RIFF\0\0\0\0WEBPVP8 " + bytes(20),
        b"II*\0\x08\0\0\0\0\0",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n",
        b"GIF89a\x01\0\x01\0\0\0\0,\0\0",
        bytes(100),
    ],
)
@pytest.mark.filterwarnings("error")
def test_broken_and_foreign_files(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file.bin").write_bytes(content)
    with pytest.raises(DocumentError, match=r"file\.bin: (the image is damaged|neither a PDF nor an image)"):
        load_document(tmp_path / "file.bin")


@pytest.mark.parametrize("mode", ["L", "1", "RGBA", "P", "LA", "I;16"])
def test_pixel_formats(tmp_path: Path, mode: str) -> None:
    grey = Image.linear_gradient("L")
    picture = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257) if mode == "I;16" else grey.convert(mode)
    path = tmp_path / "format.png"
    picture.save(path)
    with Image.open(path) as read:
        pixels = np.asarray(flatten(read)).astype(int)
    assert pixels.shape == (256, 256, 3)
    assert pixels[0].mean() < 16
    assert pixels[-1].mean() > 240


def test_transparency_is_white_paper() -> None:
    assert np.asarray(flatten(Image.new("RGBA", (2, 2), (0, 0, 0, 0)))).min() == 255


@pytest.mark.parametrize("kept", [2000, 9])
def test_truncated_images(tmp_path: Path, kept: int) -> None:
    path = make_scan(tmp_path / "scan.png", TEXT)
    path.write_bytes(path.read_bytes()[:kept] + bytes(range(200)) * (kept < 20))
    with pytest.raises(DamagedDocumentError, match="damaged or truncated"):
        load_document(path)


@pytest.mark.parametrize("side", [12_000, 30_000])
def test_decompression_bombs(tmp_path: Path, side: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    path = tmp_path / "bomb.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b""))
    with pytest.raises(DocumentError, match=r"Limits\.max_pixels|far too large"):
        load_document(path)
