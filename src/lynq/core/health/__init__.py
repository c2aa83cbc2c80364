"""The health of an installation, judged from facts of the cluster."""
