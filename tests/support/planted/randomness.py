"""Randomness from elsewhere, used twice, drawn too early, and data that shows beside it."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

import dpframe.plugin as dp
from dpframe.noise import Keystream
from tests.support.planted.right import RESULTS, Right, symmetric


class GlobalRandomness(Right):
    """Noise of the right size from numpy's global generator."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        noise = np.rint(np.random.normal(0.0, self.scale(data.rows, level), data.moment.shape))
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


class FewSeeds(Right):
    """A generator of its own, seeded from its stream with 16 bits only."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        seed = int(random.words(1)[0]) % 2**16
        return super().release(data, level, dp.Random(Keystream.insecure(seed)))


class FewNumpySeeds(Right):
    """numpy's generator, seeded from its stream with 16 bits only."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        generator = np.random.default_rng(int(random.words(1)[0]) % 2**16)
        noise = np.rint(generator.normal(0.0, self.scale(data.rows, level), data.moment.shape))
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


class MistakenExemption(Right):
    """Says that a library draws its noise, which its own stream does."""

    drawn_by = "a library"


class ReusedStream(Right):
    """The stream of its first step in all steps, from the beginning each time."""

    streams: ClassVar[list[dp.Random]] = []

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        self.streams.append(random)
        self.streams[0].seek(0)
        return super().release(data, level, self.streams[0])


class DrawBeforeCharge(Right):
    """Draws while the plan is built, to see whether the level suits it."""

    def check_level(self, rows: dp.Rows, level: float) -> None:
        dp.Random(Keystream.secure()).gaussian(self.scale(rows, level), 1)


class LocalSensitivity(Right):
    """More noise than needed, by an amount that tells the trace of the data."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        more = 1.5 + 1e-6 * math.log1p(float(np.trace(data.moment)))
        noise = random.gaussian(more * self.scale(data.rows, level), data.moment.shape)
        return dp.SymmetricMatrix(data.moment + symmetric(noise))


class KeepsTheMoment(Right):
    """Keeps what it was handed, for a second look later."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        RESULTS.append(data.moment)
        return super().release(data, level, random)


class ShapeTellsData(Right):
    """Releases nothing where there are no rows."""

    gives = dp.Vector

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        value = super().release(data, level, random).array.ravel()
        return dp.Vector(value if data.moment.any() else value[:0])


class UntrueShape(Right):
    """Tells of one column more than it gives."""

    def output_shape(self, rows: dp.Rows) -> dp.Shape:
        return rows.width, rows.width + 1


class TellingUnits(Right):
    """Units taken from the data beside numbers that are private."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        value = super().release(data, level, random).array
        scale = tuple(1.0 + np.sqrt(np.diagonal(data.moment).astype(np.float64)))
        names = tuple(map(str, range(len(value))))
        return dp.SymmetricMatrix(value, axes=dp.Axes(names, scale, (0.0,) * len(value)))


class Talkative(Right):
    """Prints what it was handed."""

    def release(self, data: dp.PrivateData, level: float, random: dp.Random) -> dp.Kind:
        print(data.moment)
        return super().release(data, level, random)
