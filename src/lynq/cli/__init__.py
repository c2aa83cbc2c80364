"""The `lynq` command: one module per subcommand."""

from lynq.cli.root import lynq as main

__all__ = ["main"]
