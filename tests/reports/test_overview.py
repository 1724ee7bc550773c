"""What a report says first: its answer and its numbers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from projected_kmeans import ProjectedKMeans
from projected_kmeans.reports.build import describe_report
from projected_kmeans.reports.overview import describe_cards, judge_silhouette, write_answer
from projected_kmeans.reports.values import Report
from tests.support.commands import ROWS


def test_the_answer_is_four_sentences() -> None:
    """The answer names sizes, variance, clearness, inertia, proof and time."""
    model = ProjectedKMeans(3, random_state=0, certificate="auto").fit(ROWS)
    answer = write_answer(describe_report(model, ROWS))
    for part in (
        "3 clusters of 60 rows (12 columns), 20 to 20 rows each",
        "They explain ",
        "% of the variance and are reasonably separated (mean silhouette 0.",
        "proven within",
        "certificate",
    ):
        assert part in answer
    assert "The fit converged; it took" in answer
    assert len(re.findall(r"\.(?= |$)", answer)) == 4


@pytest.mark.parametrize(
    ("stopped", "words"),
    [
        ("max_iter", "reached its maximum number of passes"),
        ("time", "was stopped by its time budget"),
        ("callback", "was stopped early and kept its best result"),
        ("interrupted", "was interrupted and kept its best result"),
    ],
)
def test_the_answer_says_how_the_fit_ended(report: Report, stopped: str, words: str) -> None:
    """Every way in which a fit can end has its words."""
    results = replace(report.facts.results, stopped=stopped)
    assert words in write_answer(replace(report, facts=replace(report.facts, results=results)))


def test_without_rows_the_answer_has_what_is_known(fitted: ProjectedKMeans) -> None:
    """Silhouettes need the rows, and are left out without them; the fit knows the variance."""
    answer = write_answer(describe_report(fitted))
    assert "5 clusters of 300 rows" in answer
    assert "They explain" in answer
    assert "silhouette" not in answer
    assert "of the largest possible" in answer


def test_the_numbers_begin_with_sizes_and_clearness(report: Report) -> None:
    """Sizes, explained variance and silhouette come first; purity only if labels are known."""
    cards = {card.name: card for card in describe_cards(report)}
    assert list(cards)[:4] == ["Clusters", "Rows", "Explained", "Silhouette"]
    assert "Purity" not in cards
    known = tuple(replace(one, purity=0.5, majority="a") for one in report.clusters)
    again = {card.name: card for card in describe_cards(replace(report, clusters=known))}
    assert again["Purity"].value == "50.0%"


def test_what_the_result_knows_comes_before_what_was_measured(report: Report) -> None:
    """The result's explained variance and mean cosine are told, if it has them."""
    results = replace(report.facts.results, explained_variance_ratio=0.25, mean_cosine=0.75)
    known = replace(report, facts=replace(report.facts, results=results))
    assert "They explain 25 % of the variance" in write_answer(known)
    assert "with a mean cosine of 0.750 to the centers" in write_answer(known)
    cards = {card.name: card for card in describe_cards(known)}
    assert (cards["Explained"].value, cards["Inertia"].note) == ("25 %", "mean cosine 0.750")
    assert "They explain 25 %" not in write_answer(report)


@pytest.mark.parametrize(
    ("mean", "words"), [(0.71, "strongly"), (0.7, "reasonably"), (0.3, "weakly"), (-1.0, "hardly")]
)
def test_silhouettes_have_words(mean: float, words: str) -> None:
    """Every mean silhouette from -1 to 1 has words."""
    assert judge_silhouette(mean) == f"{words} separated"
