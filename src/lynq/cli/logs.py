"""`lynq logs`: the log of the operator, or its lines about one node."""

import click

from lynq.cli.connection import Cluster, cluster_command
from lynq.cli.lookup import find_node
from lynq.cli.operator_pods import operator_pods
from lynq.cli.output import print_line, print_note
from lynq.kube.resource import PODS


@click.command()
@click.option("--node", metavar="NODE|UID", help="Only lines about this node.")
@click.option(
    "--tail",
    default=500,
    show_default=True,
    metavar="N",
    help="Newest lines of each pod.",
)
@click.option(
    "--operator-namespace", metavar="NAME", help="Namespace of the operator. Default: any."
)
@cluster_command
async def logs(
    cluster: Cluster, *, node: str | None, tail: int, operator_namespace: str | None
) -> None:
    """Print the log of the operator.

    The log is read from the operator's pods through the API server. With --node, only the lines
    that name the node are printed.

    \b
    Examples:
      lynq logs
      lynq logs --node acme-web -n shop
      lynq logs --tail 5000 --operator-namespace lynq-system
    """
    key = (await find_node(cluster, node)).metadata.key if node else None
    pods = await operator_pods(cluster, operator_namespace)
    for pod in pods:
        metadata = pod["metadata"]
        path = PODS.path(metadata["namespace"], metadata["name"], "log")
        text = await cluster.client.raw(f"{path}?tailLines={tail}")
        lines = text.decode(errors="replace").removesuffix("\n").split("\n")
        if key is not None:
            lines = [line for line in lines if str(key) in line]
        if len(pods) > 1:
            print_note(f"Pod {metadata['namespace']}/{metadata['name']}: {len(lines)} lines")
        for line in lines:
            # The console encoding separates columns by tabs.
            print_line(line.expandtabs())
