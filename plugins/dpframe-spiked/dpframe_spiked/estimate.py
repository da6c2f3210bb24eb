"""A moment assembled from released blocks and an earlier estimate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

import dpframe.plugin as dp
from dpframe_spiked.blocks import Blocks


def _three(owner: object, attribute: attrs.Attribute[Any], value: Any) -> None:
    shares = isinstance(value, tuple) and len(value) == 3 and all(map(dp.validators.is_finite, value))
    if not shares or not all(0.0 < share <= 1.0 for share in value):
        raise dp.validators.refuse(owner, attribute.name, "three numbers above 0, none above 1", value)


def _shares() -> Any:
    return attrs.field(default=(1.0, 1.0, 1.0), converter=dp.validators.as_tuple, validator=_three)


@attrs.frozen(kw_only=True)
class BlockEstimate(dp.PostProcessor):
    """The second moment from its blocks in a basis: U T Uᵀ + U C U⊥ᵀ + U⊥ Cᵀ Uᵀ + τ/(p−r) U⊥U⊥ᵀ.

    If an earlier estimate is given, each part is the weighted mean of the new part and the part of the earlier estimate
    in the same basis. The weights are public; for independent noise the best are inverse to the variances.

    Args:
        of: the blocks, which hold their basis.
        prior: an earlier estimate.
        kept: the weights of the new signal, cross and residual parts; 1 by default.
        left: the shares of the three parts expected to remain after clipping, by which they are divided.
        residual: "level" for a last block that is a multiple of the identity; "prior" for that of the earlier
            estimate, moved by a multiple of the identity to the same trace.
        count: the number of rows, by which the moment is divided: the result is a covariance.
    """

    name = "block-estimate"
    gives = dp.SymmetricMatrix

    of: Any = dp.input(Blocks)
    prior: Any = dp.input(dp.SymmetricMatrix, default=None)
    kept: tuple[float, float, float] = _shares()
    left: tuple[float, float, float] = _shares()
    residual: str = attrs.field(default="level", validator=dp.validators.one_of("level", "prior"))
    count: Any = dp.input(dp.Scalar, default=None)

    def __attrs_post_init__(self) -> None:
        if self.residual == "prior" and self.prior is None:
            raise dp.PlanError("'block-estimate' with residual='prior' needs an earlier estimate, prior=.")

    def output(self, kinds: Mapping[str, type[dp.Kind]]) -> type[dp.Kind]:
        return dp.Covariance if "count" in kinds else dp.SymmetricMatrix

    def check(self, rows: dp.Rows) -> None:
        for word, value in (("of", self.of), ("prior", self.prior)):
            (dim, *_) = dp.shape_of(value) or (None,)
            if None not in (dim, rows.dim) and dim != rows.dim:
                raise dp.PlanError(
                    f"'block-estimate' needs {word}= about the {rows.dim} coordinates of the rows; got one of {dim}."
                )

    def apply(self) -> dp.SymmetricMatrix:
        dim, rank = self.of.basis.array.shape
        rotation = dp.BlockMoment.rotation(self.of.basis)
        divided = _by_parts(dim, rank, self.left)
        blocks = self.of.array / divided
        if self.prior is not None:
            kept = _by_parts(dim, rank, self.kept)
            known = rotation.T @ self.prior.array @ rotation
            level = np.trace(known[rank:, rank:]) / (dim - rank) * np.eye(dim - rank)
            beside = known[rank:, rank:] - level
            known[rank:, rank:] = level
            blocks = kept * blocks + (1.0 - kept) * known
            if self.residual == "prior":
                blocks[rank:, rank:] += beside
        moment = rotation @ blocks @ rotation.T
        symmetric, axes = (moment + moment.T) / 2, self.of.basis.axes
        if self.count is None:
            return dp.SymmetricMatrix(symmetric, axes=axes)
        return dp.Covariance(symmetric / max(float(self.count.array), 1.0), axes=axes)

    def result_law(self, laws: Mapping[str, dp.Law]) -> dp.Law | None:
        """The law of the moment itself, whose last block is that of the earlier estimate and no multiple of I."""
        of, prior = laws.get("of"), laws.get("prior")
        if not isinstance(of, dp.EntryLaw) or not isinstance(prior, dp.MatrixLaw):
            return None
        dim, rank = self.of.basis.array.shape
        rotation = dp.BlockMoment.rotation(self.of.basis)
        kept, divided = _by_parts(dim, rank, self.kept), _by_parts(dim, rank, self.left)
        blocks, known = self.of.array / divided, rotation.T @ prior.center @ rotation
        combined = kept * blocks + (1.0 - kept) * known
        combined[rank:, rank:] = known[rank:, rank:]
        before = prior.variances(rotation)
        new = np.square(of.deviation / divided)
        signal = kept[0, 0] ** 2 * new[0, 0] / 2 + (1 - kept[0, 0]) ** 2 * before[0, 0] / 2
        cross = kept[0, -1] ** 2 * new[0, -1] + (1 - kept[0, -1]) ** 2 * before[0, -1]
        center = rotation @ combined @ rotation.T
        law = dp.MatrixLaw(
            center=(center + center.T) / 2,
            parts=np.column_stack([np.arange(dim) < rank, np.arange(dim) >= rank]).astype(np.float64),
            levels=np.array([[signal, cross], [cross, before[-1, -1] / 2]]),
            rotation=rotation,
        )
        if self.count is None:
            return law
        count, known_count = max(float(self.count.array), 1.0), laws.get("count")
        return None if known_count is None else law.divided(count, float(known_count.standard_error()) / count)


def _by_parts(dim: int, rank: int, values: tuple[float, float, float]) -> dp.lattice.FloatArray:
    """A matrix with one value throughout each part."""
    matrix = np.full((dim, dim), values[1])
    matrix[:rank, :rank] = values[0]
    matrix[rank:, rank:] = values[2]
    return matrix
