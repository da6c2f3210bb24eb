"""Plan files: exact round trips, one hash per plan, and a place in every complaint."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe as dp
from dpframe.plan import toml
from dpframe.plan.file import dumps, loads
from dpframe.plan.json_schema import schema
from tests.support.mechanisms import NoisySignal, TwoRounds, registered

GOOD = """format = 1
requires = {dpframe-gaussian = ">=0.1"}

[rows]
neighbors = "replace"
center = true

[[rows.columns]]
name = "age"
low = 17
high = 90
missing = 40

[[rows.columns]]
name = "sex"
levels = ["F", "M"]

[budget]
epsilon = 1.0
delta = 1e-6

[[steps]]
release = "moment"
with = "gaussian"
weight = 2

[[steps]]
derive = "covariance"
with = "covariance"
of = {ref = "moment"}

[[steps]]
derive = "components"
with = "top-subspace"
of = "covariance"
k = 2

[scenario]
dim = 3
spectrum = [30, 20, 10]
"""


def load(text: str) -> dp.Plan:
    return loads(text, source="plan.toml")


def test_a_file_reads_as_the_plan_it_says() -> None:
    rows = dp.Rows(
        columns=[dp.Column("age", 17, 90, missing=40), dp.Category("sex", ["F", "M"])], neighbors="replace", center=True
    )
    steps = [
        dp.release("moment", "gaussian", weight=2),
        dp.derive("covariance", "covariance", of="moment"),
        dp.derive("components", "top-subspace", of="covariance", k=2),
    ]
    scenario = dp.Scenario(dim=3, spectrum=[30, 20, 10])
    budget = dp.Budget(epsilon=1.0, delta=1e-6)
    assert dp.Plan(rows=rows, budget=budget, steps=steps, scenario=scenario) == load(GOOD)


def test_load_and_dump_files(tmp_path: Path) -> None:
    plan = load(GOOD)
    plan.dump(tmp_path / "plan.toml")
    assert plan == dp.Plan.load(tmp_path / "plan.toml") == dp.Plan.load(str(tmp_path / "plan.toml"))


def test_recipes_references_and_released_norms_round_trip() -> None:
    with registered(NoisySignal, TwoRounds):
        plan = dp.Plan(
            rows=dp.Rows(norm=dp.ref("radius"), neighbors="add-remove", contributions=3, dim=5),
            budget=dp.Budget(epsilon=0.1 + 0.2, delta=1e-9),
            steps=[
                dp.release("radius", "private-quantile", quantile=0.95, high=1e3, level=0.01),
                dp.release("cov", "two-rounds", k=2, weight=1 / 3),
                dp.derive("shaped", "with-spectrum", of="cov", spectrum=[2.5, 1 / 3]),
            ],
            accountant="zcdp",
        )
        text = dumps(plan)
        assert 'with = "two-rounds"' in text
        assert 'norm = {ref = "radius"}' in text
        assert plan == load(text)
        assert ["radius", "cov.moment", "cov.basis", "cov", "shaped"] == [step.name for step in load(text).steps]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
FLOATS = st.floats(1e-6, 1e6, allow_nan=False)


@st.composite
def columns(draw: st.DrawFn) -> list[dp.Column | dp.Category]:
    found: list[dp.Column | dp.Category] = []
    for name in draw(st.lists(NAMES, min_size=1, max_size=4, unique=True)):
        if draw(st.booleans()):
            low = draw(st.floats(-1e9, 1e9))
            high = low + draw(st.floats(1.0, 1e9))
            missing = draw(st.none() | st.floats(low, high))
            found.append(dp.Column(name, low, high, missing=missing, unit=draw(st.just("") | NAMES)))
        else:
            levels = draw(st.lists(NAMES | st.nothing(), min_size=1, max_size=3, unique=True))
            found.append(dp.Category(name, levels, missing=draw(st.none() | st.sampled_from(levels))))
    return found


@st.composite
def plans(draw: st.DrawFn) -> dp.Plan:
    center = draw(st.booleans())
    promise: dict[str, Any] = {
        "neighbors": draw(st.sampled_from(["add-remove", "replace"])),
        "contributions": draw(st.integers(1, 5)),
        "center": center,
    }
    if draw(st.booleans()):
        promise["columns"] = draw(columns())
    else:
        promise |= {"norm": draw(FLOATS), "dim": draw(st.none() | st.integers(1, 9))}
    names = draw(st.lists(st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True), min_size=2, max_size=5, unique=True))
    steps = [
        dp.release(
            name,
            "gaussian",
            noise=draw(st.sampled_from(["goe", "triangular", "paper"])),
            weight=draw(st.floats(0.01, 100)),
            level=draw(st.none() | st.floats(1e-5, 1e-3)),
        )
        for name in names[:-1]
    ]
    steps.append(dp.derive(names[-1], "mean" if center else "psd", of=names[0]))
    budget = dp.Budget(epsilon=draw(st.floats(0.5, 10)), delta=draw(st.floats(1e-9, 1e-3)))
    return dp.Plan(rows=dp.Rows(**promise), budget=budget, steps=steps)


@settings(max_examples=60, deadline=None)
@given(plan=plans())
def test_every_plan_round_trips_exactly_with_one_hash(plan: dp.Plan) -> None:
    text = dumps(plan)
    again = load(text)
    assert plan == again
    assert text == dumps(again)
    assert plan.content_hash == again.content_hash
    assert plan.pricing == again.pricing


def test_a_file_holds_no_control_characters() -> None:
    plan = load(GOOD.replace('name = "age"', 'name = "a\\u001b\\u0085\\u202e\\U000e0001g"'))
    assert plan == load(dumps(plan))
    assert all(character.isprintable() for line in dumps(plan).split("\n") for character in line)


def test_the_hash_ignores_layout_and_sees_every_change() -> None:
    plan = load(GOOD)
    assert plan.content_hash == load(GOOD.replace("\n\n", "\n# a comment\n\n")).content_hash
    assert plan.content_hash == load(GOOD.replace('requires = {dpframe-gaussian = ">=0.1"}\n', "")).content_hash
    changes = [
        ("epsilon = 1.0", "epsilon = 1.5"),
        ("delta = 1e-6", "delta = 1e-7"),
        ('"replace"', '"add-remove"'),
        ("high = 90", "high = 91"),
        ("missing = 40", "missing = 41"),
        ("weight = 2", "weight = 3"),
        ("k = 2", "k = 1"),
        ('["F", "M"]', '["M", "F"]'),
        ("[30, 20, 10]", "[30, 20, 11]"),
    ]
    hashes = {load(GOOD.replace(*change)).content_hash for change in changes}
    assert len(changes) == len(hashes - {plan.content_hash})


def test_results_record_the_hash_of_their_plan() -> None:
    plan = load(GOOD)
    result = plan.run({"age": np.array([20.0, 30.0]), "sex": np.array(["F", "M"])})
    assert plan.content_hash == result.statement.plan
    assert plan.content_hash[:16] in str(result)


@pytest.mark.parametrize("weight", [1e6, 1e9])
def test_a_weight_far_from_one_is_a_share_all_the_same(weight: float) -> None:
    """At scale one its epsilon is beyond what can be computed; the scale that fits the budget is far below."""
    plain, heavy = (load(GOOD.replace("weight = 2", f"weight = {each}")) for each in (2, weight))
    assert heavy.pricing.levels["moment"] == pytest.approx(plain.pricing.levels["moment"], rel=1e-9)


BAD = [
    ("format = 1", "format = 2", r"line 1 \(format\): format must be 1; got 2"),
    ("format = 1", "format = true", r"line 1 \(format\): format must be 1"),
    ("format = 1\n", "", r"plan.toml \(format\): format must be 1; got None"),
    ("format = 1", "format = 1\nextra = 3", r"line 2 \(extra\): unknown key 'extra'; allowed: format"),
    ("format = 1", "format = ", r"not TOML: .*line 1"),
    ("[rows]", "[rows", r"not TOML: .*line 4"),
    ("[budget]", "[budget]\n[budget]", r"not TOML: .*line 19"),
    ('">=0.1"', '">=9"', r"line 2 \(requires\): the plan requires dpframe-gaussian >=9; version 0.1.0 is installed"),
    ('">=0.1"', '"new"', r"line 2 \(requires\): dpframe-gaussian must be a version range"),
    ('">=0.1"', f'">=0.{"9" * 5000}"', r"line 2 \(requires\): dpframe-gaussian must be a version range"),
    ('">=0.1"', "7", r"line 2 \(requires\): dpframe-gaussian must be a version range"),
    (
        "dpframe-gaussian =",
        "dpframe-absent =",
        r"line 2 \(requires\): the plan requires dpframe-absent .*not installed",
    ),
    ('requires = {dpframe-gaussian = ">=0.1"}', "requires = 3", r"line 2 \(requires\): a plan file needs the table"),
    ('neighbors = "replace"', 'neighbors = "both"', r"line 4 \(rows\): Rows.neighbors must be 'add-remove'"),
    ('neighbors = "replace"\n', "", r"line 4 \(rows\): Rows.neighbors must be"),
    ('neighbors = "replace"', "neighbors = 3", r"line 4 \(rows\): Rows.neighbors must be"),
    ("center = true", 'center = "yes"', r"line 4 \(rows\): Rows.center must be True or False"),
    ("center = true", "centre = true", r"line 6 \(rows.centre\): unknown key 'centre'"),  # a British reader
    ("center = true", "center = true\nnorm = 0", r"line 4 \(rows\): Rows.norm must be"),
    ("center = true", "center = true\nnorm = inf", r"line 4 \(rows\): Rows.norm must be"),
    ("center = true", "center = true\nnorm = {reff = 'a'}", r"line 7 \(rows.norm\): a table here must be a reference"),
    ("center = true", "center = true\nnorm = {ref = 'a'}", r"sees rows whose norm is 'a', but no earlier step"),
    ("center = true", "center = true\ncontributions = 0", r"line 4 \(rows\): Rows.contributions must be"),
    ("center = true", "center = true\ndim = 7", r"line 4 \(rows\): Rows.dim is 7, but its columns make 3"),
    ('name = "age"', "name = 5", r"line 8 \(rows.columns\[0\]\): Column.name must be a text"),
    ('name = "age"\n', "", r"line 8 \(rows.columns\[0\]\): 'name' is missing"),
    ("low = 17\n", "", r"line 8 \(rows.columns\[0\]\): 'low' is missing"),
    ("low = 17", "low = 170", r"line 8 \(rows.columns\[0\]\): column 'age' must have low < high"),
    ("low = 17", 'low = "young"', r"line 8 \(rows.columns\[0\]\): Column.low must be a finite number"),
    ("low = 17", "low = nan", r"line 8 \(rows.columns\[0\]\): Column.low must be a finite number"),
    ("missing = 40", "missing = 400", r"line 8 \(rows.columns\[0\]\): column 'age': missing=400 must lie"),
    ("missing = 40", "mising = 40", r"line 12 \(rows.columns\[0\].mising\): unknown key 'mising'"),
    ('name = "sex"', 'name = "age"', r"line 4 \(rows\): Rows.columns has more than one column named 'age'"),
    ('levels = ["F", "M"]', "levels = []", r"line 14 \(rows.columns\[1\]\): category 'sex' must have"),
    ('levels = ["F", "M"]', 'levels = ["F", "F"]', r"line 14 \(rows.columns\[1\]\): category 'sex' must have"),
    ('levels = ["F", "M"]', 'levels = ["F", 1]', r"line 14 \(rows.columns\[1\]\): category 'sex' must have"),
    ('levels = ["F", "M"]', "levels = [{a = 1}]", r"rows.columns\[1\]"),
    ("epsilon = 1.0", "epsilon = 0", r"Plan.budget must have epsilon above 0"),
    ("epsilon = 1.0", "epsilon = -1", r"line 18 \(budget\): Budget.epsilon must be"),
    ("epsilon = 1.0", "epsilon = nan", r"line 18 \(budget\): Budget.epsilon must be"),
    ("epsilon = 1.0", 'epsilon = "one"', r"line 18 \(budget\): Budget.epsilon must be"),
    ("epsilon = 1.0", "eps = 1.0", r"line 19 \(budget.eps\): unknown key 'eps'"),
    ("epsilon = 1.0\n", "", r"line 18 \(budget\): 'epsilon' is missing"),
    ("delta = 1e-6", "delta = 1.0", r"line 18 \(budget\): Budget.delta must be"),
    ("delta = 1e-6\n", "", r"step 'moment' has no pure guarantee"),
    ('release = "moment"', 'release = ""', r"line 22 \(steps\[0\]\): Step.name must be a name"),
    ('release = "moment"', "release = 5", r"line 22 \(steps\[0\]\): a step needs release"),
    ('release = "moment"\n', "", r"line 22 \(steps\[0\]\): a step must be a table with either"),
    ('release = "moment"', 'release = "moment"\nderive = "x"', r"line 22 \(steps\[0\]\): a step must be a table"),
    ('with = "gaussian"', 'with = "gausian"', r"line 22 \(steps\[0\]\): .*Did you mean 'gaussian'"),
    ('with = "gaussian"\n', "", r"line 22 \(steps\[0\]\): a step needs release"),
    ("weight = 2", "weight = 0", r"line 22 \(steps\[0\]\): Step.weight must be"),
    ("weight = 2", 'weight = "2"', r"line 22 \(steps\[0\]\): Step.weight must be"),
    ("weight = 2", "level = -1", r"line 22 \(steps\[0\]\): Step.level must be"),
    ("weight = 2", "level = 9.0", r"the steps with a fixed level \('moment'\) cost"),
    ("weight = 2", 'noise = "loud"', r"line 22 \(steps\[0\]\): SymmetricGaussian.noise must be one of"),
    ("weight = 2", "sigma = 2", r"line 22 \(steps\[0\]\): step 'moment': 'gaussian' has no parameter 'sigma'"),
    ("weight = 2", "name = 'n'", r"line 22 \(steps\[0\]\): step 'moment': 'gaussian' has no parameter 'name'"),
    ("k = 2", "k = 2\nname = 'n'", r"line 32 \(steps\[2\]\): step 'components': .* no parameter 'name'"),
    ("k = 2", "k = 2\npostprocessor = 'n'", r"step 'components': .* no parameter 'postprocessor'"),
    ("weight = 2", "mechanism = 'n'", r"step 'moment': 'gaussian' has no parameter 'mechanism'"),
    ('of = {ref = "moment"}', 'of = {ref = "absent"}', r"step 'covariance' refers to 'absent'"),
    ('of = {ref = "moment"}', "of = {ref = 3}", r"line 30 \(steps\[1\].of\): a table here must be a reference"),
    ('of = {ref = "moment"}', "of = [[1, 2], [3, 4]]", r"line 27 \(steps\[1\]\)"),
    ('of = {ref = "moment"}', "of = 1979-05-27", r"line 27 \(steps\[1\]\)"),
    ('of = {ref = "moment"}', "weight = 1\nof = 'moment'", r"line 30 \(steps\[1\].weight\): a derived result is free"),
    ('of = "covariance"', 'of = "components"', r"step 'components' refers to 'components'"),
    ('of = "covariance"', 'of = "moment"', r"step 'components' needs a Hermitian matrix .*Center it first"),
    ("k = 2", "k = 4", r"step 'components': k=4 is more than the 3 coordinates"),
    ("k = 2", "k = 2.5", r"line 32 \(steps\[2\]\): TopSubspace.k must be a positive integer"),
    ("k = 2", "k = true", r"line 32 \(steps\[2\]\): TopSubspace.k must be a positive integer"),
    ("k = 2\n", "", r"line 32 \(steps\[2\]\): step 'components': 'top-subspace' needs the parameter 'k'"),
    ('derive = "components"', 'derive = "moment"', r"two steps are named 'moment'"),
    ("[scenario]", "[senario]", r"line 38 \(senario\): unknown key 'senario'"),
    ("dim = 3", "dim = 0", r"line 38 \(scenario\): Scenario.dim must be an integer from 1 to 1048576"),
    ("dim = 3", "dim = 3\nn = 9223372036854775809", r"Scenario.n must be an integer from 1 to 9223372036854775808"),
    ("weight = 2", "weight = 1e300", r"line 22 \(steps\[0\]\): Step.weight must be .* below 1e\+12"),
    ("weight = 2", "level = 1e300", r"line 22 \(steps\[0\]\): Step.level must be .* below 1e\+12"),
    ("[30, 20, 10]", "[10, 20, 30]", r"line 38 \(scenario\): a spectrum must have"),
    ("[30, 20, 10]", "[30, 20]", r"line 38 \(scenario\): the assumed spectrum has 2 values"),
    ("dim = 3", f"dim = {'9' * 5000}", r"plan.toml is not TOML: Exceeds the limit"),
    ("dim = 3", f"dim = 0x{'f' * 5000}", r"plan.toml is not TOML: an integer has 20000 bits"),
    ("[30, 20, 10]", "[" * 100 + "]" * 100, r"plan.toml is not a plan: its values are nested too deeply"),
    ("[30, 20, 10]", "[" * 9000 + "]" * 9000, r"plan.toml is not a plan: its values are nested too deeply"),
    ("[scenario]", f"[scenario{'.a' * 40}]", r"plan.toml is not a plan: its values are nested too deeply"),
    ("[scenario]", '["\\u001b[2J"]', r"plan.toml \(\\x1b\[2J\): unknown key"),
]


@pytest.mark.parametrize(("before", "after", "message"), BAD, ids=[f"{b[:20]!r}-{a[:20]!r}" for b, a, _ in BAD])
def test_every_mistake_is_a_plan_error_that_names_its_place(before: str, after: str, message: str) -> None:
    text = GOOD.replace(before, after, 1)
    assert text != GOOD
    with pytest.raises(dp.PlanError, match=message) as caught:
        load(text)
    assert dp.PlanError in type(caught.value).__mro__
    assert str(caught.value).startswith("plan.toml")


LONG_LINES = ["[" + " " * 100_000 + "x", "a" + " " * 100_000 + "x", "a." * 50_000, "[a" + " ]" * 50_000]


@pytest.mark.parametrize("line", LONG_LINES, ids=["header", "key", "dots", "brackets"])
def test_a_long_line_is_passed_over(line: str) -> None:
    """In time proportional to its length: cubic time, which it was for the first, would be years."""
    assert {("format",): 1, ("rows",): 3} == toml.Places("plan.toml", f"format = 1\n{line}\n[rows]").lines


@pytest.mark.parametrize("missing", ["rows", "budget", "steps"])
def test_missing_tables_are_named(missing: str) -> None:
    content = re.sub(rf"\[+{missing}.*?(?=\n\[(?!\[?{missing})|\Z)", "", GOOD, flags=re.S)
    with pytest.raises(dp.PlanError, match=rf"plan\.toml \({missing}\): a plan file needs"):
        load(content)


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, width=16) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["ref", "name", "k", "of", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_generated_nonsense_is_only_ever_a_plan_error(data: st.DataObject) -> None:
    import tomllib

    content: Any = tomllib.loads(GOOD)
    target: Any = content
    for _ in range(data.draw(st.integers(0, 3))):
        keys = (
            list(target) if isinstance(target, dict) else list(range(len(target))) if isinstance(target, list) else []
        )
        nested = [key for key in keys if isinstance(target[key], dict | list) and target[key]]
        if not nested:
            break
        target = target[data.draw(st.sampled_from(nested))]
    keys = list(target) if isinstance(target, dict) else list(range(len(target)))
    key = data.draw(st.sampled_from(keys))
    value = data.draw(JSONISH)
    if value is None:
        del target[key]
    else:
        target[key] = value
    assert_only_plan_errors(toml.write(json.loads(json.dumps(content).replace("null", "0"))))


def assert_only_plan_errors(text: str) -> None:
    """Anything else than a PlanError that begins with the file fails the test."""
    message = "plan.toml"
    try:
        load(text)
    except dp.PlanError as error:
        message = str(error)
    assert message.startswith("plan.toml")


@settings(max_examples=100, deadline=None)
@given(cut=st.integers(0, len(GOOD) - 1), junk=st.text(max_size=4))
def test_broken_text_is_only_ever_a_plan_error(cut: int, junk: str) -> None:
    assert_only_plan_errors(GOOD[:cut] + junk + GOOD[cut + len(junk) :])


def test_the_schema_knows_every_key_and_parameter() -> None:
    import tomllib

    found = schema()
    content = tomllib.loads(GOOD)
    assert set(content) <= set(found["properties"])
    by_name = {step["properties"]["with"]["const"]: step for step in found["properties"]["steps"]["items"]["oneOf"]}
    assert {"gaussian", "private-quantile", "top-subspace"} <= set(by_name)
    for step in content["steps"]:
        assert set(step) <= set(by_name[step["with"]]["properties"])
        assert set(by_name[step["with"]]["required"]) <= set(step)
    assert {"type": "integer"} == by_name["top-subspace"]["properties"]["k"]
    json.dumps(found)
