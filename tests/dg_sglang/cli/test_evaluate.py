import json
from pathlib import Path

import pytest

from dg_sglang.cli import main


def test_scores_as_text_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pred").write_text('{"source": "x/a.pdf", "value": {"n": "1", "t": 2}}\n')
    (tmp_path / "gold").write_text('[{"file": "a.pdf", "truth": {"n": "1", "t": 3}}]')
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit) as stop:
            main(["evaluate", str(tmp_path / "pred"), str(tmp_path / "gold"), *options])
        assert stop.value.code == 0
        out, err = capsys.readouterr()
        if options:
            assert json.loads(out)["value_f1"] == 0.5
        else:
            assert out.split()[:3] == ["value", "F1", "0.500"]
            assert "1 documents, of them 0 failed and 0 missing" in err


def test_a_missing_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", str(tmp_path / "none"), str(tmp_path / "none")])
    assert stop.value.code == 1
    assert "can't be read" in capsys.readouterr().err
