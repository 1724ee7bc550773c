"""The scikit-learn face: ``fit`` reads as the pipeline reduce, seed, cluster, lift, polish, score.

Composes the steps; it computes nothing itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.utils import Tags

from projected_kmeans.blocks.block_source import BlockSource
from projected_kmeans.blocks.element_types import compute_type
from projected_kmeans.blocks.inputs import open_input, open_weights
from projected_kmeans.certificates.certificate import (
    Certificate,
    certify_fit,
    check_certificate,
)
from projected_kmeans.estimator.exports import to_faiss, to_onnx, to_sklearn
from projected_kmeans.estimator.notebook_display import show_bundle, show_html
from projected_kmeans.estimator.partial_fit import ask_stream, forget_stream, partial_fit
from projected_kmeans.estimator.prediction import fit_predict, predict, score, transform
from projected_kmeans.fit.fit_checkpoint import Finished, finish_run, open_run, recall_result
from projected_kmeans.fit.fit_warnings import warn_of_fit
from projected_kmeans.fit.pipeline import (
    cluster_sketch,
    lift_partition,
    polish_partition,
    reduce_rows,
)
from projected_kmeans.fit.storage import open_storage
from projected_kmeans.keys import RandomState
from projected_kmeans.passes.scoring import normalize
from projected_kmeans.planning.approach import Sizes
from projected_kmeans.planning.forecast import forecast
from projected_kmeans.planning.recipe import Recipe, resolve_recipe
from projected_kmeans.planning.settings import Settings, check_parameters, check_sizes
from projected_kmeans.results import FitState, Floats
from projected_kmeans.running.interrupts import catch_interrupts
from projected_kmeans.running.monitor import Monitor
from projected_kmeans.sources.protocol import RowSource


class ProjectedKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """k-means on randomly projected data (Boutsidis, Zouzias, Drineas 2010, Algorithm 1).

    The rows are projected to few dimensions, clustered there, and the partition found is carried
    back: its centers and its inertia are those of the original space. The result depends on the
    data and ``random_state`` alone, not on the number of threads.

    Parameters
    ----------
    n_clusters : int, default=8
        k.
    projection : {"auto", "sign", "sparse-sign", "hadamard", "gaussian", "svd", "columns"}, None \
            or transformer, default="auto"
        How rows are reduced. "auto" takes principal directions, signs where there are too many
        columns for them, and nothing where a sketch would save no work; ``approach_`` tells why.
        "svd" takes the principal directions of the rows, "columns" draws columns by their
        leverage; None clusters in the original space; any scikit-learn transformer will do.
    n_components : int or "auto", default="auto"
        t, dimensions of the sketch. "auto" asks `target_dimension` with ``n_clusters`` and
        ``eps``; for "svd" it is ceil(k / 0.3), at most 64, where eps is None. Ignored where
        ``projection`` is None or a transformer.
    eps : float, optional
        Error parameter in (0, 1): ``n_components="auto"`` is then what the theorem of the map asks
        for, all columns where they are fewer. By default it is what has proven enough.
    metric : {"euclidean", "cosine"}, default="euclidean"
        "cosine" clusters directions (spherical k-means): rows are brought to length one as they are
        read, a row of zeros stays, and centers are the directions of their rows' sums. Inertia is
        then the sum of squared distances between unit rows and these, 2 (1 - cosine) each.
    init : {"k-means++", "k-means||", "afk-mc2", "random", "orss06"}, array-like or callable, \
            default="k-means++"
        First centers, in the sketch: greedy k-means++; k-means|| (Bahmani et al. 2012) and
        AFK-MC^2 (Bachem et al. 2016), which pass over the rows a few times only; random rows; or
        the seeding of Ostrovsky, Rabani, Schulman and Swamy (2006). Or a (k, d) array of centers
        in the original space; a (k,) array of row indices; or a callable
        ``init(X, n_clusters, random_state)`` that returns either.
    n_init : int or "auto", default="auto"
        Seedings to start from. Above 3, all make a few passes in the sketch, the better half goes
        on for twice as many, and so on; three run to their end, and the one with the lowest
        inertia in the original space is kept. Where there are many rows and the solver is "lloyd",
        restarts run on a sample of the sketch instead, of 256 rows a cluster (a third of the rows
        where these are fewer), and the best goes on with all rows. "auto" is 1 where ``init`` fixes
        the centers or much work leaves no time for more, else 3 to 8.
    solver : {"auto", "lloyd", "hartigan", "breathing"}, default="auto"
        "auto" is "breathing" for small data, where it costs less than a second, else "lloyd", whose
        best restarts then breathe as long as a breath lowers the inertia by a thousandth.
        "hartigan" lets Lloyd come to a standstill and goes on with moves of single points, as
        MatLab's kmeans does. "breathing" goes on with a local search that adds and removes
        centers (Fritzke 2020); see the notes for its cost and gain.
    max_iter : int, default=300
        Passes of the solver over the sketch at most, both phases together.
    tol : float, default=1e-4
        Lloyd stops when the squared shift of the centers is below this share of the mean variance
        of the sketch's columns. "hartigan" goes on to a standstill.
    inertia_tol : float or "auto", default="auto"
        Each phase of the solver, and the polishing, also stops when a pass lowers the inertia by
        less than this share of it. 0 never does. "auto" is 3e-7 a cluster,
        3e-5 at most, for "lloyd" on more than small data, else 0.
    time_budget : float, optional
        Seconds after which the fit stops at the end of the pass it is in, and keeps the best
        result so far. Reading, one seeding, one pass and lifting are done in any case.
    polish_iter : int or "auto", default="auto"
        Lloyd passes in the original space afterwards. 0 is the paper's algorithm exactly; "auto"
        is 1 after principal directions, 2 after other maps, 4 for small data, and 0 where nothing
        was projected.
    polish_candidates : int, "auto" or None, default="auto"
        How many centers a polish pass looks at for each row: the nearest in the sketch, found once,
        the row's own always among them. None makes full passes over all centers. "auto" is 16 from
        128 clusters on, where it saves most of the time and keeps most of the gain, else None. The
        log tells how many distances were computed.
    certificate : {"auto", "spectral", "full"} or None, default=None
        How hard to try to prove that the inertia is near the least possible, see
        `kmeans_lower_bound`; None does not try and costs nothing.
    certificate_time : float, optional
        Seconds that the certificate may take, beside ``time_budget`` for the whole fit; what is
        proven until then counts.
    random_state : int, RandomState instance or None, default=None
        An integer is the key of the run.
    n_threads : int, optional
        Threads; by default what OpenMP allows.
    memory_limit : int or str, optional
        Bytes that a fit may allocate, or a text such as "2GB": blocks are then as small as need be,
        and a sketch that takes more than half of it lies in a temporary file; docs/scale.md. The
        result does not depend on it.
    checkpoint : str or path, optional
        A folder in which the fit stores where it stands: the same call goes on from there after it
        was killed, to the same bits, and returns at once where it was finished; docs/scale.md.
    callback : callable, optional
        Called with a `FitState` after every unit of work. A true answer stops the fit, which
        keeps the best result so far.
    verbose : int, default=0
        Above 0, progress is logged at level INFO to the logger "projected_kmeans": where each step
        stands, its rate, and how long it takes at most.

    Attributes
    ----------
    labels_ : ndarray of int32 (n,)
        The partition; a Dask array, chunked as the rows, where X is Dask's.
    cluster_centers_ : ndarray (k, d)
        Its means in the original space.
    inertia_ : float
        F: sum of squared distances of rows to the mean of their cluster, in the original space.
    normalized_inertia_ : float
        F~: inertia over the sum of squared entries.
    certificate_ : Certificate or None
        What was proven of the inertia; None where ``certificate`` is, or where the fit was stopped
        before.
    n_components_ : int
        Dimensions that were clustered in.
    approach_ : Approach
        What every "auto" stood for, and why.
    forecast_ : Forecast
        Seconds of each step and memory, as predicted before the first row was read.
    projection_ : transformer or None
        The fitted map.
    key_ : int
        Passed as ``random_state`` it repeats the run.
    n_iter_ : int
        Passes of the solver in the restart that won.
    history_ : tuple of float
        Inertia after each of these passes, in the space of the sketch.
    stopped_ : {"converged", "max_iter", "time", "callback", "interrupted"}
        Why the fit ended: the solver came to a standstill on the sketch or within a tolerance, or
        to its limit of passes; or who stopped it.
    timings_ : dict
        Seconds of each step.
    trace_ : tuple of FitState
        Every unit of work, of all restarts, that came to an inertia.
    n_samples_seen_ : int
        Rows of the fit, or of all blocks so far.
    n_features_in_ : int
        d.
    feature_names_in_ : ndarray of str
        Only where X has string column names.

    Notes
    -----
    ``predict`` sends a row to the nearest of ``cluster_centers_``. Rows of the training data may
    go elsewhere than ``labels_`` says, as the partition comes from the sketch; the more polish
    passes, the fewer do.

    ``solver="breathing"`` never ends above "lloyd" from the same first centers. ``max_iter`` holds
    for both phases: raise it, or breathing ends early. docs/kmeans.md has its measured cost.

    Ctrl-C during a fit in the main thread stops it after the pass it is in; it keeps the best
    result so far and warns. A second Ctrl-C, or one before the first pass of the solver has ended,
    raises KeyboardInterrupt. A program that has a handler of its own for Ctrl-C keeps it.

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
        solver: str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        inertia_tol: float | str = "auto",
        time_budget: float | None = None,
        polish_iter: int | str = "auto",
        polish_candidates: int | str | None = "auto",
        certificate: str | None = None,
        certificate_time: float | None = None,
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
        self.inertia_tol = inertia_tol
        self.time_budget = time_budget
        self.polish_iter = polish_iter
        self.polish_candidates = polish_candidates
        self.certificate = certificate
        self.certificate_time = certificate_time
        self.random_state = random_state
        self.n_threads = n_threads
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.callback = callback
        self.verbose = verbose

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
            Rows: float32, float64, float16 or integers of up to 16 bits are read as they are;
            other types are converted to float64. Sparse rows are never made dense; docs/kmeans.md
            tells when they give the bits of dense ones. A row source (`files.open_rows`) is read
            block by block, and may be larger than memory; blocks of Dask's rows are worked on where
            they lie; docs/scale.md.
        y : ignored
            Present by convention.
        sample_weight : array-like (n,), optional
            Weight of every row, not negative.
        client : distributed.Client, optional
            Of the cluster that works on Dask's rows, or that reads a row source; for the former it
            is by default whom Dask would ask.

        Returns
        -------
        ProjectedKMeans
            Itself.
        """
        self._check_parameters()
        rows = open_input(self, X, reset=True, client=client)
        check_sizes(self._settings(), *rows.shape)
        weights = open_weights(sample_weight, rows, client)
        recipe = self._resolve(rows)
        monitor = Monitor(self.callback, self.verbose, self.time_budget)

        with (
            catch_interrupts(monitor.interrupt),
            open_run(self.get_params(deep=False), recipe, rows, weights, monitor) as run,
            open_storage(recipe.memory, run) as storage,
        ):
            if (finished := recall_result(run, recipe.projection)) is None:
                source = storage.open_rows(rows)
                original, sketch = reduce_rows(recipe, source, weights, run, storage)
                finalists = cluster_sketch(recipe, original, sketch, run)
                lifted = lift_partition(original, sketch, finalists, run)
                polished = polish_partition(recipe, original, sketch, lifted, run)
                proof = self._certify(original.source, weights, polished.inertia, monitor)
                finished = finish_run(run, Finished(lifted.sketched, polished, proof))

        self._keep(rows, finished, monitor)
        return self

    partial_fit = partial_fit
    if not TYPE_CHECKING:  # to a checker, any name would be an attribute
        __getattr__ = ask_stream

    # What a fitted model does with rows, and what becomes of it elsewhere.
    fit_predict, predict, transform, score = fit_predict, predict, transform, score
    to_sklearn, to_faiss, to_onnx = to_sklearn, to_faiss, to_onnx

    def _settings(self) -> Settings:
        return Settings.of(self.get_params(deep=False))

    def _check_parameters(self) -> None:
        check_parameters(self._settings())
        check_certificate(self.certificate, self.certificate_time)

    def _certify(
        self, source: BlockSource, weights: Floats | None, inertia: float, monitor: Monitor
    ) -> Certificate | None:
        return certify_fit(
            source,
            weights,
            inertia,
            n_clusters=self.n_clusters,
            method=self.certificate,
            time_limit=self.certificate_time,
            key=self.key_,
            monitor=monitor,
        )

    def _resolve(self, rows: BlockSource) -> Recipe:
        """Return the recipe of the run: every "auto" replaced by what it stands for here."""
        sizes = Sizes.of(rows, self.n_clusters)
        recipe = resolve_recipe(
            self._settings(), sizes, stored=not rows.resident, distant=rows.distant
        )
        self.key_, self.projection_ = recipe.key, recipe.projection
        self.approach_ = recipe.approach
        self.forecast_ = forecast(sizes, recipe.approach, recipe.n_threads)
        return recipe

    def _keep(self, rows: BlockSource, finished: Finished, monitor: Monitor) -> None:
        sketched, polished = finished.sketched, finished.polished
        warn_of_fit(polished, self.n_clusters, monitor.stopped)
        forget_stream(self)
        self.labels_, self.n_samples_seen_ = rows.labels_like_input(polished.labels), rows.shape[0]
        self.cluster_centers_ = polished.centers.astype(compute_type(rows.dtype), copy=False)
        self.n_components_ = sketched.centers.shape[1]
        self.inertia_ = polished.inertia
        self.certificate_ = finished.certificate
        self.normalized_inertia_ = normalize(polished.inertia, polished.sum_of_squares)
        self.n_iter_ = sketched.n_iter
        self.history_ = sketched.history
        self.stopped_ = monitor.stopped or ("converged" if sketched.converged else "max_iter")
        self.timings_ = monitor.seconds
        self.trace_ = tuple(monitor.trace)

    def to_html(
        self,
        X: Any = None,
        path: str | os.PathLike[str] | None = None,
        *,
        name: str = "X",
        sample_weight: ArrayLike | None = None,
        image_shape: Sequence[int] | str | None = "auto",
    ) -> str:
        """Return the report of the fit as one HTML page, and write it to ``path`` if that is given.

        The page works offline and contains everything it needs. It needs the extra ``report``.

        Parameters
        ----------
        X : array-like, sparse matrix or row source (n, d), optional
            The rows of the fit. Without them the report has no map, no distances and no members.
        path : str or path, optional
            The file to write.
        name : str, default="X"
            The name of the data in the report.
        sample_weight : array-like (n,), optional
            The weights of the fit.
        image_shape : (height, width), (height, width, 3), "auto" or None, default="auto"
            The shape of rows that are pictures. "auto" finds out whether rows are square pictures;
            None shows numbers.

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
            self, X, path, name=name, sample_weight=sample_weight, image_shape=image_shape
        )

    _repr_html_inner = show_html
    _repr_mimebundle_ = show_bundle

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
