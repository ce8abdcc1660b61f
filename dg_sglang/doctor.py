"""What this installation has, what it lacks, and how to get it."""

import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata

DISTRIBUTION = "dg-sglang"
_EXTRAS = ("", "documents")  # what using the package needs; the dev extra is for working on it
_TRIED_MIB = 1024
_MODULES = {"pillow": "PIL", "python-docx": "docx"}  # import names that differ from the distribution's


@dataclass(frozen=True)
class Check:
    """One finding: `detail` says what is there, `remedy` what to do where something is wrong."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""

    def line(self) -> str:
        """The finding in one line of text."""
        remedy = f" → {self.remedy}" if not self.ok and self.remedy else ""
        return f"{'ok' if self.ok else 'missing':<8} {self.name:<15} {self.detail}{remedy}"


def inspect(model: str = "nano") -> Iterator[Check]:
    """Check Python, every package in the versions that our own metadata asks for, the device, and the model."""
    yield _python()
    yield Check(DISTRIBUTION, True, metadata.version(DISTRIBUTION))
    packages = list(_packages())
    yield from packages
    if all(check.ok for check in packages if check.name in ("torch", "transformers")):
        yield _device()
        yield _kernels()
        yield _model(model)


def _python() -> Check:
    detail = f"{platform.python_version()} on {platform.system()} {platform.machine()} ({sys.executable})"
    return Check("python", sys.version_info >= (3, 11), detail, "dg-sglang needs Python 3.11 or newer")


def _packages() -> Iterator[Check]:
    from packaging.requirements import Requirement

    for line in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(line)
        for extra in _EXTRAS:
            # An extra's requirements hold with it and don't without it.
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                wanted = f"{DISTRIBUTION}[{extra}]" if extra else DISTRIBUTION
                yield _package(requirement.name, str(requirement.specifier), f"pip install '{wanted}'")
                break


def _package(name: str, specifier: str, install: str) -> Check:
    from packaging.specifiers import SpecifierSet

    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, False, "not installed", install)
    if not SpecifierSet(specifier).contains(version, prereleases=True):
        return Check(name, False, f"{version}, but {specifier} is needed", f"pip install '{name}{specifier}'")
    try:
        import_module(_MODULES.get(name, name.replace("-", "_")))
    except (ImportError, OSError) as error:  # OSError: a shared library that doesn't load
        reason = str(error).splitlines()[0]
        return Check(
            name, False, f"{version}, but it does not import: {reason}", f"pip install --force-reinstall {name}"
        )
    return Check(name, True, version)


def _device() -> Check:
    import torch

    if torch.cuda.is_available():
        memory = torch.cuda.get_device_properties(0).total_memory / 2**30
        return Check("device", True, f"cuda: {torch.cuda.get_device_name(0)}, {memory:.0f} GiB")
    return Check("device", True, f"cpu: {torch.get_num_threads()} threads (no GPU seen by torch {torch.__version__})")


def _kernels() -> Check:
    """Which implementation of the numeric inner loops serves the device."""
    import torch

    from dg_sglang import kernels

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return Check("kernels", True, kernels.describe(device))
    except ImportError as error:  # torch brings Triton along where it supports CUDA
        return Check("kernels", False, str(error).splitlines()[0], "pip install triton")


def _model(name: str) -> Check:
    """Inspect the checkpoint's files; where it is small, load it and let it answer once under a constraint."""
    from dg_sglang import checkpoint
    from dg_sglang.engine import Engine
    from dg_sglang.errors import DgError
    from dg_sglang.grammar import Choice

    try:
        folder = checkpoint.resolve(name, download=False)
        checkpoint.inspect(folder)
        size = sum(path.stat().st_size for path in folder.glob("*.safetensors")) / 2**20
        detail = f"{name}: {folder}, {size:,.0f} MiB of weights"
        if size > _TRIED_MIB:
            return Check("model", True, f"{detail} (not loaded: too large to try)")
        engine = Engine.load(name)
        result = engine.generate("Is water wet?", constraint=Choice(("yes", "no")), seed=0)
    except DgError as error:
        return Check("model", False, " ".join(str(error).split()))
    detail += f", canvas of {engine.canvas_length} tokens, context of {engine.max_context}"
    return Check("model", result.text in ("yes", "no"), f"{detail}; its first answer took {result.usage.seconds:.1f} s")
