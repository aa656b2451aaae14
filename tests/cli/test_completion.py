"""The Tab key in bash, zsh and fish: a command, an option, a choice and a file."""

import os
import shutil
import subprocess
import sys

import pytest

LINES = (
    "parcast fo",
    "parcast forecast --hol",
    "parcast forecast --scaling=s",
    "parcast forecast tim",
    "parcast plan tim",
)
FOUND = ["forecast", "--hold-out", "--scaling=strong", "times.csv", "times.csv"]
SCRIPTS = {
    "bash": """
compopt() { files=$(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"); }
eval "$(_PARCAST_COMPLETE=bash_source parcast)"
complete_line() {
    COMP_WORDS=(${1/=/ = }) COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
    COMPREPLY=() files=
    _parcast_completion parcast
    [[ $1 == *=* ]] && COMPREPLY=("--scaling=${COMPREPLY[@]}")  # as readline puts it
    echo "${files:-${COMPREPLY[@]}}"
}
""",
    "zsh": """
compdef() { }
compadd() { print -- $completions }
_describe() { print -- ${completions_with_descriptions%%:*} }
_path_files() { print -- ${words[CURRENT]}*(N) }
eval "$(_PARCAST_COMPLETE=zsh_source parcast)"
complete_line() { words=(${=1}) CURRENT=${#words}; _parcast_completion }
""",
    "fish": """
_PARCAST_COMPLETE=fish_source parcast | source
function complete_line; complete -C $argv[1] | string split -f1 \\t; end
""",
}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_tab_completes(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    program = tmp_path / "bin" / "parcast"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m parcast "$@"\n')
    program.chmod(0o755)
    (tmp_path / "times.csv").touch()
    text = SCRIPTS[shell] + "\n".join(f'complete_line "{line}"' for line in LINES)
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    plain = {"bash": "--norc", "zsh": "-f", "fish": "--no-config"}[shell]
    said = subprocess.run(
        [shell, plain, "-c", text],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.stdout.split(), said.stderr) == (FOUND, "")
