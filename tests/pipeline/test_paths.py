"""Names become files: folders, patterns, each once and always in the same order."""

import os

import pytest

from parcast.errors import ParameterError
from parcast.pipeline.paths import document_paths


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (
        "b/2.txt",
        "b/1.txt",
        "a/x.html",
        "a/.hidden",
        ".git/config",
        "c.sgm",
        "odd[1].txt",
    ):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_folders_patterns_and_files(folder):
    every = ["docs/c.sgm", "docs/odd[1].txt", "docs/a/x.html", "docs/b/1.txt", "docs/b/2.txt"]
    assert document_paths("docs") == every
    assert document_paths(["docs/b/2.txt", "docs", "docs/**/*.txt"]) == [every[-1], *every[:-1]]
    assert document_paths("docs/**/*.html") == ["docs/a/x.html"]
    assert document_paths("docs/odd[1].txt") == ["docs/odd[1].txt"]
    assert document_paths(folder / "docs" / "b") == [
        str(folder / f"docs/b/{i}.txt") for i in (1, 2)
    ]


def test_links_to_folders_do_not_go_in_circles(folder):
    os.symlink("..", folder / "docs" / "b" / "up")
    os.symlink("1.txt", folder / "docs" / "b" / "3.txt")
    assert "docs/b/3.txt" in document_paths("docs")
    assert len(document_paths("docs")) == 6


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (
            "empty",
            "empty must hold documents, got no file. "
            "Name a folder with files in it; hidden files do not count.",
        ),
        (
            "*.xyz",
            "*.xyz must hold documents, got no file. "
            "Check the pattern, and quote it so that the shell passes it on.",
        ),
        (
            "-",
            "documents must be files, whose places in them are given, got standard input. "
            "Save it to a file first.",
        ),
        (
            [],
            "paths must name a file, got none. "
            "Name files, folders or patterns such as 'docs/**/*.html'.",
        ),
    ],
)
def test_names_without_files_are_refused(folder, name, says):
    (folder / "empty").mkdir()
    with pytest.raises(ParameterError) as caught:
        document_paths(name)
    assert str(caught.value) == says
