"""The operations of random histories on the table of rows."""

import asyncio

from faults.histories import History
from faults.history_model import RowState, Tenant

_SPOILT_UIDS = (None, "", "T-UPPER", "-dash ")


async def insert_row(history: History) -> str:
    tenant = history.pick(RowState.DELETED, RowState.INACTIVE)
    if tenant is None:
        return ""
    was, tenant.state = tenant.state.value, RowState.ACTIVE
    history.write_rows()
    history.model.removals.end("row", tenant.uid)
    return f"row of {tenant.uid}, which was {was}, is inserted or activated"


async def change_row(history: History) -> str:
    tenant = history.pick(RowState.ACTIVE)
    if tenant is None or tenant.has_duplicate:
        return ""
    tenant.plan = f"plan-{history.rng.randrange(1000)}"
    history.write_rows()
    return f"row of {tenant.uid} is changed to {tenant.plan}"


async def delete_row(history: History) -> str:
    tenant = history.pick(RowState.ACTIVE, RowState.INACTIVE)
    if tenant is None:
        return ""
    history.model.remove_row(tenant, RowState.DELETED)
    history.write_rows()
    return f"row of {tenant.uid} is deleted"


async def deactivate_row(history: History) -> str:
    tenant = history.pick(RowState.ACTIVE)
    if tenant is None:
        return ""
    history.model.remove_row(tenant, RowState.INACTIVE)
    history.write_rows()
    return f"row of {tenant.uid} is deactivated"


async def reinsert_row(history: History) -> str:
    """Delete a row, and insert it again within confirmAfter."""
    tenant = history.pick(RowState.ACTIVE)
    return await _reinsert(history, tenant) if tenant else ""


async def _reinsert(history: History, tenant: Tenant) -> str:
    was, pause = tenant.state.value, history.rng.uniform(0.1, 1.7)
    history.model.remove_row(tenant, RowState.DELETED)
    history.write_rows()
    await asyncio.sleep(pause)
    tenant.state = RowState.ACTIVE
    history.write_rows()
    history.model.removals.end("row", tenant.uid)
    return f"row of {tenant.uid}, which was {was}, is deleted, and inserted {pause:.2f} s later"


async def replace_spoilt_row(history: History) -> str:
    """Delete a row with a spoilt uid, and insert the right one within confirmAfter."""
    tenant = history.pick(RowState.SPOILT)
    return await _reinsert(history, tenant) if tenant else ""


async def spoil_row(history: History) -> str:
    tenant = history.pick(RowState.ACTIVE)
    if tenant is None or tenant.has_duplicate:
        return ""
    history.model.spoil_row(tenant, history.rng.choice(_SPOILT_UIDS))
    history.write_rows()
    return f"uid of {tenant.uid} is spoilt: {tenant.spoilt_uid!r}"


async def heal_row(history: History) -> str:
    tenant = history.pick(RowState.SPOILT)
    if tenant is None:
        return ""
    tenant.state = RowState.ACTIVE
    history.write_rows()
    history.model.removals.end("row", tenant.uid)
    return f"uid of {tenant.uid} is right again"


async def duplicate_row(history: History) -> str:
    tenant = history.pick(RowState.ACTIVE)
    if tenant is None:
        return ""
    tenant.has_duplicate = not tenant.has_duplicate
    history.write_rows()
    return f"differing duplicate of {tenant.uid}: {tenant.has_duplicate}"


async def add_history(history: History) -> str:
    tenant = history.pick(RowState.ACTIVE)
    if tenant is None or tenant.has_history:
        return ""
    tenant.history_since = history.model.clock.now()
    history.write_rows()
    return f"{tenant.uid} has an inactive row beside the active one"


async def rename_table(history: History) -> str:
    model = history.model
    if model.table == "tenants":
        model.take_table_away(history.file)
        return "the table is renamed away"
    model.bring_table_back(history.file)
    return "the table is renamed back"
