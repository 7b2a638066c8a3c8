//! How fast a concrete key finds its pattern: against all five contracts at once, and as the number of patterns grows.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use keyplane_bench::{contracts, keys, matcher, synthetic};

fn five_contracts(criterion: &mut Criterion) {
    let contracts = contracts().unwrap();
    let (matcher, keys) = (matcher(&contracts), keys(&contracts));
    let mut group = criterion.benchmark_group("match");
    group.throughput(Throughput::Elements(keys.len() as u64));
    group.bench_function("five contracts, every family, half of the keys unknown", |bencher| {
        bencher.iter(|| keys.iter().filter(|key| matcher.find(black_box(key)).is_some()).count());
    });
    group.finish();
}

fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("match by number of patterns");
    for count in [10, 100, 1000] {
        let contract = synthetic(count).unwrap();
        let matcher = matcher(&[contract]);
        let key = format!("app:group:family{}:id_abcd1234", count / 2);
        group.bench_with_input(BenchmarkId::from_parameter(count), &key, |bencher, key| {
            bencher.iter(|| matcher.find(black_box(key)).is_some())
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("match by length of the key");
    let contracts = contracts().unwrap();
    let matcher = matcher(&contracts);
    for length in [10, 100, 1000, 10_000] {
        let key = format!("courtlistener:task_start:{}:task", "r:".repeat(length / 2));
        group.throughput(Throughput::Bytes(key.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(length), &key, |bencher, key| {
            bencher.iter(|| matcher.find(black_box(key)).is_some())
        });
    }
    group.finish();
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read and check a contract");
    group.sample_size(10);
    for (name, source) in keyplane_bench::SYSTEMS {
        group.bench_function(name, |bencher| {
            bencher.iter(|| keyplane_schema::parse(name, black_box(source)).is_ok())
        });
    }
    group.finish();
}

criterion_group!(benches, five_contracts, growth, reading);
criterion_main!(benches);
