"""Rows as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dg_sglang.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd


def data_frame(rows: Sequence[Sequence[Any]], columns: Sequence[str] | None = None) -> pd.DataFrame:
    """A DataFrame of rows; columns are numbered where they have no names. Raises ConfigError without pandas."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ConfigError(f"a DataFrame needs an extra ({error}): pip install 'dg-sglang[pandas]'") from error
    return pd.DataFrame(rows, columns=columns)
