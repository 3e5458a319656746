"""A shop that has a catalogue and a stream of clicks, and whose loop computes features."""

from __future__ import annotations

FIELDS = {
    "item": {
        "title": "text",
        "price": "number",
        "brand": "category",
        "sale": "boolean",
        "released": "date",
    },
    "user": {"country": "category"},
    "request": {"query": "text", "device": "category"},
}
FEATURES = {
    "price": {"number": "item.price"},
    "sale": {"boolean": "item.sale"},
    "brand": {"category": "item.brand", "limit": 6, "buckets": 2},
    "ctr": {"rate": "click", "of": "impression", "half_life": "7d", "prior": 10},
    "ctr_q": {"rate": "click", "of": "impression", "per": ["request.query", "item"], "prior": 5},
    "brand_user": {"rate": "click", "of": "impression", "per": ["user", "item.brand"], "prior": 5},
    "sold": {"count": "purchase", "per": "item", "half_life": "30d"},
    "bm25": {"given": "number"},
}
BRANDS = ("acme", "best", "cosy")


def catalogue(n=12):
    return [
        {
            "id": f"i{k}",
            "fields": {
                "title": f"red shoe {k}",
                "price": 10.0 + k if k % 5 else None,
                "brand": BRANDS[k % 3],
                "sale": k % 2 == 0,
                "released": f"2026-0{1 + k % 9}-01",
            },
        }
        for k in range(n)
    ]


def shop_settings(**changes):
    values = {"fields": FIELDS, "features": FEATURES, "rankers": ["newton"], "check_every": 10}
    return {**values, **changes}
