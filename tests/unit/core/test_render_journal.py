"""Which renders a process skips after kills: for any sequence of renders, changes and ends."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lynq.core.render_journal import (
    JOURNAL_SIZE,
    SLOTS,
    JournalRecord,
    RenderEntry,
    RenderVerdict,
    decode,
    digest,
    encode,
    next_record,
    verdict,
)

NAMES = ("a", "b", "c")
Step = tuple[str, str]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["begin", "begin", "end", "change"]), st.sampled_from(NAMES)),
        st.tuples(st.sampled_from(["kill", "kill", "stop", "upgrade"]), st.just("")),
    ),
    max_size=60,
)


@dataclass
class History:
    """Processes that render by the rules of the journal, and what they observe."""

    record: JournalRecord = field(default_factory=lambda: JournalRecord(digest("1")))
    version: int = 1
    inputs: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 1))
    suspects: dict[bytes, bytes] = field(default_factory=dict)
    under_way: dict[str, RenderEntry] = field(default_factory=dict)
    retry: str = ""
    ends: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    """How each process ended, and what it was rendering."""
    acquitted_after: dict[str, int] = field(default_factory=dict)
    """The number of ends before the last successful retry."""
    killed_with: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The inputs and version of the last kill."""

    def entry(self, name: str) -> RenderEntry:
        return RenderEntry(digest(name), digest(str(self.inputs[name])))

    def verdict(self, name: str) -> RenderVerdict:
        entry = self.entry(name)
        return verdict(self.suspects.get(entry.subject), entry)

    def begin(self, name: str) -> None:
        result = self.verdict(name)
        if self.retry or name in self.under_way or result is RenderVerdict.SKIPPED:
            return
        if result is RenderVerdict.RETRIED:
            if self.under_way:
                return
            self.retry = name
        self.under_way[name] = self.entry(name)

    def finish(self, name: str) -> None:
        entry = self.under_way.pop(name, None)
        if entry and self.retry == name:
            self.retry = ""
            del self.suspects[entry.subject]
            self.acquitted_after[name] = len(self.ends)

    def end(self, how: str) -> None:
        self.ends.append((how, frozenset(self.under_way)))
        if how == "kill":
            for name in self.under_way:
                self.killed_with[name] = (self.inputs[name], self.version)
        suspects = tuple(RenderEntry(*item) for item in self.suspects.items())
        left = self.record._replace(
            has_ended=how == "stop", under_way=tuple(self.under_way.values()), suspects=suspects
        )
        self.record = next_record(decode(encode(left)), digest(str(self.version)))
        self.suspects = {entry.subject: entry.inputs for entry in self.record.suspects}
        self.under_way, self.retry = {}, ""

    def run(self, steps: Sequence[Step]) -> None:
        for action, name in steps:
            match action:
                case "begin":
                    self.begin(name)
                case "end":
                    self.finish(name)
                case "change" if name not in self.under_way:
                    self.inputs[name] += 1
                case "upgrade":
                    self.version += 1
                    self.end("stop")
                case "kill" | "stop":
                    self.end(action)
            self.check()

    def check(self) -> None:
        for name in NAMES:
            result = self.verdict(name)
            was_killed_twice = self.was_killed_twice(name)
            assert (result is not RenderVerdict.CLEAR) == was_killed_twice
            if was_killed_twice:
                now = (self.inputs[name], self.version)
                is_same = now == self.killed_with[name]
                assert (result is RenderVerdict.SKIPPED) == is_same

    def was_killed_twice(self, name: str) -> bool:
        """Return whether two processes in a row were killed in a render, the last after a retry."""
        kills = [how == "kill" and name in rendering for how, rendering in self.ends]
        recent = kills[max(0, self.acquitted_after.get(name, 0) - 1) :]
        return any(before and after for before, after in itertools.pairwise(recent))


@settings(max_examples=300)
@given(STEPS)
def test_only_renders_of_two_kills_in_a_row_are_skipped_until_they_change(
    steps: list[Step],
) -> None:
    History().run(steps)


def test_killed_retry_is_skipped_with_its_new_inputs() -> None:
    history = History()
    history.run([("begin", "a"), ("kill", "")] * 2)
    assert history.verdict("a") is RenderVerdict.SKIPPED
    history.run([("stop", ""), ("change", "a")])
    assert history.verdict("a") is RenderVerdict.RETRIED
    history.run([("begin", "a"), ("kill", "")])
    assert history.verdict("a") is RenderVerdict.SKIPPED


def test_graceful_end_between_two_kills_clears_the_first() -> None:
    history = History()
    history.run([("begin", "a"), ("kill", ""), ("stop", ""), ("begin", "a"), ("kill", "")])
    assert history.verdict("a") is RenderVerdict.CLEAR


def test_new_version_retries_suspects() -> None:
    history = History()
    history.run([("begin", "a"), ("kill", "")] * 2)
    history.run([("upgrade", "")])
    assert history.verdict("a") is RenderVerdict.RETRIED


def test_oldest_suspects_are_forgotten() -> None:
    entries = tuple(RenderEntry(digest(str(number)), digest("1")) for number in range(SLOTS))
    newest = RenderEntry(digest("newest"), digest("1"))
    before = JournalRecord(
        digest("1"), under_way=(newest,), last_under_way=(newest,), suspects=entries
    )
    assert next_record(before, digest("1")).suspects == (*entries[1:], newest)


@given(st.binary(max_size=2 * JOURNAL_SIZE))
def test_garbage_is_no_record(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a journal"):
        decode(data)


@given(st.integers(0))
def test_garbage_after_the_header_makes_no_render_a_suspect(seed: int) -> None:
    header = encode(JournalRecord(digest("1")))[:16]
    data = random.Random(seed).randbytes(JOURNAL_SIZE - 16)
    record = next_record(decode(header + data), digest("1"))
    assert digest("a") not in {entry.subject for entry in record.suspects}
    assert len(encode(record)) == JOURNAL_SIZE
