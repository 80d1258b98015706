"""A pair of its own, as asyncio uses to wake itself."""
import asyncio


async def turned(data):
    await asyncio.sleep(0)
    return data[::-1]


def flip(data):
    return asyncio.run(turned(data))
