"""Encrypted connections to a scheduler: the options of the command line, on the loopback."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from distributed import LocalCluster, Security

from projected_kmeans.blocks.dask.clusters import TlsFiles, open_client
from tests.support.commands import Call, check_refusal, read_json

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="openssl, which makes the certificates, is missing"
)


class Files(NamedTuple):
    """A certificate authority, and a certificate that it signed with its key."""

    ca: Path
    cert: Path
    key: Path

    @property
    def options(self) -> tuple[object, ...]:
        """The options of the command line."""
        return "--tls-ca", self.ca, "--tls-cert", self.cert, "--tls-key", self.key


def make_files(folder: Path) -> Files:
    """Make an authority and a certificate of this minute."""
    folder.mkdir()

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl(
        *("req", "-x509", *new, "-days", "2", "-subj", "/CN=authority"),
        *("-keyout", "ca.key", "-out", "ca.pem"),
    )
    openssl("req", *new, "-subj", "/CN=node", "-keyout", "key.pem", "-out", "request.pem")
    openssl(
        *("x509", "-req", "-in", "request.pem", "-days", "2", "-out", "cert.pem"),
        *("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
    )
    return Files(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return the files of the cluster."""
    return make_files(tmp_path_factory.mktemp("tls") / "own")


@pytest.fixture(scope="module")
def address(files: Files) -> Iterator[str]:
    """Return the address of a scheduler that accepts encrypted connections only."""
    ca, cert, key = map(str, files)
    security = Security(
        tls_ca_file=ca,
        tls_scheduler_cert=cert,
        tls_scheduler_key=key,
        tls_worker_cert=cert,
        tls_worker_key=key,
        tls_client_cert=cert,
        tls_client_key=key,
        require_encryption=True,
    )
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        protocol="tls",
        security=security,
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        yield cluster.scheduler_address


def test_a_fit_over_encrypted_connections_has_the_same_result(
    call: Call, data: Path, address: str, files: Files
) -> None:
    """The scheduler and the workers of a tls:// address give the result of this process."""
    assert address.startswith("tls://")
    options = ("-k", 3, "--projection", "sign", "--components", 4, "--json")
    there = read_json(call("fit", data, *options, "--scheduler", address, *files.options))
    here = read_json(call("fit", data, *options))
    assert there["results"] == here["results"]


def test_a_certificate_of_another_authority_is_refused(
    address: str, files: Files, tmp_path: Path
) -> None:
    """Neither does the scheduler take another's certificate, nor the client that of another."""
    other = make_files(tmp_path / "other")
    for ca, cert, key in ((files.ca, other.cert, other.key), (other.ca, files.cert, files.key)):
        tls = TlsFiles(str(ca), str(cert), str(key))
        with (
            pytest.raises(ValueError, match=r"no scheduler answers at tls://|cannot be used"),
            open_client(address, tls=tls, timeout=3),
        ):
            pass


def test_a_key_of_another_certificate_is_one_sentence(
    call: Call, data: Path, address: str, files: Files, tmp_path: Path
) -> None:
    """A key that does not belong to the certificate ends the command before anything is read."""
    other = make_files(tmp_path / "other")
    mixed = Files(files.ca, files.cert, other.key)
    refused = call("fit", data, "-k", 3, "--scheduler", address, *mixed.options)
    check_refusal(refused, "encrypted connection to tls://", "of one authority")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--tls-ca", "ca.pem"), "--tls-ca alone cannot open"),
        (("--tls-cert", "c.pem", "--tls-key", "k.pem"), "--tls-cert and --tls-key alone"),
        (("--tls-ca", "ca.pem", "--tls-cert", "c.pem"), "is for a scheduler at a tls:// address"),
        (
            ("--scheduler", "tls://127.0.0.1:9", "--tls-ca", "none", "--tls-cert", "none"),
            "--tls-ca names 'none', which is not a file",
        ),
    ],
)
def test_options_that_do_not_fit_together_are_refused(
    call: Call, data: Path, options: tuple[str, ...], sentence: str
) -> None:
    """Files without each other, without a tls:// address, or that are not there are refused."""
    check_refusal(call("fit", data, "-k", 3, *options), sentence)
