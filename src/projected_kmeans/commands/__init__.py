"""The command line: one module for each command, and what commands share.

A command turns words into one library call, and its result into a table, sentences, JSON or
files. It computes nothing itself. This package is the last of the import order: nothing in the
library imports it.

The commands, named as their modules with ``-`` for ``_``:

- ``certify``     prove how far labels can be from the best clustering
- ``choose_k``    compare numbers of clusters
- ``compare``     compare two clusterings of the same rows
- ``completion``  print the script that completes words in a shell
- ``demo``        compare with scikit-learn on built-in data
- ``describe``    tell what each cluster of a stored model is
- ``fit``         cluster the rows of a file
- ``plan``        tell what ``fit`` would do and what it would cost
- ``predict``     label rows with a stored model
- ``report``      write the HTML page of a fit
- ``reproduce``   run the experiments of the paper
- ``serve``       show the report of a fit in a browser

What they share:

- ``main``           the table and the group of all commands; errors as sentences and exit codes
- ``options``        options that several commands take, and the parsing of their values
- ``data``           what is read: rows, their ids, true labels and weights, names of columns
- ``written_files``  files of labels, representatives and tables, checked before the work
- ``fit_outputs``    where a fit goes: its files, its report, the live page, and what is printed
- ``terminal``       the live display of a running fit, and tables

What the package promises
-------------------------
Results go to the standard output; progress, warnings and errors go to the standard error stream.
An error, also an unexpected one, is one sentence with exit code 2; ``--debug`` adds the traceback.
Files appear whole or not at all, and every output place is checked before the long work begins, so
that no result is lost at its end. Progress and colours appear on terminals only.

Why functions import
--------------------
NumPy, scikit-learn and the engine take a second to import. Help needs the words that options allow,
which stand in `projected_kmeans.choices`, and nothing more. So the module of a command imports at
its top only ``main`` and ``options``; its functions import what computes, and of the shared modules
``data``, ``written_files``, ``fit_outputs`` and ``terminal``. Then ``--help``, ``--version``, shell
completion and complaints about mistyped options answer at once. A test checks that the help of no
command loads a numerical package.

How to add a command
--------------------
1. Write the module ``commands/<name>.py`` with a click command of the same name. Take shared
   options from ``options``. The docstring is the help: its first sentence is the summary, and it
   ends with examples that can be typed.
2. Add one line with the name and that first sentence to ``COMMANDS`` in ``main``, in alphabetical
   order.
3. Run ``make docs``. It writes docs/cli.md (tools/cli_page.py) and the manual page
   (man/manual_page.py) from the help of all commands. tests/commands/test_pages.py fails while
   either is out of date.
4. Write ``tests/commands/test_<name>.py``; call the command in the process of the test by the
   fixture ``call``.
"""
