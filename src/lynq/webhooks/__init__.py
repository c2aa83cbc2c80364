"""The admission webhooks: defaulting and validation of hubs, forms and nodes.

docs/adr/0015-admission.md records the decision behind them.
"""

from lynq.webhooks.server import WebhookServer
from lynq.webhooks.settings import Webhooks

__all__ = [
    "WebhookServer",
    "Webhooks",
]
