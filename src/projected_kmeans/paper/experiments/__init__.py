"""The paper's tables, figure and theorem: measurement, statements and rendering, one module each.

- ``table1``   Table 1: dimensions, seconds and accuracy of five reductions
- ``table2``   Table 2: five methods on the face images, beside the paper's numbers
- ``figure1``  Figure 1: inertia, accuracy and seconds as t grows
- ``mailman``  section 5.2: four ways to multiply by the sign matrix, timed
- ``theorem``  Theorem 1 and Lemmas 1 to 4 over draws of R
- ``optimum``  Theorem 1 and its successors on real data: ratios to a proven optimum
- ``beyond``   Table 2 on other data: faces, objects, digits and texts

A module reads from top to bottom as an experiment does: what the paper says, ``Sizes`` with
``FULL`` and ``QUICK``, the units to measure, how their results are summarized and judged, and how a
stored document is shown. It ends with its `EXHIBIT`. To add an experiment, write such a module and
name it in ``reproduction``.
"""
