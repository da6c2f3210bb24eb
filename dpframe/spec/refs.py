"""References to earlier results, and the fields that take them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, TypeVar

import attrs

from dpframe import validators
from dpframe.errors import PlanError
from dpframe.kinds import AugmentedMoment, ComplexSubspace, Kind, Scalar, Subspace, titles

_INPUT = "dpframe.input"
_NOISE = "dpframe.noise"
_BESIDE = "dpframe.beside"
T = TypeVar("T")
Shape = tuple[int | None, ...]
"""The shape of a released array; None for a length that is not known before the run."""


@attrs.frozen
class Ref:
    """The result of an earlier step, by name.

    Args:
        name: the name of the step.
        shape: the shape of its result, as far as it is known; used by the checks of a step, and not part of a plan.
    """

    name: str
    shape: Shape | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


def ref(name: str) -> Ref:
    """Refer to the result of an earlier step.

    >>> ref("spectrum")
    Ref(name='spectrum')
    """
    if not isinstance(name, str):
        raise PlanError(f"dp.ref takes the name of an earlier step; got {name!r}.")
    return Ref(name)


def input(*kinds: type[Kind], beside: str | None = None, **field: Any) -> Any:
    """Declare a field that takes an earlier result of one of these kinds, or a value of such a kind.

    Args:
        kinds: the kinds.
        beside: the name of another input. Where this one is left out, and the other refers to a step 'cov', it is taken
            from the step 'cov.<field>', if the plan has one: recipes name what they release beside their result so.
        field: further arguments of `attrs.field`.
    """

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return Ref(value)
        if value is None or isinstance(value, Ref | Kind):
            return value
        return kinds[0].of(value)

    return attrs.field(converter=convert, metadata={_INPUT: kinds, _BESIDE: beside}, **field)


def number(validator: validators.Validator, *, low: float, high: float) -> Any:
    """Declare a field that takes a number, or an earlier result that is one.

    Args:
        validator: checks a number that is written in a plan.
        low: a result below this is replaced by it, since a run that is charged must not fail for it.
        high: a result above this is replaced by it.
    """

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return Ref(value)
        return min(max(float(value.array.real), low), high) if isinstance(value, Scalar) else validators.as_float(value)

    def check(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not isinstance(value, Ref):
            validator(owner, attribute, value)

    return attrs.field(converter=convert, validator=check, metadata={_INPUT: (Scalar,)})


def noise_of(field: str) -> Any:
    """Declare a field of a post-processor for the noise of one of its inputs, which a run fills in; no parameter.

    It holds standard deviations by name, as `Mechanism.noise` or `PostProcessor.result_noise` states them; none
    where they are not known.

    Args:
        field: the name of the input.
    """

    def check(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
        if not isinstance(value, Mapping):
            raise validators.refuse(owner, attribute.name, "deviations by name", value)

    return attrs.field(factory=dict, validator=check, eq=False, repr=False, metadata={_NOISE: field})


def noise_fields(owner: Any) -> dict[str, Any]:
    """The fields declared by `noise_of`, each with the input whose noise it holds."""
    return {
        field.name: getattr(owner, field.metadata[_NOISE])
        for field in attrs.fields(type(owner))
        if _NOISE in field.metadata
    }


def parameters_of(cls: type[Any]) -> dict[str, attrs.Attribute[Any]]:
    """The fields that are parameters in a plan, by the names that users type: all but those that a run fills in."""
    return {str(field.alias): field for field in attrs.fields(cls) if _NOISE not in field.metadata}


def input_kinds(field: attrs.Attribute[Any]) -> tuple[type[Kind], ...]:
    """The kinds that a field takes; none if it was not declared by `input`."""
    kinds: tuple[type[Kind], ...] = field.metadata.get(_INPUT, ())
    return kinds


def inputs(owner: Any) -> Iterator[tuple[str, tuple[type[Kind], ...], Any]]:
    """The declared inputs of a mechanism, statistic or post-processor: (field, kinds, value)."""
    for field in attrs.fields(type(owner)):
        if _INPUT in field.metadata:
            yield field.name, field.metadata[_INPUT], getattr(owner, field.name)


def shape_of(value: Any) -> Shape | None:
    """The shape of an input, a value or a reference; None if it is not known before the run.

    >>> shape_of(Subspace([[1.0], [0.0]]))
    (2, 1)
    """
    if isinstance(value, Kind):
        return value.array.shape
    return value.shape if isinstance(value, Ref) else None


def references(owner: Any) -> tuple[str, ...]:
    """The names of the steps that an object refers to."""
    return tuple(value.name for _, _, value in inputs(owner) if isinstance(value, Ref))


def completed(owner: T, known: Container[str]) -> T:
    """The same object with inputs that were left out taken from steps beside those of others; see `input`.

    Args:
        owner: a mechanism, statistic or post-processor.
        known: the names of the steps before it.
    """
    found = {}
    for field in attrs.fields(type(owner)):  # type: ignore[arg-type]
        main = getattr(owner, field.metadata.get(_BESIDE) or "", None)
        if isinstance(main, Ref) and getattr(owner, field.name) is None and f"{main.name}.{field.name}" in known:
            found[field.name] = Ref(f"{main.name}.{field.name}")
    return attrs.evolve(owner, **found) if found else owner  # type: ignore[misc]


def resolve(owner: T, values: Mapping[str, Kind]) -> T:
    """The same object with its references replaced by values."""
    return _replaced(owner, lambda reference: values[reference.name])


def with_shapes(owner: T, shapes: Mapping[str, Shape | None]) -> T:
    """The same object with known shapes added to its references."""
    return _replaced(owner, lambda reference: attrs.evolve(reference, shape=shapes[reference.name]))


def _replaced(owner: T, by: Callable[[Ref], Any]) -> T:
    replaced = {name: by(value) for name, _, value in inputs(owner) if isinstance(value, Ref)}
    return attrs.evolve(owner, **replaced) if replaced else owner  # type: ignore[misc]


def check_kinds(owner: Any, described: str, known: Mapping[str, type[Kind]]) -> dict[str, type[Kind]]:
    """The kinds of an object's inputs, by field; raises PlanError if one is missing or of the wrong kind."""
    input_kinds: dict[str, type[Kind]] = {}
    for field, kinds, value in inputs(owner):
        if value is None:
            if attrs.fields_dict(type(owner))[field].default is None:
                continue
            raise PlanError(f"{described} needs {titles(kinds)} in {field}=; got None.")
        if isinstance(value, Ref):
            if value.name not in known:
                earlier = ", ".join(map(repr, known)) or "none"
                raise PlanError(
                    f"{described} refers to {value.name!r} in {field}=, but no earlier step has that name "
                    f"(earlier steps: {earlier}). Steps can only refer to steps above them."
                )
            kind, source = known[value.name], f"{value.name!r} gives"
        elif not isinstance(value, Kind):
            continue  # a number, checked by the field itself
        else:
            kind, source = type(value), f"{field}= holds"
        if not issubclass(kind, kinds):
            hint = _hint(kind, kinds)
            raise PlanError(f"{described} needs {titles(kinds)} in {field}=, but {source} {kind.title}.{hint}")
        input_kinds[field] = kind
    return input_kinds


def _hint(kind: type[Kind], wanted: tuple[type[Kind], ...]) -> str:
    if issubclass(kind, AugmentedMoment):
        return ' Center it first: dp.derive("covariance", "covariance", of=...).'
    if AugmentedMoment in wanted:
        return " Say dp.Rows(..., center=True) to release one."
    if issubclass(kind, ComplexSubspace) and Subspace in wanted:
        return ' Take the real part of its matrix first: dp.derive("real", "real-part", of=...).'
    return ""
