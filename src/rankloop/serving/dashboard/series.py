"""Series of bounded size: the longer they run, the coarser they get."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Point(NamedTuple, Generic[T]):
    """A value, and when it was measured, in seconds since 1970."""

    at: float
    value: T


class Series(Generic[T]):
    """A bounded number of points over time.

    Points hold running totals, so if some are removed, only resolution is lost: a rate is the
    difference of two totals, however far apart. Once the series is full, every second point is
    removed and the spacing doubles; at the coarsest spacing the oldest point is removed instead.

    Parameters
    ----------
    max_points : number of points that it holds, at least 2
    spacing : seconds between two points at the start
    coarsest : the largest number of seconds between two points; None: no limit

    Examples
    --------
    >>> series = Series(max_points=4, spacing=1.0)
    >>> for second in range(9):
    ...     series.add(float(second), second * 10)
    >>> [point.at for point in series.points], series.spacing
    ([0.0, 4.0, 8.0], 4.0)
    """

    def __init__(self, max_points: int, spacing: float, coarsest: float | None = None) -> None:
        self._max_points, self.spacing = max_points, spacing
        self._coarsest = float("inf") if coarsest is None else coarsest
        self.points: tuple[Point[T], ...] = ()

    def wants(self, at: float) -> bool:
        """Return whether a point is due."""
        return not self.points or at - self.points[-1].at >= self.spacing

    def add(self, at: float, value: T) -> None:
        """Add a point if one is due; `points` is replaced at once, so that readers need no lock."""
        if not self.wants(at):
            return
        points = self.points
        if len(points) >= self._max_points:
            if 2 * self.spacing <= self._coarsest:
                points = points[::2]
                self.spacing *= 2
            else:
                points = points[1:]
            if points and at - points[-1].at < self.spacing:
                self.points = points
                return
        self.points = (*points, Point(at, value))
