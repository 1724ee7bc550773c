"""PLAN: from the sizes of a job to all that a fit does: what "auto" means, bytes and seconds.

    settings, sizes -> approach -> recipe, with the map built -> memory plan
                          |
                          +-> forecast, only if somebody asks for it

One module each, in the order in which they are asked:

- `settings`: what the caller asked for, as one typed value; the checks of the parameters.
- `sizes`: rows, columns, clusters, bytes of an entry, nonzeros.
- `map_choice`: which map, how many dimensions, and the reason.
- `cell_plan`: from which sizes on very many clusters are found in cells, and how.
- `size_race`: how many starts compete if clusters have limits of their sizes.
- `restart_plan`: how many restarts, and on how many rows.
- `scout_plan`: when restarts run inside a kernel.
- `approach`: what every "auto" means: map, restarts, solver, tolerance, polishing.
- `recipe`: all that a run depends on beside the rows, with the map built and the memory planned.
- `memory_limit`: how a limit is written ("2GB").
- `fit_bytes`: the only count of the bytes that a fit takes.
- `memory_plan`: sizes of blocks, and whether the sketch stays in memory, under a limit.
- `forecast`: seconds of each step on this machine, and megabytes.

What the room promises:

- Decisions follow from settings and sizes alone. No row is read and no clock is asked, so a key
  gives the same result on every machine. Only the forecast depends on the machine's speed, and it
  decides nothing: a fit times the machine only if somebody asks for its forecast.
- What the caller fixed comes before what would have been planned.
- A limit of memory changes the sizes of blocks and the place of the sketch, never the result.

Why it is built so: a resolved `Recipe` is a value. It can be planned without a fit, stored and
compared. Each module uses only modules above it in the list (`recipe` also uses `memory_plan`), so
that a decision is made once and read downwards. `plan_fit`, which also tries the alternatives on a
sample of the rows, runs fits and therefore stands in `estimator`.
"""
