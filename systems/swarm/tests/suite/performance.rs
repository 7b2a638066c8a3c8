//! Performance: samples and scores.

use std::time::Duration;

use keyplane_key::Naming;
use keyplane_store::{Options, Store};
use keyplane_swarm::keys::{Keyspace, Metric, Window};
use keyplane_swarm::state::{OpError, Sample};
use keyplane_swarm::{Settings, Swarms};
use keyplane_testing::{Place, Program, Server, VirtualEngine, every_store};

use crate::setup::{agent_id, naming, new_agent, running, swarms};

const DAY: Duration = Duration::from_secs(86_400);

#[every_store(except(unix, tls))]
async fn a_series_holds_ten_thousand_samples_and_the_seeds_command_reads_them(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let from = u64::try_from(now.as_millis()).unwrap() - 20_000;
    let samples: Vec<Sample> =
        (0..10_050).map(|number| Sample { at: Some(from + number), value: number as f64 / 2.0 }).collect();
    assert_eq!(swarms.record_metric(&swarm, Metric::Latency, &samples).await.unwrap(), 10_000);
    let key = Keyspace::new(naming(&place)).unwrap().performance_zset(&swarm, Metric::Latency);
    let words = ["ZRANGE", key.as_str(), "0", "-1", "WITHSCORES"];
    let found: Vec<(String, f64)> = place.raw(key.as_str(), &words);
    assert_eq!(found.len(), 10_000);
    assert_eq!(found[0], (format!("{}:25", from + 50), (from + 50) as f64), "the oldest went");
    // What comes late is kept, and is not the newest.
    let late = Sample { at: Some(from + 60), value: 7.5 };
    swarms.record_metric(&swarm, Metric::Latency, &[late]).await.unwrap();
    assert_eq!(swarms.current_values(&swarm).await.unwrap()["latency"], 5024.5);
    let minute = swarms.samples(&swarm, Metric::Latency, Duration::from_secs(60)).await.unwrap();
    assert_eq!(minute.len(), 10_000);
    assert!(minute.contains(&late));
    let none = swarms.record_metric(&swarm, Metric::Cpu, &[Sample::now(f64::NAN)]).await;
    assert!(matches!(none, Err(OpError::NoNumber { .. })), "{none:?}");
}

#[every_store(except(unix, tls))]
async fn equal_values_of_one_millisecond_are_all_kept(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = u64::try_from(now.as_millis()).unwrap() - 1000;
    let same = [Sample { at: Some(at), value: 5.5 }; 3];
    assert_eq!(swarms.record_metric(&swarm, Metric::Latency, &same).await.unwrap(), 3);
    assert_eq!(swarms.record_metric(&swarm, Metric::Latency, &same[..1]).await.unwrap(), 4);
    assert_eq!(swarms.samples(&swarm, Metric::Latency, DAY).await.unwrap(), [same[0]; 4]);
    assert_eq!(swarms.current_values(&swarm).await.unwrap()["latency"], 5.5);
    let key = Keyspace::new(naming(&place)).unwrap().performance_zset(&swarm, Metric::Latency);
    let members: Vec<String> = place.raw(key.as_str(), &["ZRANGE", key.as_str(), "0", "-1"]);
    assert_eq!(members, ["", ":1", ":2", ":3"].map(|number| format!("{at}:5.5{number}")));
}

#[every_store(except(unix, tls))]
async fn what_cannot_be_kept_is_refused_before_anything_is_written(place: Place) {
    let swarms = swarms(&place).await;
    let swarm = running(&swarms, 1).await;
    let keys = Keyspace::new(naming(&place)).unwrap();
    let (old, fresh) = (Sample { at: Some(1_736_332_200_000), value: 5.0 }, Sample::now(5.0));
    let refused = swarms.record_metric(&swarm, Metric::Latency, &[fresh, old]).await;
    assert!(matches!(&refused, Err(OpError::TooOld { at: 1_736_332_200_000, .. })), "{refused:?}");
    assert_eq!(swarms.samples(&swarm, Metric::Latency, DAY).await.unwrap(), []);

    let key = keys.performance_zset(&swarm, Metric::Memory);
    place.raw::<i64>(key.as_str(), &["HSET", key.as_str(), "value", "3"]);
    place.raw::<i64>(key.as_str(), &["EXPIRE", key.as_str(), "3600"]);
    let header = keys.swarm(&swarm);
    let before: Vec<String> = place.raw(header.as_str(), &["HGETALL", header.as_str()]);
    let single = swarms.record_metric(&swarm, Metric::Memory, &[fresh]).await;
    assert!(matches!(&single, Err(OpError::NoSeries { .. })), "{single:?}");
    let found = swarms.samples(&swarm, Metric::Memory, DAY).await.unwrap();
    assert_eq!(found.iter().map(|sample| sample.value).collect::<Vec<_>>(), [3.0]);
    assert_eq!(place.raw::<Vec<String>>(header.as_str(), &["HGETALL", header.as_str()]), before);
}

#[tokio::test(start_paused = true)]
async fn samples_are_kept_for_a_day_and_scores_follow_them() {
    let engine = VirtualEngine::start(1);
    let swarms = crate::timed::swarms(&engine).await;
    let swarm = running(&swarms, 1).await;
    let record = async |metric, value| {
        swarms.record_metric(&swarm, metric, &[Sample::now(value)]).await.unwrap();
    };
    record(Metric::Latency, 100.0).await;
    record(Metric::Throughput, 5.0).await;
    let scores = swarms.roll_up(&swarm, Window::ALL).await.unwrap();
    // 40 + 15 + 20 × 5/6 or 20 × 1/2 and so on: less in a longer window, and 10 for no errors.
    let found: Vec<f64> = Window::ALL.iter().map(|window| scores[window]).collect();
    assert_eq!(found, [81.67, 75.0, 66.54, 65.07]);
    for _ in 0..5 {
        engine.advance(Duration::from_secs(1000)).await;
        swarms.heartbeat(&swarm, &agent_id(0)).await.unwrap();
        swarms.stretch(&swarm).await.unwrap();
    }
    let scores = swarms.roll_up(&swarm, Window::ALL).await.unwrap();
    assert_eq!(scores.keys().collect::<Vec<_>>(), [&Window::V24h], "nothing was measured in the last hour");
    let values = swarms.current_values(&swarm).await.unwrap();
    assert_eq!(values.keys().collect::<Vec<_>>(), ["latency", "score:24h", "throughput"]);
    // A day later the first sample goes when the next one comes.
    for _ in 0..41 {
        engine.advance(Duration::from_secs(2000)).await;
        swarms.heartbeat(&swarm, &agent_id(0)).await.unwrap();
        swarms.stretch(&swarm).await.unwrap();
    }
    record(Metric::Latency, 10.0).await;
    let kept = swarms.samples(&swarm, Metric::Latency, DAY).await.unwrap();
    assert_eq!(kept.iter().map(|sample| sample.value).collect::<Vec<_>>(), [10.0]);
}

/// By the server's own count of commands, scripts' included.
#[tokio::test]
async fn a_renewal_costs_the_same_with_one_agent_and_with_a_thousand() {
    let server = Server::start(Program::Redis, &keyplane_testing::Settings::tcp());
    let store = Store::open(&server.url(), Options::default()).await.unwrap();
    let swarms = Swarms::new(&store, Naming::new("", false).unwrap(), Settings::default()).unwrap();
    let (small, large) = (running(&swarms, 1).await, running(&swarms, 1).await);
    for number in 1..1000 {
        swarms.register(&large, &new_agent(number), "test").await.unwrap();
    }
    let counted = || -> u64 {
        let stats: String = redis::cmd("INFO").arg("commandstats").query(&mut server.admin()).unwrap();
        let calls = |line: &str| line.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok();
        let counts = |line: &&str| !line.starts_with("cmdstat_info") && !line.starts_with("cmdstat_client");
        stats.lines().filter(counts).filter_map(calls).sum()
    };
    let mut costs = Vec::new();
    for swarm in [&small, &large] {
        // The first one loads the script.
        swarms.heartbeat(swarm, &agent_id(0)).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1100)).await;
        let before = counted();
        swarms.heartbeat(swarm, &agent_id(0)).await.unwrap();
        costs.push(counted() - before);
    }
    assert_eq!(costs[0], costs[1], "commands of a heartbeat that renews the swarm");
    assert!(costs[0] < 20, "{costs:?}");
}
