"""Admission: what may be stored, what is filled in, what may be deleted.

docs/design/webhooks.md has the decisions behind it.
"""

from lynq.webhooks.server import WebhookServer
from lynq.webhooks.settings import Webhooks

__all__ = [
    "WebhookServer",
    "Webhooks",
]
