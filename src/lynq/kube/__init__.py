"""The Kubernetes runtime: client, watch, informer, workqueue, leader election, events."""

from lynq.kube.backoff import Backoff
from lynq.kube.client import Client
from lynq.kube.config import ClusterConfig, Impersonation, in_cluster, load_config
from lynq.kube.controller import Controller, Result
from lynq.kube.discovery import Discovery
from lynq.kube.event_correlation import ObjectReference
from lynq.kube.informer import Informer, InformerHealth, InformerPhase
from lynq.kube.leader_election import LeaderElection, LeaseLost
from lynq.kube.metrics import RuntimeMetrics
from lynq.kube.recorder import Recorder
from lynq.kube.requests import Interceptor, Patch, Propagation, Request, Response, Send
from lynq.kube.resource import PartialObject, Resource
from lynq.kube.session import ClientOptions
from lynq.kube.store import ObjectChange, Store
from lynq.kube.watch import Bookmark, EventType, WatchEvent
from lynq.kube.workqueue import QueueClosed, QueuePriority, WorkQueue

__all__ = [
    "Backoff",
    "Bookmark",
    "Client",
    "ClientOptions",
    "ClusterConfig",
    "Controller",
    "Discovery",
    "EventType",
    "Impersonation",
    "Informer",
    "InformerHealth",
    "InformerPhase",
    "Interceptor",
    "LeaderElection",
    "LeaseLost",
    "ObjectChange",
    "ObjectReference",
    "PartialObject",
    "Patch",
    "Propagation",
    "QueueClosed",
    "QueuePriority",
    "Recorder",
    "Request",
    "Resource",
    "Response",
    "Result",
    "RuntimeMetrics",
    "Send",
    "Store",
    "WatchEvent",
    "WorkQueue",
    "in_cluster",
    "load_config",
]
