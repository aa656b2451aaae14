"""Draw the pictures of the gallery, and compare them with the committed ones.

    python docs/gallery/draw.py            # fails with the names of those that differ
    python docs/gallery/draw.py --write    # replaces them

The list is pictures.toml. Figures are compared to a tenth of a pixel, as last digits differ
between processors, all else byte for byte. Surfaces, contours and maps have thousands of points,
of which a last digit adds or moves some: of these the texts are compared.
"""

import io
import re
import shlex
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from parcast.cli import cli
from parcast.cli.failures import run

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
PIXELS = 0.11  # by which a figure may differ: figures have one decimal or two
SHARE = 1e-3  # the same, of larger values in the notes at markers
ANSWERED = (0, 1)  # yes, and no


@dataclass(frozen=True, kw_only=True)
class Picture:
    """An entry of the gallery."""

    name: str
    title: str
    shows: str
    command: str
    page: str
    compared: str = "figures"

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return HERE / f"{self.name}.svg"

    @cached_property
    def commands(self) -> list[str]:
        """The command lines that draw it into a file of its name."""
        *before, last = self.command.strip().splitlines()
        return [*before, f"{last} -o {self.name}.svg"]

    @property
    def data(self) -> list[str]:
        """The files of examples that its commands read."""
        words = [word for line in self.commands for word in shlex.split(line)]
        return list(dict.fromkeys(word for word in words if word.startswith("examples/")))

    def drawn(self) -> str:
        """Draw it in a folder of its own."""
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            shutil.copytree(ROOT / "examples", "examples")
            for line in self.commands:
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as said:
                    status = run(cli, shlex.split(line)[1:])
                if status not in ANSWERED:
                    raise SystemExit(f"{self.name}: {line}: status {status}\n{said.getvalue()}")
            return Path(f"{self.name}.svg").read_text(encoding="utf-8")

    def is_as_drawn(self, drawn: str) -> bool:
        """Whether the committed picture is what was drawn now."""
        if not self.path.exists():
            return False
        kept = self.path.read_text(encoding="utf-8")
        if self.compared == "texts":
            return TEXT.findall(kept) == TEXT.findall(drawn)
        return kept == drawn or is_near(kept, drawn)


def is_near(kept: str, drawn: str) -> bool:
    """Whether two pictures differ in figures alone, and hardly."""
    if NUMBER.split(kept) != NUMBER.split(drawn):
        return False
    pairs = zip(NUMBER.findall(kept), NUMBER.findall(drawn), strict=True)
    return all(abs(float(a) - float(b)) <= PIXELS + SHARE * abs(float(a)) for a, b in pairs)


def sections() -> list[tuple[str, list[Picture]]]:
    """Read the list: the title of each section, and its pictures."""
    read = tomllib.loads((HERE / "pictures.toml").read_text(encoding="utf-8"))
    return [(x["title"], [Picture(**each) for each in x["picture"]]) for x in read["section"]]


def pictures() -> list[Picture]:
    """All pictures."""
    return [picture for _, some in sections() for picture in some]


def main(*, is_written: bool) -> Iterator[str]:
    """Draw all of them; give what differs, or replace it."""
    for picture in pictures():
        drawn = picture.drawn()
        if picture.is_as_drawn(drawn) and not (is_written and picture.compared == "texts"):
            continue
        if is_written:
            picture.path.write_text(drawn, encoding="utf-8")
        else:
            yield f"{picture.name}.svg differs from what is drawn now: {picture.commands[-1]}"
    for path in sorted({*HERE.glob("*.svg")} - {x.path for x in pictures()}):
        yield f"{path.name} is in no section of pictures.toml"


if __name__ == "__main__":
    sys.exit("\n".join(main(is_written="--write" in sys.argv)) or None)
