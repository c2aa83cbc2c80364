"""Lines that commands print: colors are ours, and all else of a value is escaped."""

import io
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pyte
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from lynq.api.text import shown
from lynq.cli.output import Styled, print_document, print_line, print_note, print_rows, styled
from lynq.cli.root import lynq

ROOT = Path(__file__).parents[3]
CONTROLS = "\x1b[]0;31mAJK2\r\n\x85\x9b\x9d\u202e\u2028\x07\x08\x0b\x0ca `"
VALUES = st.one_of(
    st.text(st.characters(codec=None), max_size=60), st.text(st.sampled_from(CONTROLS))
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(show: Callable[[], None]) -> str:
    with redirect_stdout(Terminal()) as stream, redirect_stderr(stream):
        show()
    return stream.getvalue()


@given(VALUES)
def test_shown_text_is_not_changed_again(text: str) -> None:
    assert shown(text).isprintable()
    assert shown(shown(text)) == shown(text)
    assert len(shown(text, 10)) <= 10
    assert shown(shown(text, 10), 10) == shown(text, 10)


@given(value=VALUES)
def test_line_is_one_line_of_the_terminal(value: str) -> None:
    text = printed(lambda: print_line(styled("-", "red"), f" name: {value}"))
    color, plain = text[: len("\x1b[31m-\x1b[0m")], text[len("\x1b[31m-\x1b[0m") :]
    assert color == "\x1b[31m-\x1b[0m"
    assert plain.removesuffix("\n").isprintable()
    screen = pyte.Screen(2000, 5)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    # Wide and combining characters have cells of their own.
    assert screen.display[0].startswith("- name: "[: len(shown(value)) + 8])
    assert not "".join(screen.display[1:]).strip()
    assert screen.cursor.y == 1
    assert screen.buffer[0][0].fg == "red"
    assert {screen.buffer[0][column].fg for column in range(1, 100)} == {"default"}


@given(value=VALUES)
def test_value_that_is_styled_ends_with_its_color(value: str) -> None:
    text = printed(lambda: print_rows([[styled(value, "green"), "x"], ["a", value]]))
    assert re.sub(r"\x1b\[(32|0)m", "", text).replace("\n", "").isprintable()
    assert text.count("\n") == 2
    assert text.count("\x1b") == 2


@given(value=VALUES)
def test_notes_and_documents_have_no_controls(value: str) -> None:
    assert printed(lambda: print_note(value)).removesuffix("\n").isprintable()
    document = printed(lambda: print_document(value))
    assert document.replace("\n", "").replace("\t", "").isprintable()


def test_color_is_lost_in_a_text_and_never_forged() -> None:
    assert f"{styled('ready', 'green')}" == "ready"
    assert Styled("a", "red") == styled("a", "red")


def test_pipe_gets_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed(lambda: print_line(styled("a", "red"))) == "a\n"


@pytest.mark.parametrize(
    "code",
    [
        'import click\n\nclick.echo("")\n',
        'from click import secho\n\nsecho("")\n',
        'import sys\n\nsys.stdout.write("")\n',
        "from rich.console import Console\n\nConsole()\n",
    ],
)
def test_ruff_refuses_to_print_past_the_guard(code: str) -> None:
    ruff = [sys.executable, "-m", "ruff", "check", "--stdin-filename", "src/lynq/cli/new.py", "-"]
    result = subprocess.run(ruff, input=code, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "TID251" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["\x1b[2J"],
        ["get", "--\x1b[2J"],
        ["plan", "-f", "\x1b[2J"],
        ["wait", "a", "--timeout", "\x1b[2J\r"],
    ],
)
def test_error_about_an_argument_is_printable(arguments: list[str]) -> None:
    result = CliRunner().invoke(lynq, arguments)
    assert result.exit_code == 2
    assert "\\x1b[2J" in result.stderr
    assert result.stderr.replace("\n", "").isprintable()
