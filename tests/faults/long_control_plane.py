"""The long tier: rows and forms change while watches, history, API server or leader are lost.

LYNQ_FAULTS_ROUNDS sets how often each of them is.
"""

import asyncio
import os
import random

import pytest

from background_tasks import run_in_background
from control_plane import compact, restart_apiserver
from faults.conftest import Replicas
from faults.crash import intercepted_operator
from faults.tenants import Model, form_spec, wait_until_converged, watched_namespaces
from lynq.api.names import LEASE
from lynq.cluster import LocalCluster
from lynq.kube import Request, Response, Send
from lynq.kube.resource import CONFIG_MAPS, LEASES, NAMESPACES
from operated.environment import FORMS, Environment
from waiting import eventually

ROUNDS = int(os.environ.get("LYNQ_FAULTS_ROUNDS", "5"))
SEED = 20261116
STABLE = ("stable-1", "stable-2")
"""Tenants whose rows never change, so their objects must survive."""


class Watches:
    """Cuts all watches, and holds back new ones while closed."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._streams: list[Response] = []
        self.lists = 0
        """Streams that began with a list."""

    async def __call__(self, request: Request, send: Send) -> Response:
        if not request.stream:
            return await send(request)
        await self._open.wait()
        self.lists += "sendInitialEvents" in request.query
        response = await send(request)
        self._streams.append(response)
        return response

    def cut(self) -> int:
        """Close all open watches; return their number."""
        streams, self._streams = self._streams, []
        for stream in streams:
            stream.close()
        return len(streams)

    def hold(self) -> None:
        """Close all open watches and hold back new ones."""
        self._open.clear()
        self.cut()

    def release(self) -> None:
        self._open.set()


async def begin(env: Environment) -> Model:
    """Create a hub, a form and tenants."""
    model = Model(env, watched_namespaces(env)[1])
    model.plans = dict.fromkeys((*STABLE, *(f"t{number}" for number in range(8))), "pro")
    model.write_rows()
    # All rounds together delete more rows than the guard allows in its window.
    await env.create_hub(sync_interval="1s", deletionGuard={"disabled": True})
    await env.create_form(**form_spec(model.other_namespace, model.text))
    return model


async def change(model: Model, rng: random.Random, number: int) -> None:
    """Change rows and form, and delete an object of a tenant."""
    model.change_rows(rng, spare=STABLE)
    model.text = f"{{{{ .plan }}}} {number}"
    lists = form_spec(model.other_namespace, model.text)
    await model.env.patch(FORMS, "web", {"spec": lists})
    remote = (await model.env.client.list(CONFIG_MAPS, model.other_namespace)).items
    names = [obj["metadata"]["name"] for obj in remote]
    name = next(name for name in sorted(names) if name.startswith("t"))
    await model.env.client.delete(CONFIG_MAPS, name, model.other_namespace)


@pytest.fixture
async def broken_env(own_env: Environment) -> Environment:
    """An environment with two namespaces in a cluster that the test may break."""
    other = watched_namespaces(own_env)[1]
    await own_env.client.create(NAMESPACES, {"metadata": {"name": other}})
    return own_env


async def test_state_converges_while_watches_are_cut(
    env: Environment,
    other_namespace: str,  # noqa: ARG001 - the operator watches it
    request: pytest.FixtureRequest,
) -> None:
    rng, watches, cuts = random.Random(SEED), Watches(), 0
    model = await begin(env)
    async with run_in_background(intercepted_operator(env, watches).run(asyncio.Event())):
        await wait_until_converged(model)
        before = await model.uids(*STABLE)
        for number in range(ROUNDS):
            await change(model, rng, number)
            for _ in range(4):
                # The cut comes at a random step of the reconcile.
                await asyncio.sleep(rng.uniform(0, 0.5))
                cuts += watches.cut()
        await wait_until_converged(model)
    request.node.user_properties.append(("cuts", cuts))
    assert cuts > ROUNDS
    assert await model.uids(*STABLE) == before


async def test_state_converges_after_history_is_compacted_during_changes(
    broken_env: Environment, own_cluster: LocalCluster, request: pytest.FixtureRequest
) -> None:
    rng, watches = random.Random(SEED), Watches()
    model = await begin(broken_env)
    client = broken_env.client
    async with run_in_background(intercepted_operator(broken_env, watches).run(asyncio.Event())):
        await wait_until_converged(model)
        before = await model.uids(*STABLE)
        for number in range(ROUNDS):
            watches.hold()
            await change(model, rng, number)
            await compact(own_cluster, client)
            # The restarted one has an empty watch cache, so it serves no older version.
            await restart_apiserver(own_cluster, client)
            lists = watches.lists
            watches.release()
            await wait_until_converged(model, within=120)
            assert watches.lists > lists, "no watch has expired"
    request.node.user_properties += [("compactions", ROUNDS), ("restarts", ROUNDS)]
    assert await model.uids(*STABLE) == before


async def test_state_converges_after_restarts_of_the_api_server_during_changes(
    broken_env: Environment, own_cluster: LocalCluster, request: pytest.FixtureRequest
) -> None:
    rng, watches = random.Random(SEED), Watches()
    model = await begin(broken_env)
    async with run_in_background(intercepted_operator(broken_env, watches).run(asyncio.Event())):
        await wait_until_converged(model)
        before = await model.uids(*STABLE)
        for number in range(ROUNDS):
            await change(model, rng, number)
            # The restart comes at a random step of the reconcile.
            await asyncio.sleep(rng.uniform(0, 1.5))
            outage = asyncio.create_task(restart_apiserver(own_cluster, broken_env.client))
            model.change_rows(rng, spare=STABLE)
            await outage
        await wait_until_converged(model, within=120)
    request.node.user_properties.append(("restarts", ROUNDS))
    assert await model.uids(*STABLE) == before


async def test_state_converges_while_leaders_of_two_replicas_are_killed(
    env: Environment,
    other_namespace: str,  # noqa: ARG001 - the replicas watch it
    replicas: Replicas,
    request: pytest.FixtureRequest,
) -> None:
    rng = random.Random(SEED)
    model = await begin(env)
    flags = ("--leader-elect", f"--leader-election-namespace={env.namespace}")
    leader = await replicas(*flags)
    await eventually(lambda: leader.has_logged("controllers started"), within=60)
    standby = await replicas(*flags)
    await eventually(lambda: standby.proxy.has_read(f"/leases/{LEASE}"), within=60)
    await wait_until_converged(model)
    before = await model.uids(*STABLE)
    for number in range(ROUNDS):
        await change(model, rng, number)
        await asyncio.sleep(rng.uniform(0, 1.5))
        leader.kill()
        model.change_rows(rng, spare=STABLE)
        await wait_until_converged(model, within=120)
        leader.start()
        leader, standby = standby, leader
        assert (await env.get(LEASES, LEASE))["spec"]["leaseTransitions"] == number + 1
    request.node.user_properties.append(("kills", ROUNDS))
    assert await model.uids(*STABLE) == before
