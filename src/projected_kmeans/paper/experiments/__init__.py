"""What is measured: the paper's tables, figure and theorem, unit by unit, stored as JSON.

- ``experiment``          run an experiment, store its results, continue a run that was stopped
- ``plans``               all experiments by name, with their full and quick sizes
- ``table1``              Table 1: dimensions, seconds and accuracy of five reductions
- ``table1_rows``         the five rows of Table 1 and the reductions that they stand for
- ``table2``              Table 2: five methods on the face images
- ``figure1``             Figure 1: inertia, accuracy and seconds as t grows
- ``figure1_statements``  what the paper says about Figure 1, each with the rule that decides
- ``mailman``             section 5.2: four ways to multiply by the sign matrix, timed
- ``theorem``             Theorem 1 and Lemmas 1 to 4, measured over draws of R
- ``theorem_statements``  the theorem and the lemmas as inequalities, and how often they fail
- ``optimum``             Theorem 1 on real data: ratios to a proven optimum, by t and solver
- ``promises``            Theorem 1 and its successors as bounds on that ratio, and the verdicts
- ``lemma_constants``     the constant of t = c k / eps^2 that the lemmas need on real data
- ``optima``              the optimum of real data, enclosed by a semidefinite bound
- ``beyond``              Table 2 on other data: faces, objects, digits and texts
- ``beyond_statements``   what the paper found on the faces, judged on any data set
- ``data_sets``           real data besides the faces: find it, and say what is missing
- ``faces``               the paper's face images: find them, cluster and score them as the paper
- ``published``           the numbers that the paper prints
- ``timing``              the median seconds of a call

An experiment is a list of units. A unit is a function without arguments whose result JSON can hold.
Each result is on disk as soon as its unit is done, so that a run that was stopped continues where
it was. A stored document names the key, the versions, the machine and all parameters; it is used
again only if all of them are the same. Nothing here draws a table or a figure: `views` does.

To add an experiment, write a module with ``Sizes``, ``FULL``, ``QUICK`` and ``plan_<name>``, add it
to ``plans``, and give it a module of the same name in ``views``.
"""
