"""Run the commands that README.md shows and put their output into it: python benchmarks/readme_outputs.py [--check]

A place for an output is a comment and a fenced block right below it:

    <!-- output: solve tiny-4x8 -->
    ```
    $ fluxscale solve tiny-4x8
    ...
    ```

The commands run in order in one temporary folder, so that a later one may read what an earlier one wrote. ``--check``
changes nothing and tells which blocks differ in more than wall times and versions. ``--only WORD`` takes the commands
that contain a word, ``--cheap`` the ones on tiny presets.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"<!-- output: (?P<command>[^\n]*?) -->\n```[a-z]*\n(?P<text>.*?)```\n", re.DOTALL)
# Lines that differ from run to run and machine to machine, and lines that tell one optimal schedule from another.
CHANGES = re.compile(
    r"wall|version|workers|python|over planned"
    r"|^(schedule|reconfigurations|circuit utilisation|peak NIC|dark time|late ops|looked at)"
)
NOT_CHEAP = re.compile(r"llama3-|gpt3|nemotron|megascale|doctor")


@dataclass(frozen=True)
class Shown:
    """A command in a document and the text below it."""

    command: str
    text: str

    @property
    def cheap(self) -> bool:
        return not NOT_CHEAP.search(self.command)


def shown(document: str) -> list[Shown]:
    """Every command with an output block, in order."""
    return [Shown(found["command"], found["text"]) for found in BLOCK.finditer(document)]


def run(command: str, folder: Path, timeout: float = 600) -> str:
    """What a terminal shows: the command line and its standard output (progress goes to standard error)."""
    path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "solvers"), os.environ.get("PYTHONPATH")]))
    plain = {"PYTHONPATH": path, "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "110"}
    done = subprocess.run(
        [sys.executable, "-m", "fluxscale", *shlex.split(command)],
        cwd=folder, env=os.environ | plain, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"fluxscale {command}: exit code {done.returncode}: {done.stderr.strip()}")
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join([f"$ fluxscale {command}", *lines]).rstrip() + "\n"


def stable(text: str) -> list[str]:
    """What a test may compare: no wall times, versions or cores, nothing that another optimal schedule would change."""
    return [" ".join(line.split()) for line in text.splitlines() if line.strip() and not CHANGES.search(line)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "README.md")
    parser.add_argument("--check", action="store_true", help="change nothing; exit code 1 if a block is out of date")
    parser.add_argument("--cheap", action="store_true", help="only the commands on tiny presets")
    parser.add_argument("--only", metavar="WORD", default="", help="only the commands that contain this")
    arguments = parser.parse_args()
    document = arguments.file.read_text(encoding="utf-8")
    stale = []
    with tempfile.TemporaryDirectory() as folder:

        def renew(found: re.Match[str]) -> str:
            here = Shown(found["command"], found["text"])
            if (arguments.cheap and not here.cheap) or arguments.only not in here.command:
                return found[0]
            print(f"fluxscale {here.command}", file=sys.stderr, flush=True)
            text = run(here.command, Path(folder))
            if stable(text) != stable(here.text):
                stale.append(here.command)
            return f"<!-- output: {here.command} -->\n```text\n{text}```\n"

        renewed = BLOCK.sub(renew, document)
    for command in stale:
        print(f"{'differs' if arguments.check else 'renewed'}: fluxscale {command}")
    if arguments.check:
        return 1 if stale else 0
    if renewed != document:
        arguments.file.write_text(renewed, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
