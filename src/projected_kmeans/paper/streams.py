"""The first word of every random stream that the paper's experiments open, one number a use.

Names uses of a key; it draws nothing (`projected_kmeans.keys.open_stream` does).
"""

ORSS06 = 1003
KSS04 = 1004
INSTANCES = 1005
TIMED_ROWS = 1006
RANDOM_DATA = 1007
