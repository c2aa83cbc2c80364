"""Runs the blocks of a page as a reader does: one terminal, one cluster, one operator.

The rows of all pages are in /tmp/lynq. Files of pages that run at the same time have a folder of
their own there: root mounts one for its processes only; without root, a file lock lets them wait.
"""

import fcntl
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from databases import Server, mariadb, postgresql
from docs.blocks import ROOT, Block, blocks_of, needs
from docs.snapshot import Found, objects
from docs.terminal import BlockError, MatchError, Terminal, run_block
from lynq.cluster import LocalCluster
from lynq.cluster.build import controlplane_binary
from waiting import DeadlineError

if TYPE_CHECKING:
    from docs.operator_process import OperatorProcess

ROWS = Path("/tmp/lynq")
CLEAN_SECONDS = 20.0

_BINLOG = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1")
"""Options of MariaDB that push needs; MySQL has them by default."""


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
        prefix = stack.enter_context(_empty_rows(request.getfixturevalue("docs_rows")))
        environment = reader_environment(folder, cluster)
        for name in needed.databases:
            environment |= stack.enter_context(_database(name))
        terminal = Terminal(folder, environment, prefix, _print)
        stack.callback(terminal.close)
        if cluster:
            operator: OperatorProcess = request.getfixturevalue("docs_operator")
            stack.enter_context(
                operator.running(needed.flags) if needed.operator else operator.stopped()
            )
            stack.enter_context(_no_object_left(terminal, cluster))
        else:
            stack.enter_context(_no_cluster_left(terminal))
        _run_blocks(terminal, blocks_of(page))


def _run_blocks(terminal: Terminal, blocks: Sequence[Block]) -> None:
    """Run blocks up to the first failure."""
    try:
        for block in blocks:
            run_block(terminal, block)
    except MatchError as failure:
        raise DeadlineError(str(failure)) from None
    except BlockError as failure:
        pytest.fail(str(failure), pytrace=False)


def rows_prefix(folder: Path) -> tuple[str, ...]:
    """Return the prefix of commands that see this folder as /tmp/lynq; () without root."""
    ROWS.mkdir(exist_ok=True)
    mount = f"mount --bind {shlex.quote(str(folder))} {ROWS}"
    prefix = ("unshare", "--mount", "--", "sh", "-c", f'{mount} && exec "$@"', "sh")
    denied = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    return () if denied else prefix


@contextmanager
def _empty_rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """Make /tmp/lynq an empty folder for a page; yield the prefix of commands that see it."""
    if prefix := rows_prefix(folder):
        _empty(folder)
        yield prefix
        return
    with Path(f"{ROWS}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _empty(ROWS)
        yield ()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


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


def reader_environment(folder: Path, cluster: LocalCluster | None) -> dict[str, str]:
    """Return the variables of a reader: an own home, and lynq and kubectl in the path."""
    home = folder / "home"
    programs = folder / "bin"
    for directory in (home, programs):
        directory.mkdir()
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
def _no_object_left(terminal: Terminal, cluster: LocalCluster) -> Iterator[None]:
    """Fail if objects of the page still exist, and delete them for the next page."""
    before = objects(cluster.kubeconfig)
    if lynq := sorted(str(found) for found in before if found.of_lynq):
        pytest.fail(f"the cluster is not empty before the page: {', '.join(lynq)}")
    try:
        yield
        deadline = time.monotonic() + CLEAN_SECONDS
        while (left := objects(cluster.kubeconfig) - before) and time.monotonic() < deadline:
            time.sleep(0.1)
        if left:
            names = "\n  ".join(sorted(map(str, left)))
            message = f"the page leaves objects behind; its last section deletes them:\n  {names}"
            pytest.fail(message, pytrace=False)
    except BaseException:
        print(terminal.run("lynq get -A --problems || true").output)  # noqa: T201
        _delete(terminal, objects(cluster.kubeconfig) - before)
        raise


def _delete(terminal: Terminal, left: Iterable[Found]) -> None:
    """Delete objects, those of Lynq first."""
    for found in sorted(left, key=lambda found: (not found.of_lynq, str(found))):
        scope = f" -n {found.namespace}" if found.namespace else ""
        kind = found.resource.name
        terminal.run(f"kubectl delete {kind} {found.name}{scope} --timeout=10s || true")


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
