"""The node's controller: from a node in the cache to its resources in the cluster."""
