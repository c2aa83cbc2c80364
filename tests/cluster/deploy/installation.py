"""Installs rendered manifests into the shared cluster, and runs the operator as they say.

The operator runs on this machine and not in a pod, so three things are put in place of what a pod
has: a kubeconfig with the rendered ServiceAccount's token, ports that are free, and the namespace
that a pod reads from its own files. All other arguments are the rendered ones.
"""

import os
import re
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from deploy.manifests import Object, manager, one
from lynq.kube import Client, Discovery, Resource
from lynq.kube.errors import AlreadyExists, NotFound
from waiting import eventually

_SHARED: Final = ("CustomResourceDefinition", "Namespace")
"""Kinds of which others use the objects, too."""


@dataclass(slots=True)
class Installer:
    """Applies objects, and takes them away again."""

    client: Client
    discovery: Discovery = field(init=False)

    def __post_init__(self) -> None:
        self.discovery = Discovery(self.client)

    async def resource(self, obj: Object) -> Resource:
        return await self.discovery.resource(obj["apiVersion"], obj["kind"])

    async def accepts(self, objects: Iterable[Object]) -> None:
        """Have the API server check objects, but store nothing."""
        for obj in objects:
            await self.client.apply(
                await self.resource(obj), obj, manager="deploy-test", force=True, dry_run=True
            )

    async def apply(self, obj: Object) -> None:
        await self.client.apply(await self.resource(obj), obj, manager="deploy-test", force=True)

    @asynccontextmanager
    async def installed(self, objects: Iterable[Object]) -> AsyncIterator[None]:
        """Have objects in the cluster while the block runs; definitions are there anyway."""
        mine = [obj for obj in objects if obj["kind"] != "CustomResourceDefinition"]
        await self._make_room(mine)
        try:
            for obj in mine:
                await self.apply(obj)
            yield
        finally:
            for obj in reversed(mine):
                await self.remove(obj)

    async def remove(self, obj: Object) -> None:
        metadata = obj["metadata"]
        try:
            await self.client.delete(
                await self.resource(obj), metadata["name"], metadata.get("namespace")
            )
        except NotFound:
            return

    async def _make_room(self, objects: Iterable[Object]) -> None:
        """Wait for a namespace that an earlier test has deleted."""
        for obj in objects:
            if obj["kind"] == "Namespace":
                await self._namespace_is_free(obj)

    async def _namespace_is_free(self, obj: Object) -> None:
        resource = await self.resource(obj)

        async def free() -> bool:
            try:
                await self.client.create(resource, obj)
            except AlreadyExists:
                return False
            return True

        await eventually(free, within=60, every=0.2)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the operator listens in a test."""

    metrics: int = field(default_factory=free_port)
    health: int = field(default_factory=free_port)
    webhook: int = field(default_factory=free_port)


@dataclass(frozen=True, slots=True)
class Run:
    """The operator as a process of its own."""

    process: "subprocess.Popen[bytes]"
    log: Path
    ports: Ports
    token: str

    def said(self) -> str:
        return self.log.read_text()

    def scrape(self) -> str:
        """Return what Prometheus would be answered, with the ServiceAccount's own token."""
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.ports.metrics}/metrics",
            headers={"Authorization": f"Bearer {self.token}"},
        )
        trusting = ssl._create_unverified_context()
        with urllib.request.urlopen(request, context=trusting, timeout=10) as answer:
            text: str = answer.read().decode()
        return text

    @property
    def memory(self) -> int:
        """How many MiB it holds."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+)", status)
        assert match
        return int(match.group(1)) // 1024


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts the operator that rendered objects describe."""

    kubectl: Callable[..., str]
    kubeconfig: Path
    folder: Path

    @contextmanager
    def running(self, objects: Iterable[Object], *more: str) -> Iterator[Run]:
        """Run it with the rendered arguments and the rendered ServiceAccount's token."""
        deployment = one(objects, "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        namespace = deployment["metadata"]["namespace"]
        token = self.kubectl("create", "token", pod["serviceAccountName"], "-n", namespace).strip()
        ports, log = Ports(), self.folder / f"operator-{os.urandom(3).hex()}.log"
        arguments = [
            *_on_free_ports(manager([deployment])["args"], ports),
            f"--kubeconfig={self._account(token)}",
            f"--leader-election-namespace={namespace}",
            f"--webhook-namespace={namespace}",
            f"--sqlite-dir={self.folder}",
            *more,
        ]
        command = [sys.executable, "-m", "lynq", "run", *arguments]
        with log.open("wb") as out:
            # A certificate in the default folder under the temporary directory would be used.
            environment = {**os.environ, "TMPDIR": str(self.folder)}
            process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        try:
            yield Run(process, log, ports, token)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _account(self, token: str) -> Path:
        config = yaml.safe_load(self.kubeconfig.read_text())
        for user in config["users"]:
            user["user"] = {"token": token}
        path = self.folder / "account.kubeconfig"
        path.write_text(yaml.safe_dump(config))
        path.chmod(0o600)
        return path


def _on_free_ports(arguments: Iterable[str], ports: Ports) -> list[str]:
    chosen = {
        "--metrics-bind-address": f"127.0.0.1:{ports.metrics}",
        "--health-probe-bind-address": f"127.0.0.1:{ports.health}",
        "--webhook-port": str(ports.webhook),
    }
    given = [argument for argument in arguments if argument.partition("=")[0] != "--webhook-port"]
    given.append("--webhook-port=0")
    return [
        f"{name}={chosen[name]}" if (name := argument.partition("=")[0]) in chosen else argument
        for argument in given
    ]


def answering_at(objects: Iterable[Object], port: int, namespace: str) -> list[Object]:
    """Return the webhook configurations, leading to this machine and only for one namespace."""
    configurations = [obj for obj in objects if obj["kind"].endswith("WebhookConfiguration")]
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
            webhook["namespaceSelector"] = {
                "matchLabels": {"kubernetes.io/metadata.name": namespace}
            }
    return configurations
