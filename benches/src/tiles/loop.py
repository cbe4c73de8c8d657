"""Fetches tiles as fast as it can: DSN QUERY CLIENTS SECONDS FIRST_X LAST_X FIRST_Y LAST_Y."""

import random
import sys
import threading
import time

import psycopg

dsn, query = sys.argv[1:3]
clients, seconds, first_x, last_x, first_y, last_y = map(int, sys.argv[3:])
counts = [0] * clients


def client(number, until):
    draw = random.Random(number)
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursor = connection.cursor(binary=True)
        while time.monotonic() < until:
            x, y = draw.randint(first_x, last_x), draw.randint(first_y, last_y)
            cursor.execute(query, (15, x, y, 15, x, y), prepare=True)
            cursor.fetchone()
            counts[number] += 1


start = time.monotonic()
threads = [threading.Thread(target=client, args=(number, start + seconds)) for number in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(counts), sum(counts) / (time.monotonic() - start))
