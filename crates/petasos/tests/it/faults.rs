//! The fault suite: the real program under real faults, against a scripted model on this machine.
//!
//! Every row runs in two sizes. The short one is part of the suite; `scripts/soak` sets
//! `PETASOS_FAULTS=long` and prints the figures, which go to the file that `PETASOS_FIGURES` names.

mod cut_off;
mod damage;
mod kills;
mod limits;
mod many;
mod mcp;
mod model;
mod room;
mod schedules;
mod server;
mod serving;
mod soak;
mod started;
mod streams;
mod workspaces;

use std::io::Write as _;

/// A variable of the harness.
#[expect(clippy::disallowed_methods, reason = "the harness chooses the size by a variable")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether this is the long form.
fn is_long() -> bool {
    variable("PETASOS_FAULTS").is_some_and(|size| size == "long")
}

/// One of two sizes.
fn sized<T>(short: T, long: T) -> T {
    if is_long() { long } else { short }
}

/// Notes what a row measured.
#[expect(clippy::print_stderr, reason = "figures are for whoever reads the output of the test")]
fn figure(row: &str, measured: &str) {
    let line = format!("{row}: {measured}\n");
    eprint!("FIGURE {line}");
    let Some(file) = variable("PETASOS_FIGURES") else { return };
    let file = std::fs::File::options().create(true).append(true).open(file);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the figures can be kept");
}

/// The middle and the largest of some times, in milliseconds.
fn spread(mut times: Vec<u128>) -> String {
    times.sort_unstable();
    let middle = times.get(times.len() / 2).copied().unwrap_or_default();
    format!("median {middle} ms, max {} ms", times.last().copied().unwrap_or_default())
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end.max(1)
    }
}
