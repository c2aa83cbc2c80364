"""A row counts as vanished after two reads without it; a spoilt uid never deletes a tenant."""

import time

import pytest

from operated.environment import FORMS, HUBS, Environment
from waiting import at_most, eventually

ROWS = (("acme", 1, "pro"), ("beta", 1, "pro"), ("corp", 1, "pro"))
NODES = ("acme-web", "beta-web", "corp-web")
CONFIRM_SECONDS = 3
CONFIRM_AFTER = f"{CONFIRM_SECONDS}s"


async def create_tenants(env: Environment, confirm_after: str) -> None:
    env.set_rows(*ROWS)
    await env.create_hub(confirm_after=confirm_after)
    await env.create_form()


async def test_second_read_is_made_at_the_end_of_confirm_after(env: Environment) -> None:
    await create_tenants(env, CONFIRM_AFTER)
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows(*ROWS[1:])
        began = time.monotonic()
        await env.force_sync()
        # The sync interval is an hour.
        await env.wait_for_nodes(*NODES[1:])
        assert time.monotonic() - began > CONFIRM_SECONDS
        # Nothing is missing any more, so that nothing is read or written.
        await env.wait_until_idle()


async def test_deactivated_row_is_deleted_at_once(env: Environment) -> None:
    await create_tenants(env, "1h")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        # The first read has no node yet, whose inactive rows it would report.
        await env.force_sync()
        await env.wait_until_idle()
        env.set_rows(("acme", 0, "pro"), *ROWS[1:])
        await env.force_sync()
        await env.wait_for_nodes(*NODES[1:])


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_row_of_the_past_does_not_confirm_an_absence(
    env: Environment, *, is_restarted: bool
) -> None:
    past = ("acme", 0, "pro")
    env.set_rows(*ROWS, past)
    await env.create_hub(confirm_after="1h")
    await env.create_form()
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        if not is_restarted:
            env.set_rows(*ROWS[1:], past)
            await env.force_sync()
            await env.nodes_stay(*NODES, seconds=2)
    if is_restarted:
        env.set_rows(*ROWS[1:], past)
        async with env.run_controllers():
            await env.nodes_stay(*NODES, seconds=2)


async def test_restart_restarts_the_confirmation(env: Environment) -> None:
    await create_tenants(env, "1h")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows(*ROWS[1:])
        await env.force_sync()
        await env.wait_until_idle()
    await env.patch(HUBS, "hub", {"spec": {"deletionGuard": {"confirmAfter": CONFIRM_AFTER}}})
    began = time.monotonic()
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES[1:])
        assert time.monotonic() - began > CONFIRM_SECONDS


async def test_zero_confirms_with_one_read(env: Environment) -> None:
    await create_tenants(env, "0s")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows(*ROWS[1:])
        # Sooner than after the default of `confirmAfter`, 5 s.
        with at_most(seconds=4):
            await env.force_sync()
            await env.wait_for_nodes(*NODES[1:])


async def test_deleted_form_keeps_its_nodes_until_confirmed(env: Environment) -> None:
    await create_tenants(env, CONFIRM_AFTER)
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        began = time.monotonic()
        await env.client.delete(FORMS, "web", env.namespace)
        await env.wait_for_nodes()
        assert time.monotonic() - began > CONFIRM_SECONDS


@pytest.mark.parametrize(
    "uid",
    [
        pytest.param(None, id="null"),
        pytest.param("", id="blank"),
        pytest.param("Acme", id="upper case"),
        pytest.param("acme ", id="padded"),
        pytest.param("beta", id="uid of another row"),
    ],
)
async def test_uid_spoilt_in_place_deletes_no_tenant(env: Environment, uid: str | None) -> None:
    await create_tenants(env, "0s")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows((uid, 1, "gold"), *ROWS[1:])
        await env.force_sync()
        held = await env.wait_for_condition("DeletionHeld", "True")
        assert held["reason"] == "UnidentifiableRows"
        await env.wait_for_event("DeletionHeld", containing="acme-web")
        assert (await env.status())["rejectedRows"]["count"] == 1
        await env.nodes_stay(*NODES, seconds=0.5)

        env.set_rows(*ROWS)
        await env.force_sync()
        await env.wait_for_condition("DeletionHeld", "False")
        await env.nodes_stay(*NODES, seconds=0.2)


async def test_spoilt_row_that_is_replaced_deletes_no_tenant(env: Environment) -> None:
    await create_tenants(env, "2s")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows((None, 1, "pro"), *ROWS[1:])
        await env.force_sync()
        await env.wait_for_condition("DeletionHeld", "True")
        await env.nodes_stay(*NODES, seconds=2.2)
        # Two transactions correct the uid, and a read comes between them.
        env.set_rows(*ROWS[1:])
        await env.force_sync()

        async def is_read() -> bool:
            return "rejectedRows" not in await env.status()

        await eventually(is_read)
        env.set_rows(*ROWS)
        await env.force_sync()
        await env.nodes_stay(*NODES, seconds=2)


async def test_uids_spoilt_and_corrected_one_by_one_delete_no_tenant(env: Environment) -> None:
    await create_tenants(env, "0s")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows((None, 1, "pro"), *ROWS[1:])
        await env.force_sync()
        await env.wait_for_event("DeletionHeld", containing="acme-web")
        env.set_rows((None, 1, "pro"), (None, 1, "pro"), ROWS[2])
        await env.force_sync()
        await env.wait_for_event("DeletionHeld", containing="beta-web")
        env.set_rows(ROWS[0], (None, 1, "pro"), ROWS[2])
        await env.force_sync()
        await env.nodes_stay(*NODES, seconds=2)
        env.set_rows(*ROWS)
        await env.force_sync()
        await env.wait_for_condition("DeletionHeld", "False")
        await env.nodes_stay(*NODES, seconds=0.5)


async def test_equal_rows_with_the_same_spoilt_uid_delete_no_tenant(env: Environment) -> None:
    await create_tenants(env, "0s")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        spoilt = ("Unknown", 1, "pro")
        env.set_rows(spoilt, *ROWS[1:])
        await env.force_sync()
        await env.wait_for_event("DeletionHeld", containing="acme-web")
        env.set_rows(spoilt, spoilt, ROWS[2])
        await env.force_sync()
        await env.nodes_stay(*NODES, seconds=2)


async def test_spoilt_uid_holds_no_later_deletion(env: Environment) -> None:
    await create_tenants(env, "0s")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows((None, 1, "pro"), *ROWS[1:])
        await env.force_sync()
        await env.wait_for_condition("DeletionHeld", "True")
        env.set_rows((None, 1, "pro"), ROWS[1])
        await env.force_sync()
        await env.wait_for_nodes("acme-web", "beta-web")


async def test_deletion_beside_a_spoilt_uid_survives_restart_and_is_approved(
    env: Environment,
) -> None:
    await create_tenants(env, "0s")
    async with env.run_controllers():
        await env.wait_for_nodes(*NODES)
        env.set_rows((None, 1, "pro"), *ROWS[1:])
        await env.force_sync()
        await env.wait_for_condition("DeletionHeld", "True")
    async with env.run_controllers():
        await env.nodes_stay(*NODES, seconds=1.5)
        held = await env.wait_for_condition("DeletionHeld", "True")
        await env.annotate("hub", approve_deletion=held["message"].rpartition(", ")[2])
        await env.wait_for_nodes(*NODES[1:])
        await env.wait_for_condition("DeletionHeld", "False")

        async def approval_removed() -> bool:
            hub = await env.get(HUBS, "hub")
            return "lynq.sh/approve-deletion" not in hub["metadata"]["annotations"]

        await eventually(approval_removed)
