//! Live events, over sockets.

use crate::curl::Curl;
use crate::notes::EVENTS;
use crate::site::Site;

const LIVE: &str = "/api/notes/live";

fn note(n: u64) -> Option<(String, String, String)> {
    Some((n.to_string(), "note".to_owned(), format!("{{\"n\":{n}}}")))
}

#[test]
fn a_client_that_was_cut_off_goes_on_where_it_was() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::open();
    let mut first = curl.listen(&site.url(LIVE), &[]);
    for n in 1..=3 {
        assert_eq!(first.event(), note(n));
    }
    drop(first);
    let mut again = curl.listen(&site.url(LIVE), &["-H", "Last-Event-ID: 3"]);
    for n in 4..=EVENTS {
        assert_eq!(again.event(), note(n));
    }
}

#[test]
fn an_open_stream_ends_cleanly_when_the_server_stops() {
    let Some(curl) = Curl::here() else { return };
    let site = Site::open();
    let mut open = curl.listen(&site.url(LIVE), &[]);
    for n in 1..=EVENTS {
        assert_eq!(open.event(), note(n));
    }
    assert_eq!(site.stop().cut_off, 0);
    assert_eq!(open.event(), None);
    assert!(open.ended().success(), "curl saw the end of the body and not a cut connection");
}
