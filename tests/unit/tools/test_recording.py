"""tools/recording.py: the recording in docs/images shows the steps of the demo."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from lynq.cli.demo.steps import STEPS

TOOL = Path(__file__).parents[3] / "tools" / "recording.py"


@pytest.fixture(scope="module")
def recording() -> ModuleType:
    spec = importlib.util.spec_from_file_location("recording", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up by its name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "recording", module)
        spec.loader.exec_module(module)
    return module


def text_of(recording: ModuleType, events: list[tuple[float, str]]) -> list[str]:
    screen = recording.Screen()
    for _, data in events:
        screen.print(data)
    return ["".join(character for character, _ in line).rstrip() for line in screen.lines]


def test_recording_has_the_steps_of_the_demo(recording: ModuleType) -> None:
    lines = text_of(recording, recording.from_cast(recording.CAST.read_text()))
    steps = [line for line in lines if line[:1].isdigit()]
    assert steps == [f"{number}. {step.title}" for number, step in enumerate(STEPS, start=1)]
    assert sum(line.startswith("   done in ") for line in lines) == len(STEPS)
    for step in STEPS:
        assert f"   {step.statement}".rstrip() in lines


def test_picture_is_drawn_from_the_recording(recording: ModuleType) -> None:
    events = recording.from_cast(recording.CAST.read_text())
    assert recording.PICTURE.read_text() == recording.to_svg(events)
    ET.fromstring(recording.PICTURE.read_text())


def test_screen_replaces_what_a_live_table_prints_again(recording: ModuleType) -> None:
    table = "a  \x1b[33mnew\x1b[0m\r\nb"
    again = "\r\x1b[2K\x1b[1A\x1b[2Ka  \x1b[32mready\x1b[0m\r\nb\r\n"
    assert text_of(recording, [(0.0, table), (1.0, again)]) == ["a  ready", "b", ""]


def test_long_pauses_are_cut(recording: ModuleType) -> None:
    shown = recording.frames([(0.0, "a"), (60.0, "b"), (60.01, "c")])
    assert [seconds for seconds, _ in shown] == [1.5, pytest.approx(6.01)]


def test_failed_command_is_not_recorded(recording: ModuleType) -> None:
    with pytest.raises(Exception, match="returned non-zero exit status 3"):
        list(recording.record([sys.executable, "-c", "exit(3)"], {}))
    command = [sys.executable, "-c", "print('ü × ✓')"]
    assert (
        "".join(data for _, data in recording.record(command, {"PYTHONUTF8": "1"})) == "ü × ✓\r\n"
    )
