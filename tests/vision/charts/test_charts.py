from pathlib import Path

import pytest
from made_charts import make_chart
from PIL import Image

from dg_sglang.cli import main
from dg_sglang.errors import ChartError, ImageError
from dg_sglang.vision.charts import analyze_chart

pytest.importorskip("rapidocr", reason="reading text on pictures needs RapidOCR")
pytest.importorskip("matplotlib", reason="charts are drawn with matplotlib")


@pytest.mark.slow
@pytest.mark.heavy
def test_a_drawn_chart_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = make_chart(tmp_path / "chart.png", "bar", 0)
    with pytest.raises(SystemExit) as stop:
        main(["chart", str(made.path), "--overlay", str(tmp_path / "read.png")])
    assert stop.value.code == 0
    rows = [line.rsplit(None, 1) for line in capsys.readouterr().out.splitlines()[2:]]
    read = {name.strip(): float(value) for name, value in rows}
    truth = dict(made.series[None])
    assert read == pytest.approx(truth, abs=0.02 * max(truth.values()))
    assert (tmp_path / "read.png").stat().st_size > 1000


def test_bad_pictures_say_so(tmp_path: Path) -> None:
    (tmp_path / "no.png").write_bytes(b"nothing")
    for source in (tmp_path / "no.png", tmp_path / "missing.png", b"", 5):
        with pytest.raises(ImageError):
            analyze_chart(source)


@pytest.mark.heavy
@pytest.mark.parametrize("size", [(1, 5000), (5000, 1), (2, 9000)])
def test_pictures_too_narrow_for_text_are_no_charts(size: tuple[int, int]) -> None:
    with pytest.raises(ChartError):
        analyze_chart(Image.new("RGB", size, "white"))
