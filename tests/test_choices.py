"""The words that users choose among are the keys of the tables that give them their meaning."""

from __future__ import annotations

from projected_kmeans import choices
from projected_kmeans.certificates.prover import EFFORTS
from projected_kmeans.projections.maps import MAPS
from projected_kmeans.search.seeding import SEEDINGS
from projected_kmeans.sources.format_table import FORMATS


def test_words_are_the_keys_of_their_tables() -> None:
    """Each list has the keys of its table, in their order."""
    assert tuple(MAPS) == choices.MAP_NAMES
    assert tuple(SEEDINGS) == choices.SEEDING_NAMES
    assert tuple(EFFORTS) == choices.PROOF_METHODS
    assert tuple(extension.removeprefix(".") for extension in FORMATS) == choices.FORMAT_NAMES


def test_certificates_of_fits_are_methods_of_proof() -> None:
    """A fit offers no method of proof that labels by themselves do not have."""
    assert set(choices.CERTIFICATES) <= set(choices.PROOF_METHODS)
