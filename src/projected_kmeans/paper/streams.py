"""The number of every random stream that the paper's experiments open.

Every use of a key has a number of its own, so that no two uses see the same random numbers. The
streams themselves are opened by `projected_kmeans.keys.open_stream`.
"""

ORSS06 = 1003
KSS04 = 1004
INSTANCES = 1005
TIMED_ROWS = 1006
RANDOM_DATA = 1007
