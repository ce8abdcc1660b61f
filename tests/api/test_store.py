from pathlib import Path

import pytest

from dg_sglang.api.store import MAX_ATTEMPTS, JobStore
from dg_sglang.errors import ConfigError

REQUEST = {"schema": "invoice", "settings": {}, "seed": None, "password": None}


def test_a_job_that_kills_its_process_each_time_fails_with_an_error_that_can_be_answered(tmp_path: Path) -> None:
    from dg_sglang.api.bodies import ErrorBody
    from dg_sglang.api.errors import status_of

    for attempt in range(MAX_ATTEMPTS + 1):
        store = JobStore(tmp_path)
        if attempt == 0:
            job, path = store.reserve("bill.pdf")
            path.write_bytes(b"%PDF-")
            store.add(job, "bill.pdf", REQUEST)
        taken = store.next()
        assert (taken is None) == (attempt == MAX_ATTEMPTS)
        if attempt < MAX_ATTEMPTS:
            store.close()  # the job is still running, as after kill -9
    failed = store[job]
    assert failed.status == "failed"
    error = ErrorBody.model_validate(failed.error).error
    assert status_of(error.code) == 500
    store.close()


def test_a_folder_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    with pytest.raises(ConfigError, match="another process"):
        JobStore(tmp_path)
    store.close()
    JobStore(tmp_path).close()


@pytest.mark.parametrize("case", ["file", "below a file", "no database", "NUL"])
def test_folders_that_cannot_keep_jobs_are_refused(tmp_path: Path, case: str) -> None:
    file = tmp_path / "file"
    file.write_text("something else")
    folder = {"file": file, "below a file": file / "jobs", "NUL": Path("a\0b")}.get(case, tmp_path / "jobs")
    if case == "no database":
        folder.mkdir()
        (folder / "jobs.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(ConfigError, match="another folder"):
        JobStore(folder)
