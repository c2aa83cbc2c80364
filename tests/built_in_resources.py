"""Built-in resource types that only tests use."""

from lynq.kube import Resource

SERVICES = Resource("", "v1", "Service", "services", namespaced=True)
SERVICE_ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
INGRESSES = Resource("networking.k8s.io", "v1", "Ingress", "ingresses", namespaced=True)
PERSISTENT_VOLUME_CLAIMS = Resource(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True
)
