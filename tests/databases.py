"""Real database servers for tests: started on free ports, gone with the test run."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

START_SECONDS = 60.0
STOP_SECONDS = 20.0
PROGRAM_FOLDERS = ("/usr/sbin", "/usr/lib/postgresql/*/bin")


@dataclass(frozen=True, slots=True)
class Server:
    """Where a database server listens and who may do everything there."""

    host: str
    port: int
    user: str
    password: str
    database: str

    @classmethod
    def named(cls, url: str) -> "Server":
        """Return the server that somebody named in the environment."""
        parts = urlsplit(url)
        if not (parts.hostname and parts.port and parts.username):
            raise ValueError("name a test server as scheme://user:password@host:port/database")
        database = parts.path.removeprefix("/")
        return cls(parts.hostname, parts.port, parts.username, parts.password or "", database)


@contextmanager
def mariadb() -> Iterator[Server]:
    """Run MariaDB, or use the server of LYNQ_TEST_MYSQL."""
    if url := os.environ.get("LYNQ_TEST_MYSQL"):
        yield Server.named(url)
        return
    server = Server("127.0.0.1", _free_port(), "tester", "mariadb-secret", "tests")
    with _folder("mysql") as (folder, account):
        data = folder / "data"
        install = [
            _program("mariadb-install-db"),
            "--no-defaults",
            "--auth-root-authentication-method=normal",
        ]
        _check([*account, *install, f"--datadir={data}", "--skip-test-db"])
        first = folder / "first.sql"
        first.write_text(
            f"CREATE DATABASE {server.database} CHARACTER SET utf8mb4;\n"
            f"GRANT ALL ON *.* TO '{server.user}'@'%' IDENTIFIED BY '{server.password}';\n"
        )
        command = [
            _program("mariadbd"),
            "--no-defaults",
            f"--datadir={data}",
            f"--init-file={first}",
        ]
        command += [
            f"--socket={folder / 'socket'}",
            f"--port={server.port}",
            "--bind-address=127.0.0.1",
        ]
        with _running([*account, *command], server, folder / "log", signal.SIGTERM):
            yield server


@contextmanager
def postgresql() -> Iterator[Server]:
    """Run PostgreSQL, or use the server of LYNQ_TEST_POSTGRESQL."""
    if url := os.environ.get("LYNQ_TEST_POSTGRESQL"):
        yield Server.named(url)
        return
    server = Server("127.0.0.1", _free_port(), "tester", "postgresql-secret", "postgres")
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
        # SIGINT is PostgreSQL's fast shutdown: it does not wait for clients.
        with _running([*account, *command], server, folder / "log", signal.SIGINT):
            yield server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
    """Make a folder for a server, and say how to run a command as the folder's owner.

    PostgreSQL refuses to run as root, so root lends the folder to an account without rights.
    The kernel ends the server when the test run dies: it gets no chance to be left behind.
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


def _account(wanted: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(wanted)
    except KeyError:
        return pwd.getpwnam("nobody")


def _check(command: list[str]) -> None:
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if answer.returncode:
        raise RuntimeError(f"{command} failed:\n{answer.stdout}{answer.stderr}")


@contextmanager
def _running(command: list[str], server: Server, log: Path, stop: signal.Signals) -> Iterator[None]:
    with (
        log.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, cwd="/") as process,
    ):
        try:
            _wait_until_open(process, server, log)
            yield
        finally:
            process.send_signal(stop)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_until_open(process: "subprocess.Popen[bytes]", server: Server, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            socket.create_connection((server.host, server.port), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start:\n{log.read_text()}") from None
            time.sleep(0.05)
        else:
            return
