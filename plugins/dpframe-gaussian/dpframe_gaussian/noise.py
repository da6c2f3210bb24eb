"""The size of symmetric Gaussian noise N: its Frobenius norm, spectral norm, and spread λ_max − λ_min.

The scale s is that of isotropic noise (GOE): deviation s on the diagonal and s/√2 off it, a standard Gaussian times s
in the Euclidean space of symmetric matrices. Noise with other deviations is covered by isotropic
noise: with s = max(diagonal, √2 · off-diagonal), N + N′ is isotropic for an independent N′ of mean zero. By Jensen's
inequality E φ(N) ≤ E φ(N + N′) for convex φ, and N is a linear image of a standard Gaussian by a map of norm at most s.
So bounds on means of convex functions, and bounds by concentration, hold for N as well. Derivations:
docs/explanation/gaussian-error.md.
"""

from __future__ import annotations

import math

import attrs


@attrs.frozen
class Noise:
    """Independent Gaussian noise on the upper triangle of a symmetric matrix, given by its deviations.

    Complex noise, of a Hermitian matrix, has the deviation off the diagonal in the real and in the imaginary part. What
    is said here of spectral norms and spreads holds for it with d complex coordinates counted as 2d.

    >>> Noise(2.0, math.sqrt(2)).isotropic
    True
    """

    diagonal: float
    off_diagonal: float
    complex: bool = False

    @property
    def scale(self) -> float:
        """The smallest s for which isotropic noise is this noise plus an independent part."""
        return max(self.diagonal, math.sqrt(2) * self.off_diagonal)

    @property
    def isotropic(self) -> bool:
        """Whether the law is the same in every orthonormal basis, up to the rounding of scales."""
        return math.isclose(self.diagonal, math.sqrt(2) * self.off_diagonal, rel_tol=1e-12)

    def edge(self, dim: int) -> float:
        """√(2d), or 2√d if it is complex; times s it is at least E λ_max(N), by Sudakov–Fernique.

        Complex: E(uᴴNu − vᴴNv)² = 2s²(1 − |uᴴv|²) ≤ 4s²(1 − Re uᴴv), that of √2 s Re gᴴu for 2d real normals g.
        """
        return math.sqrt(2 * dim * (1 + self.complex))

    def frobenius(self, dim: int) -> float:
        """√E‖N‖_F², exactly: under the root s² d(d+1)/2 for isotropic noise, and s² d² if it is complex.

        >>> [round(Noise(1.0, math.sqrt(0.5), complex=kind).frobenius(3) ** 2, 12) for kind in (False, True)]
        [6.0, 9.0]
        """
        parts = dim * (dim - 1) * (1 + self.complex)
        return math.hypot(math.sqrt(dim) * self.diagonal, math.sqrt(parts) * self.off_diagonal)

    def frobenius_quantile(self, dim: int, beta: float) -> float:
        """A bound that ‖N‖_F exceeds with probability at most β: 1-Lipschitz, its mean at most its root mean square."""
        return self.frobenius(dim) + self.scale * math.sqrt(2 * math.log(1 / beta))

    def spectral(self, dim: int) -> float:
        """An upper bound on √E‖N‖².

        E‖N‖ ≤ s(√(2d) + √(2/π)) by Sudakov–Fernique, and the variance is at most s² by Poincaré's inequality.
        """
        return self.scale * math.hypot(self.edge(dim) + math.sqrt(2 / math.pi), 1.0)

    def spectral_quantile(self, dim: int, beta: float) -> float:
        """A bound that ‖N‖ exceeds with probability at most β: β/2 for each end of the spectrum."""
        return self.scale * (self.edge(dim) + math.sqrt(2 * math.log(2 / beta)))

    def spectral_on(self, dim: int, probability: float) -> float:
        """An upper bound on √E[‖N‖²; A] for any event A of at most this probability p.

        With x = √(2 ln(2/p)), E[‖N‖²; A] ≤ q p + E(‖N‖² − q)₊ at q = s²(√(2d) + x)², and ‖N‖ exceeds s(√(2d) + x) with
        probability at most 2 exp(−x²/2) for every x.
        """
        if probability == 0.0:
            return 0.0
        x, edge = math.sqrt(2 * math.log(2 / probability)), self.edge(dim)
        return self.scale * math.sqrt(probability * ((edge + x) ** 2 + 2 + 2 * edge / x))

    def spread(self, dim: int) -> float:
        """An upper bound on √E(λ_max(N) − λ_min(N))²: the mean is at most 2s√(2d), the variance at most 2s²."""
        return self.scale * math.sqrt(4 * self.edge(dim) ** 2 + 2)

    def spread_quantile(self, dim: int, beta: float) -> float:
        """A bound that λ_max(N) − λ_min(N) exceeds with probability at most β: it is √2-Lipschitz."""
        return self.scale * 2 * (self.edge(dim) + math.sqrt(math.log(1 / beta)))

    def least_width(self, dim: int) -> float:
        """2√2 s√d: a Brownian motion that ends in N is likely to keep its spread below any width well above this."""
        return self.scale * 2 * self.edge(dim)

    def leaves(self, dim: int, width: float) -> float:
        """An upper bound on the probability that the spread of that motion ever exceeds a width above the least.

        exp(−y²) with y = width/2s − √(2d): the mean of the spread, its Lipschitz constant √2, and Doob's inequality.
        """
        return math.exp(-(((width - self.least_width(dim)) / (2 * self.scale)) ** 2))
