"""Settings of every test.

In CI (DG_SGLANG_CI=1) a skipped test is a failed test, unless its reason says that data or hardware isn't there.
"""

import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

# `python -m pytest` puts the checkout on the path, where our kernels/ would shadow the package that transformers wants.
_ROOT = Path(__file__).resolve().parent.parent
sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != _ROOT]

# Triton reads this when it is imported: kernels run in its interpreter, on the CPU.
os.environ["TRITON_INTERPRET"] = "1"

# A shell's background job ignores Ctrl-C, and so would every process that tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_ALLOWED = ("DG_SGLANG_DATA", "GPU")


def _forbid_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get("DG_SGLANG_CI") != "1" or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(word in reason for word in _ALLOWED):
        report.outcome = "failed"
        report.longrepr = f"skipped where everything must be installed: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _forbid_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _forbid_skip(report)
    return report
