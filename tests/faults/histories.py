"""Random histories: seeded operations on rows, form, nodes, objects and the operator's process.

Several operations run at random times, then all faults are healed and the cluster must converge to
the model; this is repeated. Which operations run depends on the seed alone, when they take effect
depends on the machine.
"""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from faults.history_check import check_deletions, differences_of_end
from faults.history_model import HistoryModel, RowState, Tenant
from faults.history_recorder import Recorder
from faults.replica import Replica
from lynq.kube.errors import NotFound
from operated.environment import FORMS, HUBS, NODES, Environment, config_map
from waiting import DeadlineError, eventually, settled, stays


@dataclass(slots=True)
class History:
    """One history: the model, what runs, and what was done."""

    seed: int
    env: Environment
    model: HistoryModel
    recorder: Recorder
    replica: Replica
    rng: random.Random = field(init=False)
    operations: list[tuple[float, str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    _chapter_began: float = 0.0

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    # Steps of a history.

    async def run(self, table: "Operations", *, chapters: int, operations: int) -> None:
        """Run chapters of operations; after each, the cluster converges to the model."""
        await self._converge("start")
        for number in range(chapters):
            self._chapter_began = time.monotonic()
            done = 0
            while done < operations:
                operation = self.rng.choices([*table], [*table.values()])[0]
                if note := await operation(self):
                    done += 1
                    self._note(note)
                    # Often at once, sometimes after the operator has had time for all of it.
                    await asyncio.sleep(self.rng.choice((0, 0, self.rng.uniform(0, 3))))
            await self._heal()
            await self._converge(f"end of chapter {number + 1}")
        await self._rest()

    async def _rest(self) -> None:
        """Check that nothing is written when the statuses of hub and forms have followed."""
        writes = self.replica.proxy.resource_writes
        await settled(lambda: len(writes()), seconds=6, within=60)
        before = len(writes())
        try:
            await stays(lambda: len(writes()) == before, seconds=5)
        except AssertionError as error:
            late = [f"written at rest: {write.method} {write.path}" for write in writes()[before:]]
            raise AssertionError(self.report(late)) from error

    def _note(self, text: str) -> None:
        self.operations.append((time.monotonic(), text))

    def count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1

    async def _heal(self) -> None:
        """End every fault: rows, table, form, annotations and process."""
        model = self.model
        self._note("all faults are healed")
        if not self.is_running:
            self.start()
        model.bring_table_back(self.file)
        model.heal_rows()
        model.write_rows(self.file)
        for tenant in model.tenants.values():
            if tenant.is_active:
                model.removals.end("row", tenant.uid)
        if model.is_paused("hub"):
            await self.toggle_hub()
        if model.is_paused("web"):
            model.toggle_pause("web")
            await self.patch_form()
        for name in [key[2] for key in self.recorder.objects if key[0] == NODES.kind]:
            await self.annotate(name, paused=None, protect=None)

    async def _approve_held(self) -> None:
        """Approve the held deletions: all rows that are missing after the faults are meant to be.

        A removal beside a uid that is spoilt in the same read is held, and so is that of all rows.
        """
        held = (await self.env.status()).get("heldDeletions", {"nodes": []})
        active = {uid for uid, tenant in self.model.tenants.items() if tenant.is_active}
        if held["nodes"] and active.isdisjoint(name.split("-")[0] for name in held["nodes"]):
            await self.env.annotate("hub", approve_deletion=held["digest"])

    async def _converge(self, when: str) -> None:
        async def matches() -> bool:
            await self._approve_held()
            differences = differences_of_end(self.model, self.recorder)
            assert not differences, "\n".join(differences)
            return True

        try:
            await eventually(matches, within=60, every=0.25)
        except DeadlineError as error:
            self._verify()
            differences = differences_of_end(self.model, self.recorder)
            raise AssertionError(
                self.report([f"{when}: {line}" for line in differences])
            ) from error
        # The events of the last deletions are still in flight.
        await asyncio.sleep(0.3)
        self._verify()
        self._note(f"{when}: the cluster has converged")
        self.model.removals.forget()
        self.model.stripped.clear()

    def _verify(self) -> None:
        problems = check_deletions(self.model, self.recorder, since=self._chapter_began)
        problems += self.recorder.rewritten
        if problems:
            raise AssertionError(self.report(problems))

    def report(self, problems: list[str]) -> str:
        """Return seed, problems, operations, and the timelines of the objects concerned."""
        for problem in problems:
            self.count("left behind" if problem.endswith("left behind") else "lost")
        lines = [f"LYNQ_HISTORY_SEED={self.seed}", *problems, "", "operations:"]
        lines += [f"{at - self.began:8.2f}  {text}" for at, text in self.operations]
        concerned = sorted(
            key for key in self.recorder.keys if any(key[2] in problem for problem in problems)
        )
        keys = dict.fromkeys(
            related
            for key in concerned
            for related in (key, (NODES.kind, self.env.namespace, f"{key[2].split('-')[0]}-web"))
        )
        for key in [*keys][:8]:
            lines += ["", f"{key}:"]
            lines += [f"{at - self.began:8.2f}  {text}" for at, text in self.recorder.timeline(key)]
        names = {key[2] for key in keys}
        lines += ["", "DELETE requests of the operator:"]
        lines += [
            f"{write.at - self.began:8.2f}  {write.path} {write.status}"
            for write in self.replica.proxy.writes
            if write.method == "DELETE" and write.path.split("/")[-1] in names
        ]
        return "\n".join(lines)

    # The operator.

    @property
    def is_running(self) -> bool:
        return self.model.running_since < math.inf

    def start(self) -> None:
        """Start the operator."""
        self.replica.start()
        self.model.running_since = time.monotonic()

    def kill(self) -> None:
        """Kill the operator with SIGKILL."""
        self.replica.kill()
        self.model.running_since = math.inf

    # Writes.

    @property
    def file(self) -> Path:
        """The SQLite file of the rows."""
        return self.env.directory / "rows.db"

    def write_rows(self) -> None:
        self.model.write_rows(self.file)
        self.count("row changes")

    async def patch_form(self) -> None:
        self.model.note_policies()
        await self.env.patch(FORMS, "web", {"spec": self.model.form_spec()})

    async def toggle_hub(self) -> bool:
        """Pause or resume the hub; return whether it is paused now."""
        is_paused = self.model.toggle_pause("hub")
        if is_paused:
            self.model.clock.stop("hub")
        await self.env.patch(HUBS, "hub", {"spec": {"paused": is_paused}})
        if not is_paused:
            self.model.clock.go_on("hub")
        return is_paused

    async def annotate(self, node: str, **annotations: str | None) -> bool:
        values = {f"lynq.sh/{name}": value for name, value in annotations.items()}
        with suppress(NotFound):
            await self.env.patch(NODES, node, {"metadata": {"annotations": values}})
            return True
        return False

    async def create_extra_form(self) -> None:
        """Create the second form, with one ConfigMap."""
        entry = config_map(id="extra", nameTemplate="{{ .uid }}-extra")
        await self.env.create_form("extra", configMaps=[entry])

    def pick(self, *states: RowState) -> Tenant | None:
        """Return a random tenant in one of these states."""
        tenants = [tenant for tenant in self.model.tenants.values() if tenant.state in states]
        return self.rng.choice(tenants) if tenants else None


Operation = Callable[[History], Awaitable[str]]
"""Changes something and returns what; an empty text if it is not applicable now."""
Operations = Mapping[Operation, int]
"""Operations with their weights."""
