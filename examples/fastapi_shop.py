"""The search of a shop, written with FastAPI, whose results are ranked by a live loop.

`python examples/fastapi_shop.py [--searches 600]`. The shop finds products that match, asks the
loop for their order, and tells it what people buy. Here the loop runs in the same process, and
simulated customers, who like what is cheap and well rated, search through the shop's own addresses;
the share of them who buy one of the first three products is printed as it grows. It needs the extra
`serve` and `pip install fastapi`.

For a real shop, keep `shop` and its two routes, start `rankloop serve` beside it, and run
`uvicorn yourmodule:app`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from fastapi import FastAPI, HTTPException

from rankloop import Feedback
from rankloop.client import AsyncClient
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

FEATURES = ["price", "rating", "age", "match"]


@dataclass(frozen=True)
class Product:
    """What the shop knows of a product."""

    name: str
    words: frozenset[str]
    price: float
    rating: float
    age: float


def catalogue(n: int = 400, seed: int = 0) -> dict[str, Product]:
    """Return products with made-up prices and ratings."""
    chance = random.Random(seed)
    kinds, colours = ("shoes", "shirt", "coat", "hat"), ("red", "blue", "green")
    return {
        f"p{i}": Product(
            f"p{i}",
            frozenset((chance.choice(kinds), chance.choice(colours))),
            chance.uniform(5, 100),
            chance.uniform(1, 5),
            chance.uniform(0, 365),
        )
        for i in range(n)
    }


def shop(loop: str, address: str, products: dict[str, Product]) -> FastAPI:
    """Return the shop's own service; `loop` and `address` say where its ranking is made."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncClient(address, loop) as client:
            app.state.client = client
            yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/search")
    async def search(q: str, k: int = 10) -> dict[str, Any]:
        """Find products with any of the words, and return the best `k` for now."""
        words = set(q.split())
        matches = [item for item in products.values() if item.words & words]
        if not matches:
            raise HTTPException(404, "nothing matches")
        items = {
            item.name: [item.price, item.rating, item.age, len(item.words & words)]
            for item in matches
        }
        shown = await app.state.client.rank(items, k=k, query=q)
        return {"ranking": shown.ranking_id, "products": shown.ids}

    @app.post("/bought/{ranking}/{product}")
    async def bought(ranking: str, product: str) -> dict[str, str]:
        """Tell the loop that somebody bought a product of a list."""
        event = Feedback(ranking, product, "purchase")
        (status,) = await app.state.client.feedback([event])
        return {"status": status}

    return app


def wanted(product: Product, chance: random.Random) -> bool:
    """Whether a customer buys a product when looking at it."""
    return chance.random() < (product.rating / 5) ** 2 * max(0.0, 1 - product.price / 60)


async def customers(app: FastAPI, products: dict[str, Product], searches: int) -> list[float]:
    """Search and buy through the shop, and return how many bought, quarter by quarter."""
    chance, bought = random.Random(1), []
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://shop") as browser,
    ):
        for _ in range(searches):
            query = chance.choice(["red shoes", "blue coat", "hat", "green shirt"])
            page = (await browser.get("/search", params={"q": query})).json()
            choice = next((n for n in page["products"][:3] if wanted(products[n], chance)), None)
            if choice is not None:
                await browser.post(f"/bought/{page['ranking']}/{choice}")
            bought.append(choice is not None)
    quarter = max(searches // 4, 1)
    return [sum(bought[n : n + quarter]) / quarter for n in range(0, 4 * quarter, quarter)]


def main() -> None:
    """Run the loop, the shop and its customers."""
    parser = argparse.ArgumentParser(description="a shop search on FastAPI, ranked by a live loop")
    parser.add_argument("--searches", type=int, default=600)
    chosen = parser.parse_args()
    products = catalogue()
    with tempfile.TemporaryDirectory() as folder:
        journal = str(Path(folder) / "shop.journal")
        settings = {"features": FEATURES, "rankers": ["auto"], "journal": journal, "window": 0.2}
        service = Service.start(as_settings({"loops": {"shop": settings}}))
        with background(service) as address:
            app = shop("shop", address, products)
            shares = asyncio.run(customers(app, products, chosen.searches))
        service.stop()
    print("bought one of the first three:", ", ".join(f"{share:.0%}" for share in shares))


if __name__ == "__main__":
    main()
