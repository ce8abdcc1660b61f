"""The distribution: what a wheel and an editable install contain, and that the import contract holds and bites."""

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"dg_sglang": "dg_sglang", **{f: f"dg_sglang/{f}" for f in ("grammar", "kernels", "pipelines", "vision")}}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def run(*command: str | Path, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    result = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert not check or result.returncode == 0, result.stdout + result.stderr
    return result


def sources(pattern: str) -> set[str]:
    """The code folders' files, named as they are installed."""
    return {
        f"{package}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, package in FOLDERS.items()
        for path in (ROOT / folder).glob(pattern)
        if path.is_file() and "__pycache__" not in path.parts
    }


def copy_project(target: Path) -> Path:
    """The files that a build reads, copied so that it leaves nothing behind in the checkout."""
    target.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (target / name).write_bytes((ROOT / name).read_bytes())
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                copy = target / folder / path.relative_to(ROOT / folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
    return target


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("wheel")
    project = copy_project(base / "project")
    run(
        *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", base, project),
        cwd=base,
    )
    (path,) = base.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel's content as pip installs it."""
    target = tmp_path_factory.mktemp("installed") / "site"
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel, cwd=target.parent)
    return target


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_wheel_has_one_top_level_name(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"dg_sglang"}


def test_wheel_has_every_module_and_no_other(wheel: Path) -> None:
    modules = {name for name in names(wheel) if name.endswith(".py")}
    assert modules == sources("**/*.py")


def test_wheel_has_types_and_the_bundled_checkpoint(wheel: Path) -> None:
    content = names(wheel)
    assert "dg_sglang/py.typed" in content
    assert sources("checkpoints/**/*") <= content
    for part in ("config.json", "model.safetensors", "tokenizer.json", "generation_config.json"):
        assert f"dg_sglang/checkpoints/nano/{part}" in content


def test_wheel_carries_the_licence_and_stays_small(wheel: Path) -> None:
    assert any(name.endswith("LICENSE") for name in names(wheel))
    assert wheel.stat().st_size < 16 * 2**20


def test_installed_wheel_imports_and_leaves_other_packages_alone(installed: Path) -> None:
    code = (
        "import dg_sglang.grammar, dg_sglang.kernels, dg_sglang.pipelines, dg_sglang.vision, importlib.util as u;"
        "print(dg_sglang.grammar.__file__);"
        "assert not any(u.find_spec(name) for name in ('grammar', 'pipelines', 'vision'))"
    )
    # -S -s and a bare path: only this folder and what the package itself needs.
    paths = [installed, *(Path(p) for p in sys.path if p.endswith("site-packages"))]
    script = f"import sys; sys.path[:0] = {[str(p) for p in paths]!r}; {code}"
    result = run(sys.executable, "-I", "-S", "-c", script, cwd=installed.parent)
    assert Path(result.stdout.strip()) == installed / "dg_sglang" / "grammar" / "__init__.py"


def test_editable_install_imports_from_elsewhere(tmp_path: Path) -> None:
    result = run(sys.executable, "-c", "import dg_sglang.grammar as g; print(g.__file__)", cwd=tmp_path)
    assert Path(result.stdout.strip()) == ROOT / "grammar" / "__init__.py"


def test_fresh_editable_install_maps_the_folders(tmp_path: Path) -> None:
    """In an environment of its own, from a copy of the checkout: what `pip install -e .` does for a contributor."""
    project = copy_project(tmp_path / "project")
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-build-isolation")
    site = next((environment / "lib").glob("python*/site-packages"))
    (site / "outer.pth").write_text(
        "\n".join(p for p in sys.path if p.endswith("site-packages"))
    )  # setuptools, torch …
    run(*pip, "--ignore-installed", "--editable", project, cwd=tmp_path)
    (site / "outer.pth").unlink()
    code = (
        "import dg_sglang, dg_sglang.errors as e; import importlib.util as u; print(e.__file__, u.find_spec('kernels'))"
    )
    result = run(python, "-c", code, cwd=tmp_path)
    assert result.stdout.split() == [str(project / "dg_sglang" / "errors.py"), "None"]
    (project / "grammar" / "added_later.py").write_text('WORD = "found"\n')
    origin = "import importlib.util as u; print(u.find_spec('dg_sglang.grammar').submodule_search_locations)"
    assert str(project / "grammar") in run(python, "-c", origin, cwd=tmp_path).stdout


def test_console_script_is_declared() -> None:
    (script,) = metadata.entry_points(group="console_scripts", name="dg-sglang")
    assert script.value == "dg_sglang.cli:main"
    assert callable(script.load())


@pytest.mark.parametrize("module", ["dg_sglang", "dg_sglang.cli", "dg_sglang.errors", "dg_sglang.pipelines"])
def test_import_is_light(module: str, tmp_path: Path) -> None:
    heavy = ["torch", "transformers", "numba", "pymupdf", "rapidocr", "onnxruntime", "faker", "sglang"]
    code = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(sys.executable, "-c", code, cwd=tmp_path).stdout.strip() == "[]"


def test_public_names_are_exported() -> None:
    import dg_sglang

    assert {"Engine", "GenerationConfig", "GenerationResult", "errors"} <= set(dir(dg_sglang))
    for name in dg_sglang.__all__:
        assert getattr(dg_sglang, name) is not None
    with pytest.raises(AttributeError, match="Enigne"):
        _ = dg_sglang.Enigne


def test_base_install_is_light() -> None:
    base = " ".join(PROJECT["project"]["dependencies"]).lower()
    for word in ("sglang", "vllm", "ray", "fastapi", "uvicorn", "pymupdf", "rapidocr", "opencv"):
        assert word not in base
    assert PROJECT["project"]["requires-python"] == ">=3.11"


def test_import_contract_fails_when_violated(tmp_path: Path) -> None:
    """The contract that `make lint` checks is kept as it is, and broken by an import that points upwards."""
    project = copy_project(tmp_path / "project")
    for folder in ("grammar", "kernels", "pipelines", "vision"):
        (project / folder).rename(project / "dg_sglang" / folder)
    lint = Path(sys.executable).with_name("lint-imports")
    kept = run(lint, cwd=project, check=False)
    assert kept.returncode == 0, kept.stdout
    (project / "dg_sglang" / "grammar" / "astray.py").write_text("from dg_sglang import pipelines as pipelines\n")
    broken = run(lint, cwd=project, check=False)
    assert broken.returncode == 1
    assert "dg_sglang.grammar.astray -> dg_sglang.pipelines" in broken.stdout


def test_readme_names_every_module() -> None:
    layout = (ROOT / "README.md").read_text().split("## Layout")[1].split("## Limits")[0]
    modules = {Path(name).stem for name in sources("*.py")} - {"__init__"}
    assert [module for module in sorted(modules) if f"`{module}`" not in layout] == []


@pytest.mark.heavy
def test_readme_example_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "readme_example"}
    exec(compile(example, "README.md", "exec", dont_inherit=True), names)  # noqa: S102
    assert isinstance(names["result"].value, names["Bill"])
    assert set(names["result"].evidence) == {"number", "total"}
    assert names["answer"].parsed in ("red", "green")
