"""The costs of fits on Dask: measured, predicted and drawn."""

from __future__ import annotations

import bench_client
import cost_model
import cost_tables
import dask_costs
import pytest
import sleeping_workers

from tests.support.origins import MACHINE


def test_costs_of_dask_are_measured_and_drawn() -> None:
    """The bytes that fits move are those of the model, which the last labelling may undercut."""
    document = dask_costs.run((100_000,), 64, 130, 2048, 4)
    assert [check["gathered"] for check in document["checks"]] == [True, False]
    for check, off in zip(document["checks"], (0.15, 0.25), strict=True):
        assert abs(check["moved"] / check["predicted_moved"] - 1) < off
    client = bench_client.run((20_000, 40_000), 20, 10_000)
    small, large = client["fits"]
    assert [small["rows_labelled"], large["rows_labelled"]] == [20_000, 40_000]
    assert large["received_a_pass"] - small["received_a_pass"] < 4 * 2000
    workers = sleeping_workers.run(2, (4, 8), 0.001, 1e-4)
    others = {"machine": MACHINE} | client, {"machine": MACHINE} | workers
    page = cost_tables.render_costs("# Scale\n\nold", document, "*machine*", *others)
    assert page.startswith("# Scale\n\nold")
    n_predicted = len(cost_tables.PREDICTED) + len(cost_tables.SIMULATED)
    assert page.count("\n| ") == 10 + 2 + 2 + 2 + n_predicted + 12
    again = cost_tables.render_costs(page, document, "*another*", *others)
    assert again == page.replace("*machine*", "*another*")


def test_a_simulated_walk_is_bound_by_the_slowest() -> None:
    """Cores that wait for nobody take their time; a slow scheduler or client takes its own."""
    fast = cost_model.Network(0.0, 0.0, 0.0, 0.0)
    assert cost_model.simulate_walk(40, 4, 0.5, fast) == pytest.approx(5.0)
    slow = cost_model.Network(1.0, 0.0, 0.0, 0.0)
    assert cost_model.simulate_walk(1000, 100, 0.5, slow) == pytest.approx(1000, rel=0.02)
    far = cost_model.Network(0.0, 0.0, 0.25, 0.0)
    assert cost_model.simulate_walk(40, 4, 0.5, far) == pytest.approx(0.25 + 10 + 2 * 0.5)
    talkative = cost_model.Network(0.0, 0.1, 0.0, 0.0)
    assert cost_model.simulate_walk(40, 4, 0.5, talkative) == pytest.approx(4 + 5)


def test_costs_grow_with_the_rows() -> None:
    """Twice the rows are read and moved twice, less the sample; twice the machines take less."""
    rates = cost_model.Constants(1e9, 1e9, 1e9, 1e9, 1e10, 1.0, 0.1, 1e-3, 1e9)
    one, two = (cost_model.predict(cost_model.Job(n, 100, 200), rates) for n in (10**7, 2 * 10**7))
    assert [cost.read for cost in two] == [2 * cost.read for cost in one]
    messages = 60 * cost_model.MESSAGE_BYTES  # of 4 GB more in blocks of 64 MB
    assert two[0].moved - one[0].moved == 10**7 * cost_model.N_COMPONENTS * 4 + messages
    many = cost_model.predict(cost_model.Job(10**7, 100, 200, machines=2), rates)
    assert all(new.seconds <= old.seconds for new, old in zip(many, one, strict=True))
    assert cost_tables.name_bytes(4.1e13) == "41.0 TB"
    assert [cost_tables.name_seconds(one) for one in (5, 90, 7200)] == ["5.0 s", "1.5 min", "2.0 h"]
