"""The hub's controller; docs/design/hub.md has the core it stands on."""

from lynq.controllers.hub.controller import HubController

__all__ = ["HubController"]
