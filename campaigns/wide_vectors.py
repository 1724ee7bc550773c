"""Compare the sign product of 64-byte vectors with plain loops, on machines without AVX-512, too.

`wide_vectors.cpp` multiplies rows of many shapes and types by the kernels that are compiled for
AVX-512 elsewhere, and compares every bit with loops over single numbers. By default they are
compiled for AVX2, where the compiler makes a vector of 64 bytes from two of 32. Everything but the
instructions of AVX-512 is then tested. With ``--avx512`` they are compiled as they are shipped,
which needs a processor that has these instructions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCES = (
    "campaigns/wide_vectors.cpp",
    "src/native/maps/sign_product.cpp",
    "src/native/maps/sign_product_sparse.cpp",
    "src/native/bindings/buffer_checks.cpp",
)
# As in CMakeLists.txt.
OPTIONS = (
    *("-std=c++20", "-fopenmp", "-fno-math-errno", "-ffp-contract=fast", "-Isrc/native"),
    *("-Wall", "-Wextra", "-Wno-psabi", "-Wno-ignored-attributes"),
    *("-DPK_INSTRUCTION_SET=avx512", "-DPK_VECTOR_BYTES=64"),
)
AVX2 = ("-mavx2", "-mfma", "-mf16c", "-mbmi")
AVX512 = (*AVX2, "-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl")
AS_SHIPPED = (*AVX512, "-O3", "-mprefer-vector-width=512")


def compile_program(
    folder: Path, instructions: Sequence[str], compiler: str = "g++", *extra: str
) -> Path:
    """Compile the program in a folder; return it."""
    program = folder / "wide_vectors"
    command = [compiler, *OPTIONS, *instructions, *extra, *SOURCES, "-o", str(program)]
    subprocess.run(command, check=True, cwd=ROOT)
    return program


def main() -> None:
    """Compile and run the program; end with its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--avx512", action="store_true", help="compile for AVX-512 itself")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--quick", action="store_true", help="leave out the largest shape")
    parser.add_argument(
        "--compile-only", type=Path, metavar="FOLDER", help="leave the static program in a folder"
    )
    options = parser.parse_args()
    instructions = AS_SHIPPED if options.avx512 else (*AVX2, "-O1")
    if options.compile_only:
        print(compile_program(options.compile_only, instructions, options.compiler, "-static"))
        return
    with tempfile.TemporaryDirectory() as folder:
        program = compile_program(Path(folder), instructions, options.compiler)
        sys.exit(subprocess.run([program, *(["quick"] if options.quick else [])]).returncode)


if __name__ == "__main__":
    main()
