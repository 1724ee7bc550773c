"""Small blocks, so that a few rows make many of them."""

from __future__ import annotations

import pytest

from projected_kmeans.blocks.memory_blocks import ArrayBlocks


def use_small_blocks(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    """Cut rows that lie in memory into blocks of this size, for the rest of the test."""
    defaults = ArrayBlocks.__init__.__kwdefaults__
    assert "block_bytes" in defaults
    monkeypatch.setitem(defaults, "block_bytes", n_bytes)
