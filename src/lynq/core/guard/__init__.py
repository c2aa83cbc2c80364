"""Protection from mistakes in the database: row screening and the deletion guard.

Pure: rows, names and settings in; accepted nodes, rejections and verdicts out.
"""
