"""`lynq demo`: the whole story on this machine, from rows to running resources."""

from lynq.cli.demo.command import demo

__all__ = ["demo"]
