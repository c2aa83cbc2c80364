"""Measures a piece of work: seconds, CPU and memory of processes, requests at the API server."""

import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lynq.cluster import LocalCluster
from lynq.cluster.local import kubectl

_TICKS = os.sysconf("SC_CLK_TCK")
_REQUESTS = re.compile(r"^apiserver_request_total\{(?P<labels>[^}]*)\} (?P<count>[0-9.e+]+)$")
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_STORED = re.compile(r"^apiserver_storage_size_bytes\{[^}]*\} (?P<bytes>[0-9.e+]+)$", re.MULTILINE)
_WRITES = {"POST": "create", "APPLY": "apply", "PATCH": "patch", "PUT": "update"}
_WRITES |= {"DELETE": "delete", "GET": "get"}
_OTHERS = frozenset(
    {"leases", "replicasets", "pods", "endpoints", "endpointslices", "ipaddresses", "nodes"}
)
"""Resources that the API server and other controllers write during a measurement."""


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used."""
    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / _TICKS


def memory_mib(pid: int, entry: str = "VmRSS") -> float:
    """Return the resident memory of a process; with `VmHWM` its peak."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(entry))
    return int(line.split()[1]) / 1024


@dataclass(slots=True)
class Measurement:
    """The cost of one piece of work."""

    seconds: float = 0.0
    cpu: float = 0.0
    """CPU seconds of the operator, or of the loader."""
    server_cpu: float = 0.0
    """CPU seconds of the API server and etcd."""
    memory: float = 0.0
    """Resident MiB of the operator afterwards."""
    requests: Counter[str] = field(default_factory=Counter)
    """Requests by verb and resource, without lists and watches."""

    def as_json(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 3),
            "cpu_seconds": round(self.cpu, 3),
            "api_server_cpu_seconds": round(self.server_cpu, 3),
            "rss_mib": round(self.memory, 1),
            "requests": dict(self.requests),
        }


@dataclass(frozen=True, slots=True)
class Meter:
    """Measures work against one cluster."""

    cluster: LocalCluster

    @property
    def server_cpu(self) -> float:
        """CPU seconds of the API server and etcd so far."""
        return sum(cpu_seconds(self.cluster.pid(name)) for name in ("kube-apiserver", "etcd"))

    def requests(self) -> Counter[str]:
        """Return the requests that the API server has counted, by verb and resource."""
        counts: Counter[str] = Counter()
        for line in self._metrics().splitlines():
            if not (match := _REQUESTS.match(line)):
                continue
            labels = dict(_LABEL.findall(match["labels"]))
            verb, resource = _WRITES.get(labels["verb"]), labels["resource"]
            if verb and resource and resource not in _OTHERS:
                path = "/".join(filter(None, (resource, labels["subresource"])))
                counts[f"{verb} {path}"] += int(float(match["count"]))
        return counts

    def stored_bytes(self) -> float:
        """Return the size of the database of etcd."""
        match = _STORED.search(self._metrics())
        return float(match["bytes"]) if match else 0.0

    def _metrics(self) -> str:
        return kubectl(self.cluster.kubeconfig, "get", "--raw", "/metrics").stdout

    @contextmanager
    def measured(self, pid: int | None = None) -> Iterator[Measurement]:
        """Measure the block, with the CPU and memory of a process."""
        measurement = Measurement()
        requests, server = self.requests(), self.server_cpu
        cpu = cpu_seconds(pid) if pid else 0.0
        start = time.monotonic()
        yield measurement
        measurement.seconds = time.monotonic() - start
        measurement.server_cpu = self.server_cpu - server
        if pid:
            measurement.cpu = cpu_seconds(pid) - cpu
            measurement.memory = memory_mib(pid)
        after = self.requests()
        # Reading the metrics is a request without a resource, and not counted.
        measurement.requests = Counter(
            {key: count - requests[key] for key, count in after.items() if count > requests[key]}
        )
