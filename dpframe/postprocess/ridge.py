"""Ridge regression from a covariance with noise of a known law: slopes, the penalty, and how much they explain.

Let A be the released covariance of the features, b their covariances with the target, each with symmetric noise of
deviation τ off the diagonal and √2·τ on it. Least squares on A and b is a trap: an eigenvalue of A near zero may be of
either sign. So eigenvalues below τ√p for p features, half of the usual largest one of the noise, are raised to it.
With A₊ the result, ridge slopes are w = (A₊ + λ)⁻¹b.

**The penalty λ.** Suppose that the slope along each eigenvector has mean 0 and variance s/a, where a is the eigenvalue
in A₊: each direction explains as much, s. With the noise on b, and that on A times slopes, b has the variance as + ν
along it, ν = τ²(1 + s·tr A₊⁻¹). The s that makes b likeliest is taken. The mean of slopes given b is then that of ridge
regression with λ = ν/s. Where b is small, s is, and the penalty is large.

Slopes may also be alike in all directions, of variance s/m, where m is the mean of the eigenvalues, so that each
explains s on average. Then the penalty of a direction is λm/a, more where features vary little. Both are tried, and
their slopes are averaged with weights in proportion to how likely they make b.

**R².** The loss of slopes on the rows themselves is, up to the variance of the target, wᵀCw − 2wᵀc, with C and c as
without noise. Let Kᵢ be what b is multiplied by along an eigenvector, and aᵢ the eigenvalue of A. By Stein's lemma the
mean of the loss is that of

    wᵀAw − 2wᵀb + 2τ²(Σᵢ Kᵢ − Σᵢ wᵢbᵢ(Dᵢᵢ + Σⱼ Dᵢⱼ)),    Dᵢⱼ = (Kᵢ − Kⱼ)/(aᵢ − aⱼ),

and Dᵢᵢ the derivative of Kᵢ, which is 0 where aᵢ was raised. Released values and the law of the noise give all of it,
without looking at the rows again.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from dpframe.lattice import FloatArray

SIGNALS = np.geomspace(1e-3, 1e6, 200)
"""What each direction may explain: values of s that are compared, in units of τ² over the mean eigenvalue of A₊."""

POWERS = (0.0, 1.0)
"""The penalty of a direction is λ(m/a)ᵖ for these p: each direction explains as much, or slopes are alike."""

HIDDEN = 2.0
"""Covariances with the target are hidden in noise if their squares add up to this many deviations above it, or less."""

HEAVY = 5.0
"""The penalty where they are, in units of the largest eigenvalue of A."""

NEGLIGIBLE = 1e-10
"""Eigenvalues of A + λ below this share of the largest one are left out, and those of A₊ are at least this share."""

CLOSE = 1e-6
"""Eigenvalues as close as this share of the largest one are taken for equal where their difference is divided by."""

TINY = 1e-100
"""Noise of a smaller deviation is none: its square is no double."""


@attrs.frozen(kw_only=True, eq=False)
class Problem:
    """Ridge regression in the eigenvectors of A.

    Args:
        values: the eigenvalues of A, ascending.
        raised: those of A₊.
        vectors: its eigenvectors, in columns.
        products: b in these coordinates.
        deviation: τ; 0 where there is no noise.
    """

    values: FloatArray
    raised: FloatArray
    vectors: FloatArray
    products: FloatArray
    deviation: float

    @classmethod
    def of(cls, features: FloatArray, products: FloatArray, deviation: float, *, raising: bool) -> Problem:
        """The problem of a covariance of features and their covariances with the target.

        Args:
            features: A.
            products: b.
            deviation: τ.
            raising: whether eigenvalues are raised; without, A₊ is A.
        """
        values, vectors = np.linalg.eigh(features)
        deviation = deviation if deviation > TINY else 0.0
        usual = max(deviation * math.sqrt(len(values)), NEGLIGIBLE * float(np.abs(values).max()))
        return cls(
            values=values,
            raised=np.maximum(values, usual) if raising and deviation else values,
            vectors=vectors,
            products=vectors.T @ products,
            deviation=deviation,
        )

    @property
    def hidden(self) -> bool:
        """Whether the covariances with the target are no larger than noise alone would make them."""
        count = len(self.products)
        squares = float(self.products @ self.products)
        return squares <= self.deviation**2 * (count + HIDDEN * math.sqrt(2 * count))

    @property
    def _largest(self) -> float:
        return float(np.abs(self.raised).max()) or 1.0

    def ridge(self, penalty: float, power: float = 0.0) -> Shrinkage:
        """Ridge regression with a penalty of λ(m/a)ᵖ for each direction.

        Args:
            penalty: λ.
            power: p; with another than 0 eigenvalues must be raised.
        """
        mean = float(self.raised.mean())
        added = penalty * (mean / self.raised) ** power if power else np.full(len(self.raised), penalty)
        total = self.raised + added
        used = total > NEGLIGIBLE * max(self._largest, penalty)
        inverse = np.where(used, 1.0 / np.where(used, total, 1.0), 0.0)
        rates = -(inverse**2) * (1.0 - power * added / self.raised) if power else -(inverse**2)
        return Shrinkage(inverse=inverse, rates=np.where(self.raised == self.values, rates, 0.0), penalty=penalty)

    def automatic(self) -> Shrinkage:
        """The average of ridge regressions with the likeliest penalty for each power; see the module."""
        if self.deviation == 0.0:
            return self.ridge(0.0)
        if self.hidden:
            return self.ridge(HEAVY * self._largest)
        likeliest = [self.likeliest(power) for power in POWERS]
        highest = max(likelihood for _, likelihood in likeliest)
        weights = np.array([math.exp(likelihood - highest) for _, likelihood in likeliest])
        weights /= weights.sum()
        parts = [self.ridge(penalty, power) for (penalty, _), power in zip(likeliest, POWERS, strict=True)]
        mean = float(self.raised.mean())
        average = sum(weight / (mean + each.penalty) for weight, each in zip(weights, parts, strict=True))
        return Shrinkage(
            inverse=weights @ [each.inverse for each in parts],
            rates=weights @ [each.rates for each in parts],
            penalty=float(1 / average - mean),
        )

    def likeliest(self, power: float) -> tuple[float, float]:
        """The penalty λ for which b is likeliest, and the logarithm of its density up to a constant.

        Args:
            power: p.
        """
        mean, variance = self.raised.mean(), self.deviation**2
        signals = SIGNALS[:, None] * (variance / mean)
        slopes = signals / mean * (mean / self.raised) ** (1.0 - power)  # their variances
        noise = variance * (1.0 + slopes.sum(axis=1, keepdims=True))
        laws = self.raised**2 * slopes + noise
        likelihoods = -(np.log(laws) + self.products**2 / laws).sum(axis=1) / 2
        best = int(np.argmax(likelihoods))
        return float(noise[best, 0] / signals[best, 0]), float(likelihoods[best])

    def slopes(self, shrinkage: Shrinkage) -> tuple[FloatArray, float]:
        """The slopes, and how much of the variance of the target they explain on the rows, estimated.

        Args:
            shrinkage: what b is multiplied by.
        """
        inverse = shrinkage.inverse
        turned = inverse * self.products
        loss = float(turned**2 @ self.values - 2 * turned @ self.products)
        rates = shrinkage.rates + self._differences(shrinkage).sum(axis=1)
        loss += 2 * self.deviation**2 * float(inverse.sum() - turned * self.products @ rates)
        return np.asarray(self.vectors @ turned), -loss if math.isfinite(loss) else 0.0

    def _differences(self, shrinkage: Shrinkage) -> FloatArray:
        """D of the module."""
        apart, inverse, rates = self.values[:, None] - self.values, shrinkage.inverse, shrinkage.rates
        close = np.abs(apart) <= CLOSE * self._largest
        equal = (rates[:, None] + rates) / 2
        return np.where(close, equal, (inverse[:, None] - inverse) / np.where(close, 1.0, apart))


@attrs.frozen(kw_only=True, eq=False)
class Shrinkage:
    """What b is multiplied by along each eigenvector, instead of the inverse of the eigenvalue.

    Args:
        inverse: K.
        rates: its derivatives in the eigenvalues.
        penalty: λ, which a direction of average variance has.
    """

    inverse: FloatArray
    rates: FloatArray
    penalty: float
