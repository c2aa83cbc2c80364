"""When is an object of this kind ready, and why not; see docs/design/readiness.md.

>>> readiness({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Pending"}})
Verdict(state=<State.NOT_READY: 'not ready'>, reason='ClaimNotBound', message='claim is Pending')
"""
