"""The `lynq` command: one module per subcommand."""

from lynq.cli.root import main

__all__ = ["main"]
