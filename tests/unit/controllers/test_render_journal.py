"""The journal of renders: what a killed process leaves behind, and retries alone."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from structlog.testing import capture_logs

from lynq.controllers.render_journal import RenderJournal
from lynq.core.render_journal import (
    JOURNAL_SIZE,
    RenderEntry,
    RenderVerdict,
    decode,
    digest,
)

ENTRY = RenderEntry(digest("node", "prod", "acme-web"), digest("1"))
CHANGED = ENTRY._replace(inputs=digest("2"))
OTHER = RenderEntry(digest("other"), digest("1"))

ENDS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "segmentation fault": "ctypes.string_at(0)",
    "_exit": "os._exit(1)",
}
PROCESS = """
import ctypes, os, signal, sys
from pathlib import Path
from lynq.controllers.render_journal import RenderJournal
from lynq.core.render_journal import RenderEntry, digest
journal = RenderJournal(Path(sys.argv[1]), "1")
journal.run(RenderEntry(digest("other"), digest("1")), lambda: None)
entry = RenderEntry(digest("node", "prod", "acme-web"), digest("1"))
journal.run(entry, lambda: {end})
"""


def kill_during(journal: RenderJournal, entry: RenderEntry, *, alone: bool = False) -> None:
    """Leave behind what a process leaves that is killed during a render."""
    content = b""

    def killed() -> None:
        nonlocal content
        content = file.read_bytes()

    file = directory_of(journal) / "renders"
    (journal.run_alone if alone else journal.run)(entry, killed)
    journal.close()
    file.write_bytes(content)


def directory_of(journal: RenderJournal) -> Path:
    directory = journal._directory
    assert directory is not None
    return Path(f"/proc/self/fd/{directory}").readlink()


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "lynq"


@pytest.mark.parametrize("end", ENDS)
def test_render_of_two_killed_processes_is_skipped(scratch: Path, end: str) -> None:
    program = PROCESS.replace("{end}", ENDS[end])
    for _ in range(2):
        process = subprocess.run([sys.executable, "-c", program, str(scratch)], check=False)
        assert process.returncode
        assert decode((scratch / "renders").read_bytes()).under_way == (ENTRY,)
    journal = RenderJournal(scratch, "1")
    assert journal.verdict(ENTRY) is RenderVerdict.SKIPPED
    assert journal.verdict(CHANGED) is RenderVerdict.RETRIED
    assert journal.verdict(OTHER) is RenderVerdict.CLEAR


def test_render_of_one_killed_process_is_repeated(scratch: Path) -> None:
    kill_during(RenderJournal(scratch, "1"), ENTRY)
    assert RenderJournal(scratch, "1").verdict(ENTRY) is RenderVerdict.CLEAR


def test_graceful_end_between_two_kills_is_no_crash_loop(scratch: Path) -> None:
    kill_during(RenderJournal(scratch, "1"), ENTRY)
    RenderJournal(scratch, "1").close()
    kill_during(RenderJournal(scratch, "1"), ENTRY)
    assert RenderJournal(scratch, "1").verdict(ENTRY) is RenderVerdict.CLEAR


@pytest.fixture
def suspected(scratch: Path) -> RenderJournal:
    """A journal whose two predecessors were killed in a render."""
    for _ in range(2):
        kill_during(RenderJournal(scratch, "1"), ENTRY)
    return RenderJournal(scratch, "1")


def test_suspect_survives_graceful_ends(scratch: Path, suspected: RenderJournal) -> None:
    suspected.close()
    RenderJournal(scratch, "1").close()
    assert RenderJournal(scratch, "1").verdict(ENTRY) is RenderVerdict.SKIPPED


def test_new_version_retries_a_suspect(scratch: Path, suspected: RenderJournal) -> None:
    suspected.close()
    assert RenderJournal(scratch, "2").verdict(ENTRY) is RenderVerdict.RETRIED


def test_retry_that_ends_is_no_suspect_any_more(scratch: Path, suspected: RenderJournal) -> None:
    assert suspected.run_alone(CHANGED, lambda: "rendered") == "rendered"
    assert suspected.verdict(ENTRY) is RenderVerdict.CLEAR
    suspected.close()
    assert RenderJournal(scratch, "1").verdict(ENTRY) is RenderVerdict.CLEAR


def test_retry_that_fails_is_no_suspect_any_more(suspected: RenderJournal) -> None:
    def fail() -> None:
        raise ValueError("template")

    with pytest.raises(ValueError, match="template"):
        suspected.run_alone(CHANGED, fail)
    assert suspected.verdict(CHANGED) is RenderVerdict.CLEAR


def test_killed_retry_is_skipped_at_once(scratch: Path, suspected: RenderJournal) -> None:
    kill_during(suspected, CHANGED, alone=True)
    journal = RenderJournal(scratch, "1")
    assert journal.verdict(CHANGED) is RenderVerdict.SKIPPED
    assert journal.verdict(ENTRY) is RenderVerdict.RETRIED


def test_retry_waits_for_renders_and_renders_wait_for_it(suspected: RenderJournal) -> None:
    order: list[str] = []
    started, may_end, retried, may_end_retry = Event(), Event(), Event(), Event()

    def render() -> None:
        started.set()
        may_end.wait(10)
        order.append("render under way")

    def retry() -> None:
        retried.set()
        may_end_retry.wait(10)
        order.append("retry")

    with ThreadPoolExecutor() as threads:
        threads.submit(suspected.run, OTHER, render)
        assert started.wait(10)
        threads.submit(suspected.run_alone, CHANGED, retry)
        assert not retried.wait(0.05)
        may_end.set()
        assert retried.wait(10)
        assert suspected.run_now(OTHER, lambda: "rendered") is None
        later = threads.submit(suspected.run, OTHER, lambda: order.append("later render"))
        assert not later.done()
        may_end_retry.set()
        later.result(10)
    assert order == ["render under way", "retry", "later render"]
    assert suspected.run_now(OTHER, lambda: "rendered") == "rendered"


def test_end_of_the_process_waits_for_no_retry(suspected: RenderJournal) -> None:
    retried, may_end = Event(), Event()

    def retry() -> None:
        retried.set()
        may_end.wait(10)

    with ThreadPoolExecutor() as threads:
        threads.submit(suspected.run_alone, CHANGED, retry)
        assert retried.wait(10)
        waiting = threads.submit(suspected.run, OTHER, lambda: "rendered")
        suspected.close()
        assert waiting.result(10) == "rendered"
        may_end.set()


CONTENTS = {
    "empty": b"",
    "truncated": b"lynq renders 01",
    "garbage": b"x" * JOURNAL_SIZE,
    "another format": b"lynq renders 02".ljust(JOURNAL_SIZE, b"\0"),
    "longer": b"lynq renders 01".ljust(JOURNAL_SIZE + 1, b"\0"),
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_unreadable_file_is_replaced(scratch: Path, content: bytes) -> None:
    scratch.mkdir(mode=0o700)
    (scratch / "renders").write_bytes(content)
    journal = RenderJournal(scratch, "1")
    assert journal.is_on
    assert journal.verdict(ENTRY) is RenderVerdict.CLEAR
    assert len((scratch / "renders").read_bytes()) == JOURNAL_SIZE


def foreign_link(scratch: Path) -> None:
    (scratch.parent / "elsewhere").mkdir(mode=0o700)
    scratch.symlink_to(scratch.parent / "elsewhere")


def writable_by_others(scratch: Path) -> None:
    scratch.mkdir()
    scratch.chmod(0o777)


def no_directory(scratch: Path) -> None:
    scratch.write_text("")


def no_file(scratch: Path) -> None:
    (scratch / "renders").mkdir(parents=True)
    scratch.chmod(0o700)


@pytest.mark.parametrize("prepare", [foreign_link, writable_by_others, no_directory, no_file])
def test_unusable_directory_is_logged_and_nothing_is_recorded(
    scratch: Path, prepare: Callable[[Path], None]
) -> None:
    prepare(scratch)
    with capture_logs() as lines:
        journal = RenderJournal(scratch, "1")
    assert not journal.is_on
    assert [line["log_level"] for line in lines] == ["warning"]
    assert journal.run(ENTRY, lambda: "rendered") == "rendered"
    assert journal.run_now(ENTRY, lambda: "rendered") == "rendered"
    journal.close()
    assert not list(scratch.parent.glob("elsewhere/*"))


def test_second_process_records_nothing(scratch: Path) -> None:
    first = RenderJournal(scratch, "1")
    with capture_logs() as lines:
        second = RenderJournal(scratch, "1")
    assert first.is_on
    assert not second.is_on
    assert "another process" in lines[0]["error"]
    first.close()
    assert RenderJournal(scratch, "1").is_on


def test_link_in_place_of_the_file_is_not_followed(scratch: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    scratch.mkdir(mode=0o700)
    for name in ("renders", "renders.new"):
        (scratch / name).symlink_to(target)
    journal = RenderJournal(scratch, "1")
    journal.run(ENTRY, lambda: None)
    journal.close()
    assert journal.is_on
    assert target.read_text() == "precious"
    assert not (scratch / "renders").is_symlink()


def test_file_has_digests_only_and_is_private(scratch: Path) -> None:
    journal = RenderJournal(scratch, "1")
    assert scratch.stat().st_mode & 0o777 == 0o700
    assert (scratch / "renders").stat().st_mode & 0o777 == 0o600
    assert journal.run(ENTRY, (scratch / "renders").read_bytes).count(ENTRY.subject) == 1
    assert ENTRY.subject not in (scratch / "renders").read_bytes()
