"""The account of a run with a data set: calibrate with its accountant, reserve the loss, record the outcome."""

from __future__ import annotations

import secrets
from fractions import Fraction
from typing import Any

import attrs

from dpframe import registry
from dpframe.accounting import PureAccountant
from dpframe.accounting.calibrate import largest_scale
from dpframe.errors import BudgetExceeded, LedgerError, PlanError
from dpframe.ledger import recorded
from dpframe.ledger.chain import Entry
from dpframe.ledger.dataset import Dataset
from dpframe.ledger.details import details
from dpframe.ledger.filters import ACCOUNTANTS, rests_on_a_model, worst_case, written
from dpframe.ledger.ledger import Ledger
from dpframe.ledger.recorded import RolledBack, charged, check_history, outcome_of
from dpframe.ledger.signature import Signer
from dpframe.ledger.stated import promise_hash
from dpframe.ledger.store import NoLedger, Transaction
from dpframe.losses import under_models
from dpframe.plan import Plan
from dpframe.plan.slack import law_errors
from dpframe.rounding import format_down, format_given, format_up
from dpframe.run.dry_run import Outlook
from dpframe.run.result import Charge, Result
from dpframe.run.statement import Statement
from dpframe.spec.budget import Budget


@attrs.frozen(kw_only=True)
class Account:
    """One data set of one ledger, for one run.

    Args:
        ledger: the ledger.
        dataset: the data set, as it was when the run began.
        head: the last entry of the ledger at that time.
        details: the note and the user name that are recorded with the charge.
        run: the random identifier of the run.
        signer: signs its outcome.
    """

    ledger: Ledger
    dataset: Dataset
    head: Entry
    details: dict[str, str]
    run: str = attrs.field(factory=lambda: secrets.token_hex(16))
    signer: Signer = attrs.field(factory=Signer)

    @classmethod
    def open(cls, ledger: Any, dataset: Any, note: Any = None) -> Account:
        """The account for the arguments of a run.

        Args:
            ledger: a `Ledger`, its path or its URL.
            dataset: the name of the data set in it.
            note: a text to be recorded with the charge.
        """
        if ledger is None or dataset is None:
            raise PlanError(
                "a run against a ledger needs both: ledger='budget.db' and dataset='its name there'"
                + (". Nothing was charged." if note is None else "; a note is recorded there. Nothing was charged.")
            )
        recorded_with_it = details(note)
        opened = Ledger.open(ledger)
        with opened.journal.reading() as transaction:
            found = opened.journal.dataset(transaction, dataset)
            head = opened.journal.last(transaction)
        return cls(ledger=opened, dataset=found, head=head, details=recorded_with_it)

    def calibrated(self, plan: Plan) -> Plan:
        """The plan priced by the data set's accountant; raises PlanError where its promise differs from the data set's.

        A plan with delta=0 promises a pure guarantee, which only the accountant "pure" computes; its cost to the data
        set is still composed by the data set's accountant.

        Args:
            plan: the plan to be run.
        """
        self.dataset.check_rows(plan.rows)
        if plan.accountant not in ("auto", self.dataset.accountant):
            raise PlanError(
                f"data set {self.dataset.name!r} is kept with the accountant {self.dataset.accountant!r}, but the plan "
                f"says accountant={plan.accountant!r}. Nothing was charged. Leave it out of the plan."
            )
        chosen = PureAccountant.name if plan.budget.delta == 0.0 else self.dataset.accountant
        try:
            priced = attrs.evolve(plan, accountant=chosen)
            self.dataset.filter.accountant.total(worst_case(priced.pricing.all_losses))
        except PlanError as error:
            message = f"data set {self.dataset.name!r} is kept with the accountant {self.dataset.accountant!r}: {error}"
            if isinstance(error, BudgetExceeded):
                raise BudgetExceeded(message, asked=error.asked, allowed=error.allowed, delta=error.delta) from None
            raise PlanError(message) from None
        return priced

    def reserve(self, plan: Plan, stated: Statement) -> Charge:
        """Charge the whole plan, on disk before this returns; where it does not fit, charge nothing and raise
        BudgetExceeded.

        Args:
            plan: the calibrated plan.
            stated: what it promises and costs, with the hash of the plan as the user declared it.
        """
        notices = self._notices(stated.plan)
        with self.ledger.journal.writing() as transaction:
            now, total, entry = self._enter(transaction, plan, stated)
        if entry is None:
            raise _refusal(plan, now, total)
        return attrs.evolve(charged(now, entry, entry), notices=notices)

    def outlook(self, plan: Plan, stated: Statement) -> Outlook:
        """What a run would charge; nothing is charged, and BudgetExceeded is raised where it would not fit.

        Args:
            plan: the calibrated plan.
            stated: what it promises and costs.
        """
        notices = self._notices(stated.plan)
        with self.ledger.journal.reading() as transaction:
            now, _, total = self._with(transaction, plan)
        if not now.filter.fits(total):
            raise _refusal(plan, now, total)
        return Outlook(dataset=now.name, budget=now.filter.budget, spent=now.filter.spent(total), notices=notices)

    def _notices(self, content_hash: str) -> tuple[str, ...]:
        """Whether the same plan was charged to the data set before. It is public: nothing of the data is in it."""
        with self.ledger.journal.reading() as transaction:
            found = transaction.last_containing(self.dataset.name, "reserved", f'"plan":"{content_hash}"')
        if found is None:
            return ()
        return (
            f"the same plan was charged to this data set before, last in entry {found.number}; every run costs its "
            "budget again, and what was released once can be used again for free",
        )

    def _enter(self, transaction: Transaction, plan: Plan, stated: Statement) -> tuple[Dataset, Fraction, Entry | None]:
        """The data set before the run, its total with the run, and the entry added; None where the run does not fit."""
        try:
            check_history(self.ledger.journal, transaction, (self.head.number, self.head.hash))
        except RolledBack as error:
            raise RolledBack(f"{error} Nothing was charged.") from None
        now, cost, total = self._with(transaction, plan)
        accountant = now.filter.accountant
        law_error = sum(map(Fraction, filter(None, law_errors(plan, plan.pricing.levels).values())), Fraction(0))
        if not now.filter.fits(total):
            return now, total, None
        content = {
            "run": self.run,
            "public_key": self.signer.public_key,
            "plan": stated.plan,
            "statement": promise_hash(stated),
            "losses": {
                step: [written(loss, accountant) for loss in parts] for step, parts in plan.pricing.losses.items()
            },
            "cost": str(cost),
            "epsilon": now.filter.epsilon(total),
            "computed_by": registry.provider_label("accountant", accountant.name),
            "law_error": str(law_error),
            "law_errors": str(now.law_error + law_error),
            "total": str(total),
            "runs": now.runs + 1,
            "modelled": now.modelled + rests_on_a_model(plan.pricing.all_losses),
        }
        entry = self.ledger.journal.append(
            transaction, dataset=now.name, kind="reserved", content=content, details=self.details
        )
        return now, total, entry

    def _with(self, transaction: Transaction, plan: Plan) -> tuple[Dataset, Fraction, Fraction]:
        """The data set as it is now, the cost of a run, and the total with it."""
        now = self.ledger.journal.dataset(transaction, self.dataset.name)
        if not now.same_terms(self.dataset):
            raise LedgerError(f"{self.ledger.place} was exchanged for another one during the run. Nothing was charged.")
        cost = now.filter.accountant.total(worst_case(plan.pricing.all_losses))
        return now, cost, now.total + cost

    def signed(self, result: Result) -> Result:
        """The result with a signature of its outcome, by which it can be recorded later.

        Args:
            result: what the run has released, with its charge.
        """
        assert result.charge is not None  # it is set once the loss is reserved
        signature = self.signer.sign(outcome_of(result))
        return attrs.evolve(result, charge=attrs.evolve(result.charge, signature=signature))

    def released(self, charge: Charge, result: Result) -> Charge:
        """Record that the run was completed, with a hash of its values.

        Args:
            charge: the charge that reserved the loss.
            result: the result of the run.
        """
        return self._outcome("released", charge, recorded.released(attrs.evolve(result, charge=charge)))

    def failed(self, charge: Charge, step: str | None, result: Result | None = None) -> Charge:
        """Record that the run failed, with a hash of the values that were released all the same; its charge stands.

        Args:
            charge: the charge that reserved the loss.
            step: the step that failed, where it is known.
            result: the values that there are.
        """
        values = {} if result is None else recorded.released(attrs.evolve(result, charge=charge))
        return self._outcome("failed", charge, {"step": step or "", **values})

    def _outcome(self, kind: str, charge: Charge, content: dict[str, Any]) -> Charge:
        journal = self.ledger.journal
        with journal.writing() as transaction:
            check_history(journal, transaction, (self.head.number, self.head.hash), (charge.entry, charge.head))
            reserved = transaction.at(charge.entry)
            assert reserved is not None  # by the check of the history
            entry = recorded.write_outcome(journal, transaction, charge, kind, **content)
        return attrs.evolve(charged(self.dataset, entry, reserved), notices=charge.notices)


def not_recorded(charge: Charge, error: Exception) -> str:
    """The notice that the outcome of a run could not be recorded, and what became of its charge.

    Args:
        charge: the charge that reserved the loss.
        error: why the outcome could not be recorded.
    """
    reserved = f"entry {charge.entry} of data set {charge.dataset!r}"
    later = "a result that was returned can be recorded later, with ledger.record(result) or dpframe ledger record"
    cause = str(error).partition(". ")[0].removesuffix(".")
    if isinstance(error, RolledBack | NoLedger):
        return (
            f"the outcome of the run could not be recorded: {cause}. What was charged, this run's charge ({reserved}) "
            "included, is forgotten there: charge nothing to it, put the newest copy back, and verify that with the "
            f"head {charge.head}; {later}"
        )
    return (
        f"the outcome of the run could not be recorded in the ledger ({cause}); the charge, {reserved}, stands; {later}"
    )


def _refusal(plan: Plan, dataset: Dataset, total: Fraction) -> BudgetExceeded:
    """The error with the epsilon that was asked for, spent and left, and the budget with which the plan would fit."""
    asked, limit = dataset.filter.epsilon(total), dataset.budget
    remaining, fitting = dataset.remaining, affordable(plan, dataset)
    runs = f"{dataset.runs} earlier run" + ("" if dataset.runs == 1 else "s")
    if fitting is None:
        advice = "No budget of this plan fits any more."
    else:
        scale, budget = fitting
        advice = (
            f"This plan fits when its levels are scaled to at most {format_down(scale)} of what they are: give it "
            f"dp.Budget(epsilon={budget.epsilon!r}, delta={budget.delta!r})."
        )
    return BudgetExceeded(
        f"with this plan, data set {dataset.name!r} would reach epsilon={format_up(asked)} at "
        f"delta={format_given(limit.delta)}; its budget is epsilon={format_given(limit.epsilon)} "
        f"(epsilon={format_up(dataset.spent.epsilon, limit.epsilon)} composed over {runs}, "
        f"{dataset.accountant}; left for another plan: epsilon={format_down(remaining.epsilon)} at the same delta). "
        f"Nothing was charged, read or drawn. {advice}",
        asked=asked,
        allowed=limit.epsilon,
        delta=limit.delta,
        remaining=remaining,
        affordable=None if fitting is None else fitting[1],
    )


def affordable(plan: Plan, dataset: Dataset) -> tuple[float, Budget] | None:
    """The largest scale of a plan's free levels that still fits, and a budget that gives it; None where there is none.

    The scale is relative to the present levels. The budget has six digits, rounded down, and was checked to fit.

    Args:
        plan: the calibrated plan.
        dataset: the data set as it stands.
    """
    free = next((step for step, _ in plan.releases if step.level is None), None)
    if free is None:
        return None
    accountant, limit = dataset.filter.accountant, dataset.budget.epsilon

    def epsilon_at(scale: float) -> float:
        losses = [loss for parts in plan.losses_at(scale).values() for loss in parts]
        return dataset.filter.epsilon(dataset.total + accountant.total(worst_case(losses)))

    present = plan.pricing.levels[free.name] / free.weight
    scale = largest_scale(epsilon_at, limit)
    if scale is None:
        return None
    losses = [loss for parts in plan.losses_at(scale).values() for loss in parts]
    epsilon = ACCOUNTANTS[plan.accountant].epsilon(under_models(losses), plan.budget.delta)
    for shrink in (1.0, 1 - 1e-6, 1 - 1e-4, 0.99):
        rounded = float(format_down(epsilon * shrink))
        if rounded == 0.0:
            return None
        try:
            budget = Budget(epsilon=rounded, delta=plan.budget.delta)
            smaller = attrs.evolve(plan, budget=budget)
        except PlanError:
            return None
        if dataset.filter.fits(dataset.total + accountant.total(worst_case(smaller.pricing.all_losses))):
            return scale / present, budget
    return None
