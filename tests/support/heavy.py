"""A mechanism in a module that loads what it does not need."""

import attrs
import scipy.stats  # noqa: F401 - the mistake

from tests.support.mechanisms import NoisyTrace


@attrs.frozen(kw_only=True)
class HeavyTrace(NoisyTrace):
    """The noisy trace, found slowly."""
