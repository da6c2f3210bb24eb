"""Plans: the promise about the data, the budget and the steps, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.interfaces import Mechanism, PostProcessor
from dpframe.kinds import Kind
from dpframe.losses import ModelBased, PrivacyLoss
from dpframe.plan.checks import check_matrix, check_names, checked_kinds, checked_shapes
from dpframe.plan.pricing import Pricing, check_levels, computable, priced
from dpframe.plan.schedule import Pass, inputs_of, passes, schedule
from dpframe.plan.steps import Step, completed_steps
from dpframe.plan.text_file import read_text
from dpframe.spec.budget import Budget
from dpframe.spec.matrix import Matrix
from dpframe.spec.models import Model, as_models
from dpframe.spec.refs import Shape
from dpframe.spec.rows import Rows
from dpframe.spec.scenario import Scenario

if TYPE_CHECKING:
    from dpframe.ledger import Ledger
    from dpframe.run.dry_run import DryRun
    from dpframe.run.explain import Explanation
    from dpframe.run.progress import Progress
    from dpframe.run.result import Result


@attrs.frozen(kw_only=True, slots=False)
class Plan:
    """A declarative release, checked and priced when it is built. Every run costs its budget again.

    Args:
        rows: the public promise about the data: about rows, or about a matrix that was computed elsewhere.
        budget: the most that one run may spend.
        steps: releases and derivations, in order; a step may refer to those above it.
        accountant: the accountant that composes the losses; "auto" takes the tightest of the project's own.
        scenario: assumed data for forecasts: the default of ``explain``, and what a recipe may choose its free
            parameters by.
        accept: models of the data that the guarantee may rest on, such as ``dp.model("spiked-covariance")``.

    Guarantee:
        A run is (budget.epsilon, budget.delta)-differentially private under ``rows.neighbors``: the composed loss of
        its releases, as computed by the accountant, is at most the budget, and everything else is post-processing.
        Where a release is graded "floating" this holds in exact arithmetic, with a slack that reports state.
        Where a release rests on an accepted model, all of this holds for data drawn from that model only; there is no
        worst-case guarantee then, and the statement, the result and ``spent`` say so.
    """

    rows: Rows = attrs.field()
    budget: Budget = attrs.field()
    declared: tuple[Step, ...] = attrs.field(alias="steps", converter=validators.as_tuple)
    accountant: str = attrs.field(default="auto", validator=validators.text)
    scenario: Scenario | None = attrs.field(default=None)
    accept: tuple[Model, ...] = attrs.field(default=(), converter=as_models)

    def __attrs_post_init__(self) -> None:
        if type(self.rows) not in (Rows, Matrix):
            raise PlanError(f"Plan.rows must be a dp.Rows or a dp.Matrix; got {type(self.rows).__name__}.")
        if type(self.budget) is not Budget:  # a ModelBudget states what was spent
            raise PlanError(f"Plan.budget must be a dp.Budget; got {type(self.budget).__name__}.")
        if not isinstance(self.scenario, Scenario | None):
            raise PlanError(f"Plan.scenario must be a dp.Scenario; got {type(self.scenario).__name__}.")
        if self.scenario is not None:
            self.scenario.refuse_true("a plan, which is written down and shown,")
        if not isinstance(self.accept, tuple) or not all(isinstance(each, Model) for each in self.accept):
            raise PlanError('Plan.accept must be a list of models, such as [dp.model("spiked-covariance")].')
        if self.budget.epsilon == 0.0:
            raise PlanError("Plan.budget must have epsilon above 0; with epsilon=0 nothing can be released.")
        declared = self.declared
        if not isinstance(declared, tuple) or not declared or not all(isinstance(step, Step) for step in declared):
            raise PlanError("a plan needs steps: a list of dp.release(...) and dp.derive(...), at least one.")
        with computable():
            self._check_steps()
            _ = self.pricing

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy what was declared: a plan read back is checked and priced by what is installed there."""
        return partial(Plan, **{str(field.alias): getattr(self, field.name) for field in attrs.fields(Plan)}), ()

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps with recipes expanded."""
        public = self.rows, self.budget, self.scenario, self.accountant
        return completed_steps(part for step in self.declared for part in step.expanded(*public))

    # -- checks -------------------------------------------------------------------------------------------------------

    def _check_steps(self) -> None:
        check_names(self)
        check_matrix(self)
        _ = self.kinds
        _ = self.shapes

    @cached_property
    def shapes(self) -> dict[str, Shape | None]:
        """The shape of every result, by step, as far as it is known."""
        return checked_shapes(self)

    @cached_property
    def kinds(self) -> dict[str, type[Kind]]:
        """The kind of every result, by step."""
        return checked_kinds(self)

    def rows_of(self, step: Step) -> Rows:
        """The promise about the rows that a step sees.

        Args:
            step: one of the steps.
        """
        return self.rows.seen_by(step.rows)

    @property
    def same_public_rows(self) -> bool:
        """Whether all steps see the same rows, with a public norm, center and scales: formulas for errors need it."""
        return not self.rows.awaited and all(step.rows is None for step in self.steps)

    @property
    def releases(self) -> list[tuple[Step, Mechanism]]:
        """The steps that cost budget, with their mechanisms."""
        return [(step, step.action) for step in self.steps if isinstance(step.action, Mechanism)]

    @cached_property
    def passes(self) -> dict[str, int]:
        """For each step, the number of passes over the data that its result needs."""
        return passes(self)

    def schedule(self) -> tuple[Pass, ...]:
        """The passes over the data in order, each with the steps that are due after it."""
        return self._schedule

    @cached_property
    def _schedule(self) -> tuple[Pass, ...]:
        return schedule(self)

    def check_forecast(self, dim: int) -> None:
        """Raise PlanError where a step has no error to forecast.

        Args:
            dim: the number of coordinates of the rows.
        """
        for step in self.steps:
            if isinstance(step.action, PostProcessor):
                with step.naming():
                    step.action.check_forecast(dim)

    @cached_property
    def modeled(self) -> frozenset[str]:
        """The steps whose guarantee rests on a model of the data, by their own loss or by that of an input."""
        modeled: set[str] = set()
        for step in self.steps:
            losses = self.pricing.losses.get(step.name, ())
            if modeled.intersection(inputs_of(step, self.rows)) or any(isinstance(loss, ModelBased) for loss in losses):
                modeled.add(step.name)
        return frozenset(modeled)

    # -- price --------------------------------------------------------------------------------------------------------

    def losses_at(self, scale: float) -> dict[str, tuple[PrivacyLoss, ...]]:
        """The losses of each release when those without a fixed level run at level weight · scale.

        Args:
            scale: the common factor of the free levels.
        """
        return self.losses_at_levels({step.name: step.level_at(scale) for step, _ in self.releases})

    def losses_at_levels(self, levels: Mapping[str, float]) -> dict[str, tuple[PrivacyLoss, ...]]:
        """The losses of each release at its level.

        Args:
            levels: the level of each release, by step.
        """
        losses = {}
        for step, mechanism in self.releases:
            loss = mechanism.loss(self.rows_of(step), levels[step.name])
            losses[step.name] = loss if isinstance(loss, tuple) else (loss,)
        return losses

    @property
    def shares(self) -> list[tuple[str, float, float | None]]:
        """The name, weight and fixed level of each release, which with the budget determine the levels."""
        return [(step.name, step.weight, step.level) for step, _ in self.releases]

    @cached_property
    def pricing(self) -> Pricing:
        """The levels, their losses and the composed cost; free levels are solved to meet the budget from below."""
        return priced(self)

    @property
    def spent(self) -> Budget:
        """What a run of this plan costs, as the accountant computes it."""
        return self.pricing.spent

    def dp_events(self) -> Any:
        """The releases of a run as one event of Google's dp_accounting, for accountants and tools that take those.

        Compose it under that library's default relation, ADD_OR_REMOVE_ONE, whatever relation this plan has: the events
        already contain the plan's, and REPLACE_ONE would count it twice. A loss that the library has no event for is an
        UnsupportedDpEvent, which its accountants refuse; one that rests on a model of the data is a NonPrivateDpEvent.
        The numerical slack of releases graded "floating" is not in it. Needs ``pip install 'dpframe[pld]'``.
        """
        from dpframe.accounting.dp_events import composed_event

        return composed_event(self.pricing.all_losses)

    def _repr_html_(self) -> str:
        from dpframe.display.notebook import html_of
        from dpframe.run.plan_text import render_plan

        return html_of(render_plan(self))

    # -- use ----------------------------------------------------------------------------------------------------------

    def bind(self, dim: int) -> Plan:
        """The same plan for rows of a known dimension, checked again.

        Args:
            dim: the number of coordinates.
        """
        return self if self.rows.dim == dim else self._with_rows(self.rows.bind(dim), self.declared)

    def with_released(self, values: Mapping[str, Kind]) -> Plan:
        """The same plan with the norm, center and scales that its steps release; recipes are not expanded again.

        Args:
            values: the results so far, by step.
        """
        axes = None if self.rows.columns is None else self.rows.unplaced.axes
        rows, steps = self.rows.with_released(values), tuple(step.with_released(values, axes) for step in self.steps)
        return self if (rows, steps) == (self.rows, self.steps) else self._with_rows(rows, steps)

    def _with_rows(self, rows: Rows, declared: tuple[Step, ...]) -> Plan:
        """The same plan for rows of which more is known, checked again.

        Its pricing is kept where the releases have the same losses at the same levels: composing the same losses gives
        the same guarantee. It is solved again where the loss of a mechanism depends on what is known now.
        """
        changed: Plan = object.__new__(Plan)
        fields = {field.name: getattr(self, field.name) for field in attrs.fields(Plan)}
        vars(changed).update({**fields, "rows": rows, "declared": declared})
        with computable():
            changed._check_steps()
            if changed.shares == self.shares and changed.losses_at_levels(self.pricing.levels) == self.pricing.losses:
                check_levels(changed, self.pricing.levels)
                vars(changed)["pricing"] = self.pricing
            _ = changed.pricing
        return changed

    def explain(
        self,
        *,
        dim: int | None = None,
        spectrum: Sequence[float] | None = None,
        scenario: Scenario | None = None,
        rows: int | None = None,
        confidence: float = 0.95,
        simulations: int = 0,
        progress: bool | Callable[[Progress], Any] | None = None,
    ) -> Explanation:
        """Price the plan and forecast its errors, before any data is touched.

        Args:
            dim: the number of coordinates, for noise scales in the units of the results.
            spectrum: assumed eigenvalues of the second moment, from the largest, for an error forecast.
            scenario: assumed data in more detail, instead of a spectrum alone.
            rows: the assumed number of rows of a table, for a forecast of each column in its own units, under stated
                assumptions about its mean and standard deviation (`dp.Column`). A guess, where that number is private.
            confidence: the share of releases that the half-widths of that forecast hold.
            simulations: the number of releases to simulate on synthetic data, at least 200; 0, the default, for none.
            progress: True for a bar, or a function of a `dp.Progress`.
        """
        from dpframe.run.explain import explain

        return explain(
            self,
            dim=dim,
            spectrum=spectrum,
            scenario=scenario,
            rows=rows,
            confidence=confidence,
            simulations=simulations,
            progress=progress,
        )

    def require(
        self,
        *,
        confidence: float = 0.95,
        step: str | None = None,
        scenario: Scenario | None = None,
        rows: int | None = None,
        mean: Mapping[str, float] | None = None,
        sd: Mapping[str, float] | None = None,
        correlation: Mapping[str, float] | float | None = None,
        progress: bool | Callable[[Progress], Any] | None = None,
        **target: float,
    ) -> Plan:
        """The same plan with an epsilon that meets a target in simulation, close to the smallest that does.

        The target must be met in all but a share 1 − confidence of releases. A simulated upper confidence limit of that
        quantile must meet it: the search ends within 2 percent of the smallest epsilon where it does. Then epsilon is
        increased, 2 percent at a time, until a second, independent simulation confirms it.

        Targets for the columns of a table, ``mean=``, ``sd=`` and ``correlation=``, are met by the forecast of
        ``explain(rows=...)``: the search ends where the most demanding one is met with less than 3 percent to spare.

        Args:
            confidence: the share of releases that must meet the target.
            step: the step whose result must meet it; by default the last one that has such an error.
            scenario: assumed data; by default that of the plan.
            rows: the assumed number of rows, for targets of columns; by default that of the scenario.
            mean: the largest error of the mean of each named column, in its units: ``{"age": 0.5}``.
            sd: the same of its standard deviation.
            correlation: the largest error of the correlations of each named column with others, or of all.
            progress: True for a bar, or a function of a `dp.Progress`.
            target: one of ``angle_degrees=`` (the largest principal angle between a subspace and the true one),
                ``frobenius=`` or ``spectral=`` (that norm of the difference, of projectors for a subspace) and
                ``captured_variance=`` (at least this share of the variance that the best subspace captures).
        """
        from dpframe.forecast.requirement import require

        return require(
            self,
            {"mean": mean, "sd": sd, "correlation": correlation},
            target,
            confidence=confidence,
            step=step,
            scenario=scenario,
            rows=rows,
            progress=progress,
        )

    def required_rows(
        self,
        *,
        confidence: float = 0.95,
        step: str | None = None,
        scenario: Scenario | None = None,
        mean: Mapping[str, float] | None = None,
        sd: Mapping[str, float] | None = None,
        correlation: Mapping[str, float] | float | None = None,
        progress: bool | Callable[[Progress], Any] | None = None,
        **target: float,
    ) -> int:
        """A number of rows, close to the fewest, with which this plan meets a target in simulation.

        The search and the arguments are those of `require`. The scenario states the number of rows of its spectrum,
        which is scaled in proportion; targets for columns need none.
        """
        from dpframe.forecast.requirement import required_rows

        return required_rows(
            self,
            {"mean": mean, "sd": sd, "correlation": correlation},
            target,
            confidence=confidence,
            step=step,
            scenario=scenario,
            progress=progress,
        )

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a TOML file; every mistake in it is a PlanError that names the line.

        Args:
            path: the path of the plan file.
        """
        advice = (
            "Nothing was charged. A plan file is the TOML text that plan.dump(path) writes; dpframe demo --files DIR "
            "writes an example."
        )
        text = read_text(path, error=PlanError, what="a plan file", advice=advice)
        return cls.loads(text, source=Path(path).name)

    @classmethod
    def loads(cls, text: str, *, source: str = "plan") -> Plan:
        """Read a plan from the text of a plan file.

        Args:
            text: the text, in TOML.
            source: the name of the file in error messages.
        """
        from dpframe.plan.file import loads

        return loads(text, source=source)

    def dump(self, path: str | Path) -> None:
        """Write the plan to a TOML file that :meth:`load` reads back as an equal plan.

        Args:
            path: the path of the file, which is overwritten where it exists.
        """
        Path(path).write_text(self.dumps(), encoding="utf-8")

    def dumps(self) -> str:
        """The text of the plan file that :meth:`dump` writes."""
        from dpframe.plan.file import dumps

        return dumps(self)

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of the plan's canonical form, as recorded in results and ledgers."""
        from dpframe.plan.file import content_hash

        return content_hash(self)

    def dry_run(
        self,
        data: Any,
        *,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        note: str | None = None,
    ) -> DryRun:
        """Do everything that a run does before its charge, and nothing after it.

        Names, types and dimension of the data, the plan, its derivations on made-up values, the memory that it needs,
        rules of plugins and the budget left in a ledger are checked, and the same errors are raised. Nothing is
        charged, read or drawn: that cells fit the plan is not known afterward.

        Args:
            data: the data, as for :meth:`run`.
            ledger: the ledger that a run would charge.
            dataset: the name of the data set in the ledger.
            note: the note that a run would record.
        """
        from dpframe.run.dry_run import dry_run

        return dry_run(self, data, ledger=ledger, dataset=dataset, note=note)

    def run(
        self,
        data: Any,
        *,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        note: str | None = None,
        insecure_seed: int | None = None,
        progress: bool | Callable[[Progress], Any] | None = None,
    ) -> Result:
        """Check the public schema, charge the whole plan, read the data, draw, and derive.

        Args:
            data: a two-dimensional array or memory map; a table of named columns (structured array, dictionary, pandas,
                polars, Arrow, the path of a Parquet or CSV file); a query (`dp.query`, a DuckDB relation); a Dask array
                or data frame; a Spark data frame; or an iterable of chunks.
            ledger: the ledger that is charged before anything is read: a `dp.Ledger`, its path or its URL. The plan is
                then calibrated with the accountant of the data set.
            dataset: the name of the data set in the ledger.
            note: why the run is made, in at most 500 characters; it is recorded with the charge, next to the user name.
            insecure_seed: makes every draw repeatable, for tests. The result is marked NOT PRIVATE.
            progress: True for a bar, or a function of a `dp.Progress`, which is called when a phase begins and during
                it. Nothing in it depends on private data.
        """
        from dpframe.run.runner import run

        return run(
            self, data, ledger=ledger, dataset=dataset, note=note, insecure_seed=insecure_seed, progress=progress
        )
