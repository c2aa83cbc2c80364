"""Installs rendered manifests in the shared cluster and runs the operator with their arguments.

The operator runs as a local process. A kubeconfig with a token of the rendered ServiceAccount,
free ports and the pod's namespace are passed as arguments; all others are the rendered ones.
"""

import os
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from deploy.manifests import Object, manager, one
from lynq.kube import Client, Discovery, Resource
from lynq.kube.errors import AlreadyExists, NotFound
from ports import free_port
from waiting import eventually


@dataclass(slots=True)
class Installer:
    """Applies objects and deletes them."""

    client: Client
    discovery: Discovery = field(init=False)

    def __post_init__(self) -> None:
        self.discovery = Discovery(self.client)

    async def resource(self, obj: Object) -> Resource:
        return await self.discovery.resource(obj["apiVersion"], obj["kind"])

    async def dry_run(self, objects: Iterable[Object]) -> None:
        """Validate objects by a server-side dry run."""
        for obj in objects:
            await self.client.apply(
                await self.resource(obj), obj, manager="deploy-test", force=True, dry_run=True
            )

    async def apply(self, obj: Object) -> None:
        await self.client.apply(await self.resource(obj), obj, manager="deploy-test", force=True)

    @asynccontextmanager
    async def installed(self, objects: Iterable[Object]) -> AsyncIterator[None]:
        """Install objects while the block runs; the CRDs are already installed."""
        installed = [obj for obj in objects if obj["kind"] != "CustomResourceDefinition"]
        await self._await_namespaces(installed)
        try:
            for obj in installed:
                await self.apply(obj)
            yield
        finally:
            for obj in reversed(installed):
                await self.delete(obj)

    async def delete(self, obj: Object) -> None:
        metadata = obj["metadata"]
        try:
            await self.client.delete(
                await self.resource(obj), metadata["name"], metadata.get("namespace")
            )
        except NotFound:
            return

    async def _await_namespaces(self, objects: Iterable[Object]) -> None:
        """Create the namespaces, waiting for the deletion of those of an earlier test."""
        for obj in objects:
            if obj["kind"] == "Namespace":
                await self._create_namespace(obj)

    async def _create_namespace(self, obj: Object) -> None:
        resource = await self.resource(obj)

        async def created() -> bool:
            try:
                await self.client.create(resource, obj)
            except AlreadyExists:
                return False
            return True

        await eventually(created, within=60, every=0.2)


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports that the operator listens on."""

    metrics: int = field(default_factory=free_port)
    health: int = field(default_factory=free_port)
    webhook: int = field(default_factory=free_port)


@dataclass(frozen=True, slots=True)
class Run:
    """A running operator process."""

    process: "subprocess.Popen[bytes]"
    log: Path
    ports: Ports
    token: str

    def log_text(self) -> str:
        return self.log.read_text()

    def scrape(self) -> str:
        """Return the metrics, read with the token of the ServiceAccount."""
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.ports.metrics}/metrics",
            headers={"Authorization": f"Bearer {self.token}"},
        )
        context = ssl._create_unverified_context()
        with urllib.request.urlopen(request, context=context, timeout=10) as response:
            text: str = response.read().decode()
        return text

    @property
    def memory(self) -> int:
        """The resident memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        match = re.search(r"VmRSS:\s+(\d+)", status)
        assert match
        return int(match.group(1)) // 1024


@dataclass(frozen=True, slots=True)
class Starter:
    """Starts the operator with the arguments of rendered objects."""

    kubectl: Callable[..., str]
    kubeconfig: Path
    folder: Path

    @contextmanager
    def running(self, objects: Iterable[Object], *extra_arguments: str) -> Iterator[Run]:
        """Run the operator with the rendered arguments and ServiceAccount."""
        deployment = one(objects, "Deployment")
        pod = deployment["spec"]["template"]["spec"]
        namespace = deployment["metadata"]["namespace"]
        token = self.kubectl("create", "token", pod["serviceAccountName"], "-n", namespace).strip()
        self._restore_installation_key(namespace)
        ports, log = Ports(), self.folder / f"operator-{os.urandom(3).hex()}.log"
        arguments = [
            *_on_free_ports(manager([deployment])["args"], ports),
            f"--kubeconfig={self._account_kubeconfig(token)}",
            f"--leader-election-namespace={namespace}",
            f"--installation-key-namespace={namespace}",
            f"--webhook-namespace={namespace}",
            f"--sqlite-dir={self.folder}",
            f"--scratch-dir={self.folder / 'scratch'}",
            *extra_arguments,
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

    def _restore_installation_key(self, namespace: str) -> None:
        """Create the key as from a backup: beside nodes of other tests the operator makes none."""
        name = ("secret", "generic", "lynq-installation-key", "-n", namespace)
        self.kubectl("create", *name, f"--from-literal=key={'k' * 32}")

    def _account_kubeconfig(self, token: str) -> Path:
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
    kept = [argument for argument in arguments if argument.partition("=")[0] != "--webhook-port"]
    kept.append("--webhook-port=0")
    return [
        f"{name}={chosen[name]}" if (name := argument.partition("=")[0]) in chosen else argument
        for argument in kept
    ]


def local_webhooks(objects: Iterable[Object], port: int, namespace: str) -> list[Object]:
    """Return the webhook configurations with a local URL, limited to one namespace."""
    configurations = [obj for obj in objects if obj["kind"].endswith("WebhookConfiguration")]
    for configuration in configurations:
        for webhook in configuration["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}"}
            webhook["namespaceSelector"] = {
                "matchLabels": {"kubernetes.io/metadata.name": namespace}
            }
    return configurations
