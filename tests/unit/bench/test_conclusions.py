"""Conclusions of a page: sentences that follow from its tables, and the tables over several seeds."""

from __future__ import annotations

from bench.aggregate import bursts, estimates
from bench.aggregate.games import GAMES
from bench.aggregate.over_seeds import over_seeds
from bench.page import page


def test_a_row_over_seeds_has_the_median_and_the_range():
    runs = [
        {"game": "g", "seed": seed, "off": off, "held": held}
        for seed, off, held in [(1, 3, None), (2, 1, 0.5), (3, 2, 0.7)]
    ]
    runs += [{"game": "h", "seed": 1, "off": 9, "held": None}]
    assert over_seeds(runs, ("game",), ("off",)) == [
        {"game": "g", "seeds": 3, "off": 2, "off, least": 1, "off, most": 3, "held": 0.6},
        {"game": "h", "seeds": 1, "off": 9, "off, least": 9, "off, most": 9, "held": None},
    ]


def burst_tables(off):
    """Two runs of each policy on each game; `hybrid` waits 20 and 40 s, the others 1 s."""
    runs = [
        {"game": game, "policy": policy, "seed": seed, "off": off.get((policy, seed), 0.01), "mean K s": wait_s}
        for number, game in enumerate(GAMES)
        for policy in bursts.PROMISING
        for seed in (1, 2)
        for wait_s in [20 * (number + 1) if policy == "hybrid" else 1]
    ]
    return {"bursts": over_seeds(runs, ("game", "policy"), ("off", "mean K s")), "every burst": runs}


def test_the_conclusion_on_bursts_counts_the_runs_that_break_the_promise():
    text = bursts.conclusion(burst_tables({("aq_k_slack", 1): 0.06, ("aq_k_slack", 2): 0.05}))
    assert "`hybrid` keeps it in each, `aq_k_slack` breaks it in 2 of 4, `quantile` keeps it in each" in text
    assert "`hybrid` waits 20 and 40 times as long as `quantile`" in text


def estimate_tables(k_ms=12.0, off=0.01, worse=False):
    runs = [
        {
            "case": case,
            "policy": policy,
            "seed": seed,
            "off, plain": 0.04,
            "off, scaled": scaled,
            "mean K ms, scaled": k,
        }
        for case in ("as they are", "bursts", "as they are, by sensor")
        for policy in ("K = 0", "quantile")
        for seed in (1, 2)
        for scaled, k in [(0.05, 500.0) if worse and seed == 2 and "sensor" in case else (0.04, 500.0)]
    ]
    of_promise = [run for run in runs if run["case"] == "as they are" and run["policy"] == "quantile"]
    of_promise[0] |= {"off, scaled": 0.0, "mean K ms, scaled": 1.0}
    of_promise[1] |= {"off, scaled": off, "mean K ms, scaled": k_ms}
    ranged = ("off, plain", "off, scaled", "mean K ms, scaled")
    return {"estimates": over_seeds(runs, ("case", "policy"), ranged), "every estimate": runs}


def test_the_conclusion_on_estimates_judges_the_worst_seed():
    text = estimates.conclusion(estimate_tables())
    assert text.count("**holds**") == 2
    assert "no seed has more than 12 ms and 1.00%" in text
    assert "in none of 4 pairs" in text
    for tables in (estimate_tables(k_ms=20.5), estimate_tables(off=0.051)):
        text = estimates.conclusion(tables)
        assert text.index("**does not hold**") < text.index("**holds**")
    text = estimates.conclusion(estimate_tables(worse=True))
    assert text.index("**holds**") < text.index("**does not hold**")
    assert "in 2 of 4 pairs" in text


def test_the_conclusion_on_estimates_says_where_seeds_are_lacking(monkeypatch):
    tables = estimate_tables()
    assert "before it had all seeds (as they are 2 of 10, bursts 2 of 10, " in estimates.conclusion(tables)
    monkeypatch.setattr(estimates, "SEEDS", range(2))
    assert "stopped" not in estimates.conclusion(tables)


def test_a_page_has_its_conclusions_where_their_tables_were_measured(tmp_path):
    (tmp_path / "page.md").write_text("{verdicts} {said} {lacking}")
    conclusions = {"said": lambda tables: f"{tables['t'][0]['off']:.0%} off", "lacking": lambda tables: tables["u"]}
    text = page(tmp_path / "page.md", {}, {"t": [{"off": 0.05}]}, [], conclusions)
    assert text.endswith("5 % off (not measured)")
