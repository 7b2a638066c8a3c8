//! What agents write: texts that are no easier to compress than theirs. Words come as often as words do, and paths, numbers and
//! hashes of commits stand between them.

use fastrand::Rng;

const WORDS: &str = "the of to a in and is for that it on with as not be this by from are or when an at if can which must one \
    file test code value error server client request answer user session token login cache index query table column migration \
    schema field record key lock queue worker retry timeout deadline metric alert dashboard page button form layout style theme \
    build release branch merge review comment change version package dependency module function argument type struct trait \
    interface handler route endpoint header cookie password hash signature certificate permission role policy audit log trace \
    span event stream message batch job schedule window threshold limit quota memory disk network socket connection pool \
    thread process container image volume cluster node replica leader follower election snapshot checkpoint backup restore \
    upgrade rollback deploy pipeline stage gate approval fixture mock assertion coverage benchmark profile regression fix \
    failing flaky slow missing broken duplicate stale invalid unexpected empty nested concurrent atomic idempotent \
    add remove rename move split extract replace check verify measure document describe explain compare parse render validate";

/// Draws texts. The same seed draws the same.
pub(crate) struct Texts {
    words: Vec<&'static str>,
    rng: Rng,
}

impl Texts {
    pub(crate) fn new(seed: u64) -> Self {
        Self { words: WORDS.split_whitespace().collect(), rng: Rng::with_seed(seed) }
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.rng.u64(..most)
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }

    /// Early words come more often than late ones, by Zipf's law as near as a power of a drawn number gets.
    fn word(&mut self) -> &'static str {
        let place = self.rng.f64().powf(1.6) * self.words.len() as f64;
        self.words[place as usize % self.words.len()]
    }

    pub(crate) fn sentence(&mut self, words: u64) -> String {
        (0..words).map(|_| self.word()).collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn path(&mut self) -> String {
        format!("src/{}/{}.rs:{}", self.word(), self.word(), self.rng.u32(1..900))
    }

    pub(crate) fn commit(&mut self) -> String {
        (0..5).map(|_| format!("{:08x}", self.rng.u32(..))).collect()
    }
}
