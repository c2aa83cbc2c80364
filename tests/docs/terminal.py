"""A terminal that follows a page: scripts share their variables, and every command is recorded.

`python -m docs.terminal PAGE[#SECTION]...` follows pages outside of the tests, as a reader does.
"""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from docs.blocks import ROOT, Block, Check, Command, blocks_of, commands, matches

MATCH_SECONDS = 30.0
SCRIPT_SECONDS = 1200.0


class BlockError(Exception):
    """A block of a page did not do what the page says."""


class MatchError(BlockError):
    """A command of a page did not print in time what the page says."""


@dataclass(frozen=True, slots=True)
class Result:
    """The exit code of a script and what it printed to stdout and stderr."""

    code: int
    output: str


@dataclass(slots=True)
class Terminal:
    """A shell whose variables, functions and working directory stay from script to script."""

    folder: Path
    environment: Mapping[str, str]
    prefix: tuple[str, ...] = ()
    """A command that runs another one with its own /tmp/lynq."""
    record: Callable[[str], None] = lambda _: None
    """Receives the commands of the page and what they print."""
    _sessions: list[int] = field(default_factory=list)

    def show(self, result: Result) -> None:
        """Record what a script printed."""
        end = "" if result.output.endswith("\n") or not result.output else "\n"
        self.record(f"{result.output}{end}")

    def run(self, script: str) -> Result:
        """Run a script to its end; processes in the background keep running."""
        state = shlex.quote(str(self.folder / "state"))
        program = self.folder / "script"
        program.write_text(
            f"[ ! -f {state} ] || . {state}\n"
            f'trap \'{{ export -p; declare -f; printf "cd %q\\n" "$PWD"; }} >{state}\' EXIT\n'
            f"{script}"
        )
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            process = self.start(["bash", "-euo", "pipefail", str(program)], output.fileno())
            try:
                code = process.wait(SCRIPT_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                print(f"not finished after {SCRIPT_SECONDS:.0f} s", file=output)
                code = 124
            output.seek(0)
            return Result(code, output.read().replace(f"{program}: ", "bash: "))

    def output(self, script: str) -> str:
        """Run a script of the runner itself, outside of the page's state; return what it prints."""
        result = subprocess.run(
            [*self.prefix, "bash", "-euo", "pipefail", "-c", script],
            env=dict(self.environment),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise RuntimeError(f"{script}: {result.stderr}")
        return result.stdout

    def start(self, command: Sequence[str], output: int) -> "subprocess.Popen[bytes]":
        """Start a process in a session of its own."""
        process = subprocess.Popen(
            [*self.prefix, *command],
            env=dict(self.environment),
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        self._sessions.append(process.pid)
        return process

    def close(self) -> None:
        """End what the page left running in the background."""
        for session in self._sessions:
            with suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)


def run_block(terminal: Terminal, block: Block) -> None:
    """Run a block; raises BlockError."""
    if block.check == Check.SCRIPT:
        _succeed(terminal, block.location, block.text, block.text)
    elif block.check == Check.MANIFEST:
        apply = "kubectl apply --server-side --dry-run=server -f -"
        script = f"{apply} <<'END_OF_BLOCK'\n{block.text}END_OF_BLOCK\n"
        _succeed(terminal, block.location, apply, script)
    elif block.check == Check.SESSION:
        for command in commands(block):
            _match(terminal, f"{block.page}:{command.line}", command)


def _succeed(terminal: Terminal, location: str, shown: str, script: str) -> None:
    terminal.record("$ " + "\n> ".join(shown.splitlines()) + "\n")
    result = terminal.run(script)
    terminal.show(result)
    if result.code:
        raise BlockError(_describe(location, shown, f"exit code {result.code}", result.output))


def _match(terminal: Terminal, location: str, command: Command) -> None:
    """Repeat a command until it succeeds with the expected output."""
    terminal.record(f"$ {command.text}\n")
    deadline = time.monotonic() + MATCH_SECONDS
    first = result = terminal.run(command.text)
    while result.code or (command.output and not matches(command.output, result.output)):
        if time.monotonic() > deadline:
            problem = f"exit code {result.code}" if result.code else "the output differs"
            expected = "\n".join(command.output)
            outputs = f"{result.output}\n--- expected\n{expected}"
            if first.output != result.output:
                outputs += f"\n--- output of the first attempt\n{first.output}"
            terminal.show(result)
            raise MatchError(_describe(location, command.text, problem, outputs))
        time.sleep(0.3)
        result = terminal.run(command.text)
    terminal.show(result)


def _describe(location: str, command: str, problem: str, output: str) -> str:
    return f"{location}: {problem}\n--- command\n{command}\n--- output\n{output}"


def follow(names: Sequence[str]) -> None:
    """Follow pages in one terminal and print what happens; a name may end in #SECTION."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(Path(folder), os.environ, record=_print)
        try:
            for name in names:
                page, _, section = name.partition("#")
                for block in blocks_of(ROOT / page):
                    if section in ("", block.section):
                        run_block(terminal, block)
        finally:
            terminal.close()


def _print(text: str) -> None:
    print(text, end="", flush=True)  # noqa: T201


if __name__ == "__main__":
    try:
        follow(sys.argv[1:])
    except BlockError as failure:
        sys.exit(str(failure))
