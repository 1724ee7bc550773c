"""One module a family of file formats: a reader of rows, and each `Format` of `format_table`.

npy            ``.npy``, ``.fvecs``, ``.bvecs``, ``.ivecs``: numbers at fixed places, mapped
archives       shared by files that hold several arrays: which is the matrix, which are its labels
npz            ``.npz``, mapped if not compressed; SciPy's sparse matrices
hdf5           ``.h5``, ``.hdf5``, and ``.mat`` of all versions
zarr           ``.zarr`` stores, which are folders
arrow_columns  which Arrow columns hold the features, and record batches as a matrix
columnar       ``.parquet``, ``.pq``, decoded forwards; ``.arrow``, ``.feather``, mapped
text           ``.csv``, ``.tsv``: rows, labels and named columns
text_index     where the lines of a text file lie: one scan, then an entry every 256 KB
svmlight       ``.svm``, ``.svmlight``, ``.libsvm``: sparse rows as text
images         folders of images, one image a row

Modules import packages such as h5py inside their functions, so that a format costs nothing until a
file of it is opened. How to add a format: see the docstring of `projected_kmeans.sources`.
"""
