"""Which SGLang the hooks were written for."""

from importlib.metadata import PackageNotFoundError, version

from packaging.specifiers import SpecifierSet

from dg_sglang.errors import ConfigError

SUPPORTED = SpecifierSet(">=0.5.23,<0.5.24")
"""The hooks reach into SGLang's scheduler, which has no stable interface: one minor release at a time."""


def check_sglang() -> None:
    """Raises ConfigError when SGLang is missing or of another version, saying what to install."""
    try:
        found = version("sglang")
    except PackageNotFoundError:
        raise ConfigError("SGLang is not installed: pip install 'dg-sglang[sglang]'") from None
    if not SUPPORTED.contains(found, prereleases=True):
        raise ConfigError(
            f"dg-sglang's SGLang plugin works with sglang{SUPPORTED}, but {found} is installed: "
            f"pip install 'sglang{SUPPORTED}'"
        )
