"""All kinds of features by the keyword that definitions use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.features.kinds.affinity import Affinity
from rankloop.features.kinds.age import Age
from rankloop.features.kinds.categories import Categories
from rankloop.features.kinds.category import Category
from rankloop.features.kinds.clock import Clock
from rankloop.features.kinds.count import Count
from rankloop.features.kinds.cross import Cross
from rankloop.features.kinds.given import Given
from rankloop.features.kinds.match import Match
from rankloop.features.kinds.mean import Mean
from rankloop.features.kinds.number import Boolean, Number
from rankloop.features.kinds.rate import Rate
from rankloop.features.kinds.relative import Diversity, Relative
from rankloop.features.kinds.since import Since
from rankloop.features.kinds.vector import Cosine, Distance, Dot, Vector
from rankloop.features.kinds.words import Size, Words

if TYPE_CHECKING:
    from rankloop.features.kinds.base import Kind

_ALL: tuple[type[Kind], ...] = (
    *(Given, Number, Boolean, Category, Categories, Age, Words, Size),
    *(Vector, Cosine, Dot, Distance, Match),
    *(Rate, Mean, Count, Since, Affinity),
    *(Clock, Cross, Relative, Diversity),
)
KINDS: dict[str, type[Kind]] = {kind.keyword: kind for kind in _ALL}
