//! How many requests there were, and how long they took.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{Method, StatusCode};

use crate::metrics::{Buckets, Family, Sample};

/// From a cached answer to a request that is about to run into its limit.
const SECONDS: [f64; 10] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Counts by route and never by path: ids in paths would make a series each.
#[derive(Debug, Default)]
pub(crate) struct Requests(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    answered: BTreeMap<(String, &'static str, u16), u64>,
    took: BTreeMap<String, Buckets>,
}

impl Requests {
    pub(crate) fn answered(&self, method: &Method, route: &str, status: StatusCode, took: Duration) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.answered.entry((route.to_owned(), known(method), status.as_u16())).or_default() += 1;
        let took_so_far = counts.took.entry(route.to_owned()).or_insert_with(|| Buckets::new(&SECONDS));
        took_so_far.observe(took.as_secs_f64());
    }

    pub(crate) fn families(&self) -> [Family; 2] {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = counts.answered.iter().map(|((route, method, status), count)| {
            let sample = Sample::count(*count).label("route", route).label("method", *method);
            sample.label("status", status.to_string())
        });
        let took = counts
            .took
            .iter()
            .map(|(route, buckets)| Sample::distribution(buckets.clone()).label("route", route));
        [
            Family::counter("keyplane_http_requests_total", "Requests answered.", answered),
            Family::histogram("keyplane_http_request_seconds", "Time to the head of the answer.", took),
        ]
    }
}

/// A method's name; anyone can make one up, and those count as one.
fn known(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::encode;

    #[test]
    fn requests_count_by_route_method_and_status() {
        let requests = Requests::default();
        let made_up = Method::from_bytes(b"BREW").unwrap();
        for method in [Method::GET, Method::GET, made_up] {
            requests.answered(&method, "/api/{id}", StatusCode::OK, Duration::from_millis(20));
        }
        let page = encode(&requests.families());
        let expected = [
            "keyplane_http_requests_total{route=\"/api/{id}\",method=\"GET\",status=\"200\"} 2",
            "keyplane_http_requests_total{route=\"/api/{id}\",method=\"other\",status=\"200\"} 1",
            "keyplane_http_request_seconds_bucket{route=\"/api/{id}\",le=\"0.01\"} 0",
            "keyplane_http_request_seconds_bucket{route=\"/api/{id}\",le=\"0.025\"} 3",
        ];
        for line in expected {
            assert!(page.lines().any(|told| told == line), "{line}\n{page}");
        }
    }
}
