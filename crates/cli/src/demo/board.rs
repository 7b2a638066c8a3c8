//! The depot at work: parcels come, are taken, and age before your eyes.

use std::io::IsTerminal as _;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::depot::{Depot, PARCEL_LIVES, Shown};
use super::{heading, told};
use crate::outcome::Failure;
use crate::output::{FAINT, KEY, NAME, Output, WARN};

const TOWNS: [&str; 6] = ["Basel", "Chur", "Genf", "Luzern", "Thun", "Zug"];
const COURIERS: [&str; 3] = ["ann", "bob", "cleo"];

/// A new parcel so often.
const ARRIVES: u32 = 4;
/// One is taken so often.
const TAKEN: u32 = 7;
/// How often the board is drawn.
const FRAME: Duration = Duration::from_millis(200);
/// As many as the board has room for.
const ROWS: usize = 10;
const BAR: usize = 24;

/// Lets the depot work for that long.
pub(super) async fn show(depot: &Depot, lasts: Duration, port: u16, output: &Output) -> Result<(), Failure> {
    if lasts.is_zero() {
        return Ok(());
    }
    heading(
        "4  Life",
        "parcels arrive, couriers take them; what nobody touches for six seconds is gone",
        output,
    )?;
    let redraw = std::io::stdout().is_terminal();
    let end = Instant::now() + lasts;
    let mut ticks = interval(FRAME);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut next, mut frame, mut drawn) = (100_u32, 0_u32, 0_usize);
    while Instant::now() < end {
        ticks.tick().await;
        let mut news = Vec::new();
        if frame.is_multiple_of(ARRIVES) {
            let to = TOWNS[next as usize % TOWNS.len()];
            let key = depot.bring(&format!("p{next}"), to).await.map_err(told)?;
            news.push(format!("{NAME}arrived{NAME:#} {key} for {to}"));
            next += 1;
        }
        if frame.is_multiple_of(TAKEN) {
            let who = COURIERS[frame as usize / 7 % COURIERS.len()];
            if let Some((parcel, carried)) = depot.take(who).await.map_err(told)? {
                news.push(format!("{WARN}taken{WARN:#}   {parcel} by {who}, {carried} in these ten seconds"));
            }
        }
        if redraw {
            let parcels = depot.look(next.saturating_sub(60)..next).await.map_err(told)?;
            drawn = draw(&parcels, drawn, end - Instant::now(), port, output)?;
        } else {
            for line in news {
                output.line(format!("   {line}"))?;
            }
        }
        frame += 1;
    }
    Ok(())
}

/// Draws over what was drawn before; how many lines it is now.
fn draw(
    parcels: &[Shown],
    before: usize,
    left: Duration,
    port: u16,
    output: &Output,
) -> Result<usize, Failure> {
    let mut text = String::new();
    if before > 0 {
        text.push_str(&format!("\x1b[{before}A"));
    }
    let hidden = parcels.len().saturating_sub(ROWS);
    for parcel in &parcels[hidden..] {
        text.push_str(&format!("\x1b[2K   {}\n", row(parcel)));
    }
    for _ in parcels.len() - hidden..ROWS {
        text.push_str("\x1b[2K\n");
    }
    text.push_str(&format!(
        "\x1b[2K   {FAINT}{} parcels, {:.0} s left; meanwhile, elsewhere:  redis-cli -p {port} keys 'depot:*'{FAINT:#}\n",
        parcels.len(),
        left.as_secs_f64().ceil(),
    ));
    output.text(&text)?;
    Ok(ROWS + 1)
}

fn row(parcel: &Shown) -> String {
    let share = parcel.left.as_secs_f64() / PARCEL_LIVES.as_secs_f64();
    let full = ((share * BAR as f64).ceil() as usize).min(BAR);
    let style = if share < 0.25 { WARN } else { NAME };
    format!(
        "{KEY}{:<24}{KEY:#} {:<12} to {:<8} {style}{}{style:#}{FAINT}{}{FAINT:#} {:.1} s",
        parcel.key,
        parcel.state,
        parcel.to,
        "█".repeat(full),
        "░".repeat(BAR - full),
        parcel.left.as_secs_f64(),
    )
}
