//! Jobs that run later.

use crate::program::{Program, act};
use crate::rule::Signal::CronChange;

pub(super) static PROGRAMS: &[Program] = &[
    act(CronChange, "at batch", "!@-l|-c|-V"),
    act(CronChange, "atrm", ""),
    act(CronChange, "schtasks", "@/create|/delete|/change|/run"),
    act(CronChange, "systemd-run", "@--on-*"),
];
