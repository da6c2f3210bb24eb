"""Times OpenDP's Gaussian noise on a vector of integers; runs in the peer environment.

Says its version first. Then, for every line "scale count" it is given, answers with the seconds that one call took.
"""

import sys
import time
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import opendp.prelude as dp


@lru_cache
def measurement(scale: float) -> Any:
    domain = dp.vector_domain(dp.atom_domain(T="i64"))  # noise of 2**34 does not fit the default, i32
    return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)


def main() -> None:
    dp.enable_features("contrib")
    print(version("opendp"), flush=True)
    for line in sys.stdin:
        scale, count = line.split()
        draw, zeros = measurement(float(scale)), [0] * int(count)
        start = time.perf_counter()
        draw(zeros)
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
