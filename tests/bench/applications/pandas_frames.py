"""Tables as a report makes them: read, joined, grouped, rolled, written."""

import io
import sys
import time

import numpy
import pandas

seconds, chance = float(sys.argv[1]), numpy.random.default_rng(1)
ROWS = 100_000
sales = pandas.DataFrame(
    {
        "shop": chance.integers(0, 400, ROWS),
        "day": pandas.Timestamp("2024-01-01") + pandas.to_timedelta(chance.integers(0, 365, ROWS), "D"),
        "item": chance.choice(["tea", "coffee", "cocoa", "juice"], ROWS),
        "sum": chance.random(ROWS) * 100,
    }
)
shops = pandas.DataFrame({"shop": range(400), "town": [f"town {n % 30}" for n in range(400)]})
text = sales.head(20_000).to_csv(index=False)
while time.process_time() < seconds:
    read = pandas.read_csv(io.StringIO(text), parse_dates=["day"])
    joined = pandas.concat([sales, read]).merge(shops, on="shop")
    joined.groupby(["town", "item"])["sum"].agg(["mean", "std", "count"])
    joined.groupby("item")["sum"].apply(lambda group: group.nlargest(10).mean())
    joined.set_index("day").sort_index()["sum"].rolling("7D").mean()
    joined.pivot_table(index="town", columns=joined["day"].dt.month, values="sum", aggfunc="sum").to_html()
