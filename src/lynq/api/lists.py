"""The sixteen lists of resources that forms and nodes share."""

from lynq.api.resource import TResource
from lynq.api.wire import Wire

Resources = tuple[TResource, ...]


class ResourceLists(Wire, frozen=True, kw_only=True):
    """The resources of a form or node, one list per kind.

    Inherited, because JSON has these fields in the middle of the spec of both kinds. Their order
    is the canonical one: whatever has no other order goes in this one, list by list.
    """

    service_accounts: Resources = ()
    """ServiceAccounts, for the pods of the row to run as. Ready as soon as they exist."""

    deployments: Resources = ()
    """Deployments. Ready when the newest generation is rolled out and every wanted replica is
    updated, ready and available; scaled to zero counts as ready once no replica is left."""

    stateful_sets: Resources = ()
    """StatefulSets. Ready when the newest generation is rolled out and every wanted replica is
    current, updated and ready. Their PersistentVolumeClaims stay when the row goes, unless
    persistentVolumeClaimRetentionPolicy says otherwise."""

    daemon_sets: Resources = ()
    """DaemonSets. Ready when the newest generation runs and is available on every machine that it
    is scheduled on."""

    services: Resources = ()
    """Services. Ready as soon as they exist, those of type LoadBalancer when they have an
    address."""

    ingresses: Resources = ()
    """Ingresses. Ready when they have a rule or an address."""

    config_maps: Resources = ()
    """ConfigMaps. Ready as soon as they exist. Values under data and binaryData stay text, also
    where a template ends in int, float or bool."""

    secrets: Resources = ()
    """Secrets. Ready as soon as they exist. Their contents never appear in events, status, logs
    or metrics."""

    persistent_volume_claims: Resources = ()
    """PersistentVolumeClaims. Ready when bound. With a StorageClass that waits for the first
    consumer nothing that uses the claim may depend on it, or both wait for each other."""

    jobs: Resources = ()
    """Jobs. Ready when complete; a failed Job is a failed resource. A Job's pod template cannot
    be changed, so creationPolicy Once is usually what is wanted."""

    cron_jobs: Resources = ()
    """CronJobs. Ready as soon as they exist, whatever becomes of the Jobs they start."""

    pod_disruption_budgets: Resources = ()
    """PodDisruptionBudgets. Ready as soon as they exist."""

    network_policies: Resources = ()
    """NetworkPolicies. Ready as soon as they exist. An entry that the workloads depend on is in
    force before their first pod starts."""

    horizontal_pod_autoscalers: Resources = ()
    """HorizontalPodAutoscalers. Ready when they are able to scale their target. Give the target
    ignoreFields: ["$.spec.replicas"], so that both do not fight over the number of replicas."""

    namespaces: Resources = ()
    """Namespaces, for rows that get one of their own. Ready when Active. Entries whose
    targetNamespace is the new namespace should depend on it."""

    manifests: Resources = ()
    """Objects of any other kind, custom resources included, for example a Certificate or an
    ExternalSecret. Ready when their Ready or Available condition is True; a kind without
    conditions is ready as soon as it exists. The operator needs the right to manage the kind."""
