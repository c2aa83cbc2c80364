"""What a process has not seen yet: its caches lag behind, one kind more than another."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cluster.controllers.operating import node_is_ready
from cluster.controllers.stage import FORMS, HUBS, NODES, Stage, config_map
from faults.tenants import places_of
from lynq.controllers.manager import Process
from lynq.controllers.options import Options
from lynq.controllers.process import ProcessSettings
from lynq.kube import Request, Resource, Response, Send
from lynq.kube.resource import CONFIG_MAPS
from waiting import eventually


class Fog:
    """Cuts the watch of a kind, and lets no other one begin."""

    def __init__(self, resource: Resource) -> None:
        self._end = f"/{resource.plural}"
        self._clear = asyncio.Event()
        self._clear.set()
        self._streams: list[Response] = []

    async def __call__(self, request: Request, send: Send) -> Response:
        if not (request.stream and request.path.endswith(self._end)):
            return await send(request)
        await self._clear.wait()
        response = await send(request)
        self._streams.append(response)
        return response

    def fall(self) -> None:
        self._clear.clear()
        for stream in self._streams:
            stream.close()

    def lift(self) -> None:
        self._clear.set()


@asynccontextmanager
async def candidate(stage: Stage, *fogs: Fog) -> AsyncIterator[Process]:
    """Run an operator that works when it has the lease."""
    options = Options(sqlite_directory=stage.directory, namespaces=places_of(stage))
    settings = ProcessSettings(
        options=options, leader_elect=True, leader_election_namespace=stage.namespace
    )
    process = Process(settings, stage.client.intercepted(*fogs))
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(process.run(stop))
        yield process
        stop.set()


async def test_a_form_that_the_next_leader_has_not_seen_keeps_its_nodes(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"))
    fog = Fog(FORMS)
    async with candidate(stage) as first:
        await first.world.synced()
        await stage.hub(source={"syncInterval": "1s"})
        await stage.form()
        for name in ("acme-web", "beta-web"):
            await node_is_ready(stage, name)
        standby = candidate(stage, fog)
        second = await standby.__aenter__()
        await second.world.synced()
        fog.fall()
        late = config_map(nameTemplate="{{ .uid }}-late")
        await stage.form("late", configMaps=[late])
        for name in ("acme-late", "beta-late"):
            await node_is_ready(stage, name)
        before = await stage.nodes()
        await eventually(lambda: len(list(second.world.nodes.values())) == 4)
    try:
        stage.rows(("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
        await node_is_ready(stage, "corp-web", within=30)
        await asyncio.sleep(2)
        after = await stage.nodes()
        kept = {name: node["metadata"]["uid"] for name, node in before.items()}
        assert {name: after[name]["metadata"]["uid"] for name in kept if name in after} == kept
        assert not [name for name in after if "deletionTimestamp" in after[name]["metadata"]]
        fog.lift()
        await node_is_ready(stage, "corp-late", within=30)
        assert await stage.get(CONFIG_MAPS, "acme-late")
    finally:
        await standby.__aexit__(None, None, None)


async def test_nodes_that_the_next_leader_has_not_seen_are_not_made_twice(stage: Stage) -> None:
    stage.rows(("acme", 1, "pro"))
    fog = Fog(NODES)
    async with candidate(stage) as first:
        await first.world.synced()
        await stage.hub(source={"syncInterval": "1s"})
        await stage.form()
        await node_is_ready(stage, "acme-web")
        standby = candidate(stage, fog)
        second = await standby.__aenter__()
        await second.world.synced()
        fog.fall()
        stage.rows(("acme", 1, "gold"), ("beta", 1, "pro"))
        await node_is_ready(stage, "beta-web")

        async def golden() -> bool:
            return bool((await stage.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == "gold")

        await eventually(golden)
        before = {name: node["metadata"]["uid"] for name, node in (await stage.nodes()).items()}
    try:
        await asyncio.sleep(6)
        # It knows of an old acme-web and of no beta-web; neither does harm.
        after = {name: node["metadata"]["uid"] for name, node in (await stage.nodes()).items()}
        assert after == before
        fog.lift()
        stage.rows(("acme", 1, "silver"), ("beta", 1, "pro"), ("corp", 1, "pro"))
        await node_is_ready(stage, "corp-web", within=30)

        async def silver() -> bool:
            return bool((await stage.get(CONFIG_MAPS, "acme-settings"))["data"]["plan"] == "silver")

        await eventually(silver)
    finally:
        await standby.__aexit__(None, None, None)


async def test_a_hub_that_was_pointed_elsewhere_meanwhile_loses_nothing(stage: Stage) -> None:
    rows = (("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
    stage.rows(rows[0])
    stage.rows(*rows, file="other.db")
    fog = Fog(HUBS)
    async with candidate(stage) as first:
        await first.world.synced()
        await stage.hub(source={"syncInterval": "1s"})
        await stage.form()
        await node_is_ready(stage, "acme-web")
        standby = candidate(stage, fog)
        second = await standby.__aenter__()
        await second.world.synced()
        fog.fall()
        other = {"sqlite": {"path": "other.db"}}
        await stage.change(HUBS, "hub", {"spec": {"source": other}})
        for uid, *_ in rows:
            await node_is_ready(stage, f"{uid}-web")
        before = {name: node["metadata"]["uid"] for name, node in (await stage.nodes()).items()}
    try:
        # It reads what the hub said before, and finds one row of three.
        await asyncio.sleep(6)
        after = {name: node["metadata"]["uid"] for name, node in (await stage.nodes()).items()}
        assert after == before
        fog.lift()
        stage.rows(*rows[:2], file="other.db")
        await stage.has_nodes("acme-web", "beta-web", within=30)
    finally:
        await standby.__aexit__(None, None, None)
