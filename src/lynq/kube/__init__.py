"""The Kubernetes runtime: client, watches, caches, queues, leases; see docs/design/kube.md."""

from lynq.kube import errors
from lynq.kube.client import Client
from lynq.kube.config import ClusterConfig, Impersonation, in_cluster, load_config
from lynq.kube.discovery import Discovery
from lynq.kube.objects import (
    Listing,
    ManagedFields,
    Metadata,
    ObjectKey,
    OwnerReference,
    Partial,
)
from lynq.kube.options import ClientOptions
from lynq.kube.queries import Patch, Propagation
from lynq.kube.request import Fence, Interceptor, Request, Response, Send
from lynq.kube.resource import Resource
from lynq.kube.watching import Bookmark, EventType, WatchEvent

__all__ = [
    "Bookmark",
    "Client",
    "ClientOptions",
    "ClusterConfig",
    "Discovery",
    "EventType",
    "Fence",
    "Impersonation",
    "Interceptor",
    "Listing",
    "ManagedFields",
    "Metadata",
    "ObjectKey",
    "OwnerReference",
    "Partial",
    "Patch",
    "Propagation",
    "Request",
    "Resource",
    "Response",
    "Send",
    "WatchEvent",
    "errors",
    "in_cluster",
    "load_config",
]
