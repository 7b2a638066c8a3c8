"""Checkpoints of a swarm by langgraph's savers, for the bench `swarm`.

The first line on stdin says where everything is; each line after it asks for one step, and is answered by one line of JSON.
A step is timed here, so that the way between the two processes does not count.

    {"url": ..., "database": ..., "header": KEY, "agents": [KEY, ...], "tasks": [KEY, ...]}
    {"saver": "sqlite" | "valkey", "step": "put"}                   reads the whole swarm, and saves it
    {"saver": ..., "step": "put", "changed": KEY}                   reads that one agent, and saves the whole swarm
    {"saver": ..., "step": "load"}                                  the newest checkpoint
    {"saver": ..., "step": "bytes"}                                 what one checkpoint takes in its store
"""

import json
import os
import sys
import time

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph_checkpoint_aws import ValkeySaver
from valkey import Valkey

THREAD = "peer"


class Live:
    """The swarm in Redis. All hashes in one pipeline: the fastest that this client can read them."""

    def __init__(self, told):
        self.client = Valkey.from_url(told["url"], decode_responses=True)
        self.header, self.agents, self.tasks = told["header"], told["agents"], told["tasks"]

    def read(self):
        pipeline = self.client.pipeline(transaction=False)
        for key in [self.header, *self.agents, *self.tasks]:
            pipeline.hgetall(key)
        found = pipeline.execute()
        tasks_from = 1 + len(self.agents)
        return {
            "header": found[0],
            "agents": dict(zip(self.agents, found[1:tasks_from])),
            "tasks": dict(zip(self.tasks, found[tasks_from:])),
        }

    def read_agent(self, key):
        return self.client.hgetall(key)


class Side:
    """One saver, with the state that its program has in memory."""

    def __init__(self, saver, live, stored):
        self.saver, self.live, self.stored = saver, live, stored
        self.state = None
        self.config = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
        self.puts = 0

    def put(self, changed=None):
        if changed is None:
            self.state = self.live.read()
        else:
            self.state["agents"][changed] = self.live.read_agent(changed)
        self.puts += 1
        versions = {channel: self.puts for channel in self.state}
        checkpoint = {
            **empty_checkpoint(),
            "channel_values": self.state,
            "channel_versions": versions,
        }
        metadata = {"source": "loop", "step": self.puts, "parents": {}}
        self.config = self.saver.put(self.config, checkpoint, metadata, versions)

    def load(self):
        newest = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
        return self.saver.get_tuple(newest).checkpoint["channel_values"]


def stored_in_file(saver, database):
    """Bytes of a checkpoint: what the file has grown by, the log folded into it."""
    saver.setup()

    def size():
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return os.path.getsize(database)

    before = size()
    return lambda side: (size() - before) / side.puts


def stored_in_server(client):
    """Bytes of the newest checkpoint in the memory of the server."""

    def usage(side):
        named = side.config["configurable"]
        key = side.saver._make_checkpoint_key(THREAD, "", named["checkpoint_id"])
        return client.memory_usage(key, samples=0)

    return usage


def main():
    told = json.loads(sys.stdin.readline())
    live = Live(told)
    client = Valkey.from_url(told["url"])
    with SqliteSaver.from_conn_string(told["database"]) as sqlite:
        sides = {
            "sqlite": Side(sqlite, live, stored_in_file(sqlite, told["database"])),
            "valkey": Side(ValkeySaver(client), live, stored_in_server(client)),
        }
        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            side = sides[asked["saver"]]
            if asked["step"] == "bytes":
                print(json.dumps({"bytes": side.stored(side)}), flush=True)
                continue
            start, cpu = time.perf_counter(), time.process_time()
            loaded = None
            if asked["step"] == "load":
                loaded = side.load()
            else:
                side.put(asked.get("changed"))
            took = time.perf_counter() - start, time.process_time() - cpu
            # Outside of what is timed: it is what was saved.
            assert loaded is None or loaded == side.state, "the checkpoint is another state"
            print(json.dumps({"seconds": took[0], "cpu": took[1]}), flush=True)


if __name__ == "__main__":
    main()
