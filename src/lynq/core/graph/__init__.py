"""The dependency graph of the resources of a form or node: apply order and deletion order.

    >>> entries = [Entry("web", ("db",)), Entry("db"), Entry("cache")]
    >>> build_graph(entries).waves
    (('db', 'cache'), ('web',))

All algorithms are linear in resources and dependencies, iterative and deterministic: ids without
an order between them keep the canonical order.
"""
