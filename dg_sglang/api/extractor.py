"""The pipeline behind the API."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dg_sglang.api.uploads import target_of
from dg_sglang.pipelines.document import Limits
from dg_sglang.pipelines.schema_tree import schema_tree

if TYPE_CHECKING:
    from dg_sglang.engine import Engine


class EngineExtractor:
    """Extracts with one engine, which may be shared by several threads."""

    def __init__(self, engine: "Engine", limits: Limits, *, workers: int) -> None:
        self.engine, self.limits, self.workers = engine, limits, workers

    def check(self, schema: Any) -> dict[str, Any]:
        """The leaves of a schema. Raises GrammarError."""
        return {
            "fields": [
                {
                    "pointer": leaf.pointer,
                    "name": leaf.name,
                    "kind": leaf.kind,
                    "stated": leaf.stated,
                    "nullable": leaf.nullable,
                }
                for leaf in schema_tree(schema).leaves()
            ]
        }

    def extract(self, path: Path, request: dict[str, Any]) -> dict[str, Any]:
        """Extract from a document. Raises DgError."""
        from dg_sglang.pipelines import extract

        result = extract(
            path,
            target_of(request["schema"]),
            engine=self.engine,
            limits=self.limits,
            seed=request["seed"],
            password=request["password"],
            date_order=request["date_order"],
            decimal_mark=request["decimal_mark"],
            **request["settings"],
        )
        return result.to_json()
