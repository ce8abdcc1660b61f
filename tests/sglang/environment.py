"""Builds the environment in which the tests run a real SGLang server, once, and prints its Python.

It lies in ~/.cache/dg-sglang/ (or $XDG_CACHE_HOME), named by what goes into it, so that all checkouts share it and a
change of the requirements makes a new one. An environment counts only once its marker is written, which comes last;
one without is built anew. Needs nothing but Python: `python tests/sglang/environment.py`.
"""

import argparse
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
REQUIREMENTS = HERE / "requirements.txt"
STARTUP = HERE / "torchvision_operators.py"


def folder(torch: Sequence[str]) -> Path:
    """Where the environment with these requirements lies."""
    parts = [" ".join(torch), sys.version.split()[0], REQUIREMENTS.read_text(), STARTUP.read_text()]
    name = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "dg-sglang" / f"sglang-{name}"


def ensure(torch: Sequence[str]) -> Path:
    """The environment's Python, built and with this checkout installed where it wasn't."""
    target = folder(torch)
    python, marker, ours = target / "bin" / "python", target / "complete", target / "checkout"
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.with_suffix(".lock")):
        if not marker.is_file() or not _runs(python):
            if target.exists():
                shutil.rmtree(target)
            _build(target, torch)
            marker.touch()
        # Editable, and without its dependencies: those are pinned above. Entry points may have changed.
        state = f"{CHECKOUT}\n{hashlib.sha256((CHECKOUT / 'pyproject.toml').read_bytes()).hexdigest()}\n"
        if not ours.is_file() or ours.read_text() != state:
            _pip(python, "--no-deps", "--editable", str(CHECKOUT))
            ours.write_text(state)
    return python


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _runs(python: Path) -> bool:
    """Whether it starts: the Python that it was made from may be gone."""
    return python.is_file() and subprocess.run([python, "-c", ""], check=False).returncode == 0


def _build(target: Path, torch: Sequence[str]) -> None:
    print(f"building {target}: 3 GB, about five minutes", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", target], check=True)
    python = target / "bin" / "python"
    _pip(python, *torch)
    _pip(python, "--no-deps", "--requirement", str(REQUIREMENTS))
    packages = next((target / "lib").glob("python*/site-packages"))
    shutil.copy(STARTUP, packages)
    (packages / f"{STARTUP.stem}.pth").write_text(f"import {STARTUP.stem}\n")


def _pip(python: Path, *arguments: str) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--torch", default="torch==2.13.0", help="pip arguments that install torch")
    print(ensure(shlex.split(parser.parse_args().torch)))
