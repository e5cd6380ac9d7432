import hashlib
import json
import random
import threading


def make_order(number):
    items = [{"name": f"item {i}", "price": random.random(), "count": i % 7} for i in range(200)]
    return {"number": number, "items": sorted(items, key=lambda item: item["price"])}


def total(order):
    return sum(item["price"] * item["count"] for item in order["items"])


def fingerprint():
    for _ in range(100):
        hashlib.sha256(bytes(5_000_000)).hexdigest()


def main():
    thread = threading.Thread(target=fingerprint, name="fingerprints")
    thread.start()
    orders = [make_order(number) for number in range(2000)]
    text = json.dumps(orders)
    print(f"{sum(map(total, json.loads(text))):.0f}")
    thread.join()


main()
