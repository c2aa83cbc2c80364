"""The viewer, and what the server allows."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from lynq.dashboard.options import AuthMode, DashboardOptions
from lynq.dashboard.projection import Projection
from lynq.dashboard.types.lists import SessionView
from lynq.dashboard.viewers import Viewer
from lynq.dashboard.visible import Visible

_MODES: Final[dict[AuthMode, Any]] = {
    AuthMode.TOKEN: "Token",
    AuthMode.PROXY: "Proxy",
    AuthMode.KUBECONFIG: "Kubeconfig",
}


async def session_view(
    viewer: Viewer, projection: Projection, options: DashboardOptions
) -> SessionView:
    """Return `GET /session`; raises KubeError."""
    visible = await Visible.to(viewer, projection)
    kinds = ("Hub", "Form", "Node")
    namespaces = {
        namespace
        for kind in kinds
        for namespace in projection.namespaces(kind)
        if visible.has(kind, namespace)
    }
    return SessionView(
        user=viewer.user,
        groups=viewer.groups,
        mode=_MODES[options.auth],
        allow_actions=options.allow_actions,
        context=options.context,
        namespaces=tuple(sorted(namespaces)),
        version=_version(),
        docs_url=options.docs_url,
    )


def _version() -> str:
    try:
        return version("lynq")
    except PackageNotFoundError:
        return ""
