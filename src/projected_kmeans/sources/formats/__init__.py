"""One module a file format: a reader of its rows, and a `Format` that `format_table` lists.

npy            ``.npy``, and any matrix that lies at fixed places of a file, memory-mapped
vectors        ``.fvecs``, ``.bvecs``, ``.ivecs``, memory-mapped
archives       shared by files that hold several arrays: which is the matrix, which are its labels
npz            ``.npz``, memory-mapped if not compressed; SciPy's sparse matrices
matlab         ``.mat`` of all versions
hdf5           ``.h5``, ``.hdf5``, and what MatLab 7.3 writes
zarr           ``.zarr`` stores, which are folders
zarr_codecs    which codecs of a Zarr store may run
columnar       shared by Parquet and Arrow: the reader of columns as rows
arrow_columns  which columns hold the features, and record batches as a matrix
parquet        ``.parquet``, ``.pq``, decoded forwards
arrow          ``.arrow``, ``.feather``, memory-mapped
text           ``.csv``, ``.tsv``
text_index     where the lines of a text file lie: one scan, then an entry every 256 KB
text_columns   labels and named columns of text
svmlight       ``.svm``, ``.svmlight``, ``.libsvm``: sparse rows as text
images         folders of images, one image a row

Modules import packages such as h5py inside their functions, so that a format costs nothing until a
file of it is opened. How to add a format: see the docstring of `projected_kmeans.sources`.
"""
