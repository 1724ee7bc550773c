"""READ: where rows come from. Any range of rows of an array, a table, a file or a folder.

A *row source* knows its shape and reads any range of its rows, from any thread. The rest of the
library sees row sources and never a file: `blocks` makes blocks of them.

    path      -> open_rows -> format_table -> formats/* -> FileRows or JoinedRows
                 (formats of native libraries: the same in another process, here IsolatedRows)
    in memory -> as_row_source -> ArrayRows or TableRows
                                  all of them are a RowSource -> read_ahead -> blocks

Modules
-------
protocol         `RowSource`, what every source promises; defaults that sources share; two checks
row_layout       the layout of rows: CSR or C-contiguous, and checked before SciPy follows indices
memory           how much memory there is, and the sentence if data asks for more
mapped_files     files mapped into memory, watched for parts that vanish while they are read
feature_columns  which columns are features, by name or by index
file_rows        what formats build on; `FileRows` and `JoinedRows`, a file and a folder as sources
file_format      what a format is (`Format`), and what may be chosen in a file (`Choice`)
formats/         one module a family of file formats
format_table     `FORMATS`, the table of all formats, and which files a path stands for
open_rows        `open_rows`, `read_matrix` and `read_labels`: from a path to rows or labels
side_columns     named columns that are not features: ids, weights and true labels
array_source     `ArrayRows`, the source of an array or sparse matrix; `as_row_source`
table_source     `TableRows`, the sources of pandas, polars and pyarrow tables
read_ahead       blocks of a source, the next ones read while the caller works on one
isolated_source  files that another process reads: rows, labels and named columns
reader_process   that process: how it is started, asked and limited, and how its end is told
reader_child     what that process does: it opens files and answers, within limits
reader_messages  what both send each other: JSON, and arrays in shared memory

Promises
--------
- Rows have the stored element type (bytes stay bytes) and are views of the data if possible. They
  are not checked for NaN: the first walk of a fit does that.
- A pickled source carries the place of its data and opens it again where it arrives, so that a
  Dask worker gets a path and not the rows.
- `identity()` changes if the data change: size, modification time and some bytes of a file, or
  evenly spread numbers of an array. Checkpoints compare it.
- Whatever is wrong with a file is an `UnreadableFile` of one sentence with the file, the line and
  column if there are any, and what to do. So is a mapped file that another process shortens.
- No optional package is imported before a file or table needs it.

Why it is built so
------------------
A reader (a class in formats/) knows its format and nothing else. What can be memory-mapped is:
ranges of ``.npy``, of ``.npz`` that is not compressed, and of ``.fvecs`` are views of the file.
What native libraries parse is read by another process, because they crash on damaged files; the
other process runs `FileRows` and this one sees `IsolatedRows`.
Formats that can only be decoded forwards are marked ``forward_only`` and read by one thread,
because a second thread would decode the same piece again; all others are read by two.

Add a file format
-----------------
1. ``formats/<name>.py``: a reader, which inherits `SourceDefaults` and has `shape`, `dtype` and
   `read`, and at the end of the module its `Format`. `npy` is the shortest model; `hdf5` is the
   model for files with several arrays, `columnar` for files with named columns, `images` for many
   files that one reader reads together. Then a line in the map of ``formats/__init__.py``.
2. ``format_table.py``: import that `Format` and list it in `TABLE`. `open_rows`, the command line,
   labels (`Format.load_labels`) and ids (`Format.named_columns`) find it there.
3. If the format needs a package: an extra in ``pyproject.toml``, named by `Format.extra`. If it
   is native code that parses files: its modules in `Format.modules`, and another process reads.
4. ``tests/support/row_files.py`` writes a file of the format, and ``tests/support/row_cases.py``
   lists it in `FILES`: the tests of sources then run on it. What is special goes to
   ``tests/sources/formats/test_<name>.py``.
5. ``docs/files.md``: a row in the table of formats (a test compares it with `FORMATS`).
   ``make docs`` writes the new choice of ``--format`` into the manual page and ``docs/cli.md``.

A new choice for the user (such as ``variable``) is in addition a field of `Choice`, a parameter of
`open_rows` and an option in ``commands/options.py``.
"""
