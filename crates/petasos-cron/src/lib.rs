//! Schedules: when a job is due, who may run it, and what becomes of its reply.
//!
//! Its law: which instants a schedule has is pure code over the zone data that the program carries,
//! and whoever shows a time asks the same code that fires it.
//!
//! | file | what it holds |
//! |---|---|
//! | `schedule` | a schedule with its zone: its instants, its exact text |
//! | `schedule/text` | the grammar: what people write, and why something is refused |
//! | `schedule/words` | natural words for days and times |
//! | `schedule/span` | lengths of time, such as `2h15m` |
//! | `schedule/expression`, `schedule/days` | five-field cron expressions |
//! | `schedule/zone` | zones by name |
//! | `late` | what becomes of an instant that was missed or meets a running one |

pub mod late;
pub mod schedule;

pub use schedule::{Expression, Schedule, ScheduleError, Shape, Zone};
