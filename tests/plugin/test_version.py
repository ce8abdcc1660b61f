import importlib.metadata

import pytest

from dg_sglang import plugin
from dg_sglang.errors import ConfigError
from dg_sglang.plugin import version


def installed(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    def look_up(name: str) -> str:
        if found is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(version, "version", look_up)


@pytest.mark.parametrize("found", ["0.5.23", "0.5.23.post1"])
def test_the_supported_release(monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    installed(monkeypatch, found)
    version.check_sglang()


@pytest.mark.parametrize("found", ["0.5.22", "0.5.23rc1", "0.5.24", "0.6.0", None])
def test_any_other_is_refused_with_what_to_install(monkeypatch: pytest.MonkeyPatch, found: str | None) -> None:
    installed(monkeypatch, found)
    with pytest.raises(ConfigError, match=r"pip install '(dg-sglang\[sglang\]|sglang<0\.5\.24,>=0\.5\.23)'"):
        plugin.register()


def test_the_cpu_platform_is_taken_only_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SGLANG_PLATFORM", raising=False)
    assert plugin.cpu_platform() is None
    monkeypatch.setenv("SGLANG_PLATFORM", "dg_cpu")
    assert plugin.cpu_platform() == "dg_sglang.plugin.platform.CpuPlatform"
