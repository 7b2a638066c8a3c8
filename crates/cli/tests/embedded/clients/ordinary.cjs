// What services do with ioredis, against the port given as the first argument. Ends with an error where it goes wrong.

const assert = require("node:assert/strict");
const Redis = require("ioredis");

const port = Number(process.argv[2]);
const open = (options) => new Redis({ port, ...options });

async function strings(redis) {
  assert.equal(await redis.set("s", "ä\n", "EX", 100), "OK");
  assert.equal(await redis.get("s"), "ä\n");
  assert.equal(await redis.set("s", "x", "NX"), null);
  assert.equal(await redis.incrby("n", 41), 41);
  assert.deepEqual(await redis.mget("s", "nosuch"), ["ä\n", null]);
  await redis.setBuffer("bytes", Buffer.from([0, 255, 10]));
  assert.deepEqual(await redis.getBuffer("bytes"), Buffer.from([0, 255, 10]));
  await assert.rejects(redis.lpush("s", 1), /WRONGTYPE/);
  await assert.rejects(redis.call("NOSUCH"), /unknown command/);
}

async function collections(redis) {
  assert.equal(await redis.hset("h", { f: 1, g: 2 }), 2);
  assert.deepEqual(await redis.hgetall("h"), { f: "1", g: "2" });
  assert.equal(await redis.rpush("l", 1, 2, 3), 3);
  assert.deepEqual(await redis.lrange("l", 0, -1), ["1", "2", "3"]);
  assert.equal(await redis.zadd("z", 1, "a", 2.5, "b"), 2);
  assert.deepEqual(await redis.zrange("z", 0, -1, "WITHSCORES"), ["a", "1", "b", "2.5"]);
  assert.deepEqual((await redis.zrangebyscore("z", "(1", "+inf")), ["b"]);
  const names = [];
  for await (const some of redis.scanStream({ match: "[hlz]", count: 1 })) names.push(...some);
  assert.deepEqual([...new Set(names)].sort(), ["h", "l", "z"]);
}

async function streams(redis) {
  const first = await redis.xadd("events", "*", "kind", "made");
  const second = await redis.xadd("events", "MAXLEN", "~", 1000, "*", "kind", "sold");
  assert.deepEqual(await redis.xread("COUNT", 10, "STREAMS", "events", first), [
    ["events", [[second, ["kind", "sold"]]]],
  ]);
}

async function pipelines(redis) {
  const pipeline = redis.pipeline();
  for (let number = 0; number < 500; number += 1) pipeline.set(`p${number}`, number);
  const answers = await pipeline.get("p499").exec();
  assert.deepEqual(answers.at(-1), [null, "499"]);
  assert.deepEqual(await redis.multi().set("t", 1).incr("t").exec(), [
    [null, "OK"],
    [null, 2],
  ]);
  const other = open();
  await other.watch("t");
  await redis.set("t", "theirs");
  assert.equal(await other.multi().set("t", "mine").exec(), null);
  other.disconnect();
}

async function scripts(redis) {
  redis.defineCommand("add", { numberOfKeys: 1, lua: "return redis.call('INCRBY', KEYS[1], ARGV[1])" });
  assert.equal(await redis.add("counter", 5), 5);
  await redis.script("FLUSH");
  assert.equal(await redis.add("counter", 5), 10);
  assert.deepEqual(await redis.eval("return {1, 2.9, 'x', false}", 0), [1, 2, "x", null]);
}

async function waiting(redis) {
  const other = open();
  const popped = other.blpop("queue", 5);
  await redis.rpush("queue", "job");
  assert.deepEqual(await popped, ["queue", "job"]);
  assert.equal(await other.brpop("queue", 0.05), null);
  const read = other.xread("BLOCK", 5000, "STREAMS", "wait", "$");
  await new Promise((done) => setTimeout(done, 100));
  const id = await redis.xadd("wait", "*", "a", 1);
  assert.deepEqual(await read, [["wait", [[id, ["a", "1"]]]]]);
  other.disconnect();
}

async function messages(redis) {
  const listener = open();
  await listener.subscribe("news");
  await listener.psubscribe("n*");
  const heard = [];
  const all = new Promise((done) => {
    const note = (...words) => heard.push(words) === 2 && done();
    listener.on("message", (channel, text) => note(channel, text));
    listener.on("pmessage", (pattern, channel, text) => note(pattern, channel, text));
  });
  assert.equal(await redis.publish("news", "hello"), 2);
  await all;
  assert.deepEqual(heard, [
    ["news", "hello"],
    ["n*", "news", "hello"],
  ]);
  assert.equal(await listener.unsubscribe("news"), 1);
  listener.disconnect();
}

async function settings(redis) {
  const automatic = open({ enableAutoPipelining: true, keyPrefix: "pre:", db: 2, connectionName: "me" });
  await Promise.all(Array.from({ length: 100 }, () => automatic.incr("together")));
  assert.equal(await automatic.get("together"), "100");
  assert.deepEqual(await automatic.keys("*"), ["pre:together"]);
  assert.match(await redis.client("LIST"), /name=me/);
  assert.match(await redis.info("server"), /redis_version:7\.0/);
  automatic.disconnect();
}

async function main() {
  const redis = open();
  await redis.flushall();
  for (const part of [strings, collections, streams, pipelines, scripts, waiting, messages, settings]) {
    try {
      await part(redis);
    } catch (error) {
      error.message = `${part.name}: ${error.message}`;
      throw error;
    }
  }
  redis.disconnect();
  console.log(`ioredis ${require("ioredis/package.json").version}: all well`);
}

setTimeout(() => {
  console.error("not done after a minute");
  process.exit(1);
}, 60_000).unref();

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
