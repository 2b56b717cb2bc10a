"""The claims of paper 002, and how the tables of its page judge them."""

from __future__ import annotations

from bench.aggregate.bursts import PROMISING
from bench.aggregate.games import ERROR, GAMES, RISK
from bench.progress import Row
from bench.verdicts import Claim, Tables, Verdict, column, one, outcome_of, select, unmeasured

_PAPER_K_S, _PAPER_MP_S, _PAPER_LATENCY = 2.7, 17.0, 0.2
_ALIKE = 0.2
_WORST_S = {"game1": 14.2, "game2": 17.1}


def _policy(tables: Tables, game: str, policy: str) -> Row:
    return one(tables["policies"], game=game, policy=policy)


def _buffer(tables: Tables) -> Verdict:
    hybrid = {game: _policy(tables, game, "hybrid")["mean K s"] for game in GAMES}
    longest = {game: _policy(tables, game, "mp_k_slack")["last K s"] for game in GAMES}
    shown = ", ".join(f"{game} {hybrid[game]:.2g} s and {longest[game]:.0f} s" for game in GAMES)
    smaller = all(hybrid[game] < longest[game] / 2 for game in GAMES)
    alike = abs(longest["game2"] - _PAPER_MP_S) <= _ALIKE * _PAPER_MP_S
    why = "" if alike else "one tuple of seed 1 is later than the paper's latest"
    return Verdict(f"mean K of hybrid, last K of mp_k_slack: {shown}", outcome_of(smaller, alike), why)


def _latency(tables: Tables) -> Verdict:
    share = {game: _policy(tables, game, "hybrid")["to mp_k_slack"] for game in GAMES}
    here = f"hybrid has {share['game2']:.0%} of the latency of mp_k_slack (game 1: {share['game1']:.0%})"
    return Verdict(here, outcome_of(share["game2"] <= _PAPER_LATENCY))


def _early(tables: Tables) -> Verdict:
    rows = [_policy(tables, game, policy) for game in GAMES for policy in ("hybrid", "aq_k_slack")]
    accuracy = min(column(rows, "accuracy"))
    off = max(column(rows, "windows off ≥ 5 %"))
    here = f"accumulated accuracy at least {accuracy:.1%}; at most {off:.1%} of the windows are off by {ERROR:.0%}"
    why = "the mean keeps it; aq_k_slack breaks P(error ≥ 0.05) ≤ 0.05 on game 2" if off > RISK else ""
    return Verdict(here, outcome_of(accuracy >= 1 - ERROR, off <= RISK), why)


def _ends(tables: Tables) -> Verdict:
    corrected = min(column(tables["policies"], "corrected"))
    return Verdict(f"corrected: {corrected:.2%}", outcome_of(round(corrected, 9) == 1))


def _promise(tables: Tables) -> Verdict:
    rows = {policy: select(tables["bursts"], policy=policy) for policy in PROMISING}
    most = {policy: max(column(of_policy, "off, most")) for policy, of_policy in rows.items()}
    shown = ", ".join(f"{policy} {share:.2%}" for policy, share in most.items())
    here = f"in bursts, the most that are off by {ERROR:.0%}, over both games and ten seeds: {shown}"
    median = max(column(rows["hybrid"], "off"))
    why = "it holds the mean coverage, and does not count the answers that are off"
    return Verdict(here, outcome_of(median <= RISK, max(median, most["hybrid"]) <= RISK), why)


def _smallest(tables: Tables) -> Verdict:
    rows = {
        (game, policy): one(tables["bursts"], game=game, policy=policy)
        for game in GAMES
        for policy in ("hybrid", "quantile")
    }
    waits = {which: row["mean K s"] for which, row in rows.items()}
    shown = "; ".join(f"{game} {waits[game, 'hybrid']:.3g} s and {waits[game, 'quantile']:.2g} s" for game in GAMES)
    smallest = [
        waits[game, "hybrid"] <= (1 + _ALIKE) * waits[game, "quantile"] or rows[game, "quantile"]["off, most"] > RISK
        for game in GAMES
    ]
    why = "K is a share of the largest delay ever, which a burst makes ten times as long for good"
    return Verdict(f"mean K of hybrid and of quantile in bursts: {shown}", outcome_of(*smallest), why)


def _tasks(tables: Tables) -> Verdict:
    games = {game: [row["rows/s"] for row in select(tables["scaling"], game=game)] for game in GAMES}
    tasks = [row["tasks"] for row in select(tables["scaling"], game=GAMES[0])]
    shown = "; ".join(
        f"{game} {', '.join(f'{rate / 1000:,.0f} k/s' for rate in rates)}" for game, rates in games.items()
    )
    rises = [rates == sorted(rates) for rates in games.values()]
    why = "" if all(rises) else "two cores, and each task runs the same clock over the statistics of every tick"
    return Verdict(f"tasks {', '.join(map(str, tasks))}: {shown}", outcome_of(*rises), why)


def _delays(tables: Tables) -> Verdict:
    rows = {game: select(tables["delays"], game=game) for game in GAMES}
    shown, alike = [], []
    for game, of_game in rows.items():
        largest = column(of_game, "largest s")
        mean = sum(column(of_game, "mean ms")) / len(of_game)
        late = sum(column(of_game, "share late")) / len(of_game)
        middle = sorted(largest)[len(largest) // 2]
        extent = f"{middle:.1f} s ({min(largest):.0f} to {max(largest):.0f})"
        shown.append(f"{game}: {late:.2%} late, mean {mean:.0f} ms, largest {extent}")
        alike += [
            min(largest) <= _WORST_S[game] <= max(largest),
            abs(middle - _WORST_S[game]) <= _ALIKE * _WORST_S[game],
        ]
    here = f"ten seeds, the median and the range of the largest: {'; '.join(shown)}"
    return Verdict(
        here,
        outcome_of(*alike),
        "the lognormal that has its mean and share is longer-tailed",
    )


CLAIMS = (
    Claim("Table 1", "delays: game 1 57.58 %, 34 ms, 14.2 s; game 2 66.82 %, 64 ms, 17.1 s", _delays),
    Claim("Fig. 3", "MP-K-slack ends at a buffer of about 17 s; ΔHPM has 2.7 s in the mean, much less", _buffer),
    Claim("Fig. 4", "on game 2 the latency of ΔHPM is 20 % of MP-K-slack's", _latency),
    Claim("Fig. 5", "ΔHPM and AQ-K-slack keep the promise (0.05, 0.05) as streamed: an accuracy of 95 %", _early),
    Claim("Fig. 5", "with corrections the accumulated accuracy of ΔHPM nears 100 %", _ends),
    Claim("Section 1.2", "the promise P(error ≥ 0.05) ≤ 0.05 is kept as streamed", _promise),
    Claim("Section 1.2", "the buffer is made as small as the promise allows", _smallest),
    Claim("Fig. 6", "throughput rises linearly with the number of tasks", _tasks),
    Claim("Fig. 6", "its values", unmeasured("three machines of two cores; the figure has no numbers")),
)
