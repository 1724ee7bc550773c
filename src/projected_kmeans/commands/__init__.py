"""The command line: one module for each command, and what commands share.

A command turns words into one library call, and its result into a table, sentences, JSON or
files. It computes nothing itself. This package is the last of the import order: nothing in the
library imports it.

The commands, one module each, named as the command with ``_`` for ``-``. It declares the options
and holds the help; what the command does stands in a second module, its job:

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

The jobs: ``certify_job``, ``choose_k_job``, ``compare_job``, ``demo_job``, ``describe_job``,
``fit_job``, ``plan_job``, ``predict_job``, ``report_job``, ``reproduce_job``, ``serve_job``.

What they share:

- ``main``           the group of all commands; turns every error into one sentence and an exit code
- ``failures``       what is said about an error, whatever it is
- ``option_words``   parameters of Python in a sentence -> options of the command line
- ``command_table``  the names of all commands with one sentence each, for the overview
- ``options``        options that several commands take, and the parsing of their values
- ``row_options``    options about ids, true labels, rows with holes, names and representatives
- ``limit_options``  options of ``fit`` that limit the sizes of clusters
- ``as_in_paper``    what ``fit --as-in-paper`` sets and prints
- ``proof_options``  options of ``fit`` that ask for a certificate or a guarantee
- ``data``           open a data file: load it if it is small, otherwise read it block by block
- ``label_files``    read and write files of labels
- ``named_files``    files that an option names for output, checked before the work
- ``data_choices``   columns of DATA that are ids, labels or weights, and the rest of it
- ``id_files``       ids of rows: of a column, of a file, or the names of image files
- ``fit_inputs``     options of ``fit`` for weights, first centers, names and rows with holes
- ``metric_option``  the option --metric
- ``model_columns``  which columns of DATA a stored model takes
- ``feature_name_files``  read the names of columns, such as a vocabulary
- ``fit_outputs``    where a fit goes: a folder, an HTML report, a live page in the browser
- ``fit_delivery``   what becomes of a finished fit: its files, its report, and what is printed
- ``representative_files``  write the rows that represent clusters
- ``summaries``      results as tables and sentences
- ``progress``       the live display of a running fit on a terminal

What the package promises
-------------------------
Results go to the standard output; progress, warnings and errors go to the standard error stream.
An error, also an unexpected one, is one sentence with exit code 2; ``--debug`` adds the traceback.
Files appear whole or not at all, and every output place is checked before the long work begins, so
that no result is lost at its end. Progress and colours appear on terminals only.

Why a command is two modules
----------------------------
``main`` imports the declaration of a command when it is called or asked for its own help. Help
needs the words that options allow, which stand in `projected_kmeans.choices`, and nothing more.
The job imports NumPy, scikit-learn and the engine, which take a second. So ``--help``,
``--version``, shell completion and complaints about mistyped options answer at once. A test checks
that no declaration loads a numerical package.

How to add a command
--------------------
1. Write the module ``commands/<name>.py`` with a click command of the same name. Take shared
   options from ``options``. The docstring is the help: its first sentence is the summary, and it
   ends with examples that can be typed. Its body imports ``run_<name>`` of ``<name>_job`` and
   calls it with the options.
2. Add one line with the name and that first sentence to ``command_table``, in alphabetical order.
3. Run ``make docs``. It writes docs/cli.md (tools/cli_page.py) and the manual page
   (man/manual_page.py) from the help of all commands. tests/commands/test_pages.py fails while
   either is out of date.
4. Write ``tests/commands/test_<name>.py``; call the command in the process of the test by the
   fixture ``call``.
"""
