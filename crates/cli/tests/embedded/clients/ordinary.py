"""What services do with redis-py, against the port given as the first argument. Ends with an error where it goes wrong."""

import asyncio
import sys
import threading
import time

import redis
import redis.asyncio
from redis.lock import Lock

port = int(sys.argv[1])


def client(**options):
    return redis.Redis(port=port, decode_responses=True, **options)


def equal(found, wanted):
    assert found == wanted, f"{found!r} where {wanted!r} was expected"


def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), f"{error!r} does not say {text!r}"
    else:
        raise AssertionError(f"no {kind.__name__}")


def strings(r):
    equal(r.set("s", "ä\n", ex=100), True)
    equal(r.get("s"), "ä\n")
    assert 95 < r.ttl("s") <= 100
    equal(r.set("s", "x", nx=True), None)
    equal(r.incrby("n", 41), 41)
    equal(r.incr("n"), 42)
    equal(r.incrbyfloat("n", 0.5), 42.5)
    equal(r.mset({"a": 1, "b": 2}), True)
    equal(r.mget("a", "b", "nosuch"), ["1", "2", None])
    equal(r.getdel("a"), "1")
    equal(r.exists("a", "b"), 1)
    equal(r.expire("b", 50, nx=True), True)
    equal(r.type("b"), "string")
    raises(redis.ResponseError, "WRONGTYPE", lambda: r.lpush("b", 1))
    raises(redis.ResponseError, "unknown command", lambda: r.execute_command("NOSUCH", "x"))
    binary = redis.Redis(port=port)
    binary.set("bytes", bytes(range(256)))
    equal(binary.get("bytes"), bytes(range(256)))


def collections(r):
    equal(r.hset("h", mapping={"f": "1", "g": "2"}), 2)
    equal(r.hgetall("h"), {"f": "1", "g": "2"})
    equal(r.hincrby("h", "f", 4), 5)
    equal(r.hmget("h", ["f", "x"]), ["5", None])
    equal(r.rpush("l", *range(5)), 5)
    equal(r.lrange("l", 0, -1), ["0", "1", "2", "3", "4"])
    equal(r.lmove("l", "m", "LEFT", "RIGHT"), "0")
    equal(r.lpos("l", "3"), 2)
    equal(r.sadd("x", "a", "b", "c"), 3)
    equal(r.smembers("x"), {"a", "b", "c"})
    equal(r.smismember("x", ["a", "z"]), [1, 0])
    equal(r.zadd("z", {"a": 1, "b": 2.5, "c": 3}), 3)
    equal(r.zscore("z", "b"), 2.5)
    equal(r.zrank("z", "c"), 2)
    equal(r.zcount("z", 1, 2.5), 2)
    equal(r.zrange("z", "(1", "+inf", byscore=True), ["b", "c"])
    equal(r.zadd("z", {"a": 5}, gt=True, ch=True), 1)
    equal([tuple(pair) for pair in r.zpopmin("z", 2)], [("b", 2.5), ("c", 3)])
    equal(sorted(r.scan_iter(match="[hlmxz]")), ["h", "l", "m", "x", "z"])
    equal(dict(r.hscan_iter("h")), {"f": "5", "g": "2"})


def streams(r):
    first = r.xadd("events", {"kind": "made", "by": "ann"})
    second = r.xadd("events", {"kind": "sold"}, maxlen=1000, approximate=True)
    equal(r.xlen("events"), 2)
    equal(r.xrange("events", min=first, max=first), [(first, {"kind": "made", "by": "ann"})])
    found = r.xread({"events": first}, count=10)
    rows = found["events"][0] if isinstance(found, dict) else found[0][1]
    equal([tuple(row) for row in rows], [(second, {"kind": "sold"})])
    equal(r.xtrim("events", maxlen=1, approximate=False), 1)


def pipelines(r):
    with r.pipeline(transaction=False) as pipe:
        for number in range(500):
            pipe.set(f"p{number}", number)
        pipe.get("p499")
        equal(pipe.execute()[-1], "499")
    with r.pipeline() as pipe:
        pipe.multi()
        pipe.set("t", 1)
        pipe.incr("t")
        equal(pipe.execute(), [True, 2])

    def double(pipe):
        before = int(pipe.get("t"))
        pipe.multi()
        pipe.set("t", before * 2)

    equal(r.transaction(double, "t"), [True])
    equal(r.get("t"), "4")
    with r.pipeline() as pipe:
        pipe.watch("t")
        client().set("t", "other")
        pipe.multi()
        pipe.set("t", "mine")
        raises(redis.WatchError, "", pipe.execute)
    equal(r.get("t"), "other")


def scripts(r):
    add = r.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    equal(add(keys=["counter"], args=[5]), 5)
    r.script_flush()
    equal(add(keys=["counter"], args=[5]), 10)
    equal(r.eval("return {1, 2.9, 'x', false}", 0), [1, 2, "x", None])
    raises(redis.ResponseError, "oh no", lambda: r.eval("return redis.error_reply('oh no')", 0))


def waiting(r):
    threading.Timer(0.1, lambda: client().rpush("queue", "job")).start()
    equal(tuple(r.blpop("queue", timeout=5)), ("queue", "job"))
    equal(r.brpop("queue", timeout=0.05), None)
    threading.Timer(0.1, lambda: client().xadd("wait", {"a": 1})).start()
    assert r.xread({"wait": "$"}, block=5000)


def locks(r):
    with Lock(r, "lock", timeout=5) as lock:
        assert lock.owned()
        equal(r.lock("lock", timeout=5, blocking=False).acquire(), False)
        assert lock.extend(5)
    equal(r.exists("lock"), 0)


def messages(r):
    listener = r.pubsub()
    listener.subscribe("news")
    listener.psubscribe("n*")
    heard = []
    deadline = time.monotonic() + 5
    sent = False
    while len(heard) < 4 and time.monotonic() < deadline:
        message = listener.get_message(timeout=0.2)
        if message:
            heard.append((message["type"], message["channel"], message["data"]))
        if len(heard) == 2 and not sent:
            sent = True
            equal(client().publish("news", "hello"), 2)
    equal(heard[2:], [("message", "news", "hello"), ("pmessage", "news", "hello")])
    listener.close()


def server(r):
    equal(r.ping(), True)
    assert r.dbsize() > 0
    assert r.info("server")["redis_version"].startswith("7.0")
    assert r.config_get("notify-keyspace-events") is not None
    equal(r.client_setname("me"), True)
    equal(r.client_getname(), "me")
    assert any(row["name"] == "me" for row in r.client_list())
    seconds, _ = r.time()
    assert abs(seconds - time.time()) < 60
    assert isinstance(r.memory_usage("h"), int)
    assert r.object("encoding", "l")
    other = client(db=3)
    other.set("only", "here")
    equal(r.get("only"), None)
    equal(other.flushdb(), True)


async def asynchronous():
    r = redis.asyncio.Redis(port=port, decode_responses=True)
    await asyncio.gather(*(r.incr("together") for _ in range(100)))
    equal(await r.get("together"), "100")
    async with r.pipeline() as pipe:
        equal(await pipe.set("a", 1).get("a").execute(), [True, "1"])
    await r.aclose()


for protocol in (2, 3):
    r = client(protocol=protocol)
    r.flushall()
    for part in (strings, collections, streams, pipelines, scripts, waiting, locks, messages, server):
        try:
            part(r)
        except Exception as error:
            raise SystemExit(f"{part.__name__}, RESP{protocol}: {type(error).__name__}: {error}") from error
asyncio.run(asynchronous())
print(f"redis-py {redis.__version__}: all well")
