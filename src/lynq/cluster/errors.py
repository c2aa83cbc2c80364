"""What can go wrong with a local cluster, told so that the reader knows what to do."""


class ClusterError(Exception):
    """A local cluster could not be built, started, found or stopped."""
