"""Makes the recordings again: `make recordings`.

The tests run with the plugin `contract.recorder`. Their requests are then sent to a real API server
one by one, each when all controllers have settled, so that the recorded answers do not depend on
how requests of the test met those of the operator.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from contract.recording import (
    CURRENT,
    FOLDER,
    STALE,
    UID,
    ObjectPath,
    Placeholders,
    Recording,
    Step,
    objects_in,
    split,
    write,
)
from contract.replay import Replay
from lynq.api.crds import build as definitions
from lynq.cluster import LocalCluster
from lynq.kube import Client, load_config
from lynq.kube.crd_install import install_crd

TESTS: Final = Path(__file__).with_name("recorded_tests.txt")
"""The tests that are recorded, one per line, without their folders: tests move."""
_ROOT: Final = Path(__file__).parents[2]

_QUIET: Final = 1.5
"""Seconds without a change after which all controllers have settled."""
_NAMESPACE_QUIET: Final = 7.0
"""The same while a Namespace terminates: its controller waits for some seconds."""
_CONFLICT: Final = 409
_ERROR: Final = 400
_IGNORED: Final = ("/events", "/leases/", "reviews", "/customresourcedefinitions")
"""Requests that depend on the time, or on what is in the cluster besides the test."""


def prepared(draft: Recording) -> Recording:
    """Return the requests of a draft with placeholders, without repeated reads."""
    placeholders = Placeholders()
    placeholders.add_namespace(draft.steps[0].path)
    steps: list[Step] = []
    reads: dict[str, Any] = {}
    for step in draft.steps[1:]:
        path = split(step.path)
        if (
            path.plural == "namespaces"
            and step.method in {"POST", "PATCH"}
            and not path.subresource
        ):
            placeholders.add_namespace(path.name or step.body["metadata"]["name"])
        if not _is_recorded(path, step, placeholders):
            continue
        for _, obj in objects_in(path, step.response):
            placeholders.add_object(path, obj["metadata"])
        if step.method == "GET" and not step.is_watch:
            key = f"{step.path} {step.query}"
            if reads.get(key) == step.response:
                continue
            reads[key] = step.response
        steps.append(_prepared_step(step, placeholders))
    if unknown := UID.search(msgspec.json.encode(steps).decode()):
        raise LookupError(f"{draft.test}: the uid {unknown[0]} is of no recorded object")
    return Recording(draft.test, steps)


def _is_recorded(path: ObjectPath, step: Step, placeholders: Placeholders) -> bool:
    """Return whether a request is about objects of the test."""
    if not path.plural or any(word in step.path for word in _IGNORED):
        return False
    return path.namespace in ("", *placeholders.namespaces.values())


def _prepared_step(step: Step, placeholders: Placeholders) -> Step:
    body = step.body
    version = STALE if _is_outdated(step) else CURRENT
    for part in ("metadata", "preconditions"):
        if isinstance(body, dict) and isinstance(body.get(part), dict):
            present = body[part].get("resourceVersion")
            if present and present != "1":
                body = body | {part: body[part] | {"resourceVersion": version}}
    return msgspec.structs.replace(
        step,
        path=placeholders.shown(step.path),
        query=placeholders.shown_value(step.query),
        body=placeholders.shown_value(body),
        status=0,
        response=None,
    )


def _is_outdated(step: Step) -> bool:
    """Return whether a request was refused for its resource version, not for its fields."""
    details = (step.response or {}).get("details") or {}
    return step.status == _CONFLICT and not details.get("causes")


async def answered(client: Client, draft: Recording) -> Recording:
    """Send the requests of a draft to the real API server, and return them with its answers."""
    replay = Replay(client)
    steps: list[Step] = []
    await replay.start()
    try:
        for step in draft.steps:
            status, response = await replay.answer(step)
            steps.append(msgspec.structs.replace(step, status=status, response=response))
            if _unsettles(step, status, response):
                await _settle(replay)
                steps.append(Step(state=await replay.state(is_complete=False)))
        await _settle(replay)
        steps.append(Step(state=await replay.state(is_complete=True)))
        watches = iter(replay.watches)
        return Recording(draft.test, list(_with_events(steps, watches)))
    finally:
        await replay.stop()


def _with_events(steps: list[Step], watches: Iterator[Any]) -> Iterator[Step]:
    for step in steps:
        if step.is_watch:
            yield msgspec.structs.replace(step, events=next(watches).by_object())
        else:
            yield step


def _unsettles(step: Step, status: int, response: Any) -> bool:
    """Return whether controllers may act on a write."""
    if step.method == "GET" or status >= _ERROR:
        return False
    metadata = (response or {}).get("metadata") or {}
    return step.method == "DELETE" or "deletionTimestamp" in metadata


async def _settle(replay: Replay) -> None:
    """Wait until no object changes."""
    loop = asyncio.get_running_loop()
    last: Any = None
    since = loop.time()
    while True:
        state = await replay.state(is_complete=True)
        if state != last:
            last, since = state, loop.time()
        is_terminating = any(
            name.startswith("namespaces/") and "deletionTimestamp" in obj["metadata"]
            for name, obj in state.items()
        )
        if loop.time() - since >= (_NAMESPACE_QUIET if is_terminating else _QUIET):
            return
        await asyncio.sleep(0.1)


async def record(drafts: list[Path], kubeconfig: Path) -> None:
    """Make a recording of each draft."""
    async with Client.connect(load_config(kubeconfig=kubeconfig)) as client:
        for definition in definitions():
            await install_crd(client, definition)
        for path in drafts:
            draft = prepared(msgspec.json.decode(path.read_bytes(), type=Recording))
            recording = await answered(client, draft)
            target = FOLDER / f"{path.stem}.json.gz"
            write(recording, target)
            size = target.stat().st_size
            sys.stdout.write(f"{path.stem}: {len(recording.steps)} steps, {size} bytes\n")


def test_paths() -> list[str]:
    """Return the tests that are recorded, as pytest takes them."""
    return [_test_path(line) for line in TESTS.read_text().splitlines()]


def _test_path(test: str) -> str:
    file, _, name = test.partition("::")
    function = f"def {name.partition('[')[0]}("
    for path in sorted(_ROOT.glob(f"tests/**/controllers/**/{file}")):
        if function in path.read_text():
            return f"{path.relative_to(_ROOT)}::{name}"
    raise LookupError(f"there is no test {test}: see {TESTS.name}")


def main() -> None:
    """Run the tests, and record their requests."""
    with tempfile.TemporaryDirectory() as folder:
        drafts = Path(folder, "drafts")
        drafts.mkdir()
        cluster = LocalCluster("recordings", Path(folder, "clusters"))
        cluster.up(owned=True)
        variables = {
            "LYNQ_RECORD": str(drafts),
            "LYNQ_TEST_KUBECONFIG": str(cluster.kubeconfig),
            "PYTHONPATH": os.pathsep.join(("src", "tests")),
        }
        try:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "contract.recorder"]
            subprocess.run(
                [*command, *test_paths()], cwd=_ROOT, env=os.environ | variables, check=True
            )
            for path in FOLDER.glob("*.json.gz"):
                path.unlink()
            asyncio.run(record(sorted(drafts.glob("*.json")), cluster.kubeconfig))
        finally:
            cluster.down()


if __name__ == "__main__":
    main()
