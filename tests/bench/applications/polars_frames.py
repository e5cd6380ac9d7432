"""The same kind of tables in polars, which works in threads of its own."""

import sys
import time

import polars

seconds, number = float(sys.argv[1]), 0
ROWS = 400_000
sales = polars.DataFrame({"n": range(ROWS)}).with_columns(
    shop=polars.col("n").hash(1) % 400, item=polars.col("n").hash(2) % 50, sum=(polars.col("n").hash(3) % 10_000) / 100.0
)
shops = polars.DataFrame({"shop": range(400), "town": [f"town {n % 30}" for n in range(400)]}).cast({"shop": polars.UInt64})
while time.process_time() < seconds:
    number += 1
    (
        sales.lazy()
        .filter(polars.col("item") != number % 50)
        .join(shops.lazy(), on="shop")
        .group_by("town", "item")
        .agg(polars.col("sum").mean(), polars.col("sum").quantile(0.9).alias("high"), polars.len())
        .sort("town", "item")
        .collect()
    )
    sales.sort("sum").with_columns(polars.col("sum").rolling_mean(100).over("shop"))
