"""Commands in the README and the documentation print what is said there.

PARCAST_REWRITE=1 writes it anew.

In a console block `$ parcast ...` is run in a copy of the examples, on a screen of 80 columns;
what follows is what it prints, standard output first. Times that another machine would not repeat
stand in a text block, which is not run. `$ echo $?` gives the status of the command before it;
`$ mpiexec` and `$ python` run programs of the page. A command may end in `| head -N`,
`| grep TEXT` or `| grep -A N TEXT`: the page has these lines only. A block after
`<!-- file: NAME -->` is a file, from which packages can be imported.
"""

import os
import re
import shlex
import shutil
import sys

import pytest

from tests.conftest import ROOT

FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
PAGES = sorted(
    page
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if BLOCK.search(page.read_text(encoding="utf-8"))
)
REWRITE = bool(os.environ.get("PARCAST_REWRITE"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_prints_what_the_commands_print(parcast, ran, page, tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    files = dict(FILE.findall(page.read_text(encoding="utf-8")))
    with_files(files, tmp_path, monkeypatch)

    def run(block):
        written, status = "", 0
        for line in re.findall(r"^\$ (.*)$", block[1], re.MULTILINE):
            written += f"$ {line}\n"
            (program, *args), *shown = split_at_bars(shlex.split(line))
            if program == "echo":
                assert args == ["$?"]
                assert status is not None
                written += f"{status}\n"
            elif program in ("mpiexec", "python"):
                ranks = int(args[1]) if program == "mpiexec" else None
                assert ranks is None or (args[0], args[2]) == ("-n", "python")
                first = 0 if ranks is None else 3
                path, *rest = args[first:]
                status, out, err = ran(tmp_path / path, *rest, ranks=ranks)
                written += f"{out}{err}"
            else:
                assert program == "parcast"
                said = parcast(*args)
                status = None if shown else said.status  # of a shell, that of the last command
                out = lines_of(said.out, *shown)
                written += f"{out}{said.err}".replace(str(tmp_path), "/home/me")
        return written

    text = page.read_text(encoding="utf-8")
    answered, count = BLOCK.subn(run, text)
    assert count
    if REWRITE:
        page.write_text(answered, encoding="utf-8")
    assert six_digits(page.read_text(encoding="utf-8")) == six_digits(answered)


def split_at_bars(words):
    """Split a command line into the commands of its pipeline."""
    commands = [[]]
    for word in words:
        if word == "|":
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def lines_of(text, shown=None):
    """Keep the lines of an answer that `head` or `grep` would show."""
    if shown is None:
        return text
    lines = text.splitlines(keepends=True)
    program, *options = shown
    if program == "head":
        return "".join(lines[: int(options[0].removeprefix("-"))])
    assert program == "grep"
    *context, wanted = options
    after = int(context[1]) if context else 0
    found = [i for i, line in enumerate(lines) if wanted in line]
    return "".join(x for i, x in enumerate(lines) if any(0 <= i - at <= after for at in found))


def with_files(files, folder, monkeypatch):
    """Write the files of a page; what it imports of them is forgotten afterwards."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if path.suffix == ".py":
            module = name.removesuffix(".py").replace("/", ".")
            monkeypatch.syspath_prepend(folder)
            for each in (module.partition(".")[0], module):
                monkeypatch.setitem(sys.modules, each, None)
                del sys.modules[each]


def six_digits(text):
    """Round the numbers of a JSON document, whose last digits differ between machines."""
    text = re.sub(r"[0-9]+\.[0-9]{8,}", lambda found: f"{float(found[0]):.6g}", text)
    return re.sub(r'"parcast": "[^"]+"', '"parcast": "its version"', text)
