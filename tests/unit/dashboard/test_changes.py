"""The log of changes that streams resume from."""

from hypothesis import given
from hypothesis import strategies as st

from lynq.api.metadata import ObjectKey
from lynq.dashboard.changes import ChangeLog


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.integers(0, 30), st.integers(1, 10))
def test_log_has_all_changes_after_a_revision_or_says_that_it_has_not(
    names: list[str], revision: int, size: int
) -> None:
    log = ChangeLog(size)
    for name in names:
        log.add("Node", ObjectKey("ns", name))
    since = log.since(revision)
    missed = names[revision:]
    if since is None:
        assert len(missed) > size
    else:
        assert {key.name for _, key in since} == set(missed)
        assert len(since) == len({*since})


def test_id_of_another_process_cannot_be_resumed() -> None:
    log = ChangeLog()
    log.add("Hub", ObjectKey("ns", "a"))
    assert log.resume(log.event_id()) == 1
    for event_id in ("", "other-1", f"{log.instance}-x", f"{log.instance}-", "1"):
        assert log.resume(event_id) is None
