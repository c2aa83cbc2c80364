"""Runs the blocks of a page as a reader does: one terminal, one cluster, one operator.

The rows of all pages are in /tmp/lynq. Pages that run at the same time have a folder of their own
there: root mounts one for its processes only; without root, a file lock lets them wait.
"""

import fcntl
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from databases import Server, mariadb, postgresql
from docs.blocks import ROOT, Block, blocks_of, needs
from docs.terminal import BlockError, Terminal, run_block
from lynq.cluster import LocalCluster
from lynq.cluster.build import controlplane_binary

ROWS = Path("/tmp/lynq")
CLEAN_SECONDS = 20.0
READY_SECONDS = 30.0

_UNOBSERVED_KINDS = (
    "componentstatuses",
    "controllerrevisions.apps",
    "endpoints",
    "endpointslices.discovery.k8s.io",
    "events",
    "events.events.k8s.io",
    "leases.coordination.k8s.io",
    "pods",
    "replicasets.apps",
)
"""Kinds whose objects come and go by themselves."""

_BINLOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
"""Options of MariaDB that push needs; MySQL has them by default."""

_OF_THE_OPERATOR = "Secret default/lynq-installation-key"


@dataclass(frozen=True, slots=True)
class Needs:
    """What a page needs, from the words of `<!-- run with: WORDS -->`."""

    cluster: bool = True
    """`no-cluster`: the page starts its own, or needs none."""
    operator: bool = True
    """`no-operator`: the page starts it, or needs none."""
    databases: tuple[str, ...] = ()
    """`postgresql`, `mariadb`: a server, named by $PGHOST … or $MYSQL_HOST …"""
    flags: tuple[str, ...] = ()
    """Words that begin with `--`: flags of the operator."""

    @classmethod
    def parse(cls, words: Sequence[str]) -> "Needs":
        """Return the needs of a page; raises ValueError for an unknown word."""
        servers = ("postgresql", "mariadb")
        flags = tuple(word for word in words if word.startswith("--"))
        unknown = {*words} - {"no-cluster", "no-operator", *servers, *flags}
        if unknown:
            raise ValueError(f"unknown words in `run with`: {sorted(unknown)}")
        has_cluster = "no-cluster" not in words
        return cls(
            cluster=has_cluster,
            operator=has_cluster and "no-operator" not in words,
            databases=tuple(word for word in servers if word in words),
            flags=flags,
        )


def run_page(page: Path, request: pytest.FixtureRequest, folder: Path) -> None:
    """Run all blocks of a page, and fail if one fails or if objects are left behind."""
    needed = Needs.parse(needs(page.read_text()))
    cluster: LocalCluster | None = None
    if needed.cluster:
        cluster = request.getfixturevalue("docs_cluster")
    with ExitStack() as stack:
        prefix = stack.enter_context(_rows(folder / "rows"))
        environment = _environment(folder, cluster)
        for name in needed.databases:
            environment |= stack.enter_context(_database(name))
        terminal = Terminal(folder, environment, prefix, _print)
        stack.callback(terminal.close)
        if not cluster:
            stack.enter_context(_no_cluster_left(terminal))
        if needed.operator:
            stack.enter_context(_operator(terminal, needed.flags))
        if cluster:
            stack.enter_context(_no_object_left(terminal))
        _run_blocks(terminal, blocks_of(page))


def _run_blocks(terminal: Terminal, blocks: Sequence[Block]) -> None:
    """Run blocks up to the first failure."""
    try:
        for block in blocks:
            run_block(terminal, block)
    except BlockError as failure:
        pytest.fail(str(failure), pytrace=False)


@contextmanager
def _rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """Make /tmp/lynq an empty folder of this page; yield the prefix of commands that see it."""
    ROWS.mkdir(exist_ok=True)
    folder.mkdir(parents=True)
    mount = f"mount --bind {shlex.quote(str(folder))} {ROWS}"
    prefix = ("unshare", "--mount", "--", "sh", "-c", f'{mount} && exec "$@"', "sh")
    if not subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        yield prefix
        return
    with Path(f"{ROWS}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in ROWS.iterdir():
            path.unlink()
        yield ()


@contextmanager
def _database(name: str) -> Iterator[dict[str, str]]:
    """Start a database server; yield the variables by which its clients find it."""
    with mariadb(*_BINLOG) if name == "mariadb" else postgresql() as server:
        yield _variables(name, server)


def _variables(name: str, server: Server) -> dict[str, str]:
    names = {
        "mariadb": ("MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_USER", "MYSQL_PWD", "MYSQL_DATABASE"),
        "postgresql": ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE"),
    }
    values = (server.host, str(server.port), server.user, server.password, server.database)
    return dict(zip(names[name], values, strict=True))


def _environment(folder: Path, cluster: LocalCluster | None) -> dict[str, str]:
    """Return the variables of a reader: an own home, and lynq and kubectl in the path."""
    home = folder / "home"
    programs = folder / "bin"
    for directory in (home, programs):
        directory.mkdir()
    # sqlite3 fails at once if the operator reads in this moment, unless it may wait.
    (home / ".sqliterc").write_text(".timeout 5000\n")
    shims = {
        "lynq": f'"{sys.executable}" -P -m lynq',
        "kubectl-lynq": f'"{sys.executable}" -P -m lynq',
        "kubectl": f'"{controlplane_binary()}" kubectl',
    }
    for name, command in shims.items():
        shim = programs / name
        shim.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        shim.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    kept.pop("KUBECONFIG", None)
    real = Path.home()
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{programs}:{kept['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "XDG_CACHE_HOME": kept.get("XDG_CACHE_HOME", str(real / ".cache")),
        "XDG_CONFIG_HOME": kept.get("XDG_CONFIG_HOME", str(real / ".config")),
        "XDG_STATE_HOME": str(home / "state"),
        **({"KUBECONFIG": str(cluster.kubeconfig)} if cluster else {}),
    }


@contextmanager
def _operator(terminal: Terminal, flags: Sequence[str]) -> Iterator[None]:
    """Run `lynq run` for a page; its log is shown if the page fails."""
    log = terminal.folder / "operator.log"
    defaults = ("--enable-webhooks=false", "--health-probe-bind-address=0")
    command = ["lynq", "run", f"--sqlite-dir={ROWS}", *defaults, *flags]
    with log.open("wb") as output:
        process = terminal.start(command, output.fileno())
    try:
        deadline = time.monotonic() + READY_SECONDS
        while b"controllers started" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the operator did not start:\n{log.read_text()}")
            time.sleep(0.05)
        yield
    finally:
        print(log.read_text())  # noqa: T201
        process.terminate()
        process.wait(READY_SECONDS)


def _objects(terminal: Terminal) -> set[str]:
    """Return all objects of the cluster as KIND NAMESPACE/NAME."""
    listed = terminal.output("kubectl api-resources --verbs=list,delete -o name").split()
    kinds = ",".join(kind for kind in listed if kind not in _UNOBSERVED_KINDS)
    columns = "K:.kind,S:.metadata.namespace,N:.metadata.name"
    lines = terminal.output(f"kubectl get {kinds} -A --no-headers -o custom-columns={columns}")
    found = (line.split() for line in lines.splitlines())
    return {f"{kind} {space}/{name}" for kind, space, name in found} - {_OF_THE_OPERATOR}


@contextmanager
def _no_object_left(terminal: Terminal) -> Iterator[None]:
    """Fail if objects of the page still exist, and delete them for the next page."""
    before = _objects(terminal)
    if lynq := sorted(name for name in before if name.startswith("Lynq")):
        pytest.fail(f"the cluster is not empty before the page: {', '.join(lynq)}")
    try:
        yield
        deadline = time.monotonic() + CLEAN_SECONDS
        while (left := _objects(terminal) - before) and time.monotonic() < deadline:
            time.sleep(0.5)
        if left:
            names = "\n  ".join(sorted(left))
            message = f"the page leaves objects behind; its last section deletes them:\n  {names}"
            pytest.fail(message, pytrace=False)
    except BaseException:
        print(terminal.run("lynq get -A --problems || true").output)  # noqa: T201
        _delete(terminal, before)
        raise


def _delete(terminal: Terminal, before: set[str]) -> None:
    """Delete all objects that did not exist before, those of Lynq first."""
    for name in sorted(_objects(terminal) - before, key=lambda name: not name.startswith("Lynq")):
        kind, _, path = name.partition(" ")
        space, _, leaf = path.partition("/")
        terminal.run(f"kubectl delete {kind} {leaf} -n {space} --timeout=10s || true")


@contextmanager
def _no_cluster_left(terminal: Terminal) -> Iterator[None]:
    """Fail if the page leaves a cluster of its own behind, and stop it."""
    try:
        yield
    finally:
        status = terminal.output("lynq cluster status")
        left = [line.split()[0] for line in status.splitlines()[1:]]
        for name in left:
            terminal.output(f"lynq cluster down --name {name}")
    assert not left, f"the page leaves clusters behind: {left}"


def _print(text: str) -> None:
    print(text, end="")  # noqa: T201
