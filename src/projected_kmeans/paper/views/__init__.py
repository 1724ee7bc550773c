"""How stored documents are shown: tables, figures and the page docs/reproduction.md.

- ``view``     what the view of an experiment consists of
- ``table1``, ``table2``, ``figure1``, ``mailman``, ``theorem``
  the view of the experiment of the same name
- ``tables``   a table as Markdown, LaTeX and CSV
- ``charts``   a chart as PNG and SVG; the only module that imports matplotlib
- ``files``    write the tables and figures of one document to a folder
- ``page``     the page that shows all experiments

Views read a stored document and measure nothing, so that the same document always gives the same
bytes. A test compares docs/reproduction.md with the documents in docs/reproduction/.
"""
