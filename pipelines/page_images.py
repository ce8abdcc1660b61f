"""Pictures of a document's pages, as people see them: for review, never for reading."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from dg_sglang.errors import DocumentError

if TYPE_CHECKING:
    from PIL.Image import Image

_JPEG_QUALITY = 82


def page_images(
    path: str | Path, numbers: Iterable[int], *, password: str | None = None, width: int = 1200
) -> Iterator[tuple[int, bytes]]:
    """Render pages of a PDF or an image file, upright, as JPEG.

    Args:
        path: the file. numbers: the wanted pages, from 1; those that the file lacks are left out.
        password: of an encrypted PDF.
        width: of the picture in pixels; image files are never enlarged.

    Yields:
        Page number and JPEG file. Nothing for a file that has no pages to see (plain text, for example).

    Raises:
        DocumentError: the file can't be opened.
    """
    path, wanted = Path(path), sorted(set(numbers))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: can't be read: {error.strerror}") from error
    pictures = _pdf_pages(data, wanted, password, width) if b"%PDF-" in data[:1024] else _image_pages(data, wanted)
    for number, picture in pictures:
        if picture.width > width:
            picture = picture.resize((width, max(1, round(picture.height * width / picture.width))))
        file = BytesIO()
        picture.save(file, "JPEG", quality=_JPEG_QUALITY)
        yield number, file.getvalue()


def _pdf_pages(data: bytes, numbers: list[int], password: str | None, width: int) -> "Iterator[tuple[int, Image]]":
    import pymupdf
    from PIL import Image

    try:
        pdf = pymupdf.open(stream=data, filetype="pdf")
        if pdf.needs_pass and not pdf.authenticate(password or ""):
            raise DocumentError("the PDF is encrypted; give its password")
    except pymupdf.FileDataError as error:
        raise DocumentError(f"a damaged PDF ({error})") from error
    with pdf:
        for number in numbers:
            if number <= pdf.page_count:
                page = pdf[number - 1]
                scale = width / max(page.rect.width, 1)
                picture = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=False)
                yield number, Image.frombytes("RGB", (picture.width, picture.height), picture.samples)


def _image_pages(data: bytes, numbers: list[int]) -> "Iterator[tuple[int, Image]]":
    from PIL import Image, UnidentifiedImageError

    from dg_sglang.vision.images import load_image, readable_formats

    try:
        image = Image.open(BytesIO(data), formats=readable_formats())
    except UnidentifiedImageError:
        return
    with image:
        for number in numbers:
            if number <= getattr(image, "n_frames", 1):
                image.seek(number - 1)
                yield number, load_image(image, f"page {number}")
