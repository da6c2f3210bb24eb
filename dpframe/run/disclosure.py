"""What a reviewer of a private release asks, answered from the plan, the accountant and the ledger.

The questions follow two guides, in our own words. NIST SP 800-226, "Guidelines for Evaluating Differential Privacy
Guarantees" (final, March 2025), goes from the parameters and the unit of privacy down to algorithms, utility and bias,
and to trust, security and the collection of data. The W3C draft note "Considerations for Reviewing Differential Privacy
Systems" (12 February 2026) weighs privacy, utility and the number of parties that must be trusted. What software cannot
know has no answer here: a person has to give it.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from dpframe.rounding import format_down, format_given, format_up
from dpframe.run.result import Charge
from dpframe.run.statement import Line, Statement
from dpframe.run.wording import drawn_elsewhere
from dpframe.spec.budget import ModelBudget
from dpframe.spec.columns import Column
from dpframe.spec.rows import Rows

NIST = "NIST SP 800-226"
W3C = "W3C draft note on reviewing differential privacy systems"
GUIDES = {
    NIST: "Guidelines for Evaluating Differential Privacy Guarantees, March 2025",
    W3C: "Considerations for Reviewing Differential Privacy Systems, Group Note Draft, 12 February 2026",
}
"""The guides, with their titles and dates."""

GRADES = {
    "exact": "so that the guarantee holds for the program and not only for its formula",
    "certified": "with a float computation whose error is proved and paid for by noise",
    "floating": "private in exact arithmetic and computed in floats",
}
"""What the grades of numerics mean."""

PLAN, ACCOUNTANT, LEDGER, SOFTWARE, PERSON = "plan", "accountant", "ledger", "software", "person"
BOTH = (NIST, W3C)


@attrs.frozen(kw_only=True)
class Fact:
    """One question of a reviewer, with its answer.

    Args:
        key: a short name of the question, for files.
        question: the question.
        answer: the answer; where a person has to give it, what is known so far, or nothing.
        source: where it is from: "plan", "accountant", "ledger" or "software"; "person" where one has to give it.
        asked_by: the guides that ask it.
    """

    key: str
    question: str
    answer: str
    source: str
    asked_by: tuple[str, ...] = (NIST,)

    @property
    def is_open(self) -> bool:
        """Whether a person has to answer it."""
        return self.source == PERSON


@attrs.frozen(kw_only=True)
class Release:
    """What is known about a release, or about one that is planned.

    Args:
        statement: what it promises and costs.
        rows: the promise about the rows; None where the plan is not known.
        charge: where it was charged; None without a ledger, and before a run.
        private: False where it was drawn from a fixed seed.
        planned: whether it is yet to be made.
    """

    statement: Statement
    rows: Rows | None = None
    charge: Charge | None = None
    private: bool = True
    planned: bool = False


def facts(release: Release) -> tuple[Fact, ...]:
    """All questions, with the answers that are known.

    Args:
        release: the release.
    """
    return (*_parameters(release), *_algorithms(release), *_surroundings(release))


def _parameters(release: Release) -> Iterator[Fact]:
    """The top of the pyramid: parameters, unit of privacy, and what is spent over time."""
    stated = release.statement
    yield Fact(
        key="parameters",
        question="How strong is the guarantee?",
        answer=stated.strength
        if release.private
        else f"None: it was drawn from a fixed seed. With secret randomness: {stated.strength}",
        source=PLAN,
        asked_by=BOTH,
    )
    yield Fact(key="definition", question="Which definition of privacy is it?", answer=_definition(stated), source=PLAN)
    yield Fact(
        key="choice",
        question="Why these parameters, and is delta far below one over the number of people?",
        answer="",
        source=PERSON,
        asked_by=BOTH,
    )
    yield Fact(
        key="unit",
        question="What is the unit of privacy: a person, or less?",
        answer=stated.protected,
        source=PLAN,
        asked_by=BOTH,
    )
    yield Fact(key="neighbors", question="Which data sets are neighbors?", answer=_neighbors(stated), source=PLAN)
    yield Fact(
        key="adversary",
        question="Against whom does it hold?",
        answer=stated.against,
        source=PLAN,
        asked_by=BOTH,
    )
    yield _over_time(release)


def _definition(stated: Statement) -> str:
    if isinstance(stated.spent, ModelBudget):
        return f"differential privacy under a model of the data, {stated.spent.caveat}"
    if stated.spent.delta == 0.0:
        return "pure differential privacy, delta = 0"
    return "approximate differential privacy, with epsilon and delta"


def _neighbors(stated: Statement) -> str:
    if stated.neighbors == "add-remove":
        return "those that differ by adding or removing one person's rows (unbounded); the number of rows is protected"
    return "those that differ by replacing one person's rows by as many others (bounded); the number of rows is public"


def _over_time(release: Release) -> Fact:
    asked = "What do all releases from these data cost together, and what is the limit?"
    charge = release.charge
    if charge is None:
        known = "This run is counted by itself; it has no ledger." if not release.planned else ""
        return Fact(key="composition", question=asked, answer=known, source=PERSON, asked_by=BOTH)
    answer = (
        f"epsilon={format_up(charge.spent.epsilon, charge.budget.epsilon)} of {format_given(charge.budget.epsilon)} at "
        f"delta={format_given(charge.budget.delta)}, over all runs of data set {charge.dataset!r}; left: a plan of up "
        f"to epsilon={format_down(charge.remaining.epsilon)}. Runs that were not charged to this ledger are not counted"
    )
    return Fact(key="composition", question=asked, answer=answer, source=LEDGER, asked_by=BOTH)


def _algorithms(release: Release) -> Iterator[Fact]:
    """The middle: mechanisms, bounds, utility, bias and the correctness of the program."""
    stated, rows = release.statement, release.rows
    yield Fact(
        key="mechanisms",
        question="Which mechanisms draw the noise, and how large is it?",
        answer="; ".join(_mechanism(line) for line in stated.lines if line.is_release),
        source=PLAN,
    )
    yield Fact(
        key="accounting",
        question="How are the losses of several releases added up?",
        answer=f"by the accountant {stated.accountant!r}"
        + (f" of {stated.computed_by}" if stated.computed_by else "")
        + f", to {stated.spent.within(stated.budget)}; everything else is computed from released values, at no cost",
        source=ACCOUNTANT,
    )
    yield Fact(key="bounds", question="How is the influence of a row bounded?", answer=stated.rows, source=PLAN)
    yield Fact(
        key="origin_of_bounds",
        question="Where do ranges, levels and norms come from? They must not be read off the data.",
        answer=""
        if rows is None or rows.columns is None
        else f"stated for {len(rows.columns)} columns, as listed here",
        source=PERSON,
    )
    yield Fact(
        key="utility",
        question="How large is the error that privacy makes, and is it small enough for the purpose?",
        answer="forecast" if release.planned else "beside each value, as ± at 95 % confidence where its law is known",
        source=PERSON,
        asked_by=BOTH,
    )
    yield Fact(
        key="bias",
        question="What is biased: by clipping, by noise that hits small groups harder, by how data were collected?",
        answer=_clipping(rows),
        source=PERSON,
    )
    yield Fact(
        key="arithmetic",
        question="Does the program do what the proof says, in the arithmetic of computers too?",
        answer="; ".join(_grades(stated)),
        source=SOFTWARE,
    )
    yield Fact(
        key="randomness",
        question="Is the randomness secret and strong?",
        answer="AES-256 in counter mode, keyed by the operating system for each run" + drawn_elsewhere(stated.against)
        if release.private
        else "No: a fixed seed, for tests only",
        source=SOFTWARE,
    )


def _grades(stated: Statement) -> Iterator[str]:
    """The releases of each grade of numerics."""
    for grade, meaning in GRADES.items():
        if names := [line.name for line in stated.lines if line.is_release and line.numerics == grade]:
            yield f"{', '.join(names)}: {grade}, {meaning}"


def _mechanism(line: Line) -> str:
    noise = ", ".join(f"{part} {scale:.4g}" for part, scale in line.noise.items())
    return f"{line.name}: {line.action}" + (f" ({noise})" if noise else "")


def _clipping(rows: Rows | None) -> str:
    if rows is None:
        return ""
    numeric = [column for column in rows.columns or () if isinstance(column, Column)]
    filled = [column for column in rows.columns or () if column.missing is not None]
    parts = ["cells beyond a range count as its end"] if numeric else ["rows beyond the norm are scaled down to it"]
    if rows.columns is not None:
        parts.append(
            "a row with a missing cell counts as nothing, unless its column says what such a cell counts as, as "
            f"{len(filled)} of {len(rows.columns)} columns do"
        )
    return "; ".join(parts)


def _surroundings(release: Release) -> Iterator[Fact]:
    """The base: who is trusted, what can be observed, and how the data came to be there."""
    yield Fact(
        key="trust_model",
        question="Who must be trusted, and with what?",
        answer="central model: whoever runs the plan, and each machine that it runs on, sees the raw rows; this "
        "software and its plugins are trusted"
        + ("" if release.charge is None else ", and so is the keeper of the ledger"),
        source=SOFTWARE,
        asked_by=BOTH,
    )
    yield Fact(
        key="query_model",
        question="May questions be asked one after another, depending on answers?",
        answer="within a run, only as the plan says, which is fixed and paid for as a whole before data is read"
        + (". Between runs, yes: the ledger limits all of them together" if release.charge is not None else ""),
        source=SOFTWARE,
    )
    yield Fact(
        key="side_channels",
        question="Can anyone observe more than the released values: durations, memory, logs?",
        answer="the duration of a run is not protected; do not publish it, and let no adversary share the machine",
        source=PERSON,
    )
    for key, question in (
        ("other_releases", "Was anything else published from the same data without such a guarantee?"),
        ("access", "Who can read the raw data, and how are they stored and deleted?"),
        ("collection", "How were the data collected, with whose consent, and are all of them needed?"),
        ("responsible", "Who answers for this release, and who reviewed it?"),
    ):
        yield Fact(
            key=key, question=question, answer="", source=PERSON, asked_by=BOTH if key == "responsible" else (NIST,)
        )
    stated = release.statement
    yield Fact(
        key="audit",
        question="What can a reviewer check afterward?",
        answer=f"the plan, by its hash sha256 {stated.plan[:16]}…, and the versions of the software"
        + ("" if release.charge is None else f"; the ledger, by its head {release.charge.head[:16]}…"),
        source=SOFTWARE,
        asked_by=(W3C,),
    )
