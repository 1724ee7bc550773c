"""REPORT: show a fit as one HTML page, after the fit or while it runs.

Modules, in the order in which a report is made:

- ``build``: a fitted model and its rows -> a `Report`; `to_html`; the names of rows and data.
- ``values``: `Report` and its parts, frozen values that JSON can hold.
- ``clusters``: facts of clusters, the rows that represent them, and how clear they are.
- ``sample``: a map, a dimension curve and silhouettes, from a sample of the rows.
- ``pictures``: rows that are pictures: their shape, grey or coloured tiles, PNG files.
- ``files``: ``report.json``, written and read; whether the parts of a stored report agree.
- ``overview``: the answer of the page in a few sentences, and its most important numbers.
- ``sentences``: the other texts of the page, and the points of what a certificate proves.
- ``plots``: the plots of the page, by Bokeh.
- ``page``: a `Report` -> one HTML page, from ``templates/``.
- ``live_fit``: the state of a running fit, for the live page.
- ``page_server``: the web server of the live page, on this machine only: who may ask for what.
- ``bounded_server``: Tornado's server with limits on what a client may send, and for how long.

To show something new: measure it in ``clusters`` or ``sample``, add a field to `Report`, set it in
``build``, and show it in ``templates/report.html``.

What the room promises
----------------------
A fit without a report pays nothing: it keeps only the inertia of every pass (``trace_``), which it
has anyway. A report reads the rows twice, for the ranges of columns that exact sums need and for
the sums, and keeps a sample in memory, drawn by the key of the fit. Sizes, shares, spreads, columns
and nearest rows are those of `describe_clusters`, because both come from
`passes.cluster_summaries`. The page is one file that works offline and loads nothing.
``report.json`` holds all that the page shows, so that a page can be drawn later without the rows.

Why it is built so
------------------
Measuring, storing and drawing are separate. A `Report` holds facts and no wording, so that pages
can be reworded without a new fit.

Names of columns and files come from the data and may look like scripts. The template escapes all
texts, the plots stand as JSON in a script element with ``<`` escaped, and the page's content
security policy forbids it to load anything.

The page sets the colours of its plots itself, because Bokeh draws on a canvas, to which style
sheets do not apply.

The live page polls a server on the loopback address. The address contains a secret token, and Host
and Origin are checked, so that a page of another site cannot read the report or stop the fit. The
server is one thread with an event loop, so that many or slow clients cost connections, of which
there are a limited number, and no threads.
"""
