"""The local control plane: real Kubernetes processes on loopback, without containers."""

from lynq.cluster.errors import ClusterError
from lynq.cluster.local import DEFAULT_NAME, Cluster, all_clusters

__all__ = ["DEFAULT_NAME", "Cluster", "ClusterError", "all_clusters"]
