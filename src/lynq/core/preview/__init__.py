"""What a form gives for rows, without a cluster: the same renders as those of hub and node."""
