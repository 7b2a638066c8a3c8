//! Metrics, and Prometheus' text format 0.0.4.
//!
//! What is written can be read: names are made valid, help and labels are escaped, and a family appears once however many
//! panels bring a part of it. Not checked: whether a counter only grows, and whether two samples have the same labels.

use std::fmt::Write as _;

/// What `/metrics` is served as.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Samples of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    name: String,
    help: String,
    series: Series,
}

#[derive(Debug, Clone, PartialEq)]
enum Series {
    Counter(Vec<Sample<f64>>),
    Gauge(Vec<Sample<f64>>),
    Histogram(Vec<Sample<Buckets>>),
}

impl Family {
    /// Numbers that only grow. By custom the name ends in `_total`.
    pub fn counter(name: &str, help: &str, samples: impl IntoIterator<Item = Sample<f64>>) -> Self {
        Self::new(name, help, Series::Counter(samples.into_iter().collect()))
    }

    /// Numbers that go up and down.
    pub fn gauge(name: &str, help: &str, samples: impl IntoIterator<Item = Sample<f64>>) -> Self {
        Self::new(name, help, Series::Gauge(samples.into_iter().collect()))
    }

    /// Distributions. By custom the name ends in a unit, such as `_seconds`.
    pub fn histogram(name: &str, help: &str, samples: impl IntoIterator<Item = Sample<Buckets>>) -> Self {
        Self::new(name, help, Series::Histogram(samples.into_iter().collect()))
    }

    fn new(name: &str, help: &str, series: Series) -> Self {
        Self { name: valid(name, true), help: help.to_owned(), series }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A value and its labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<T> {
    labels: Vec<(String, String)>,
    value: T,
}

impl Sample<f64> {
    /// A number.
    #[must_use]
    pub fn number(value: f64) -> Self {
        Self { labels: Vec::new(), value }
    }

    /// A count. Beyond 2^53 the last digits are lost: Prometheus' numbers are floats.
    #[must_use]
    pub fn count(value: u64) -> Self {
        Self::number(value as f64)
    }
}

impl Sample<Buckets> {
    /// A distribution.
    #[must_use]
    pub fn distribution(value: Buckets) -> Self {
        Self { labels: Vec::new(), value }
    }
}

impl<T> Sample<T> {
    /// The same with a label; a label of that name is replaced.
    #[must_use]
    pub fn label(mut self, name: &str, value: impl Into<String>) -> Self {
        let name = valid(name, false);
        self.labels.retain(|(other, _)| *other != name);
        self.labels.push((name, value.into()));
        self
    }
}

/// How many values fell under which bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    bounds: Vec<f64>,
    /// One more than bounds: the last is for what is above all of them.
    counts: Vec<u64>,
    sum: f64,
}

impl Buckets {
    /// Empty buckets with these upper bounds, in any order. The one without a bound comes by itself.
    #[must_use]
    pub fn new(bounds: &[f64]) -> Self {
        let mut bounds: Vec<f64> = bounds.iter().copied().filter(|bound| bound.is_finite()).collect();
        bounds.sort_by(f64::total_cmp);
        bounds.dedup();
        Self { counts: vec![0; bounds.len() + 1], bounds, sum: 0.0 }
    }

    /// Counts a value. What is not a number is not counted.
    pub fn observe(&mut self, value: f64) {
        if value.is_nan() {
            return;
        }
        let bucket = self.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count += 1;
            self.sum += value;
        }
    }
}

/// The page: every family once, in the order in which they first appear. Of two families with one name and different
/// types only the first can be shown; a comment names the other.
#[must_use]
pub fn encode(families: &[Family]) -> String {
    let mut page = String::new();
    for (at, family) in families.iter().enumerate() {
        let same_name = |other: &&Family| other.name == family.name;
        if families.iter().take(at).any(|other| same_name(&other)) {
            continue;
        }
        // Writing to a string does not fail.
        let _ = writeln!(page, "# HELP {} {}", family.name, escaped(&family.help, false));
        let _ = writeln!(page, "# TYPE {} {}", family.name, family.series.kind());
        for part in families.iter().skip(at).filter(same_name) {
            if part.series.kind() == family.series.kind() {
                part.write(&mut page);
            } else {
                let _ = writeln!(page, "# left out: {} as a {}", part.name, part.series.kind());
            }
        }
    }
    page
}

impl Series {
    fn kind(&self) -> &'static str {
        match self {
            Self::Counter(_) => "counter",
            Self::Gauge(_) => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

impl Family {
    fn write(&self, page: &mut String) {
        match &self.series {
            Series::Counter(samples) | Series::Gauge(samples) => {
                for sample in samples {
                    line(page, &self.name, "", &sample.labels, None, sample.value);
                }
            }
            Series::Histogram(samples) => {
                for Sample { labels, value } in samples {
                    // Prometheus' own label; one of ours would come twice.
                    let labels: Vec<_> = labels.iter().filter(|(name, _)| name != "le").cloned().collect();
                    let bounds = value.bounds.iter().copied().chain([f64::INFINITY]);
                    let mut so_far = 0;
                    for (bound, count) in bounds.zip(&value.counts) {
                        so_far += count;
                        line(page, &self.name, "_bucket", &labels, Some(bound), so_far as f64);
                    }
                    line(page, &self.name, "_sum", &labels, None, value.sum);
                    line(page, &self.name, "_count", &labels, None, so_far as f64);
                }
            }
        }
    }
}

fn line(page: &mut String, name: &str, part: &str, labels: &[(String, String)], le: Option<f64>, value: f64) {
    let mut told: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value, true))).collect();
    told.extend(le.map(|bound| format!("le=\"{}\"", number(bound))));
    let told = if told.is_empty() { String::new() } else { format!("{{{}}}", told.join(",")) };
    let _ = writeln!(page, "{name}{part}{told} {}", number(value));
}

fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}

/// Help escapes backslash and newline; a label's value also the quote that would end it.
fn escaped(text: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quoted => out.push_str("\\\""),
            _ => out.push(letter),
        }
    }
    out
}

/// A name that Prometheus takes: one wrong letter would cost the whole page.
fn valid(name: &str, colons: bool) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || (colons && letter == ':');
    let mut name: String = name.chars().map(|letter| if fits(letter) { letter } else { '_' }).collect();
    if name.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_gauges_are_lines_under_their_help_and_type() {
        let families = [
            Family::counter(
                "tx_total",
                "Seen.",
                [Sample::count(3).label("stage", "pending").label("node", "a")],
            ),
            Family::gauge("lag", "Blocks behind.", [Sample::number(-1.5)]),
        ];
        let page = "# HELP tx_total Seen.\n# TYPE tx_total counter\ntx_total{stage=\"pending\",node=\"a\"} 3\n\
                    # HELP lag Blocks behind.\n# TYPE lag gauge\nlag -1.5\n";
        assert_eq!(encode(&families), page);
    }

    #[test]
    fn labels_escape_backslash_quote_and_newline() {
        let family = Family::gauge("g", "h", [Sample::number(1.0).label("path", "C:\\a \"b\"\nc")]);
        let page = encode(&[family]);
        assert_eq!(page.lines().last().unwrap(), r#"g{path="C:\\a \"b\"\nc"} 1"#);
    }

    #[test]
    fn help_escapes_backslash_and_newline_and_leaves_quotes() {
        let page = encode(&[Family::gauge("g", "one \"two\" \\ \nthree", [])]);
        assert_eq!(page.lines().next().unwrap(), r#"# HELP g one "two" \\ \nthree"#);
    }

    #[test]
    fn numbers_that_are_none_have_their_spelling() {
        let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.25, 1e15];
        let page = encode(&[Family::gauge("g", "h", values.map(Sample::number))]);
        let told: Vec<_> = page.lines().skip(2).map(|line| line.trim_start_matches("g ")).collect();
        assert_eq!(told, ["NaN", "+Inf", "-Inf", "0", "0.25", "1000000000000000"]);
    }

    #[test]
    fn a_family_that_two_panels_bring_is_told_once() {
        let part = |panel: &str| Family::gauge("up", "Up.", [Sample::number(1.0).label("panel", panel)]);
        let other = Family::gauge("other", "Other.", [Sample::number(2.0)]);
        let page = encode(&[part("a"), other, part("b")]);
        let expected = "# HELP up Up.\n# TYPE up gauge\nup{panel=\"a\"} 1\nup{panel=\"b\"} 1\n\
                        # HELP other Other.\n# TYPE other gauge\nother 2\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn one_name_has_one_type() {
        let page = encode(&[
            Family::gauge("x", "h", [Sample::number(1.0)]),
            Family::counter("x", "h", [Sample::count(2)]),
        ]);
        assert_eq!(page, "# HELP x h\n# TYPE x gauge\nx 1\n# left out: x as a counter\n");
    }

    #[test]
    fn a_histogram_adds_up_and_ends_without_a_bound() {
        let mut buckets = Buckets::new(&[1.0, 0.5, f64::INFINITY, 1.0]);
        for value in [0.25, 0.5, 0.75, 8.0, f64::NAN] {
            buckets.observe(value);
        }
        let sample = Sample::distribution(buckets).label("route", "/a").label("le", "ours");
        let page = encode(&[Family::histogram("h", "H.", [sample])]);
        let expected = "# HELP h H.\n# TYPE h histogram\n\
                        h_bucket{route=\"/a\",le=\"0.5\"} 2\nh_bucket{route=\"/a\",le=\"1\"} 3\n\
                        h_bucket{route=\"/a\",le=\"+Inf\"} 4\nh_sum{route=\"/a\"} 9.5\nh_count{route=\"/a\"} 4\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn names_are_made_valid() {
        let sample = Sample::number(1.0).label("a:b", "x").label("a_b", "y").label("", "z");
        let family = Family::gauge("9 lives:é", "h", [sample]);
        assert_eq!(encode(&[family]).lines().last().unwrap(), "_9_lives:_{a_b=\"y\",_=\"z\"} 1");
    }
}
