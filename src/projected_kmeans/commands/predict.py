"""The command ``predict``: label the rows of a file with a stored model.

Labels are computed, printed and written block by block, so that all rows need not fit in memory.
"""

from __future__ import annotations

from typing import Any

import click

from projected_kmeans.commands.options import (
    data_argument,
    data_options,
    json_option,
    label_file_option,
    memory_option,
    quiet_option,
    spreadsheet_option,
)
from projected_kmeans.commands.row_options import (
    missing_option,
    representative_options,
    side_options,
)


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path())
@data_argument
@label_file_option("--out")
@click.option(
    "--distances",
    is_flag=True,
    help="Write or print the distance of each row to its center beside its label.",
)
@representative_options
@spreadsheet_option
@data_options
@side_options
@missing_option
@memory_option
@quiet_option
@json_option
def predict(**options: Any) -> None:
    """Label each row of DATA by the nearest center of MODEL.

    MODEL is the folder that fit --out wrote. Without --out the labels are printed, one per line,
    after the ids of the rows if they have any, such as the names of image files.
    Columns of DATA with names are found by the names that the model was fitted to, in any order.

    DATA is a file, or a folder of files of one format: .npy, .npz, .mat, .csv, .tsv, .parquet,
    .arrow, .feather, .h5, .hdf5, .zarr, .svm (svmlight), .fvecs, .bvecs, .ivecs, or images. Data
    that is large for the memory is read block by block.

    \b
    Examples:
      projected-kmeans predict model more.npy --out labels.npy
      projected-kmeans predict model more.csv | sort -n | uniq -c
      projected-kmeans predict model lake/ --format parquet --out labels.parquet
      projected-kmeans predict model table.csv --id-column name --out clusters.csv
      projected-kmeans predict model table.csv --distances --out clusters.csv
      projected-kmeans predict model more.npy --out labels.npy --representatives nearest.csv
      projected-kmeans predict model photos/ --image-size 64x64 --out names.csv
    """
    from projected_kmeans.commands.predict_job import run_predict

    run_predict(**options)
