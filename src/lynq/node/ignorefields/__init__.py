"""ignoreFields: which fields belong to someone else, and how their live values are kept.

>>> path = parse_path("$.spec.replicas")
>>> keep_live({"spec": {"replicas": 1}}, {"spec": {"replicas": 5}}, [path])
{'spec': {'replicas': 5}}
"""

from lynq.node.ignorefields.keeping import keep_live
from lynq.node.ignorefields.parsing import parse_path, path_problem
from lynq.node.ignorefields.paths import Path, PathError

__all__ = ["Path", "PathError", "keep_live", "parse_path", "path_problem"]
