//! Bits and random numbers.

use mlua::{Lua, MultiValue, Result, Value};

use super::thrown::{bad_argument, fail, wrong_type};
use super::{Native, Slot, args};

/// Redis's own generator, so that a seed gives the numbers that it gives there: 48 bits, as `lrand48`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dice(u64);

impl Default for Dice {
    fn default() -> Self {
        Self(0x1234_ABCD_330E)
    }
}

impl Dice {
    fn seeded(seed: i32) -> Self {
        Self(u64::from(seed.cast_unsigned()) << 16 | 0x330E)
    }

    /// From 0 up to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & 0xFFFF_FFFF_FFFF;
        let most = i32::MAX as u64;
        ((self.0 >> 17) % most) as f64 / most as f64
    }
}

pub(super) const MATH: &[(&str, Native)] = &[("random", random), ("randomseed", seed)];

fn random(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let part = Slot::of(lua)?.dice.next();
    let value = match args.len() {
        0 => part,
        1 => {
            let high = args::int(lua, &args, 1)?;
            if high < 1 {
                return bad_argument(lua, 1, "interval is empty");
            }
            (part * f64::from(high)).floor() + 1.0
        }
        2 => {
            let (low, high) = (args::int(lua, &args, 1)?, args::int(lua, &args, 2)?);
            if low > high {
                return bad_argument(lua, 2, "interval is empty");
            }
            (part * f64::from(high.wrapping_sub(low).wrapping_add(1))).floor() + f64::from(low)
        }
        _ => return fail(lua, "wrong number of arguments"),
    };
    Ok([Value::Number(value)].into_iter().collect())
}

fn seed(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let seed = args::int(lua, &args, 1)?;
    Slot::of(lua)?.dice = Dice::seeded(seed);
    Ok(MultiValue::new())
}

pub(super) const BIT: &[(&str, Native)] = &[
    ("tobit", |lua, args| done(bits(lua, &args, 1)?)),
    ("bnot", |lua, args| done(!bits(lua, &args, 1)?)),
    ("band", |lua, args| fold(lua, &args, |a, b| a & b)),
    ("bor", |lua, args| fold(lua, &args, |a, b| a | b)),
    ("bxor", |lua, args| fold(lua, &args, |a, b| a ^ b)),
    ("lshift", |lua, args| shift(lua, &args, |a, by| a << by)),
    ("rshift", |lua, args| shift(lua, &args, |a, by| a >> by)),
    ("arshift", |lua, args| shift(lua, &args, |a, by| (a.cast_signed() >> by).cast_unsigned())),
    ("rol", |lua, args| shift(lua, &args, u32::rotate_left)),
    ("ror", |lua, args| shift(lua, &args, u32::rotate_right)),
    ("bswap", |lua, args| done(bits(lua, &args, 1)?.swap_bytes())),
    ("tohex", hex),
];

/// The low 32 bits of a number, rounded to an integer.
fn bits(lua: &Lua, args: &MultiValue, number: usize) -> Result<u32> {
    /// Added to a number it leaves the integer in the low bits: 2^52 + 2^51.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    match args::as_number(lua, args.get(number - 1))? {
        Some(value) => Ok((value + ROUND).to_bits() as u32),
        None => wrong_type(lua, args, number, "number"),
    }
}

fn done(bits: u32) -> Result<MultiValue> {
    Ok([Value::Integer(i64::from(bits.cast_signed()))].into_iter().collect())
}

fn fold(lua: &Lua, args: &MultiValue, join: fn(u32, u32) -> u32) -> Result<MultiValue> {
    let mut all = bits(lua, args, 1)?;
    for number in (2..=args.len()).rev() {
        all = join(all, bits(lua, args, number)?);
    }
    done(all)
}

fn shift(lua: &Lua, args: &MultiValue, turn: fn(u32, u32) -> u32) -> Result<MultiValue> {
    done(turn(bits(lua, args, 1)?, bits(lua, args, 2)? & 31))
}

fn hex(lua: &Lua, args: MultiValue) -> Result<MultiValue> {
    let value = bits(lua, &args, 1)?;
    let digits = if args.len() < 2 { 8 } else { bits(lua, &args, 2)?.cast_signed() };
    let text = if digits < 0 { format!("{value:08X}") } else { format!("{value:08x}") };
    let shown = text.len().min(digits.unsigned_abs() as usize);
    let text = lua.create_string(&text[text.len() - shown..])?;
    Ok([Value::String(text)].into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_fall_as_in_redis() {
        // math.randomseed(0) return {math.random(100), math.random(100)}
        let mut dice = Dice::seeded(0);
        let mut up_to_100 = || (dice.next() * 100.0).floor() + 1.0;
        assert_eq!([up_to_100(), up_to_100()], [18.0, 75.0]);
    }
}
