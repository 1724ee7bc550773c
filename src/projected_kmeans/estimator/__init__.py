"""`ProjectedKMeans`, and what a fitted model does.

The estimator is the scikit-learn face of the library and the only place that knows all steps. Each
of its methods is a few lines that call a function of another module.

=======================  ===========================================================================
`projected_kmeans`       the estimator; ``fit`` is the table of contents of the algorithm
`algorithm1`             `random_projection_kmeans`: the paper's box step by step, and its Theorem 1
`fitted_model`           what a fit leaves: attributes, all of it as a frozen value, its display
`prediction`             labels, distances and scores of new rows, block by block
`cluster_descriptions`   what each cluster is: size, spread, columns that stand out, nearest rows
`partial_fit`            the steps of ``partial_fit``: check, begin and extend a stream of rows
`exports`                scikit-learn's KMeans, a FAISS index, an ONNX graph
`plan_fit`               what a fit would do, its memory, and what else could be done
`fit_checkpoint`         to which fit a checkpoint belongs, and the end of a fit
`fit_warnings`           warnings after a fit that found fewer clusters or proved less than asked
`proving`                proofs and further clusterings in turn, until a guarantee is met
`sketch_solvers`         the paper's solvers and those of the caller, which get the whole sketch
`fit_document`           the document of a fit, which is result.json and the source of reports
`model_files`            save_model and load_model: centers.npy and model.json, each field checked
`fit_folder`             which files of a folder are of one fit; a mixture is refused
=======================  ===========================================================================

What it promises:

- The result of a fit depends on rows, weights, parameters and key. It does not depend on threads,
  blocks, memory limits, where rows are stored, or other fits in the same process.
- A fit that fails leaves the results of an earlier fit as they were: all are set at the end.
- Reading an attribute runs a clustering only if it is a documented attribute of a stream whose rows
  are pending. ``hasattr`` of another name, ``clone``, ``repr``, copying and pickling never do.
- Files are not trusted. Types, shapes and checksums are verified, and an error is one sentence.
- The files of a fit are replaced together. Files of two fits in one folder are refused.

Why it is built so:

- Functions take a frozen `FittedModel` or `Settings`, not the estimator. A reader then sees what
  they depend on, a type checker checks it, and no module imports the class that calls it.
- A stream is clustered when a result is first read, because callers give many small blocks and ask
  rarely. The few attributes that do so are declared in the class as `FittedAttribute`.
- A model is stored without rows, labels and projection, because predictions compare rows with the
  centers in the original space. Numbers and text can be read by any program and, unlike a pickle,
  cannot run code when they are loaded.
- ``to_html`` needs a package below this one, `reports`, and ``save`` a module that makes estimators
  of files. Both import when they are called; tests/test_import_rule.py names these exceptions.
"""
