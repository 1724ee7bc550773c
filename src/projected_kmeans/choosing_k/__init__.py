"""How many clusters: compare numbers of clusters on one sketch, and suggest one.

    rows -> one sketch -> a clustering for every number -> curves -> suggestion

One module each:

- `choose_n_clusters`: the public function. It checks, reduces, runs the sweeps and assembles.
- `curves`: sweeps, which cluster the rows into every number in turn, each from its neighbours'
  centers; and the gap statistic, which sweeps random rows in the same way.
- `proven_intervals`: proves, for few rows, between which values the smallest possible inertia lies.
- `cluster_counts`: the result with its curves, and the rule that reads a suggestion from them.

What the room promises: the result depends on the rows and the key, not on the number of threads.
`is_clear` is true only if gap statistic and silhouette agree on the same number.

Why it is built so:

- All numbers share one sketch along principal directions. Their inertias are then comparable, and
  one decomposition gives a lower bound for every number.
- A sweep goes up and then down again. Upwards alone it leaves clusters undivided: on 20 blobs in 30
  dimensions (2,000 rows) gap statistic and silhouette then both pointed to 24. Downwards, dropping
  the center that costs least to drop each time, it finds the 20.
- Random rows are swept in the same way, one thread a sweep and several sweeps at a time, because
  sweeps are short and share nothing.

docs/choosing_k.md has measurements.
"""
