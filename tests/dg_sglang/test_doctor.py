"""The doctor reports what is there, and names what is missing with its remedy."""

from importlib import metadata
from pathlib import Path

import pytest

from dg_sglang.doctor import Check, _package, inspect


@pytest.fixture(scope="module")
def checks() -> dict[str, Check]:
    found = list(inspect("nano"))
    assert len({check.name for check in found}) == len(found)
    return {check.name: check for check in found}


@pytest.mark.heavy
def test_complete_installation_is_healthy(checks: dict[str, Check]) -> None:
    assert [check for check in checks.values() if not check.ok] == []
    assert checks["python"].detail.startswith("3.")
    assert checks["torch"].detail == metadata.version("torch")
    assert checks["device"].detail.startswith(("cpu", "cuda"))
    assert checks["kernels"].detail.startswith(("numba", "triton"))
    assert "canvas" in checks["model"].detail


def test_every_runtime_requirement_is_checked(checks: dict[str, Check]) -> None:
    wanted = {"torch", "transformers", "numba", "pydantic", "pymupdf", "rapidocr", "onnxruntime", "pillow"}
    assert wanted <= checks.keys()
    assert not {"pytest", "ruff", "mypy"} & checks.keys()


def test_missing_package_names_the_install_command() -> None:
    check = _package("no-such-package-anywhere", ">=1", "pip install 'dg-sglang[documents]'")
    assert not check.ok
    assert check.line() == "missing  no-such-package-anywhere not installed → pip install 'dg-sglang[documents]'"


def test_too_old_package_names_the_version_needed() -> None:
    check = _package("pytest", ">=1000", "unused")
    assert not check.ok
    assert ">=1000 is needed" in check.detail
    assert check.remedy == "pip install 'pytest>=1000'"


def test_broken_package_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "brokenpackage-1.0.dist-info").mkdir()
    (tmp_path / "brokenpackage-1.0.dist-info" / "METADATA").write_text("Name: brokenpackage\nVersion: 1.0\n")
    (tmp_path / "brokenpackage.py").write_text("import a_module_that_is_not_there\n")
    monkeypatch.syspath_prepend(tmp_path)
    check = _package("brokenpackage", ">=1", "unused")
    assert not check.ok
    assert "does not import: No module named 'a_module_that_is_not_there'" in check.detail


def test_model_that_is_not_there_is_reported(tmp_path: Path) -> None:
    model = list(inspect(str(tmp_path / "nowhere")))[-1]
    assert model.name == "model"
    assert not model.ok
    assert "nowhere" in model.detail


def test_hub_id_is_never_downloaded() -> None:
    model = list(inspect("some-organisation/some-diffusion-gemma"))[-1]
    assert not model.ok
    assert "nor in the Hugging Face cache" in model.detail
    assert "some-organisation/some-diffusion-gemma" in model.detail
