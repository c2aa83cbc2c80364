"""Ports for servers of tests."""

import random
import socket

_PORTS = range(10000, 20000)
"""Below the ephemeral ports: an outgoing connection cannot take one before the server binds it.
Local clusters have the next ten thousand."""


def free_port() -> int:
    """Return a random port on which nothing listens."""
    for port in random.sample(_PORTS, len(_PORTS)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise AssertionError("all ports are taken")
