"""The paths of the webhooks: a static one per kind, and the same with a secret part. Pure.

Every client in the cluster's network can connect to the webhooks and knows the static paths. The
secret part proves that a request comes from the API server: the operator writes it into its own
webhook configurations, which the roles view and edit of Kubernetes do not include. It is derived
from the installation key, so that all replicas and shards have the same one and store none.
"""

import hmac
from typing import Final

from lynq.api.installation_key import InstallationKey, KeyState
from lynq.api.names import GROUP, VERSION

_LENGTH: Final = 32
"""Characters of the secret part: 128 bits in lower-case hex, which is a valid DNS label. The API
server accepts nothing else between two slashes of a path."""
_VALIDATED: Final = ("LynqHub", "LynqForm", "LynqNode")
_DEFAULTED: Final = ("LynqHub", "LynqForm")


def static_path(verb: str, kind: str) -> str:
    """Return the path of the webhook that validates or mutates a kind."""
    return f"/{verb}-{GROUP.replace('.', '-')}-{VERSION}-{kind.lower()}"


STATIC_PATHS: Final = frozenset(
    (
        *(static_path("validate", kind) for kind in _VALIDATED),
        *(static_path("mutate", kind) for kind in _DEFAULTED),
    )
)


def secret_part(key: KeyState) -> str:
    """Return the secret part of all paths; "" while the key is missing or not known."""
    if not isinstance(key, InstallationKey):
        return ""
    return key.derive("webhook path").hex()[:_LENGTH]


def is_secret_part(part: str, key: KeyState) -> bool:
    """Return whether a part of a path is the secret one; takes the same time for every part."""
    expected = secret_part(key)
    return bool(expected) and hmac.compare_digest(part.encode(), expected.encode())


def with_secret_part(path: str, part: str) -> str:
    """Return the path with this secret part instead of its own; the static one for "".

    A path that is not one of the webhooks is returned as it is.
    """
    static = path if path in STATIC_PATHS else path.rpartition("/")[0]
    if static not in STATIC_PATHS:
        return path
    return f"{static}/{part}" if part else static
