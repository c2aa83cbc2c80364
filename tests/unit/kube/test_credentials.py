import asyncio
import os
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lynq.kube.credentials import (
    ClientCertificate,
    Credential,
    ExecCredentials,
    ExecPlugin,
    StaticCredentials,
    TokenFileCredentials,
)
from lynq.kube.errors import CredentialError

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def test_repr_hides_secrets() -> None:
    credential = Credential("hunter2", ClientCertificate(b"cert", b"hunter2"))
    plugin = ExecPlugin("aws", env=(("TOKEN", "hunter2"),), cluster={"proxy-url": "hunter2"})
    for shown in (credential, StaticCredentials(credential), plugin):
        assert "hunter2" not in f"{shown!r} {shown}"


async def test_static_credential_does_not_change() -> None:
    static = StaticCredentials(Credential("a"))
    assert await static.current() == await static.renew(Credential("a")) == Credential("a")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_token_file_is_re_read_every_minute(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("one\n")
    source = TokenFileCredentials(file, clock=clock)
    assert (await source.current()).token == "one"
    file.write_text("two")
    clock.now = 59
    assert (await source.current()).token == "one"
    clock.now = 60
    assert (await source.current()).token == "two"


async def test_rejected_token_is_re_read_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    source = TokenFileCredentials(file, clock=Clock())
    refused = await source.current()
    file.write_text("two")
    assert (await source.renew(refused)).token == "two"
    file.write_text("three")
    assert (await source.renew(refused)).token == "two", "another request had renewed it already"


async def test_last_token_is_used_while_its_file_is_missing(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("one")
    source = TokenFileCredentials(file, clock=clock)
    await source.current()
    clock.now = 60
    file.write_text("")
    assert (await source.current()).token == "one"
    file.unlink()
    assert (await source.current()).token == "one"


async def test_token_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(CredentialError, match="is not text"):
        await TokenFileCredentials(file).current()


async def test_missing_token_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match="No such file"):
        await TokenFileCredentials(tmp_path / "token").current()


Plugin = Callable[..., ExecPlugin]


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    """A program that prints an ExecCredential and records every run with its environment."""

    def make(status: dict[str, Any] | None, answered: str = V1, **options: Any) -> ExecPlugin:
        answer = {"apiVersion": answered, "kind": "ExecCredential", "status": status}
        text = msgspec.json.encode(answer).decode()
        script = tmp_path / "plugin.sh"
        script.write_text(
            "#!/bin/sh\n"
            f'printf "%s %s %s\\n" "$KUBERNETES_EXEC_INFO" "$EXTRA" "$*" >> {tmp_path}/runs\n'
            f"printf %s {shlex.quote(text)}\n"
        )
        script.chmod(0o700)
        return ExecPlugin(str(script), **{"api_version": V1, **options})

    return make


def runs(tmp_path: Path) -> list[str]:
    return (tmp_path / "runs").read_text().splitlines()


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_plugin_receives_exec_info(plugin: Plugin, tmp_path: Path, version: str) -> None:
    exec_plugin = plugin(
        {"token": "t"},
        version,
        api_version=version,
        args=("get", "token"),
        env=(("EXTRA", "extra"),),
        cluster={"server": "https://k8s"},
    )
    assert await ExecCredentials(exec_plugin).current() == Credential("t")
    info, extra, *args = runs(tmp_path)[0].split(" ")
    assert (extra, args) == ("extra", ["get", "token"])
    assert msgspec.json.decode(info) == {
        "apiVersion": version,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "https://k8s"}},
    }


async def test_credential_without_expiry_is_fetched_once(plugin: Plugin, tmp_path: Path) -> None:
    source = ExecCredentials(plugin({"token": "t"}))
    await asyncio.gather(*(source.current() for _ in range(20)))
    assert len(runs(tmp_path)) == 1


async def test_credential_is_renewed_before_it_expires(plugin: Plugin, tmp_path: Path) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    end = (now + timedelta(seconds=100)).isoformat()
    source = ExecCredentials(plugin({"token": "t", "expirationTimestamp": end}), clock=lambda: now)
    await source.current()
    now += timedelta(seconds=89)
    await source.current()
    assert len(runs(tmp_path)) == 1
    now += timedelta(seconds=1)
    await source.current()
    assert len(runs(tmp_path)) == 2


async def test_concurrent_rejections_run_the_plugin_once(plugin: Plugin, tmp_path: Path) -> None:
    source = ExecCredentials(plugin({"token": "old"}))
    refused = await source.current()
    plugin({"token": "new"})
    renewed = await asyncio.gather(*(source.renew(refused) for _ in range(20)))
    assert {credential.token for credential in renewed} == {"new"}
    assert len(runs(tmp_path)) == 2


async def test_null_fields_of_an_exec_credential_are_unset(plugin: Plugin) -> None:
    status = {"token": "t", "clientCertificateData": None, "clientKeyData": None}
    granted = ExecCredentials(plugin({**status, "expirationTimestamp": None}))
    assert await granted.current() == Credential("t")


async def test_plugin_provides_a_certificate(plugin: Plugin) -> None:
    source = ExecCredentials(plugin({"clientCertificateData": "C", "clientKeyData": "K"}))
    assert await source.current() == Credential(None, ClientCertificate(b"C", b"K"))


@pytest.mark.parametrize(
    ("status", "version", "problem"),
    [
        ({"token": "hunter2"}, V1BETA1, f"did not print an ExecCredential of {V1}"),
        (None, V1, "without a status"),
        ({}, V1, "printed neither a token nor a certificate"),
        ({"clientKeyData": "hunter2"}, V1, "printed a certificate without its key"),
        (
            {"token": "hunter2", "expirationTimestamp": "2026-01-01T00:00:00"},
            V1,
            "did not print an ExecCredential",
        ),
    ],
)
async def test_unusable_exec_credential_is_an_error(
    plugin: Plugin, status: dict[str, Any], version: str, problem: str
) -> None:
    with pytest.raises(CredentialError, match=problem) as caught:
        await ExecCredentials(plugin(status, version)).current()
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (ExecPlugin("echo", args=("hunter2",)), "'echo' did not print an ExecCredential"),
        (ExecPlugin("false"), "'false' ended with code 1"),
        (
            ExecPlugin("no-such-plugin", install_hint="Install it with brew."),
            "'no-such-plugin' cannot be run: No such file or directory; Install it with brew.",
        ),
    ],
)
async def test_failing_plugin_is_an_error(command: ExecPlugin, problem: str) -> None:
    with pytest.raises(CredentialError) as caught:
        await ExecCredentials(command).current()
    assert problem in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_hanging_plugin_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("lynq.kube.credentials._PLUGIN_TIMEOUT", 0.2)
    command = ExecPlugin("sh", args=("-c", f"echo $$ > {tmp_path}/pid; exec sleep 60"))
    with pytest.raises(CredentialError, match="did not end within"):
        await ExecCredentials(command).current()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_children_of_a_hanging_plugin_are_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lynq.kube.credentials._PLUGIN_TIMEOUT", 0.2)
    command = ExecPlugin("sh", args=("-c", "sleep 60; echo"))
    async with asyncio.timeout(10):
        with pytest.raises(CredentialError, match="did not end within"):
            await ExecCredentials(command).current()


def test_relative_command_is_resolved_from_the_kubeconfig() -> None:
    assert ExecPlugin("./bin/login", folder=Path("/etc/kube")).program == "/etc/kube/bin/login"
    assert ExecPlugin("/bin/login", folder=Path("/etc/kube")).program == "/bin/login"
    assert ExecPlugin("login", folder=Path("/etc/kube")).program == "login"
