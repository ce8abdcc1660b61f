"""Pictures that are none, or odd ones, for every reader of pictures."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from drawn import Drawing
from PIL import Image

from dg_sglang.cli import main
from dg_sglang.errors import ChartError, ImageError, TableError
from dg_sglang.vision.charts import analyze_chart
from dg_sglang.vision.forms import read_form
from dg_sglang.vision.picture import MOST_PIXELS
from dg_sglang.vision.screens import analyze_screenshot
from dg_sglang.vision.tables import read_table

READERS = (analyze_chart, analyze_screenshot, read_table, read_form)


@pytest.mark.parametrize("read", READERS)
def test_bad_pictures_say_so(read: Callable[[object], object], tmp_path: Path) -> None:
    Drawing().image.save(tmp_path / "whole.png")
    (tmp_path / "no.png").write_bytes(b"nothing")
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:200])
    (tmp_path / "empty.png").touch()
    sources = [tmp_path / name for name in ("no.png", "cut.png", "empty.png", "missing.png", ".")]
    for source in (*sources, b"", 5, None, Image.new("RGB", (0, 0))):
        with pytest.raises(ImageError):
            read(source)


@pytest.mark.parametrize("read", READERS)
def test_huge_pictures_are_refused(read: Callable[[object], object]) -> None:
    side = int(MOST_PIXELS**0.5) + 1
    with pytest.raises(ImageError, match="pixels"):
        read(Image.new("L", (side, side)))


@pytest.mark.parametrize("command", ["chart", "screenshot"])
@pytest.mark.parametrize("name", ["no.png", "cut.png", "empty.png", "missing.png", "huge.png"])
def test_commands_say_what_is_wrong_with_a_picture(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "no.png").write_bytes(b"nothing")
    (tmp_path / "empty.png").touch()
    whole = BytesIO()
    Drawing().image.save(whole, "PNG")
    (tmp_path / "cut.png").write_bytes(whole.getvalue()[:200])
    if name == "huge.png":
        Image.new("1", (8000, 8000)).save(tmp_path / name)
    overlay = tmp_path / "read.png"
    with pytest.raises(SystemExit) as stop:
        main([command, str(tmp_path / name), "--overlay", str(overlay)])
    assert stop.value.code == 1
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("dg-sglang: the image")
    assert len(err.splitlines()) == 1
    assert not overlay.exists()


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("size", "colour"),
    [
        ((1, 1), "white"),
        ((1, 5000), "white"),
        ((5000, 1), "white"),
        ((3, 3000), "white"),
        ((500, 400), "black"),
        ((500, 400), (200, 30, 30, 0)),
    ],
)
def test_pictures_without_text_show_nothing(size: tuple[int, int], colour: str | tuple[int, ...]) -> None:
    pytest.importorskip("rapidocr", reason="reading text on pictures needs RapidOCR")
    picture = Image.new("RGB" if isinstance(colour, str) else "RGBA", size, colour)
    assert analyze_screenshot(picture).elements == []
    assert read_form(picture).fields == []
    with pytest.raises(ChartError, match="no text"):
        analyze_chart(picture)
    with pytest.raises(TableError):
        read_table(picture)


@pytest.mark.heavy
def test_the_first_frame_of_an_animation_counts() -> None:
    pytest.importorskip("rapidocr", reason="reading text on pictures needs RapidOCR")
    first, second = Drawing(300, 120), Drawing(300, 120)
    first.write(20, 40, "First frame", size=24)
    second.write(20, 40, "Second frame", size=24)
    file = BytesIO()
    first.image.save(file, "GIF", save_all=True, append_images=[second.image])
    assert analyze_screenshot(file.getvalue()).text == "First frame"


@pytest.mark.slow
@pytest.mark.heavy
def test_small_text_on_a_tall_picture_is_read() -> None:
    pytest.importorskip("rapidocr", reason="reading text on pictures needs RapidOCR")
    page = Drawing(400, 2700)
    words = [f"Line number {number}" for number in range(0, 2700, 300)]
    for number, line in enumerate(words):
        page.write(30, 20 + 300 * number, line)
    assert analyze_screenshot(page.image).text.split("\n") == words
