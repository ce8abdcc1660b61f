import hashlib
from pathlib import Path

import pytest

from dg_sglang.errors import BatchError
from dg_sglang.pipelines.batch.inputs import content_hash, find_documents


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.pdf", "a.PNG", "notes.xyz", ".hidden/c.pdf", "sub/d.txt", "sub/.e.pdf"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_folders_patterns_and_files_each_document_once(folder: Path) -> None:
    assert [path.name for path in find_documents([folder])] == ["a.PNG", "b.pdf", "d.txt"]
    assert [path.name for path in find_documents([folder / "b.pdf", f"{folder}/*.pdf", folder])] == [
        *("b.pdf", "a.PNG", "d.txt")
    ]
    assert [path.name for path in find_documents([f"{folder}/s*"])] == ["d.txt"]
    assert [path.name for path in find_documents([folder / "notes.xyz", "missing.pdf"])] == ["notes.xyz", "missing.pdf"]


def test_a_file_whose_name_looks_like_a_pattern(folder: Path) -> None:
    path = (folder / "b.pdf").rename(folder / "scan [1].pdf")
    assert list(find_documents([path])) == [path]


def test_nothing_found_is_an_error(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(BatchError, match="no documents in this folder"):
        list(find_documents([folder / "empty"]))
    with pytest.raises(BatchError, match="no file matches"):
        list(find_documents([f"{folder}/*.docx"]))


def test_inputs_are_drawn_one_by_one(folder: Path) -> None:
    found = find_documents(iter([folder / "b.pdf", folder / "empty"]))
    assert next(found).name == "b.pdf"


def test_hashes(folder: Path) -> None:
    assert content_hash(folder / "b.pdf") == hashlib.sha256(b"b.pdf").hexdigest()
    assert content_hash(folder / "missing") == ""
