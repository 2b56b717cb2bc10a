"""The claims of paper 001, and how the tables of its page judge them."""

from __future__ import annotations

from bench.topk.paper_query import ACCURACY
from bench.verdicts import Claim, Outcome, Tables, Verdict, column, one, outcome_of, select, unmeasured

_BASELINES = ("sma", "mintopk", "gstopk")
_SLIGHT = 0.01
_DISORDERS = ("light", "medium", "heavy")


def _accuracy(tables: Tables, disorder: str, method: str) -> float:
    return float(one(tables["methods"], disorder=disorder, method=method)["accuracy"])


def _higher(tables: Tables) -> Verdict:
    ours = _accuracy(tables, "medium", "adaptive")
    others = {method: _accuracy(tables, "medium", method) for method in _BASELINES}
    shown = ", ".join(f"{method} {value:.1%}" for method, value in others.items())
    return Verdict(f"medium disorder: adaptive {ours:.1%}; {shown}", outcome_of(ours > max(others.values())))


def _later(tables: Tables) -> Verdict:
    latency = {row["method"]: row["latency s"] for row in select(tables["methods"], disorder="medium")}
    others = [latency[method] for method in _BASELINES]
    here = f"medium disorder: adaptive {latency['adaptive']:.2f} s, the others at most {max(others):.2f} s"
    return Verdict(here, outcome_of(latency["adaptive"] > max(others)))


def _by_disorder(tables: Tables) -> Verdict:
    falls = {method: [_accuracy(tables, each, method) for each in _DISORDERS] for method in ("adaptive", *_BASELINES)}
    shown = "; ".join(f"{method} {', '.join(f'{x:.0%}' for x in values)}" for method, values in falls.items())
    low = [values == sorted(values, reverse=True) for method, values in falls.items() if method != "adaptive"]
    high = min(falls["adaptive"]) >= ACCURACY - _SLIGHT and all(
        ours >= other for method in _BASELINES for ours, other in zip(falls["adaptive"], falls[method], strict=True)
    )
    why = f"over the whole run, with the first calibrations, adaptive has {min(falls['adaptive']):.1%} at the least"
    return Verdict(f"light, medium, heavy: {shown}", outcome_of(high, *low), why)


def _promise(tables: Tables) -> Verdict:
    """Judge by the paper's own rule, for each mean delay; the other two methods stand beside it."""
    rates = {
        method: [column(select(tables["settled"], method=method), name) for name in ("hit(K), mean", "hit(K), 5 %")]
        for method in ("paper", "search", "two_scales")
    }
    means, lowest = (", ".join(f"{value:.1%}" for value in values) for values in rates["paper"])
    shown = f"judged by `paper`, τ of 1 to 10 s: mean hit(K) {means}; 5 % quantile {lowest}"
    for method in ("search", "two_scales"):
        mean, low = (min(values) for values in rates[method])
        shown += f"; the least by `{method}` mean {mean:.1%}, 5 % quantile {low:.1%}"
    outcome = outcome_of(*(value >= ACCURACY - _SLIGHT for values in rates["paper"] for value in values))
    return Verdict(shown, outcome, "" if outcome is Outcome.CONFIRMED else _WHY_NOISY)


def _follows(tables: Tables) -> Verdict:
    needed = {rule: column(select(tables["needed"], rule=rule), "calibrations") for rule in ("ours", _PAPERS)}
    floors = ", ".join(f"{floor:g}" for floor in column(select(tables["needed"], rule=_PAPERS), "floor s"))
    ours, papers = (", ".join(f"{count:.0f}" for count in needed[rule]) for rule in ("ours", _PAPERS))
    here = f"after a jump of τ from 1 to 10 s, floors of {floors} s: {ours} calibrations, by the paper's rule {papers}"
    outcome = outcome_of(*(count <= _SOON for counts in needed.values() for count in counts))
    return Verdict(here, outcome, "" if outcome is Outcome.CONFIRMED else _WHY_SLOW)


_PAPERS = "the paper's"
_SOON = 10
_WHY_NOISY = "30 windows say little about a share, and with our noise band K rests where it may be long enough"
_WHY_SLOW = "the paper's rule moves the interval by one part at a time; small parts are slow"

CLAIMS = (
    Claim("Fig. 6 a", "over run time, more of the top-k is found than by SMA, MinTopk and GSTopk", _higher),
    Claim("Fig. 6 b", "the latency is higher than the other three's", _later),
    Claim("Fig. 6 c", "with more disorder the other three find less, and this one much", _by_disorder),
    Claim("Section 2.1", f"the accuracy stays at the user's least one (here {ACCURACY})", _promise),
    Claim("Section 2.2", "the cache duration follows the disorder of the stream", _follows),
    Claim("Fig. 6", "the values of its curves", unmeasured("the figure has no numbers")),
)
