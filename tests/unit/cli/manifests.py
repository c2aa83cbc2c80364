"""Texts of manifests that tests of offline commands complete."""

from textwrap import dedent, indent


def form_text(entries: str) -> str:
    """Return the YAML of the LynqForm `web` of the hub `tenants`; `entries` are its lists."""
    head = """\
        apiVersion: operator.lynq.sh/v1
        kind: LynqForm
        metadata:
          name: web
        spec:
          hubId: tenants
        """
    return dedent(head) + indent(dedent(entries), "  ")
