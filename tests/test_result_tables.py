"""Tables of texts as HTML."""

from __future__ import annotations

from projected_kmeans.result_tables import ResultTable, list_facts


def test_texts_stay_texts() -> None:
    """Cells that look like elements are escaped, and the answer is marked."""
    table = ResultTable("<i>", ("<b>", ""), (("<a>", "1"), ("x", "2")), marked=1)
    shown = table.to_html()
    assert "&lt;i&gt;" in shown
    assert "&lt;a&gt;" in shown
    assert "<b>x</b>" in shown
    assert "<a>" not in shown
    assert "<a>" not in list_facts({"<a>": "<a>"})


def test_a_table_may_lack_heads() -> None:
    """Without heads there is no head row."""
    assert "<thead>" not in ResultTable("t", ("", ""), (("a", "b"),)).to_html()
