"""What a batch has finished, in one SQLite file that survives a kill at any moment.

A document is done when its row is committed here. It is known by its source and the hash of its content; the schema and
the settings are the same for a whole ledger. The output file is written from the ledger and can always be made again.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from dg_sglang.errors import BatchError

VERSION = 1
_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE documents (
    number INTEGER PRIMARY KEY,
    source BLOB NOT NULL UNIQUE,
    content TEXT NOT NULL,
    category TEXT,
    row BLOB NOT NULL
);
CREATE INDEX documents_by_content ON documents (content);
"""


class Ledger:
    """The finished documents of one batch. Only one process at a time may have it open."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Use `open`."""
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path, settings: Mapping[str, Any], *, resume: bool) -> Self:
        """Open or make the ledger of a batch with these settings (names and JSON values).

        Raises:
            BatchError: it exists and `resume` is False, belongs to other settings, is in use, or can't be written.
        """
        wanted = {name: json.dumps(value, sort_keys=True, default=repr) for name, value in settings.items()}
        try:
            ledger = cls(sqlite3.connect(path, timeout=0.5, isolation_level=None), path)
            try:
                ledger._start(wanted, resume)
            except BaseException:
                ledger.close()
                raise
        except sqlite3.OperationalError as error:
            reason = "another batch is using it" if "locked" in str(error) else f"it can't be used ({error})"
            raise BatchError(f"the ledger {path}: {reason}") from error
        except sqlite3.DatabaseError as error:
            raise BatchError(f"{path} is not a ledger ({error}); name another output file") from error
        return ledger

    def _start(self, wanted: Mapping[str, str], resume: bool) -> None:
        run = self._connection.execute
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA synchronous = FULL")
        run("BEGIN EXCLUSIVE")  # the lock is kept until the ledger is closed
        (version,) = run("PRAGMA user_version").fetchone()
        if not version and not run("SELECT 1 FROM sqlite_master").fetchone():
            for statement in _TABLES.split(";"):
                run(statement)
            run(f"PRAGMA user_version = {VERSION}")
            self._connection.executemany("INSERT INTO settings VALUES (?, ?)", wanted.items())
        elif version != VERSION:
            raise BatchError(f"{self.path} is not a ledger of this version; name another output file")
        elif not resume:
            raise BatchError(
                f"{self.path} holds an earlier batch: resume it (--resume), name another output file, or delete it"
            )
        else:
            known = dict(run("SELECT name, value FROM settings"))
            differing = sorted(name for name in known.keys() | wanted.keys() if known.get(name) != wanted.get(name))
            if differing:
                raise BatchError(
                    f"{self.path} holds a batch with another {', another '.join(differing)}; name another output file"
                )
        run("COMMIT")

    def find(self, source: str) -> tuple[str, str | None] | None:
        """The content's hash and the error's category (None for a success) of a finished document."""
        found = self._connection.execute(
            "SELECT content, category FROM documents WHERE source = ?", (os.fsencode(source),)
        ).fetchone()
        return found and (found[0], found[1])

    def row_of_content(self, content: str) -> dict[str, Any] | None:
        """The row of a finished document without an error and with this content."""
        found = self._connection.execute(
            "SELECT row FROM documents WHERE content = ? AND category IS NULL LIMIT 1", (content,)
        ).fetchone()
        return found and _unpack(found[0])

    def put(self, rows: Mapping[str, Mapping[str, Any]], content: str, category: str | None) -> None:
        """Commit the rows (by source) of one content, all or none, in place of earlier ones."""
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO documents (source, content, category, row) VALUES (?, ?, ?, ?) ON CONFLICT (source) "
            "DO UPDATE SET content = excluded.content, category = excluded.category, row = excluded.row",
            [(os.fsencode(source), content, category, _pack(row)) for source, row in rows.items()],
        )
        self._connection.execute("COMMIT")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every row, in the order in which the documents were first finished."""
        for (row,) in self._connection.execute("SELECT row FROM documents ORDER BY number"):
            yield _unpack(row)

    def __len__(self) -> int:
        (count,) = self._connection.execute("SELECT count(*) FROM documents").fetchone()
        return int(count)

    def close(self) -> None:
        """Close the file and free its lock."""
        with suppress(sqlite3.Error):
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _pack(row: Mapping[str, Any]) -> bytes:
    return zlib.compress(json.dumps(row).encode())


def _unpack(data: bytes) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(zlib.decompress(data))
    return row
