"""The local control plane: real Kubernetes processes on loopback, without containers."""

from lynq.cluster.layout import ClusterError
from lynq.cluster.local import DEFAULT_NAME, LocalCluster, all_clusters

__all__ = ["DEFAULT_NAME", "ClusterError", "LocalCluster", "all_clusters"]
