"""What the API allows."""

from dataclasses import dataclass
from pathlib import Path

from dg_sglang.errors import ConfigError


@dataclass(frozen=True)
class ApiSettings:
    """Limits of one API process.

    Attributes:
        folder: where jobs and their files are kept, so that they survive the process.
        api_key: clients must send it as `Authorization: Bearer …`; None asks for none.
        max_bytes: of one request. max_pages: of one document.
        max_waiting: synchronous requests that may wait for a worker; more are sent away with 429.
        max_jobs: jobs that may wait; more are sent away with 429.
        keep_hours: how long a finished job's result and file are kept.
    """

    folder: Path
    api_key: str | None = None
    max_bytes: int = 50_000_000
    max_pages: int = 100
    max_waiting: int = 16
    max_jobs: int = 1000
    keep_hours: float = 24.0

    def __post_init__(self) -> None:
        for name in ("max_bytes", "max_pages", "max_waiting", "max_jobs", "keep_hours"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} must be positive, not {getattr(self, name)}")
        if self.api_key is not None and not self.api_key.strip():
            raise ConfigError("the API key is empty: give one, or leave it out")
