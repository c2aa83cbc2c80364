"""ignoreFields: which fields belong to someone else, and how their live values are kept.

>>> path = parse_path("$.spec.replicas")
>>> keep_live({"spec": {"replicas": 1}}, {"spec": {"replicas": 5}}, [path])
{'spec': {'replicas': 5}}
"""
