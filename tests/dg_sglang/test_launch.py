"""Starting a server where SGLang isn't installed; `tests/sglang` has the rest."""

from importlib.util import find_spec

import pytest

from dg_sglang.cli import main
from dg_sglang.errors import ConfigError
from dg_sglang.launch import Server

pytestmark = pytest.mark.skipif(find_spec("sglang") is not None, reason="SGLang is installed here")


def test_it_says_what_to_install() -> None:
    with pytest.raises(ConfigError, match=r"pip install 'dg-sglang\[sglang\]'"):
        Server("nano", device="cpu")


def test_so_does_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["serve", "--device", "cpu"])
    assert stop.value.code == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("dg-sglang: SGLang is not installed")
    assert len(captured.err.splitlines()) == 1
    assert captured.out == ""
