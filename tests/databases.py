"""Real database servers for tests, started on free ports and stopped with the test run."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncmy
import asyncpg

from delays import delayed
from ports import free_port

START_SECONDS = 60.0
STOP_SECONDS = 20.0
PROGRAM_FOLDERS = ("/usr/sbin", "/usr/lib/postgresql/*/bin")


class ServerError(RuntimeError):
    """A database server of the tests could not be set up or started."""


@dataclass(slots=True)
class Process:
    """The process of a server that the test run started: it can be stopped and restarted."""

    command: list[str]
    address: tuple[str, int]
    log: Path
    end: signal.Signals
    ready: tuple[str, ...] = ("true",)
    """A command that succeeds when the server is ready; an open port is not sufficient."""
    _process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(self.command, stdout=out, stderr=out, cwd="/")
        _wait_until(lambda: _accepts(self.address) and self._is_ready(), self._process, self.log)

    def _is_ready(self) -> bool:
        return not subprocess.run(self.ready, capture_output=True, check=False).returncode

    def send(self, number: signal.Signals) -> None:
        """Send a signal, such as SIGSTOP, which silences a server without ending it."""
        if self._process:
            self._process.send_signal(number)

    def stop(self) -> None:
        """Stop the server and wait for its end."""
        if not self._process:
            return
        self._process.send_signal(self.end)
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a database server, and a user with all privileges."""

    host: str
    port: int
    user: str
    password: str
    database: str
    process: Process | None = field(default=None, repr=False, compare=False)

    def start(self) -> None:
        """Restart the server after `stop`, with its data."""
        if not self.process:
            raise RuntimeError("a server named in the environment cannot be started or stopped")
        self.process.start()

    def stop(self) -> None:
        """Stop the server until `start`."""
        if not self.process:
            raise RuntimeError("a server named in the environment cannot be started or stopped")
        self.process.stop()

    @classmethod
    def named(cls, url: str) -> "Server":
        """Return the server of a URL in the environment."""
        parts = urlsplit(url)
        if not (parts.hostname and parts.port and parts.username):
            raise ValueError("name a test server as scheme://user:password@host:port/database")
        database = parts.path.removeprefix("/")
        return cls(parts.hostname, parts.port, parts.username, parts.password or "", database)


@contextmanager
def mariadb(*options: str) -> Iterator[Server]:
    """Run MariaDB, or use the server of LYNQ_TEST_MYSQL unless a test needs `options`."""
    if (url := os.environ.get("LYNQ_TEST_MYSQL")) and not options:
        yield Server.named(url)
        return
    server = Server("127.0.0.1", free_port(), "tester", "mariadb-secret", "tests")
    with _folder("mysql") as (folder, account):
        data = folder / "data"
        install = [
            _program("mariadb-install-db"),
            "--no-defaults",
            "--auth-root-authentication-method=normal",
        ]
        _check([*account, *install, f"--datadir={data}", "--skip-test-db"])
        init_file = folder / "init.sql"
        init_file.write_text(
            f"CREATE DATABASE IF NOT EXISTS {server.database} CHARACTER SET utf8mb4;\n"
            f"GRANT ALL ON *.* TO '{server.user}'@'%' IDENTIFIED BY '{server.password}'"
            " WITH GRANT OPTION;\n"
        )
        command = [
            _program("mariadbd"),
            "--no-defaults",
            f"--datadir={data}",
            f"--init-file={init_file}",
        ]
        command += [
            f"--socket={folder / 'socket'}",
            f"--port={server.port}",
            "--bind-address=127.0.0.1",
            *options,
        ]
        address = (server.host, server.port)
        process = Process([*account, *command], address, folder / "log", signal.SIGTERM)
        with _running(server, process) as running:
            yield running


@contextmanager
def postgresql() -> Iterator[Server]:
    """Run PostgreSQL, or use the server of LYNQ_TEST_POSTGRESQL."""
    if url := os.environ.get("LYNQ_TEST_POSTGRESQL"):
        yield Server.named(url)
        return
    server = Server("127.0.0.1", free_port(), "tester", "postgresql-secret", "postgres")
    with _folder("postgres") as (folder, account):
        data = folder / "data"
        password = folder / "password"
        password.write_text(server.password)
        initialize = [_program("initdb"), f"--pgdata={data}", f"--username={server.user}"]
        initialize += [
            "--auth=scram-sha-256",
            f"--pwfile={password}",
            "--encoding=UTF8",
            "--no-sync",
        ]
        _check([*account, *initialize])
        command = [_program("postgres"), "-D", str(data), "-k", str(folder), "-F"]
        command += ["-c", "listen_addresses=127.0.0.1", "-p", str(server.port)]
        ready = (_program("pg_isready"), "-h", server.host, "-p", str(server.port))
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
        address = (server.host, server.port)
        process = Process([*account, *command], address, folder / "log", signal.SIGINT, ready)
        with _running(server, process) as running:
            yield running


async def in_mariadb(server: Server, *statements: str) -> None:
    """Run statements with all privileges."""
    async with mariadb_session(server) as execute:
        await execute(*statements)


@asynccontextmanager
async def mariadb_session(server: Server) -> AsyncIterator[Callable[..., Awaitable[None]]]:
    """Yield a function that runs statements on one connection, with all privileges."""
    connection: Any = await asyncmy.connect(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        database=server.database,
        autocommit=True,
    )
    async with connection, connection.cursor() as cursor:

        async def execute(*statements: str) -> None:
            for statement in statements:
                await cursor.execute(statement)

        yield execute


async def in_postgresql(server: Server, *statements: str) -> None:
    """Run statements with all privileges."""
    connection: Any = await asyncpg.connect(
        host=server.host,
        port=server.port,
        user=server.user,
        password=server.password,
        database=server.database,
    )
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def _program(name: str) -> str:
    found = shutil.which(name)
    for pattern in PROGRAM_FOLDERS:
        candidates = sorted(Path("/").glob(f"{pattern[1:]}/{name}"))
        found = found or (str(candidates[-1]) if candidates else None)
    if not found:
        raise FileNotFoundError(
            f"{name} is not installed: make test installs it, or scripts/databases"
        )
    return found


@contextmanager
def _folder(account: str) -> Iterator[tuple[Path, list[str]]]:
    """Create a folder for a server; yield it and a command prefix that runs as the folder's owner.

    PostgreSQL refuses to run as root, so root gives the folder to an unprivileged account. The
    kernel ends the server when the test run dies, so no server is left behind.
    """
    folder = Path(tempfile.mkdtemp(prefix="lynq-tests-"))
    prefix = ["setpriv", "--pdeathsig", "KILL"]
    try:
        if os.geteuid() == 0:
            user = _account(account)
            os.chown(folder, user.pw_uid, user.pw_gid)
            prefix += [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        yield folder, [*prefix, "--"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _account(name: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return pwd.getpwnam("nobody")


def _check(command: list[str]) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if result.returncode:
        raise ServerError(f"{command} failed:\n{result.stdout}{result.stderr}")


@contextmanager
def _running(server: Server, process: Process) -> Iterator[Server]:
    try:
        process.start()
        with delayed(server.host, server.port) as port:
            yield replace(server, port=port, process=process)
    finally:
        process.stop()


def _accepts(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=1).close()
    except OSError:
        return False
    return True


def _wait_until(
    condition: Callable[[], bool], process: "subprocess.Popen[bytes]", log: Path
) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServerError(f"the server did not start:\n{log.read_text()}")
        time.sleep(0.05)
