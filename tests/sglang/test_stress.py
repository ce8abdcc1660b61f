"""Two hundred mixed requests, eight at a time."""

import psutil
import pytest

pytest.importorskip("sglang", reason="needs SGLang's own environment (`make test` makes it)")

from server_load import Load
from sglang_client import Client

pytestmark = pytest.mark.slow


def test_a_mixed_load_leaves_nothing_behind(tiny: Client) -> None:
    load = Load(tiny.url)
    first = load.run(40, seed=1)  # caches fill, kernels compile
    assert not first.failures
    before = memory(tiny.pid)
    report = load.run(200)
    assert not report.failures
    assert report.outcomes == {"constrained": 100, "free": 60, "refused": 20, "aborted": 10, "hung up": 10}
    assert load.used_tokens() == 0
    assert memory(tiny.pid) < before + 100


def memory(pid: int) -> float:
    """MiB that the server's processes hold."""
    main = psutil.Process(pid)
    return sum(one.memory_info().rss for one in (main, *main.children(recursive=True))) / 2**20
