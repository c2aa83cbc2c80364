"""The model of a random history: what must exist, and what may be deleted when.

A deletion is legitimate only if the test has removed the row, the form or the entry of the object.
A row whose uid is spoilt or has a duplicate, and a table that is away, remove nothing.
"""

import math
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from faults.history_recorder import Period
from faults.history_removals import CONFIRM_AFTER, UNSEEN, ReadClock, Removals
from faults.tenants import form_spec
from operated.environment import Object, config_map
from operated.manifests import deployment

OBSERVED = 3.0
"""Seconds in which an operator starts, or observes an annotation or a policy."""
UIDS = tuple(f"t{number}" for number in range(8))
_RENAMED = "-renamed"
LISTS = ("configMaps", "secrets", "services", "deployments")


class RowState(Enum):
    """What the table has of a tenant, besides duplicates and history."""

    ACTIVE = "active"
    INACTIVE = "inactive"
    DELETED = "deleted"
    SPOILT = "spoilt"


@dataclass(slots=True)
class Tenant:
    """The rows of one uid."""

    uid: str
    plan: str = "pro"
    state: RowState = RowState.ACTIVE
    spoilt_uid: str | None = None
    has_duplicate: bool = False
    history_since: float = math.inf
    """When the inactive row beside the active one was added, by the clock of reads."""

    @property
    def is_active(self) -> bool:
        return self.state is RowState.ACTIVE

    @property
    def has_history(self) -> bool:
        return self.history_since < math.inf

    def rows(self) -> list[tuple[str | None, int, str]]:
        rows: list[tuple[str | None, int, str]] = []
        if self.is_active:
            rows.append((self.uid, 1, self.plan))
        elif self.state is RowState.SPOILT:
            rows.append((self.spoilt_uid, 1, self.plan))
        elif self.state is RowState.INACTIVE:
            rows.append((self.uid, 0, self.plan))
        if self.has_duplicate:
            rows.append((self.uid, 1, "duplicate"))
        if self.has_history:
            rows.append((self.uid, 0, "history"))
        return rows


@dataclass(slots=True)
class Entry:
    """An entry of the form that operations change."""

    list: str
    spec: Object
    namespace: str
    retain: bool = False
    present: bool = True
    renamed: bool = False

    @property
    def place(self) -> "Place":
        return self.spec["spec"]["kind"], self.namespace, self.part

    @property
    def part(self) -> str:
        return f"{self.spec['id']}{_RENAMED}" if self.renamed else str(self.spec["id"])

    def manifest(self) -> Object:
        return self.spec | {
            "nameTemplate": f"{{{{ .uid }}}}-{self.part}",
            "targetNamespace": self.namespace,
            "deletionPolicy": "Retain" if self.retain else "Delete",
        }


Place = tuple[str, str, str]
"""Kind, namespace and the part of the name after the uid: where an entry has its objects."""


def entries(namespace: str, other: str, text: str) -> dict[str, Entry]:
    """Return the entries of the form by id: those of all fault tests, and one for each policy."""
    lists = form_spec(other, text)
    lists["configMaps"].append(
        config_map(id="seed", creationPolicy="Once", nameTemplate="")
        | {"spec": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"once": text}}}
    )
    lists["configMaps"].append(config_map(id="kept", nameTemplate="", dependIds=["settings"]))
    lists["deployments"] = [{"id": "app", "spec": deployment("app", replicas=0)}]
    result = {
        spec["id"]: Entry(name, spec, other if spec["id"] == "remote" else namespace)
        for name in LISTS
        for spec in lists[name]
    }
    result["kept"].retain = True
    for name in ("remote", "secret"):
        # Other managers edit these; under Stuck an edit would be a conflict.
        result[name].spec["conflictPolicy"] = "Force"
    return result


@dataclass(slots=True)
class HistoryModel:
    """The rows and forms of a history."""

    namespace: str
    other: str
    text: str = "{{ .plan }}"
    tenants: dict[str, Tenant] = field(default_factory=lambda: {uid: Tenant(uid) for uid in UIDS})
    entries: dict[str, Entry] = field(default_factory=dict)
    has_extra_form: bool = True
    table: str = "tenants"
    paused: dict[str, list[Period]] = field(
        default_factory=lambda: {"web": [], "extra": [], "hub": []}
    )
    """By form, and of the hub: when it was paused."""
    max_skew: int = 0
    clock: ReadClock = field(default_factory=ReadClock)
    removals: Removals = field(init=False)
    retained: dict[Place, list[Period]] = field(default_factory=dict)
    """When the policy of a place was Retain; it outlives the entry."""
    running_since: float = 0.0
    """When the operator was started; infinite while it is down."""
    deleted_by_test: set[str] = field(default_factory=set)
    """The uids of the objects that the test itself has deleted."""
    foreign: dict[str, str] = field(default_factory=dict)
    """By uid of a tenant: the uid of the object that another manager made."""
    stripped: set[tuple[str, str, str]] = field(default_factory=set)
    """Objects whose marks the test has edited since the last convergence."""

    _left: set[Place] = field(default_factory=set)
    """The places that have left the form."""

    def __post_init__(self) -> None:
        self.removals = Removals(self.clock)
        self.entries = entries(self.namespace, self.other, self.text)
        self.note_policies()

    def is_paused(self, name: str) -> bool:
        """Return whether a form or the hub is paused now."""
        periods = self.paused[name]
        return bool(periods) and periods[-1].until == math.inf

    def toggle_pause(self, name: str) -> bool:
        """Pause or resume a form or the hub; return whether it is paused now."""
        if self.is_paused(name):
            self.paused[name][-1].until = time.monotonic()
            return False
        self.paused[name].append(Period(time.monotonic()))
        return True

    def form_spec(self) -> Object:
        """Return the spec of the form as it is now."""
        spec: Object = {name: [] for name in LISTS}
        spec |= {"paused": self.is_paused("web"), "rollout": {"maxSkew": self.max_skew}}
        ids = {name for name, entry in self.entries.items() if entry.present}
        for entry in self.entries.values():
            if entry.present:
                manifest = entry.manifest()
                depends = [name for name in manifest.get("dependIds", ()) if name in ids]
                spec[entry.list].append(manifest | {"dependIds": depends})
        return spec

    def set_text(self, text: str) -> None:
        """Change the text of the template in three kinds of objects."""
        self.text = text
        for name, part in (("settings", "data"), ("remote", "data"), ("secret", "stringData")):
            self.entries[name].spec["spec"][part] = {"plan": text}

    def places(self) -> set[Place]:
        return {entry.place for entry in self.entries.values() if entry.present}

    def note_policies(self) -> None:
        """Record the places whose policy is Retain now, and those that leave the form with it."""
        for entry in self.entries.values():
            if not entry.present:
                continue
            periods = self.retained.setdefault(entry.place, [])
            is_open = bool(periods) and periods[-1].until == math.inf
            if entry.retain and not is_open:
                periods.append(Period(time.monotonic()))
            elif is_open and not entry.retain:
                periods[-1].until = time.monotonic()
        left = self.retained.keys() - self.places()
        for place in left - self._left:
            self._forget_unobserved(self.retained[place])
        self._left = left

    def _forget_unobserved(self, periods: list[Period]) -> None:
        """Forget a policy that was in the form only while no operator ran."""
        now = time.monotonic()
        if periods and now - max(periods[-1].since, self.running_since) < OBSERVED:
            periods[-1].until = min(periods[-1].until, now)

    def was_retained(self, part: str) -> bool:
        """Return whether the policy of the entry was ever Retain, wherever its objects were."""
        entry = part.removesuffix(_RENAMED)
        return any(
            periods and place[2].removesuffix(_RENAMED) == entry
            for place, periods in self.retained.items()
        )

    def write_rows(self, file: Path) -> None:
        """Write all rows in one transaction, into the table by the name it has now."""
        rows = [row for tenant in self.tenants.values() for row in tenant.rows()]
        with closing(sqlite3.connect(file, timeout=30)) as connection, connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"CREATE TABLE IF NOT EXISTS {self.table} (uid, active, plan)")
            connection.execute(f"DELETE FROM {self.table}")
            connection.executemany(f"INSERT INTO {self.table} VALUES (?, ?, ?)", rows)

    # A row is removed before it is written, and back after: the times are on the safe side.

    def remove_row(self, tenant: Tenant, state: RowState) -> None:
        """Delete or deactivate the rows of a tenant."""
        at_once = state is RowState.INACTIVE or self._looks_deactivated(tenant)
        self.removals.begin("row", tenant.uid, confirm=0.0 if at_once else CONFIRM_AFTER)
        tenant.state, tenant.has_duplicate = state, False

    def spoil_row(self, tenant: Tenant, uid: str | None) -> None:
        """Change the uid of a tenant in place, which removes nothing."""
        if self._looks_deactivated(tenant):
            self.removals.begin("row", tenant.uid, confirm=0.0)
        tenant.state, tenant.spoilt_uid = RowState.SPOILT, uid

    def _looks_deactivated(self, tenant: Tenant) -> bool:
        """Return whether no read may have seen the inactive row beside the active one."""
        return tenant.has_history and self.clock.now() - tenant.history_since < UNSEEN

    def heal_rows(self) -> None:
        """Give every row its uid again, and remove duplicates and history."""
        for tenant in self.tenants.values():
            tenant.has_duplicate, tenant.history_since = False, math.inf
            if tenant.state is RowState.SPOILT:
                tenant.state = RowState.ACTIVE

    def take_table_away(self, file: Path) -> None:
        self.clock.stop("table")
        self._rename_table(file, "away")

    def bring_table_back(self, file: Path) -> None:
        if self.table != "tenants":
            self._rename_table(file, "tenants")
            self.clock.go_on("table")

    def _rename_table(self, file: Path, name: str) -> None:
        with closing(sqlite3.connect(file, timeout=30)) as connection, connection:
            connection.execute(f"ALTER TABLE {self.table} RENAME TO {name}")
        self.table = name
