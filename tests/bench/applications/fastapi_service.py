"""A service with models that pydantic checks, a database file and awaited steps."""

import asyncio
import hashlib
import sqlite3

from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()
shop = sqlite3.connect(":memory:", check_same_thread=False)
shop.execute("create table items (id integer primary key, name text, price real)")
shop.executemany("insert into items values (?, ?, ?)", ((n, f"item {n}", n * 1.5) for n in range(2000)))


class Item(BaseModel):
    id: int
    name: str
    price: float


class Cart(BaseModel):
    items: list[Item]
    total: float


async def load(first):
    await asyncio.sleep(0)
    return shop.execute("select id, name, price from items where id between ? and ?", (first, first + 40)).fetchall()


@app.get("/a")
async def cart() -> Cart:
    found = await asyncio.gather(load(10), load(500))
    items = [Item(id=row[0], name=row[1], price=row[2]) for part in found for row in part]
    return Cart(items=items, total=sum(item.price for item in items))


@app.get("/b")
async def login():
    return {"token": hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 4000).hex()}


@app.get("/c")
def listing():
    """In a thread of the pool, for it is no coroutine."""
    return [{"id": row[0], "name": row[1]} for row in shop.execute("select id, name from items order by price desc limit 300")]
