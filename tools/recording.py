#!/usr/bin/env python3
"""Records `make demo` into docs/images: demo.cast for asciinema, and demo.svg for README.md.

`make recording` runs the demo in a pseudo-terminal. The asciicast has all that the demo printed,
with its times. The SVG is drawn from the asciicast by a terminal emulator that knows what rich
prints: one group per screen, shown one after the other by CSS, so that it plays in an <img>.
"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CAST = ROOT / "docs" / "images" / "demo.cast"
PICTURE = CAST.with_suffix(".svg")

COLUMNS, ROWS = 112, 27
LONGEST_PAUSE = 1.5
"""Seconds to which a pause is cut."""
SHORTEST_FRAME = 0.12
"""Seconds for which a screen is shown at least; what is printed sooner joins the next one."""
LAST_FRAME = 6.0
"""Seconds for which the last screen is shown."""

Event = tuple[float, str]
"""The seconds since the start, and what was printed then."""


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a character."""

    color: str = ""
    bold: bool = False
    dim: bool = False


Cell = tuple[str, Style]
Line = tuple[Cell, ...]
_BLANK: Cell = (" ", Style())
_SEQUENCE = re.compile(r"\x1b\[(\??[\d;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b.")
_DIM = 2
_COLORS = dict(
    zip(
        range(30, 38),
        ("k", "r", "g", "y", "b", "m", "c", "w"),
        strict=True,
    )
)


@dataclass(slots=True)
class Screen:
    """A terminal of a fixed size."""

    lines: list[list[Cell]] = field(default_factory=lambda: [[]])
    row: int = 0
    column: int = 0
    style: Style = Style()

    def print(self, text: str) -> None:
        """Print text with control sequences."""
        position = 0
        for sequence in _SEQUENCE.finditer(text):
            self._write(text[position : sequence.start()])
            position = sequence.end()
            if sequence[2]:
                self._control(sequence[2], sequence[1])
        self._write(text[position:])

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\r":
                self.column = 0
            elif character == "\n":
                self._line_feed()
            elif character >= " ":
                if self.column >= COLUMNS:
                    self.column = 0
                    self._line_feed()
                line = self.lines[self.row]
                line.extend([_BLANK] * (self.column + 1 - len(line)))
                line[self.column] = (character, self.style)
                self.column += 1

    def _line_feed(self) -> None:
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def _control(self, final: str, parameters: str) -> None:
        numbers = [int(number) for number in parameters.split(";") if number.isdigit()]
        if final == "m":
            self._select_style(numbers or [0])
        elif final == "A":
            self.row = max(self.row - (numbers or [1])[0], 0)
        elif final == "K":
            start = 0 if numbers == [2] else self.column
            del self.lines[self.row][start:]
        elif final not in "hl":
            raise ValueError(f"unknown control sequence {parameters}{final}")

    def _select_style(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            if number == 0:
                self.style = Style()
            elif number in _COLORS:
                self.style = replace(self.style, color=_COLORS[number])
            elif number - 60 in _COLORS:
                self.style = replace(self.style, color=_COLORS[number - 60])
            elif number == 1:
                self.style = replace(self.style, bold=True)
            elif number == _DIM:
                self.style = replace(self.style, dim=True)

    @property
    def shown(self) -> tuple[Line, ...]:
        """The last lines, as many as the terminal has."""
        lines = [tuple(line) for line in self.lines]
        return tuple(lines[-ROWS:])


def record(command: Sequence[str], environment: dict[str, str]) -> Iterator[Event]:
    """Run a command in a pseudo-terminal; yield what it prints. Raises CalledProcessError."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    start = time.monotonic()
    with subprocess.Popen(  # noqa: S603
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        while data := _read(controller):
            yield round(time.monotonic() - start, 3), data.decode()
    os.close(controller)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command))


def _read(controller: int) -> bytes:
    try:
        data = os.read(controller, 65536)
        # A character may be cut in the middle.
        while data and data[-1] >= 0x80:  # noqa: PLR2004
            try:
                data.decode()
            except UnicodeDecodeError:
                data += os.read(controller, 1)
            else:
                break
    except OSError:  # the other side is closed
        return b""
    return data


def to_cast(events: Sequence[Event]) -> str:
    """Return an asciicast of version 2."""
    header = {"version": 2, "width": COLUMNS, "height": ROWS, "title": "make demo"}
    lines = [header, *([seconds, "o", data] for seconds, data in events)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def from_cast(text: str) -> list[Event]:
    """Return the events of an asciicast."""
    lines = [json.loads(line) for line in text.splitlines()[1:]]
    return [(seconds, data) for seconds, _, data in lines]


def frames(events: Sequence[Event]) -> list[tuple[float, tuple[Line, ...]]]:
    """Return the screens with the seconds for which each is shown; long pauses are cut."""
    screen = Screen()
    shown: list[tuple[float, tuple[Line, ...]]] = []
    times = [seconds for seconds, _ in events]
    pauses = [min(later - earlier, LONGEST_PAUSE) for earlier, later in pairwise(times)]
    waited = 0.0
    for (_, data), pause in zip(events, [*pauses, LAST_FRAME], strict=True):
        screen.print(data)
        waited += pause
        if waited >= SHORTEST_FRAME:
            if shown and shown[-1][1] == screen.shown:
                shown[-1] = (shown[-1][0] + waited, screen.shown)
            else:
                shown.append((waited, screen.shown))
            waited = 0.0
    return shown


_LINE_HEIGHT, _CHARACTER_WIDTH, _MARGIN = 18, 8.43, 16
_CSS = """
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}
.bold{font-weight:700}.dim{fill:#8b949e}
.k{fill:#8b949e}.r{fill:#ff7b72}.g{fill:#7ee787}.y{fill:#e3b341}.b{fill:#79c0ff}
.m{fill:#d2a8ff}.c{fill:#76e3ea}.w{fill:#e6edf3}
.frame{visibility:hidden}
"""


def to_svg(events: Sequence[Event]) -> str:
    """Return a picture that plays the events in a loop."""
    screens = frames(events)
    names: dict[Line, str] = {}
    groups = []
    for index, (_, lines) in enumerate(screens):
        uses = "".join(
            f'<use href="#{names.setdefault(line, f"l{len(names)}")}" y="{row * _LINE_HEIGHT}"/>'
            for row, line in enumerate(lines)
            if line
        )
        groups.append(f'<g id="f{index}" class="frame">{uses}</g>')
    # What does not animate shows the last screen.
    groups[-1] = groups[-1].replace(' class="frame"', "")
    width = round(COLUMNS * _CHARACTER_WIDTH + 2 * _MARGIN)
    height = ROWS * _LINE_HEIGHT + 2 * _MARGIN
    definitions = "\n".join(
        f'<text id="{name}">{_spans(line)}</text>' for line, name in names.items()
    )
    body = "\n".join(groups)
    style = _CSS + _animation([seconds for seconds, _ in screens])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">\n'
        f"<title>A recording of make demo</title>\n<style>{style}</style>\n"
        f"<defs>\n{definitions}\n</defs>\n"
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>\n'
        f'<g transform="translate({_MARGIN} {_MARGIN + 12})">\n{body}\n</g>\n</svg>\n'
    )


def _animation(durations: Sequence[float]) -> str:
    """Return the CSS that shows one group after the other, each for its seconds."""
    total = sum(durations)
    rules = []
    at = 0.0
    for index, seconds in enumerate(durations):
        begin, end = at / total * 100, (at + seconds) / total * 100
        at += seconds
        before = "" if index == 0 else "0%{visibility:hidden}"
        after = "" if index == len(durations) - 1 else f"{end:.3f}%{{visibility:hidden}}"
        rules.append(
            f"@keyframes f{index}{{{before}{begin:.3f}%{{visibility:visible}}{after}}}"
            f"#f{index}{{animation:f{index} {total:.1f}s step-end infinite}}"
        )
    return "".join(rules)


def _spans(line: Line) -> str:
    spans, column = [], 0
    for style, cells in groupby(line, key=lambda cell: cell[1]):
        text = "".join(character for character, _ in cells)
        classes = " ".join(
            name
            for name, on in ((style.color, style.color), ("bold", style.bold), ("dim", style.dim))
            if on
        )
        if text.strip():
            kind = f' class="{classes}"' if classes else ""
            position = f"{column * _CHARACTER_WIDTH:.1f}"
            spans.append(f'<tspan x="{position}"{kind}>{escape(text.rstrip())}</tspan>')
        column += len(text)
    return "".join(spans)


def main() -> None:
    """Record the demo and draw it."""
    with TemporaryDirectory() as home:
        kept = {
            key: value for key, value in os.environ.items() if key not in {"KUBECONFIG", "NO_COLOR"}
        }
        environment = {**kept, "XDG_STATE_HOME": home, "TERM": "xterm-256color"}
        command = [sys.executable, "-m", "lynq", "demo", "--exit"]
        events = [(0.0, "$ make demo\r\n"), *record(command, environment)]
    CAST.parent.mkdir(exist_ok=True)
    CAST.write_text(to_cast(events))
    PICTURE.write_text(to_svg(events))


if __name__ == "__main__":
    main()
