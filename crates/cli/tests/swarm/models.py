"""The whole life of a swarm, by the tools that a model is given. Ends with an error where it goes wrong.

Arguments: `http URL` or `stdio PROGRAM`, then the way to negotiate (`auto` or `legacy`) and the id of the swarm.
"""

import asyncio
import os
import random
import string
import sys

from mcp import Client, MCPError, StdioServerParameters

way, where, mode, swarm = sys.argv[1:]
coder, validator = "agent_dev00001", "agent_val00001"
objective = {"description": "Log people in", "type": "feature", "priority": "high"}
# No codec makes it fit into the 100 KB of a memory.
noise = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=200_000))


def equal(found, wanted):
    assert found == wanted, f"{found!r} where {wanted!r} was expected"


async def call(client, tool, **arguments):
    result = await client.call_tool(tool, {"swarm": swarm, **arguments})
    assert not result.is_error, f"{tool}: {result}"
    assert result.content[0].text, "the same in text"
    return result.structured_content


async def refused(client, code, tool, **arguments):
    result = await client.call_tool(tool, {"swarm": swarm, **arguments})
    assert result.is_error, f"{tool}: {result}"
    error = result.structured_content["error"]
    equal(error["code"], code)
    assert error["message"] and error["help"], error


async def tools(client):
    listed = (await client.list_tools()).tools
    by_name = {tool.name: tool for tool in listed}
    claim = by_name["task_claim"]
    equal(claim.input_schema["required"], ["swarm", "agent"])
    equal(claim.input_schema["properties"]["agent"]["pattern"], "^agent_[a-zA-Z0-9_]{8,32}$")
    equal(claim.annotations.read_only_hint, False)
    equal(by_name["swarm_status"].annotations.read_only_hint, True)
    return set(by_name)


async def life(client):
    await call(client, "swarm_create", objective=objective)
    await call(client, "agent_register", agent=coder, role="coder")
    await call(client, "agent_register", agent=validator, role="reviewer", type="validator")
    await call(client, "swarm_update", status="running")
    work = {"title": "Login form", "description": "A form with two fields."}
    await call(client, "task_create", task="task_schema_01", **work)
    await call(client, "task_create", task="task_auth_001", dependencies=["task_schema_01"], **work)
    for task in ["task_schema_01", "task_auth_001"]:
        claim = await call(client, "task_claim", agent=coder)
        equal((claim["claimed"], claim["task"], claim["title"]), (True, task, "Login form"))
        await refusals(client, task)
        holds = {"task": task, "agent": coder, "fence": claim["fence"]}
        await call(client, "agent_heartbeat", agent=coder)
        await call(client, "task_progress", progress=40, **holds)
        await call(client, "task_complete", result={"files": 3}, **holds)
        await refused(client, "lost", "task_complete", **holds)
    await call(client, "agent_update", agent=coder, confidence=0.9)
    equal((await call(client, "agent_show", agent=coder))["confidence"], 0.9)
    await call(client, "phase_create", phase="phase_implement", name="Implementation", loopLevel=3)
    await call(client, "phase_move", phase="phase_implement", to="active")
    equal((await call(client, "phase_show", phase="phase_implement"))["status"], "active")
    memory = {"type": "knowledge", "memory": "mem_test_results"}
    await call(client, "memory_put", agent=coder, content={"passed": 41}, tags=["login"], **memory)
    equal((await call(client, "memory_get", **memory))["content"], {"passed": 41})
    found = await call(client, "memory_search", tags=["login"])
    equal([memory["memory"] for memory in found["memories"]], ["mem_test_results"])
    equal((await call(client, "consensus_open", eligible=1))["round"], 1)
    await refused(client, "no_validator", "consensus_vote", round=1, agent=coder, confidence=1)
    await call(client, "consensus_vote", round=1, agent=validator, confidence=0.95, reasoning="Good.")
    equal((await call(client, "consensus_close", round=1))["decision"], "PROCEED")
    equal((await call(client, "consensus_show", round=1))["status"], "achieved")
    await measures(client)
    await saves(client)
    await call(client, "swarm_complete")
    status = await call(client, "swarm_status", brief=True)
    equal((status["status"], status["tasksByStatus"]), ("completed", {"completed": 2}))
    events = await call(client, "swarm_events", most=1000)
    kinds = [event["kind"] for event in events["events"]]
    equal((kinds[0], kinds[-1]), ("create_swarm", "complete_swarm"))


async def measures(client):
    await call(client, "performance_record", metric="latency", value=41.5)
    measured = await call(client, "performance_query", metric="latency")
    equal([sample["value"] for sample in measured["samples"]], [41.5])
    listed = await client.call_tool("swarm_list", {"limit": 1000})
    assert swarm in [one["swarm"] for one in listed.structured_content["swarms"]], listed
    lock = await call(client, "lock_take", owner=coder)
    equal((await call(client, "lock_status"))["holder"], coder)
    await refused(client, "locked", "lock_take", owner=validator)
    await refused(client, "fenced", "lock_release", owner=coder, fence="7")
    holds = {"owner": coder, "fence": lock["fence"]}
    await call(client, "lock_renew", **holds)
    await call(client, "lock_release", **holds)


async def saves(client):
    """A checkpoint, another swarm from it, and what a recovery would do and does."""
    first = await call(client, "checkpoint_create", label="before the end")
    await call(client, "agent_update", agent=coder, confidence=0.95)
    second = await call(client, "checkpoint_create")
    equal([first["kind"], second["kind"]], ["full", "increment"])
    listed = (await call(client, "checkpoint_list"))["checkpoints"]
    equal([one["checkpoint"] for one in listed], [first["checkpoint"], second["checkpoint"]])
    changed = await call(client, "checkpoint_diff", checkpoint=first["checkpoint"], to=second["checkpoint"])
    assert f"agents:{coder}" in [one["record"] for one in changed["differences"]], changed
    exported = await call(client, "checkpoint_export", checkpoint=second["checkpoint"])
    equal(exported["kind"], "keyplane swarm checkpoint")
    await call(client, "checkpoint_pin", checkpoint=first["checkpoint"])
    await call(client, "checkpoint_prune")
    fork = swarm.replace("swarm_", "swarm_fork_")
    await call(client, "checkpoint_fork", checkpoint=second["checkpoint"], **{"as": fork})
    planned = await call(client, "swarm_recover", dryRun=True)
    equal((planned["dryRun"], planned["restored"]), (True, {}))
    done = await call(client, "swarm_recover")
    assert done["confidence"] > 0.9, done
    equal((await call(client, "swarm_status", brief=True))["status"], "running")


async def refusals(client, held):
    """What is wrong is said, and changes nothing."""
    before = await call(client, "swarm_status")
    await refused(client, "bad_parameter", "swarm_status", swarm="nonsense")
    await refused(client, "no_swarm", "swarm_status", swarm="swarm_nowhere_1")
    await refused(client, "held", "task_claim", agent=validator, task=held)
    await refused(client, "bad_parameter", "phase_create", phase="phase_other_1", name="N", loopLevel=5)
    await refused(client, "too_large", "task_create", task="task_other_01", title="x" * 201, description="D")
    memory = {"type": "knowledge", "memory": "mem_too_long_1", "agent": coder}
    await refused(client, "too_large", "memory_put", content=noise, **memory)
    await refused(client, "unknown_parameter", "swarm_status", colour="red")
    try:
        await client.call_tool("swarm_conquer", {})
    except MCPError as error:
        assert "swarm_conquer" in str(error), error
    else:
        raise AssertionError("there is no such tool")
    equal(await call(client, "swarm_status"), before)


async def main():
    started = StdioServerParameters(command=where, args=["swarm", "mcp"], env=dict(os.environ))
    server = where if way == "http" else started
    async with Client(server, mode=mode) as client:
        assert "agent" in client.instructions
        names = await tools(client)
        await life(client)
    print(f"{len(names)} tools over {way}, negotiated {mode}: all well")


asyncio.run(main())
