"""Index functions for the stores of tests."""

from collections.abc import Callable, Iterator

from lynq.api.metadata import HasMetadata


def by_owner_uid(obj: HasMetadata) -> Iterator[str]:
    """Index objects by the uid of each of their owners."""
    return (owner.uid for owner in obj.metadata.owner_references)


def by_label(name: str) -> Callable[[HasMetadata], tuple[str, ...]]:
    """Index objects by the value of a label; objects without the label are not indexed."""

    def value_of(obj: HasMetadata) -> tuple[str, ...]:
        value = obj.metadata.labels.get(name)
        return () if value is None else (value,)

    return value_of
