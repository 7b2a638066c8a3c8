//! A timer that was handed out.

use super::UnixMillis;

/// A timer that was handed out, to be acknowledged by [`done`](super::Deadlines::done).
///
/// While it fires, its member in Redis is `due:n:id`: the due time is kept for the next term, and a timer of the same id that is
/// set and falls due meanwhile does not take its place. `n` tells those of one millisecond apart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fired {
    /// The id that it was set with.
    pub id: String,
    /// When it was due.
    pub due: UnixMillis,
    /// It was handed out before and not acknowledged: it may have been handled, in part or as a whole.
    pub again: bool,
    firing: Vec<u8>,
}

impl Fired {
    /// Reads the member. What others have put there in another form is handed out too, so that it can be acknowledged.
    pub(super) fn read(firing: Vec<u8>, again: bool) -> Self {
        let text = String::from_utf8_lossy(&firing);
        let mut parts = text.splitn(3, ':');
        let (id, due) = match (parts.next().map(str::parse), parts.next(), parts.next()) {
            (Some(Ok(due)), Some(_), Some(id)) => (id.to_owned(), due),
            _ => (text.clone().into_owned(), 0),
        };
        Self { id, due: UnixMillis(due), again, firing }
    }

    pub(super) fn firing(&self) -> &[u8] {
        &self.firing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_may_hold_anything() {
        for (firing, id, due) in
            [("12:0:a", "a", 12), ("12:3:a:b:", "a:b:", 12), ("12:0:", "", 12), ("odd:x", "odd:x", 0)]
        {
            let fired = Fired::read(firing.into(), false);
            assert_eq!((fired.id.as_str(), fired.due.0), (id, due));
            assert_eq!(fired.firing(), firing.as_bytes());
        }
    }
}
