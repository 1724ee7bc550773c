"""How stored documents are shown: tables, figures and two pages of docs/.

- ``view``     what the view of an experiment consists of
- ``table1``, ``table2``, ``figure1``, ``mailman``, ``theorem``, ``optimum``, ``beyond``
  the view of the experiment of the same name
- ``tables``   a table as Markdown, LaTeX and CSV
- ``charts``   a chart as PNG and SVG; the only module that imports matplotlib
- ``files``    write the tables and figures of one document to a folder
- ``origins``  when, where and by which command a document was measured
- ``page``     the page that shows all experiments
- ``moments``  the moments of Lemmas 1.2 and 1.3, for the views of the theorem
- ``reductions_page``
  the page docs/explanation/reductions.md, from the experiment "beyond"

Views read a stored document and measure nothing, so that the same document always gives the same
bytes. Tests compare both pages with the documents in docs/reproduction/.
"""
