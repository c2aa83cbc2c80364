"""The admission webhooks: defaulting and validation of hubs, forms and nodes.

docs/design/webhooks.md records the decisions behind them.
"""

from lynq.webhooks.server import WebhookServer
from lynq.webhooks.settings import Webhooks

__all__ = [
    "WebhookServer",
    "Webhooks",
]
