//! Side-by-side measurements; the benchmarks are in `benches/`, the book of results is `RESULTS.md`.
