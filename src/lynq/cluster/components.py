"""The command lines of the five components, and their kubeconfig."""

import base64

import yaml

from lynq.cluster.layout import ETCD_CLIENTS, ETCD_PEERS, Layout, Ports

ETCD = "etcd"
APISERVER = "kube-apiserver"
DEPENDENTS = ("kube-controller-manager", "kube-scheduler", "kwok")
"""The components that start when the API server is ready."""

ISSUER = "https://kubernetes.default.svc"
LOOPBACK = "127.0.0.1"


def arguments(component: str, layout: Layout, ports: Ports) -> list[str]:
    """Return the flags of a component."""
    match component:
        case "etcd":
            return _etcd(layout)
        case "kube-apiserver":
            return _apiserver(layout, ports)
        case "kube-controller-manager":
            return _controller_manager(layout)
        case "kube-scheduler":
            return [f"--kubeconfig={layout.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        case "kwok":
            return _kwok(layout)
    raise ValueError(component)


def kubeconfig(layout: Layout, ports: Ports) -> str:
    """Return the admin's kubeconfig, with inline certificates."""

    def inline(name: str) -> str:
        return base64.b64encode((layout.pki / name).read_bytes()).decode()

    name = "lynq-local"
    server = f"https://{LOOPBACK}:{ports.apiserver}"
    user = {
        "client-certificate-data": inline("admin.crt"),
        "client-key-data": inline("admin.key"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": inline("ca.crt")},
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    return yaml.safe_dump(config, sort_keys=False)


def _etcd(layout: Layout) -> list[str]:
    # Relative to the working directory of the components, `layout.run`, so of any length.
    clients, peers = f"unix://{ETCD_CLIENTS}", f"unix://{ETCD_PEERS}"
    return [
        f"--data-dir={layout.etcd}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        # The data survives a crash of the process, not of the machine.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def _apiserver(layout: Layout, ports: Ports) -> list[str]:
    account_key = layout.pki / "service-account.key"
    return [
        f"--etcd-servers=unix://{ETCD_CLIENTS}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={ports.apiserver}",
        f"--cert-dir={layout.pki}",
        f"--tls-cert-file={layout.pki / 'apiserver.crt'}",
        f"--tls-private-key-file={layout.pki / 'apiserver.key'}",
        f"--client-ca-file={layout.pki / 'ca.crt'}",
        "--authorization-mode=RBAC",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={account_key}",
        f"--service-account-signing-key-file={account_key}",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--endpoint-reconciler-type=none",
        "--allow-privileged=true",
        "--profiling=false",
        *_audit(layout),
    ]


def _audit(layout: Layout) -> list[str]:
    """Return the flags of the audit log, if the cluster has a policy for it."""
    if not layout.audit_policy.exists():
        return []
    return [f"--audit-policy-file={layout.audit_policy}", f"--audit-log-path={layout.audit_log}"]


def _controller_manager(layout: Layout) -> list[str]:
    return [
        f"--kubeconfig={layout.kubeconfig}",
        f"--service-account-private-key-file={layout.pki / 'service-account.key'}",
        f"--root-ca-file={layout.pki / 'ca.crt'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--horizontal-pod-autoscaler-sync-period=2s",
    ]


def _kwok(layout: Layout) -> list[str]:
    # Parsed as CSV: a comma in the path must be quoted.
    stages = str(layout.directory / "stages.yaml").replace('"', '""')
    return [
        f"--kubeconfig={layout.kubeconfig}",
        f'--config="{stages}"',
        "--manage-all-nodes=true",
        "--node-lease-duration-seconds=40",
        "--cidr=10.244.0.0/16",
        "--node-ip=10.1.0.1",
    ]
