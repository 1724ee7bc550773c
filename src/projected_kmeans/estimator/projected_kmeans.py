"""`ProjectedKMeans`, the estimator. ``fit`` is the table of contents of the algorithm.

Each method calls a function of another module, so that this one computes nothing itself. It is
long because the documentation of all parameters and attributes is here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.inputs import CompleteInput, open_input, skip_holes
from projected_kmeans.certificates.certificate import Certificate
from projected_kmeans.checks import check_centers
from projected_kmeans.estimator.cluster_descriptions import (
    Representatives,
    describe_model,
    find_representatives,
    to_frame,
)
from projected_kmeans.estimator.exports import make_faiss, make_onnx, make_sklearn
from projected_kmeans.estimator.fit_checkpoint import Finished, finish_run, open_run, recall_result
from projected_kmeans.estimator.fit_warnings import (
    warn_of_client,
    warn_of_fit,
    warn_of_gamma,
    warn_of_guarantee,
    warn_of_init,
)
from projected_kmeans.estimator.fitted_model import (
    FittedAttribute,
    FittedModel,
    list_unset_attributes,
    show_html,
)
from projected_kmeans.estimator.partial_fit import (
    FIT_ATTRIBUTES,
    STREAM_ATTRIBUTES,
    begin_stream,
    check_stream,
    extend_stream,
)
from projected_kmeans.estimator.prediction import (
    find_distances,
    find_labels,
    label_like,
    measure_nearest,
    sum_distances,
)
from projected_kmeans.estimator.proving import certify_partition, check_proof_size, check_proofs
from projected_kmeans.estimator.sketch_solvers import open_solver
from projected_kmeans.keys import RandomState
from projected_kmeans.passes.moments import explain_share, largest_inertia, normalize
from projected_kmeans.passes.size_limits import resolve_limits
from projected_kmeans.results import FitState, Floats
from projected_kmeans.running.interrupts import catch_interrupts
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.search.approach import Approach, choose_approach
from projected_kmeans.search.levels import search_original, search_sketch
from projected_kmeans.search.recipe import Recipe, resolve_recipe
from projected_kmeans.search.reduction import reduce_rows
from projected_kmeans.search.settings import (
    Settings,
    Sizes,
    check_parameters,
    check_sizes,
    explain_other_parameters,
    limits_sizes,
    list_proofs,
    renumber_init,
)
from projected_kmeans.search.storage import open_storage
from projected_kmeans.search.trimming import weigh_near_rows
from projected_kmeans.sources.memory import explain_shortage
from projected_kmeans.sources.protocol import RowSource
from projected_kmeans.streaming.continued_model import ModelSummary, compare_squares
from projected_kmeans.streaming.row_stream import RowStream

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

NO_LABELS = "labels_ of a stream are not kept; ask predict for them"
NO_TRACE = "trace_ of a stream is not kept; give a callback to see every pass"
UNKNOWN_ROWS = (
    "the model does not say how many rows its clusters have; fit it again, or use a clone of it"
)
NO_TRIM = "a stream sets no rows aside; fit all rows at once to trim them"
NO_MISSING = "missing_rows_ of a stream are not kept; find the holes of each block yourself"


class ProjectedKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """k-means on projected data (Boutsidis, Zouzias, Drineas 2010, Algorithm 1).

    Three steps: project the rows to few dimensions, cluster them there, and compute centers and
    inertia of the partition in the original space. By default the projection takes the principal
    directions of the rows; the paper's random signs are ``projection="sign"``. The result depends
    on the data, the parameters and ``random_state``, not on the number of threads.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters, k. See docs/choosing_k.md.
    projection : {"auto", "sign", "sparse-sign", "hadamard", "gaussian", "svd", "columns"}, None \
            or transformer, default="auto"
        How rows are reduced: principal directions ("svd"), random maps, columns drawn by leverage,
        any scikit-learn transformer, or not at all (None). "auto" is "svd", "sign" for very many
        columns, or None if a map saves no work; ``approach_.reason`` says why. See
        docs/projections.md.
    n_components : int or "auto", default="auto"
        Dimensions of the sketch (the projected rows), t. "auto" is `target_dimension` of
        ``n_clusters`` and ``eps``; for "svd" without ``eps`` it is at most 64, and up to 256 if the
        next k directions hold more than a quarter of the variance. See docs/projections.md.
    eps : float, optional
        Error parameter in (0, 1). If given, ``n_components="auto"`` is what the theorem for this
        projection asks for. If not, it is a smaller number that has been enough in experiments. See
        docs/explanation/paper.md.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" clusters directions (spherical k-means): rows are scaled to length one while they
        are read, and a center is the direction of a sum. Inertia is then the sum of
        2 (1 - cosine) over the rows. See docs/kmeans.md.
    init : {"k-means++", "k-means||", "afk-mc2", "random", "orss06", "model"}, array-like or \
            callable, default="k-means++"
        First centers: a method of seeding, k centers (k, d), k indices of rows, the centers that
        this model has ("model"), or a callable ``init(X, n_clusters, random_state)`` that returns
        centers or indices. "k-means++" is greedy. See docs/how_it_works.md.
    n_init : int or "auto", default="auto"
        Number of starts, each from its own first centers, of which the best goes on. They run on a
        sample of the rows if there are many. "auto" is 1 to 4, up to 16 on small data, and 1 if
        ``init`` fixes the centers. See docs/how_it_works.md.
    solver : {"auto", "lloyd", "hartigan", "orss06", "kss04", "exact", "sdp"}, estimator or \
            callable, default="auto"
        - "auto": Lloyd's passes, and swaps of centers as long as they pay.
        - "lloyd": no swaps, and each row meets all centers.
        - "hartigan": Lloyd's method, then moves of single points, as MatLab's kmeans.
        - "orss06": the seeding of Ostrovsky and others (2006), and one step of Lloyd's method.
        - "kss04": the search of Kumar, Sabharwal and Sen (2004), for up to 4 clusters.
        - "exact": the best partition of the sketch, for up to 15 rows; of more, what is proven.
        - "sdp": "auto" with a semidefinite proof, for up to 2,000 rows.
        - a clusterer, or a function ``solver(sketch, n_clusters, random_state)``: see the notes.

        See docs/kmeans.md.
    max_iter : int, default=300
        Maximum number of passes of the solver over the sketch. See docs/how_it_works.md.
    tol : float, default=1e-4
        A search of the sketch has converged if the squared shift of the centers is below ``tol``
        times the mean variance of the columns, or if a pass gains next to nothing. 0 turns both
        off: passes run until nothing changes. See docs/how_it_works.md.
    time_budget : float, optional
        Seconds after which the fit stops at the end of the current pass and keeps the best result
        so far. Reading, one seeding, one pass and lifting are always done. A proof has the seconds
        that the clustering leaves. See docs/reliability.md.
    polish_iter : int or "auto", default="auto"
        Passes in the original space at the end, at most, before every row gets its nearest center.
        0 makes none and is exactly the paper's algorithm. "auto" makes passes until one gains less
        than 0.05 %; none after a solver of your own or without a map. See docs/how_it_works.md.
    trim : float, default=0.0
        Share of the rows, or of their weight, to set aside because they are far from all centers
        (trimmed k-means): label -1. Centers and inertia are those of the others. Not for
        ``partial_fit``, and not with a certificate. See docs/howto/after_a_fit.md.
    min_cluster_size, max_cluster_size : float, optional
        Limits of the size of every cluster, in rows, or in weight if ``sample_weight`` is given.
        ``max_cluster_size="equal"`` makes clusters whose numbers of rows differ by at most one.
        See docs/howto/limited_sizes.md.
    on_missing : {"error", "skip"}, default="error"
        What to do with rows that have a hole: NaN in X or as their weight. "error" raises with the
        first of them; "skip" leaves them out and gives them the label -1, also in `predict`.
        Infinity is an error in either case. See docs/files.md.
    certificate : {"auto", "spectral", "full", "semidefinite"} or None, default=None
        Method that proves how far the inertia is from the lowest possible one; None computes no
        proof. See docs/explanation/certificate.md.
    guarantee : float, optional
        The largest inertia / minimum inertia that is accepted, such as 1.01 for one percent.
        Clusterings and proofs take turns until this is proven, the time is over or nothing gains;
        a guarantee that is not met is a warning. See docs/explanation/certificate.md.
    random_state : int, RandomState, numpy Generator or None, default=None
        An integer fixes all random choices, so that the fit can be repeated; None draws one.
        ``key_`` is the integer that was used. See docs/versions.md.
    n_threads : int, optional
        Number of threads; by default as many as OpenMP allows, and one for steps with little work.
        The result does not depend on it. See docs/how_it_works.md.
    memory_limit : int or str, optional
        Bytes that a fit may allocate, or a text such as "2GB". Blocks of rows are made small enough
        for it, and a large sketch is kept in a temporary file. The result does not depend on it.
        See docs/scale.md.
    checkpoint : str or path, optional
        Folder in which the fit stores its state. If the process is killed, the same call continues
        from there and gives the same result, to the bit. See docs/scale.md.
    callback : callable, optional
        Called with a `FitState` after every unit of work. If it returns a true value, the fit stops
        and keeps the best result so far. See docs/reference.md.
    verbose : int, default=0
        Above 0, progress is printed to the standard error stream: a line for each step, and one
        every five seconds in a long step. A program that shows level INFO of the logger
        "projected_kmeans" gets every unit of work there instead. See docs/reference.md.

    Attributes
    ----------
    labels_ : ndarray of int32 (n,)
        Cluster of every row of ``fit``, as `predict` gives it unless ``polish_iter=0``; -1 if
        ``trim`` or ``on_missing`` set the row aside. A Dask array, chunked as the rows, if X is
        Dask's. After ``partial_fit`` there is none.
    cluster_centers_ : ndarray (k, d)
        Means of the clusters in the original space; see the notes.
    inertia_ : float
        F: sum of squared distances of rows to the center of their cluster, in the original space.
    normalized_inertia_ : float
        F~: inertia divided by the sum of squared entries. For metric "cosine" it is the inertia
        divided by the largest that rows can have: 2 for each row, 1 for a row of zeros. Without
        rows of zeros this is the mean of 1 - cosine. Always between 0 and 1.
    explained_variance_ratio_ : float
        1 - inertia / inertia about the mean of all rows: the share of the variance that clusters
        explain, between 0 and 1. F~ is about zero instead, and is small for rows far from zero. For
        metric "cosine" the single center is the direction of the sum of all rows, the best that
        one unit center can do, so that one cluster explains 0 in both metrics.
    mean_cosine_ : float or None
        For metric "cosine", the mean cosine between rows and their centers, 1 -
        ``normalized_inertia_``; a row of zeros counts as half a row with cosine 0. Else None.
    certificate_ : Certificate or None
        What was proven about the inertia. None if no proof was asked for, or if the fit was stopped
        before.
    gamma_ : float or None
        The inertia of the partition that the solver found in the sketch is proven to be at most
        this many times the lowest possible there. Only ``solver="exact"`` proves it; else None.
    n_components_ : int
        Dimensions of the sketch.
    approach_ : Approach
        The value that each "auto" was replaced by, and the reason.
    projection_ : transformer or None
        The fitted map.
    key_ : int
        The integer that fixed all random choices: passed as ``random_state`` it repeats the fit.
    n_iter_ : int
        Passes over all rows of the sketch, in the start that won.
    history_ : tuple of float
        The lowest inertia after each of these passes, in the sketch.
    stopped_ : {"converged", "max_iter", "time", "callback", "interrupted"}
        Why the fit ended: the solver converged, used its maximum number of passes, ran out of
        ``time_budget``, or was stopped by the callback or by Ctrl-C.
    timings_ : dict
        Seconds of each step.
    trace_ : tuple of FitState
        Every unit of work of all starts and levels that computed an inertia.
    trimmed_rows_ : ndarray of int64 (m,)
        Indices of the rows that ``trim`` set aside, ascending. They are the farthest ones, found
        exactly and counted down to a whole row; of equally far rows the later ones go first.
    trim_distance_ : float
        The largest distance of a row that was kept to its center, infinity if ``trim`` is 0. New
        rows X are outliers in the same sense if ``distances(X) > trim_distance_``; `predict` labels
        every row by its nearest center.
    missing_rows_ : ndarray of int64 (m,)
        Indices of the rows that ``on_missing="skip"`` left out, ascending.
    drift_ : float or None
        After ``partial_fit`` on a fitted or loaded model: the mean squared distance of the rows
        that were added to the centers that the model had, over that of the rows of its fit. About
        1 means that they are alike. It does not depend on blocks. None for other models.
    n_samples_seen_ : int
        Number of rows of the fit, or of all blocks so far; rows that were left out do not count.
    has_pending_rows_ : bool
        Whether ``partial_fit`` took rows that are not clustered yet. Reading it runs nothing.
    n_features_in_ : int
        Number of columns, d.
    feature_names_in_ : ndarray of str
        Names of the columns; only if X has string column names.

    Notes
    -----
    ``predict`` assigns a row to the nearest of ``cluster_centers_``, and ``labels_`` are the same
    clusters: rows are assigned once more after the last pass. Centers then stay, so that they are
    the means of the clusters before that, as in scikit-learn, but a further step of means would
    lower the inertia by less than 0.05 %; ``inertia_`` is about them, and is
    ``-score`` of the rows. With many clusters of dense rows, bounds prove most distances of this
    assignment needless. If rows were projected and ``polish_iter=0``, or if the fit was
    stopped before, ``labels_`` is the paper's partition, which was found in the sketch, and
    ``cluster_centers_`` are its means: for some rows ``predict`` gives another cluster.

    ``partial_fit`` only collects rows. They are clustered by `cluster_stream`, by a prediction, or
    when one of the attributes above is first read. Before that ``has_pending_rows_`` is True.
    ``check_is_fitted``, ``clone``, ``repr``, copying, pickling and ``hasattr`` of any other name
    never run a clustering.

    A solver of your own gets the sketch as one read-only array. An estimator is cloned; its
    ``n_clusters`` and, if it has one, its ``random_state`` are set. The seed is ``key_`` modulo
    2**32, and one more for each further run if ``n_init`` asks for several, of which the one with
    the lowest inertia in the sketch counts. ``init`` and ``max_iter`` have no effect, and ``tol``
    only on polishing. The callback, ``time_budget``, Ctrl-C and ``checkpoint`` see
    a run of the solver as one unit of work: it is not stopped in the middle. Its labels are kept,
    also if nothing was projected, unless ``polish_iter`` is above 0. ``sample_weight`` is passed on
    if the solver has a parameter of this name, and refused if not. Labels must be integers from 0
    to k - 1.

    With limits of cluster sizes, ``labels_`` keep them, and ``inertia_`` is that of ``labels_``.
    `predict` still gives the nearest center, also for the rows of the fit, so that its clusters may
    have other sizes; ``-score`` may be below ``inertia_``. See docs/howto/limited_sizes.md.

    Ctrl-C during a fit in the main thread stops the fit after the current pass; it keeps the best
    result so far and warns. A second Ctrl-C, or one before the first pass of the solver has ended,
    raises KeyboardInterrupt. If the program has its own handler for Ctrl-C, that stays in place.

    Examples
    --------
    >>> import numpy as np
    >>> from projected_kmeans import ProjectedKMeans
    >>> stream = np.random.default_rng(0)
    >>> means = stream.normal(size=(3, 1000))
    >>> X = np.repeat(means, 20, axis=0) + stream.normal(size=(60, 1000))
    >>> model = ProjectedKMeans(n_clusters=3, random_state=0).fit(X)
    >>> sorted(np.bincount(model.labels_).tolist())
    [20, 20, 20]
    >>> model.n_components_
    10
    """

    # Set by fit, or by the first read after partial_fit.
    labels_ = FittedAttribute[Any](not_of_streams=NO_LABELS)
    cluster_centers_ = FittedAttribute[NDArray[Any]]()
    inertia_ = FittedAttribute[float]()
    normalized_inertia_ = FittedAttribute[float]()
    explained_variance_ratio_ = FittedAttribute[float]()
    certificate_ = FittedAttribute[Certificate | None]()
    gamma_ = FittedAttribute[float | None]()
    n_components_ = FittedAttribute[int]()
    approach_ = FittedAttribute[Approach]()
    projection_ = FittedAttribute[Any]()
    n_iter_ = FittedAttribute[int]()
    history_ = FittedAttribute[tuple[float, ...]]()
    stopped_ = FittedAttribute[str]()
    timings_ = FittedAttribute[dict[str, float]]()
    trace_ = FittedAttribute[tuple[FitState, ...]](not_of_streams=NO_TRACE)
    trimmed_rows_ = FittedAttribute[NDArray[Any]](not_of_streams=NO_TRIM)
    trim_distance_ = FittedAttribute[float](not_of_streams=NO_TRIM)
    missing_rows_ = FittedAttribute[NDArray[Any]](not_of_streams=NO_MISSING)
    _planned_bytes = FittedAttribute[int]()
    _projection_name = FittedAttribute[str | None]()
    _total_inertia = FittedAttribute[float]()
    _sum_of_squares = FittedAttribute[float]()
    _total_weight = FittedAttribute[float]()
    _center_weights = FittedAttribute[NDArray[Any] | None]()

    # The columns of files that a stored model was fitted to, if its caller chose some.
    _data_columns: tuple[str, ...] | None = None
    _left_out_columns: tuple[str, ...] = ()

    # The rows of partial_fit; None after fit.
    _stream: RowStream | None = None

    @explain_other_parameters
    def __init__(
        self,
        n_clusters: int = 8,
        *,
        projection: Any = "auto",
        n_components: int | str = "auto",
        eps: float | None = None,
        metric: str = "euclidean",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        solver: Any = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        time_budget: float | None = None,
        polish_iter: int | str = "auto",
        trim: float = 0.0,
        min_cluster_size: float | None = None,
        max_cluster_size: float | str | None = None,
        on_missing: str = "error",
        certificate: str | None = None,
        guarantee: float | None = None,
        random_state: RandomState = None,
        n_threads: int | None = None,
        memory_limit: int | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        callback: Callable[[FitState], object] | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.projection = projection
        self.n_components = n_components
        self.eps = eps
        self.metric = metric
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.time_budget = time_budget
        self.polish_iter = polish_iter
        self.trim = trim
        self.min_cluster_size = min_cluster_size
        self.max_cluster_size = max_cluster_size
        self.on_missing = on_missing
        self.certificate = certificate
        self.guarantee = guarantee
        self.random_state = random_state
        self.n_threads = n_threads
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callback = callback
        self.verbose = verbose

    @explain_shortage()
    def fit(
        self,
        X: ArrayLike | RowSource,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        client: Any = None,
    ) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows. float32, float64, float16 and integers of up to 16 bits are read without
            conversion; other types are converted to float64. Sparse rows are never made dense;
            docs/kmeans.md says when they give the same bits as dense ones. A row source (see
            `open_rows`) is read block by block and may be larger than memory. Dask's rows are
            worked on by the worker that holds them. See docs/scale.md.
        y : ignored
            Present by convention.
        sample_weight : array-like (n,), optional
            Weight of every row, not negative.
        client : distributed.Client, optional
            The Dask cluster that works on Dask's rows, by default the one that Dask itself would
            use, or that reads a row source.

        Returns
        -------
        ProjectedKMeans
            Itself.
        """
        settings = self._checked_settings()
        given = open_input(self, X, reset=True, client=client)
        opened = skip_holes(given, sample_weight, self.on_missing, client)
        rows, weights = opened.rows, opened.weights
        if len(opened.holes.rows):
            settings = renumber_init(settings, opened.holes)
        check_sizes(settings, *rows.shape)
        sizes, proofs = Sizes.of(rows, self.n_clusters), list_proofs(settings)
        recipe = _resolve(settings, sizes, rows, weights)
        monitor = Monitor(self.callback, self.verbose, self.time_budget)
        with (
            catch_interrupts(monitor.interrupt),
            open_run(vars(settings), recipe, rows, weights, monitor) as run,
        ):
            finished = recall_result(run, recipe.projection, rows.shape, self.n_clusters)
            if finished is None:
                with open_storage(rows, recipe.memory, run) as storage:
                    source, near = storage.rows, weights
                    if self.trim:
                        near = weigh_near_rows(self.trim, recipe, source, weights)
                    reduced = reduce_rows(recipe, source, near, run, storage)
                    approach = choose_approach(settings, sizes, recipe.projection)
                    sketched = search_sketch(recipe, approach, *reduced, run)
                    if settings.guarantee is None:
                        reduced = reduced.forget()
                    finished = Finished(*search_original(recipe, approach, *reduced, sketched, run))
                    if self.trim:
                        finished = finished.trim(self.trim, reduced.original, weights)
                    if proofs:
                        finished = certify_partition(
                            settings, recipe, approach, reduced, finished, run
                        )
                finish_run(run, finished)

        monitor.finish()
        approach = choose_approach(settings, sizes, recipe.projection)
        self._keep(opened, recipe, approach, finished, monitor)
        return self

    def fit_predict(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Any:
        """Cluster the rows of X and return ``labels_``, as a Series if X is a DataFrame."""
        return label_like(self.fit(X, y, sample_weight).labels_, X)

    @explain_shortage()
    def partial_fit(self, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Add rows to a stream; the model is that of all rows so far, in bounded memory.

        A stream keeps a few rows that stand for all. docs/scale.md says how many, and how near the
        result is to that of ``fit``. The rows are not clustered here but when a fitted attribute or
        a prediction is first asked for, so that blocks may be small; `cluster_stream` does it
        explicitly. The result depends on the order of the rows and on ``random_state``, not on how
        the rows are divided into blocks. ``inertia_`` belongs to a partition of all rows so far, in
        which rows that were merged stay together. It is therefore at least ``-score`` of all rows.
        There are no ``labels_``, because rows are not kept: ask `predict` for them.

        After ``fit``, or if the model was loaded, the stream continues from the model: its centers
        stand for its rows, each with the weight of its cluster, and new rows move them. Clusters
        keep their numbers. Rows of the fit stay together by cluster, and their inertia is counted
        about the centers of the fit. ``drift_`` says whether new rows are farther from these
        centers than those of the fit were. To begin anew, call it on a clone of the model.

        Parameters
        ----------
        X : array-like, sparse matrix or row source (n, d)
            One row or more. The first block decides whether rows are kept sparse, and whether as
            float32 or float64.
        y : ignored
            Present by convention.
        sample_weight : array-like (n,), optional
            Weight of every row, not negative.

        Returns
        -------
        ProjectedKMeans
            Itself. While it has seen fewer rows than ``n_clusters``, every row is a center.
        """
        settings = self._checked_settings()
        check_stream(self._stream, settings)
        fitted = None if self._is_stream else summarize_model(self)
        given = open_input(self, X, reset=self._stream is None and fitted is None)
        opened = skip_holes(given, sample_weight, settings.on_missing, may_be_empty=True)
        if not opened.rows.shape[0]:
            return self
        begun = self._stream or begin_stream(opened.rows, settings, fitted)
        longer = extend_stream(begun, opened.rows, opened.weights, settings)
        for name in (*STREAM_ATTRIBUTES, *FIT_ATTRIBUTES):
            self.__dict__.pop(name, None)  # results of earlier rows
        self._stream = longer
        self.key_, self.n_samples_seen_ = longer.key, longer.n_seen
        return self

    def cluster_stream(self) -> Self:
        """Cluster the rows of a stream now; do nothing if no rows are pending.

        Predictions, and the first read of a fitted attribute after ``partial_fit``, do the same.

        Returns
        -------
        ProjectedKMeans
            Itself.

        Examples
        --------
        >>> from projected_kmeans import ProjectedKMeans
        >>> model = ProjectedKMeans(2, random_state=0).partial_fit([[0.0], [1.0], [5.0], [6.0]])
        >>> model.has_pending_rows_, model.cluster_stream().has_pending_rows_
        (True, False)
        """
        if self._stream is None or not self.has_pending_rows_:
            return self
        kept = self._stream.gather()
        trial = clone(self).set_params(
            random_state=self._stream.key, certificate=None, memory_limit=None
        )
        if self.solver in ("exact", "sdp"):  # a proof would only be about the rows that are kept
            trial.set_params(solver="auto")
        if self._stream.model is not None and isinstance(self.init, str):
            trial.set_params(init=self._stream.model.centers)
            trial.set_params(solver="lloyd" if trial.solver == "auto" else trial.solver)
        if len(kept) <= self.n_clusters:
            trial.set_params(n_clusters=len(kept), init="k-means++", projection=None)
        trial.fit(kept.rows, sample_weight=kept.weights)
        self.__dict__.update({name: vars(trial)[name] for name in STREAM_ATTRIBUTES})
        self.inertia_ = trial.inertia_ + kept.hidden
        spherical = self.metric == "cosine"
        largest = kept.largest_spherical_inertia if spherical else kept.sum_of_squares
        self.normalized_inertia_ = normalize(self.inertia_, largest)
        self._total_weight, self._sum_of_squares = self._stream.total_weight, kept.sum_of_squares
        self._total_inertia = trial._total_inertia + kept.hidden
        self.explained_variance_ratio_ = explain_share(self.inertia_, self._total_inertia)
        return self

    @explain_shortage()
    def predict(self, X: ArrayLike | RowSource) -> Any:
        """Return the index of the nearest center for every row.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows.

        Returns
        -------
        ndarray of int32 (n,)
            Ties go to the lowest index; -1 for rows with holes if ``on_missing="skip"``. A Series
            if X is a pandas or polars DataFrame, with the index of X; a Dask array, not computed
            yet, if X is Dask's.
        """
        return label_like(find_labels(read_fitted_model(self), X), X)

    @explain_shortage()
    def transform(self, X: ArrayLike | RowSource) -> Any:
        """Return the distance of every row to every center.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows.

        Returns
        -------
        ndarray (n, k)
            Euclidean distances. A Dask array, not computed yet, if X is Dask's.
        """
        return find_distances(read_fitted_model(self), X)

    @explain_shortage()
    def distances(self, X: ArrayLike | RowSource) -> Any:
        """Return the distance of every row to its nearest center, for example to find outliers.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows.

        Returns
        -------
        ndarray of float64 (n,)
            Euclidean distances, of directions if ``metric="cosine"``. A Dask array, not computed
            yet, if X is Dask's.

        Examples
        --------
        >>> from projected_kmeans import ProjectedKMeans
        >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit([[0.0], [2.0], [9.0], [9.0]])
        >>> model.distances([[0.0], [9.0], [19.0]])
        array([ 1.,  0., 10.])
        """
        return measure_nearest(read_fitted_model(self), X)

    @explain_shortage()
    def score(
        self,
        X: ArrayLike | RowSource,
        y: object = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return minus the sum of squared distances of rows to their nearest centers.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows.
        y : ignored
            Present by convention.
        sample_weight : array-like (n,), optional
            Weight of every row.

        Returns
        -------
        float
            The higher, the better.
        """
        return -sum_distances(read_fitted_model(self), X, sample_weight)[0]

    @explain_shortage()
    def drift(self, X: ArrayLike | RowSource, sample_weight: ArrayLike | None = None) -> float:
        """Return how much farther rows are from their nearest centers than the rows of the fit.

        That is the mean squared distance of X over that of the fit, ``inertia_`` divided by the
        weight of its rows. About 1 means that X is like the rows of the fit; far more, that the
        model no longer describes the rows. The model stays as it is; `partial_fit` moves it.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows.
        sample_weight : array-like (n,), optional
            Weight of every row.

        Returns
        -------
        float
            At least 0; infinity if the rows of the fit lie on their centers and X does not.

        Examples
        --------
        >>> from projected_kmeans import ProjectedKMeans
        >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit([[0.0], [2.0], [8.0], [10.0]])
        >>> model.drift([[-1.0], [11.0]])
        4.0
        """
        fitted, summary = read_fitted_model(self), summarize_model(self)
        assert summary is not None
        return compare_squares(*sum_distances(fitted, X, sample_weight), summary.mean_square)

    @explain_shortage()
    def representatives(
        self, X: ArrayLike | RowSource, n_rows: int = 1, *, ids: Any = None
    ) -> Representatives:
        """Return the rows that are nearest to each center, among the rows of its cluster.

        The rows are read once, block by block, and nothing is kept but the result. It does not
        depend on blocks or threads. Of equally near rows the one with the lowest index comes first.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows. `predict` gives them their clusters.
        n_rows : int, default=1
            Number of rows for each center.
        ids : sequence, optional
            What the caller calls the rows, one for each row; by default the index of a pandas
            DataFrame, or the ``row_ids`` of a row source, such as the names of image files.

        Returns
        -------
        Representatives
            Indices of rows, distances to the center, and ids if there are any, k rows each.

        Examples
        --------
        >>> import numpy as np
        >>> from projected_kmeans import ProjectedKMeans
        >>> X = np.array([[0.0], [1.0], [1.5], [9.0], [9.5], [11.0]])
        >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
        >>> found = model.representatives(X, ids=["a", "b", "c", "d", "e", "f"])
        >>> sorted(found.ids.ravel()), sorted(found.rows.ravel().tolist())
        (['b', 'e'], [1, 4])
        """
        return find_representatives(read_fitted_model(self), X, n_rows, ids)

    @explain_shortage()
    def describe_clusters(
        self,
        X: ArrayLike | RowSource,
        *,
        feature_names: Sequence[str] | None = None,
        ids: Any = None,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        n_columns: int = 6,
        n_representatives: int = 1,
    ) -> Any:
        """Return a data frame that says what each cluster is, one row for each cluster.

        A cluster stands out in the columns that correlate with membership in it. The correlation
        is (cluster's mean - mean) / standard deviation, times sqrt(p / (1 - p)) for a cluster with
        the share p of the rows. It does not depend on the unit of a column, and its square is the
        share of the column's variance that membership explains. Columns are listed from 0.1 on; of
        sparse rows only positive ones, because that a word is missing says little about a text.
        The result does not depend on blocks or threads.

        Parameters
        ----------
        X : array-like, sparse matrix, row source, Dask array or Dask data frame (n, d)
            Rows. `predict` gives them their clusters.
        feature_names : sequence of str, optional
            The names of the columns, such as the words of a vocabulary. By default the model's own
            names are used.
        ids : sequence, optional
            What the caller calls the rows; by default as for `representatives`.
        sample_weight : array-like (n,), optional
            Weight of every row.
        labels : array-like (n,), optional
            The cluster of every row, if not that of `predict`; rows below 0 take no part. Give
            ``labels_``, and the rows and weights of the fit, to get the numbers of its report.
        n_columns : int, default=6
            Number of columns to list for each cluster, at most.
        n_representatives : int, default=1
            Number of nearest rows to list for each cluster.

        Returns
        -------
        DataFrame
            Of polars if X is one of polars, else of pandas if that is installed. Its columns are
            the attributes of `ClusterDescription`.

        Examples
        --------
        >>> import numpy as np
        >>> from projected_kmeans import ProjectedKMeans
        >>> X = np.array([[1.0, 70.0], [2.0, 70.0], [9.0, 70.0], [8.0, 71.0]])
        >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
        >>> table = model.describe_clusters(X, feature_names=["age", "weight"])
        >>> sorted(table["name"])
        ['high age, high weight', 'low age, low weight']
        """
        described = describe_model(
            read_fitted_model(self),
            X,
            feature_names=feature_names,
            ids=ids,
            sample_weight=sample_weight,
            labels=labels,
            n_columns=n_columns,
            n_representatives=n_representatives,
        )
        return to_frame(described, X)

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        feature_names: Sequence[str] | None = None,
        labels: bool = False,
    ) -> None:
        """Write the model into a folder, as `save_model` does; `load_model` reads it again.

        Parameters
        ----------
        path : str or path
            A folder, which is made if it does not exist.
        feature_names : sequence of str, optional
            Names of the columns; by default ``feature_names_in_`` if the model has it.
        labels : bool, default=False
            Whether to write ``labels_`` too. The loaded model then has them.

        Examples
        --------
        >>> import tempfile
        >>> from projected_kmeans import ProjectedKMeans, load_model
        >>> folder = tempfile.mkdtemp()
        >>> ProjectedKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [9.5]]).save(folder)
        >>> load_model(folder).predict([[0.0], [1.0]]).tolist()
        [0, 0]
        """
        from projected_kmeans.estimator.model_files import save_model

        save_model(self, path, feature_names=feature_names, labels=labels)

    def to_sklearn(self, dtype: DTypeLike | None = None) -> KMeans:
        """Return a fitted `sklearn.cluster.KMeans` with the centers of this model.

        It predicts the same labels, except that a row about as near to two centers may get the
        other one, because scikit-learn compares rounded distances. With ``metric="cosine"`` labels
        are the same for rows of any length, but its ``transform`` and ``score`` need rows of length
        one.

        Parameters
        ----------
        dtype : dtype, optional
            Type of the centers, by default unchanged. scikit-learn's KMeans only predicts rows of
            the type of its centers, and reads integers as float64.

        Returns
        -------
        KMeans
            With ``cluster_centers_``, ``inertia_``, ``n_iter_`` and the features of this model, and
            with ``labels_`` if this model has them. A clone has as many clusters.

        Examples
        --------
        >>> import numpy as np
        >>> from projected_kmeans import ProjectedKMeans
        >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
        >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
        >>> bool((model.to_sklearn().predict(X) == model.predict(X)).all())
        True
        """
        return make_sklearn(read_fitted_model(self), dtype)

    def to_faiss(self, kind: str = "flat", X: Any = None) -> Any:
        """Return a FAISS index of the centers, or an inverted-file index of rows with these lists.

        Parameters
        ----------
        kind : {"flat", "ivf"}, default="flat"
            "flat" is an index of the centers, as ``faiss.Kmeans`` keeps it in ``index``. "ivf" is a
            trained ``IndexIVFFlat`` whose lists are the clusters, for the search of near rows.
        X : ndarray (n, d), optional
            Rows to add to an "ivf" index, numbered from 0. Each goes to the list of its nearest
            center.

        Returns
        -------
        faiss.IndexFlatL2, faiss.IndexFlatIP or faiss.IndexIVFFlat
            Centers in float32, by inner product with ``metric="cosine"``. For "flat",
            ``index.search(X, 1)`` gives squared distances (or inner products) and labels of float32
            rows; ``index.reconstruct_n()`` gives the centers.

        Examples
        --------
        >>> import numpy as np
        >>> from projected_kmeans import ProjectedKMeans
        >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]], dtype=np.float32)
        >>> model = ProjectedKMeans(n_clusters=2, random_state=0).fit(X)
        >>> distances, labels = model.to_faiss().search(X, 1)
        >>> bool((labels.ravel() == model.predict(X)).all())
        True
        """
        return make_faiss(read_fitted_model(self), kind, X)

    def to_onnx(self, dtype: DTypeLike | None = None) -> Any:
        """Return an ONNX model that labels rows, for runtimes in any language.

        Parameters
        ----------
        dtype : {"float32", "float64"}, optional
            Type of the rows that it takes, by default that of the centers.

        Returns
        -------
        onnx.ModelProto
            Input ``X`` (n, d), output ``labels`` (n,) of int64. Save it by ``onnx.save``.

        Examples
        --------
        >>> import numpy as np
        >>> from projected_kmeans import ProjectedKMeans
        >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]], dtype=np.float32)
        >>> exported = ProjectedKMeans(n_clusters=2, random_state=0).fit(X).to_onnx()
        >>> [node.op_type for node in exported.graph.node]
        ['Sub', 'MatMul', 'Add', 'ArgMin']
        """
        return make_onnx(read_fitted_model(self), dtype)

    def to_html(
        self,
        X: Any = None,
        path: str | os.PathLike[str] | None = None,
        *,
        name: str | None = None,
        sample_weight: ArrayLike | None = None,
        image_shape: Sequence[int] | str | None = "auto",
        feature_names: Sequence[str] | None = None,
        ids: Sequence[Any] | None = None,
        true_labels: ArrayLike | None = None,
    ) -> str:
        """Return the report of the fit as one HTML page, and write it to ``path`` if that is given.

        The page works offline and contains everything it needs. It needs the extra ``report``.

        Parameters
        ----------
        X : array-like, sparse matrix or row source (n, d), optional
            The rows of the fit. Without them the report has no map, no distances and no members.
        path : str or path, optional
            The file to write.
        name : str, optional
            The title of the report; by default the name of the file or folder of X, else "X".
        sample_weight : array-like (n,), optional
            The weights of the fit.
        image_shape : (height, width), (height, width, 3), "auto" or None, default="auto"
            The shape of rows that are pictures. "auto" takes that of image files, or else finds
            out whether rows are square pictures, grey or in colour; None shows numbers.
        feature_names : sequence of str, optional
            The names of the columns, such as the words of a vocabulary. By default the model's own
            names are used.
        ids : sequence, optional
            What the caller calls the rows; by default the index of a pandas DataFrame, or the
            ``row_ids`` of a row source, such as the names of image files.
        true_labels : array-like (n,), optional
            Labels that are known of the rows: each cluster shows its most frequent one.

        Returns
        -------
        str
            The page.

        Examples
        --------
        >>> import numpy as np
        >>> from projected_kmeans import ProjectedKMeans
        >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 9.0], [9.0, 8.0]])
        >>> page = ProjectedKMeans(n_clusters=2, random_state=0).fit(X).to_html(X)
        >>> "2 clusters of 4 rows" in page
        True
        """
        from projected_kmeans.reports.build import to_html

        return to_html(
            self,
            X,
            path,
            name=name,
            sample_weight=sample_weight,
            image_shape=image_shape,
            feature_names=feature_names,
            ids=ids,
            true_labels=true_labels,
        )

    @property
    def mean_cosine_(self) -> float | None:
        """The mean cosine between rows and their centers; None unless the metric is "cosine"."""
        inertia = self.normalized_inertia_  # not there before a fit
        return 1.0 - inertia if self.metric == "cosine" else None

    @property
    def drift_(self) -> float | None:
        """How far rows of ``partial_fit`` are from the centers of the fit that they continue."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'drift_'")
        return None if self._stream is None else self._stream.drift

    @property
    def has_pending_rows_(self) -> bool:
        """Whether ``partial_fit`` took rows that are not clustered yet."""
        return self._is_stream and "cluster_centers_" not in vars(self)

    @property
    def _is_stream(self) -> bool:
        return self._stream is not None

    def _checked_settings(self) -> Settings:
        """Return all parameters as one value; raise if one of them cannot be used."""
        settings = Settings.of(vars(self))
        if isinstance(self.init, str) and self.init == "model":
            if not self.__sklearn_is_fitted__():
                raise ValueError(
                    'init="model" needs a model that was fitted or loaded before; use "k-means++"'
                )
            settings = replace(settings, init=self.cluster_centers_.astype(np.float64))
        check_parameters(settings)
        if list_proofs(settings):
            check_proofs(settings)
        return settings

    def _keep(
        self,
        opened: CompleteInput,
        recipe: Recipe,
        approach: Approach,
        finished: Finished,
        monitor: Monitor,
    ) -> None:
        """Warn about what the caller should know, and set the fitted attributes."""
        rows, holes = opened.rows, opened.holes
        sketched, polished, projection = finished.sketched, finished.polished, recipe.projection
        if not isinstance(self.init, str):
            warn_of_init(self.init, self.n_init)
        if not polished.mass.min() > 0 or monitor.stopped:
            warn_of_fit(sketched, polished, recipe, monitor.stopped)
        if approach.solver == "exact":
            warn_of_gamma(approach.solver, sketched.gamma)
        if self.guarantee is not None:
            warn_of_guarantee(self.guarantee, finished.certificate)
        self._stream = self._data_columns = None
        self._left_out_columns = ()
        self._projection_name = None if projection is None else type(projection).__name__
        self.key_, self.projection_, self.approach_ = recipe.key, projection, approach
        labels = polished.labels.copy()
        labels[finished.trimmed] = -1
        self.labels_ = opened.given.labels_like_input(holes.spread(labels, -1))
        self.missing_rows_, self.n_samples_seen_ = holes.rows, rows.shape[0]
        self.cluster_centers_ = polished.centers.astype(compute_type(rows.dtype), copy=False)
        self.n_components_ = sketched.centers.shape[1]
        self._planned_bytes = recipe.memory.total_bytes
        self.inertia_ = polished.inertia
        self.certificate_, self.gamma_ = finished.certificate, sketched.gamma
        self.trimmed_rows_ = holes.find(finished.trimmed)
        far = finished.trim_distance
        self.trim_distance_ = math.inf if far is None else far
        largest = largest_inertia(polished, spherical=self.metric == "cosine")
        self.normalized_inertia_ = normalize(polished.inertia, largest)
        self._total_weight, self._sum_of_squares = math.fsum(polished.mass), polished.sum_of_squares
        self._center_weights = polished.center_weights
        self._total_inertia = polished.total_inertia
        self.explained_variance_ratio_ = explain_share(polished.inertia, polished.total_inertia)
        self.n_iter_ = sketched.n_iter
        self.history_ = sketched.history
        self.stopped_ = monitor.stopped or ("converged" if sketched.converged else "max_iter")
        self.timings_ = monitor.seconds
        self.trace_ = tuple(monitor.trace)

    def _repr_html_inner(self) -> str:
        if self.has_pending_rows_ or not self.__sklearn_is_fitted__():
            return show_html(clone(self), None)  # a clone has no results to compute
        return show_html(self, read_fitted_model(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._repr_html_inner()
        return bundle

    def __dir__(self) -> list[str]:
        """List fitted attributes only once they are set.

        scikit-learn's own version reads every attribute, which would cluster a stream. Tools that
        read what is listed, such as its HTML display, would do so too.
        """
        unset = list_unset_attributes(self)
        # Properties that read an unset attribute.
        unset |= {"_n_features_out"} if "cluster_centers_" in unset else set()
        unset |= {"mean_cosine_"} if "normalized_inertia_" in unset else set()
        unset |= set() if self.__sklearn_is_fitted__() else {"drift_"}
        return sorted(set(object.__dir__(self)) - unset)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle holds; labels on the workers of a cluster are left out."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "__dask_scheduler__" in getattr(state.get("labels_"), "__dict__", {}):
            del state["labels_"]
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_stream or "cluster_centers_" in vars(self)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = Settings.of(vars(self)).on_missing == "skip"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _resolve(settings: Settings, sizes: Sizes, rows: BlockSource, weights: Floats | None) -> Recipe:
    """Return what a fit depends on beside the rows; raise or warn where that does not suit them."""
    limits = None
    if limits_sizes(settings):
        limits = resolve_limits(
            settings.min_cluster_size,
            settings.max_cluster_size,
            n_clusters=int(settings.n_clusters),
            n_rows=sizes.n_rows,
            weights=weights,
        )
    if settings.solver == "sdp":
        check_proof_size(rows.shape[0])
    recipe = resolve_recipe(settings, sizes, limits=limits)
    if settings.solver not in ("auto", "lloyd", "hartigan"):
        recipe = replace(recipe, solve=open_solver(settings, recipe))
    if rows.keeps_new_rows:
        warn_of_client(rows, settings, sizes, weights)
    return recipe


def read_fitted_model(model: ProjectedKMeans) -> FittedModel:
    """Return a fitted estimator as a frozen value; cluster its stream first if rows are pending."""
    check_is_fitted(model)
    model.cluster_stream()
    known = vars(model)
    names = known.get("feature_names_in_")
    return FittedModel(
        estimator=model,
        centers=check_centers(
            "cluster_centers_", model.cluster_centers_, model.n_features_in_, "fit the model again"
        ),
        settings=Settings.of(known),
        key=model.key_,
        n_components=model.n_components_,
        projection_name=model._projection_name,
        inertia=model.inertia_,
        normalized_inertia=model.normalized_inertia_,
        explained=known.get("explained_variance_ratio_"),
        n_iter=model.n_iter_,
        certificate=model.certificate_,
        labels=known.get("labels_"),
        feature_names=None if names is None else tuple(names),
        data_columns=model._data_columns or (None if names is None else tuple(names)),
        left_out_columns=model._left_out_columns,
        seconds=known.get("timings_"),
    )


def summarize_model(model: ProjectedKMeans) -> ModelSummary | None:
    """Return what a fit left of its rows; None before a fit. Raise if the model does not say it."""
    known = vars(model)
    if "cluster_centers_" not in known:
        return None
    weights = known.get("_center_weights")
    if weights is None or not known.get("_total_weight"):
        raise ValueError(UNKNOWN_ROWS)
    return ModelSummary(
        model.cluster_centers_.astype(np.float64),
        weights,
        model.inertia_,
        model._sum_of_squares,
        model._total_weight,
        model.n_samples_seen_,
    )
