"""A moment assembled from released blocks and an earlier estimate."""

from __future__ import annotations

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
    """

    name = "block-estimate"
    gives = dp.SymmetricMatrix

    of: Any = dp.input(Blocks)
    prior: Any = dp.input(dp.SymmetricMatrix, default=None)
    kept: tuple[float, float, float] = _shares()
    left: tuple[float, float, float] = _shares()

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
            level = np.trace(known[rank:, rank:]) / (dim - rank)
            known[rank:, rank:] = level * np.eye(dim - rank)
            blocks = kept * blocks + (1.0 - kept) * known
        moment = rotation @ blocks @ rotation.T
        return dp.SymmetricMatrix((moment + moment.T) / 2, axes=self.of.basis.axes)


def _by_parts(dim: int, rank: int, values: tuple[float, float, float]) -> dp.lattice.FloatArray:
    """A matrix with one value throughout each part."""
    matrix = np.full((dim, dim), values[1])
    matrix[:rank, :rank] = values[0]
    matrix[rank:, rank:] = values[2]
    return matrix
