"""The border to the drivers: what they raise goes no further than here."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lynq.sources.errors import SourceError


@contextmanager
def translate_errors(explain: Callable[[Exception], SourceError]) -> Iterator[None]:
    """Turn whatever a driver raises into an error of ours.

    Without a cause: a traceback with the driver's own error in it would show the server's
    sentence, and with it values of rows.
    """
    try:
        yield
    except SourceError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver may raise anything, an IndexError too
        raise explain(error) from None
