"""A release as its users install it: every Python, clean environments, with and without extras.

    python benchmarks/release.py [PYTHON...]       (make try-dist)

The wheel in `dist/` is installed by pip into an environment for each Python, by default every one
from 3.11 to 3.14 that is found. A command that fails is shown and ends all. Sizes are what the
packages take on the disk without pip, before and after pip compiles them.
"""

import glob
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TIMES, DATA, BTIO = (
    ROOT / x for x in ("examples/nas_bt/times.csv", "tests/importers/data", "examples/btio")
)
PARQUET = """
from pyarrow import parquet, table
parquet.write_table(table({"p": [1, 2, 4], "time_s": [8.0, 5.0, 3.0]}), "t.parquet")
"""
STORE = """
from numpy import ones
from parcast.arrays import Block, connect
with connect() as io:
    io.write("u.zarr", {"u": Block(ones((2, 6)), (2, 6), (1, 1))}, zstd=3)
"""
CORE = [
    ["--version"],
    ["demo"],
    ["forecast", TIMES, "-p", "256", "-o", "f.html"],
    ["predict", BTIO / "program.toml", BTIO / "sp2.toml", "-p", "1,4,16"],
]
EXTRAS = {  # each with a command that needs it, or Python
    "plot": ["forecast", TIMES, "-p", "256", "-o", "f.pdf"],
    "mpi": ["run", "stencil", "-np", "2", "--steps", "20"],
    "features": ["run", "features", ROOT / "README.md", "-o", "f.parquet"],
    "arrays": STORE,
    "arrays, read": ["arrays", "verify", "u.zarr"],
    "caliper": ["import", DATA / "caliper_ranks.cali"],
    "parquet, written": PARQUET,
    "parquet": ["forecast", "t.parquet", "-p", "8"],
    "cubex": "import pycubexr",
}


class Environment:
    """A clean environment of a Python, and a folder to work in."""

    def __init__(self, python: str, folder: str) -> None:
        self.folder, self.bin = Path(folder), Path(folder, "venv", "bin")
        subprocess.run([python, "-m", "venv", self.bin.parent], check=True)
        self.packages = next(self.bin.parent.glob("lib/python*/site-packages"))

    def run(self, *words: object) -> str:
        """What a command prints, without what this project has set; one that fails ends all."""
        ours = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"}
        variables = {k: v for k, v in os.environ.items() if k not in ours}
        variables["PATH"] = f"{self.bin}:{variables['PATH']}"
        command = [str(self.bin / str(words[0])), *map(str, words[1:])]
        done = subprocess.run(
            command, cwd=self.folder, env=variables, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def install(self, wheel: str) -> None:
        """Install a wheel from the registry's packages, and have pip check them."""
        self.run("python", "-m", "pip", "install", "--quiet", "--no-compile", wheel)
        self.run("python", "-m", "pip", "check")

    def megabytes(self) -> float:
        """What its packages take without pip. [MB]."""
        every = (x for x in self.packages.rglob("*") if x.is_file() and not x.is_symlink())
        own = (x for x in every if not x.relative_to(self.packages).parts[0].startswith("pip"))
        return sum(x.stat().st_size for x in own) / 1e6

    def seconds(self, code: str) -> float:
        """Median time of a Python that runs some code. [s]."""
        times = []
        for _ in range(7):
            begun = time.perf_counter()
            self.run("python", "-c", code)
            times.append(time.perf_counter() - begun)
        return statistics.median(times)


def ask_page(env: Environment) -> None:
    """Start `parcast web`, and have the first page from it."""
    command = [str(env.bin / "parcast"), "web", str(BTIO / "program.toml"), str(BTIO / "sp2.toml")]
    command += ["--port", "0"]
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    with subprocess.Popen(
        command, cwd=env.folder, env=variables, stdout=subprocess.PIPE, text=True
    ) as page:
        try:
            asker = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with asker.open(page.stdout.readline().strip(), timeout=60) as answer:
                if b"<svg" not in answer.read():
                    sys.exit("parcast web: a page without a picture")
        finally:
            page.terminate()


def tried(python: str, wheel: Path) -> str:
    """Try a wheel with one Python; a line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        env = Environment(python, folder)
        version = env.run(
            "python", "-c", "import platform; print(platform.python_version())"
        ).strip()
        env.install(str(wheel))
        bare = env.megabytes()
        env.run("python", "-m", "compileall", "-q", "-j", "2", env.packages)
        core = env.megabytes()
        print(f"{version}: core {bare:.0f} MB, with its bytecode {core:.0f} MB", file=sys.stderr)
        for words in CORE:
            env.run("parcast", *words)
        loads = env.seconds("import parcast") - env.seconds("pass")
        env.install(f"{wheel}[all]")
        for does in EXTRAS.values():
            env.run(*(("python", "-c", does) if isinstance(does, str) else ("parcast", *does)))
        ask_page(env)
    return f"| {version} | {bare:.0f} MB | {core:.0f} MB | {1e3 * loads:.0f} ms |"


def check_contents(wheel: Path) -> None:
    """Compare the wheel, built from the sdist, with one that is built from the sources."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        kept, built = (
            {x.filename: x.CRC for x in zipfile.ZipFile(path).infolist()}
            for path in (wheel, next(Path(folder).glob("*.whl")))
        )
    if kept != built:
        sys.exit(
            f"the wheel from the sdist is another one: {sorted(kept.items() ^ built.items())}"
        )
    with tarfile.open(next(DIST.glob("*.tar.gz"))) as archive:
        files = len(archive.getmembers())
    size = wheel.stat().st_size / 1e6
    print(f"wheel: {len(kept)} files, {size:.1f} MB; the same from the sdist, {files} files")


def found() -> list[str]:
    """Pythons from 3.11 to 3.14: of pyenv, else on the path."""
    ours = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[1-4].*/bin/python")))
    return ours or [x for n in range(11, 15) if (x := shutil.which(f"python3.{n}"))]


def main() -> None:
    """Try and print the table."""
    wheel = next(DIST.glob("*.whl"))
    check_contents(wheel)
    print("| Python | core | with bytecode | import parcast |")
    for python in sys.argv[1:] or found():
        print(tried(python, wheel), flush=True)


if __name__ == "__main__":
    main()
