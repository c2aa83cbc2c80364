"""The Kubernetes runtime: client, watches, caches, queues, leases; see docs/design/kube.md."""

from lynq.kube.backoff import Backoff
from lynq.kube.client import Client
from lynq.kube.config import ClusterConfig, Impersonation, in_cluster, load_config
from lynq.kube.controller import Controller, Result
from lynq.kube.correlation import Reference
from lynq.kube.discovery import Discovery
from lynq.kube.election import LeaderElection, LeaseLost
from lynq.kube.events import Recorder
from lynq.kube.informer import Health, Informer, Phase
from lynq.kube.metrics import Metrics
from lynq.kube.objects import Partial
from lynq.kube.options import ClientOptions
from lynq.kube.queries import Patch, Propagation
from lynq.kube.queue import Priority, Queue, QueueClosed
from lynq.kube.request import Interceptor, Request, Response, Send
from lynq.kube.resource import Resource
from lynq.kube.store import Change, Store, by_label, by_owner_uid
from lynq.kube.watching import Bookmark, EventType, WatchEvent

__all__ = [
    "Backoff",
    "Bookmark",
    "Change",
    "Client",
    "ClientOptions",
    "ClusterConfig",
    "Controller",
    "Discovery",
    "EventType",
    "Health",
    "Impersonation",
    "Informer",
    "Interceptor",
    "LeaderElection",
    "LeaseLost",
    "Metrics",
    "Partial",
    "Patch",
    "Phase",
    "Priority",
    "Propagation",
    "Queue",
    "QueueClosed",
    "Recorder",
    "Reference",
    "Request",
    "Resource",
    "Response",
    "Result",
    "Send",
    "Store",
    "WatchEvent",
    "by_label",
    "by_owner_uid",
    "in_cluster",
    "load_config",
]
