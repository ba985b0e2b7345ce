//! The settings of schedules, read once.

use std::time::Duration;

use petasos_contract::Settings;
use serde_json::Value;

use crate::schedule::{ScheduleError, Zone, host_zone};

/// What schedules are told by the settings.
#[derive(Debug, Clone)]
pub struct CronOptions {
    /// So many runs at once.
    pub parallel: usize,
    /// The longest silence of a run; none when absent.
    pub inactivity: Option<Duration>,
    /// The longest that a run takes, unless its job says otherwise.
    pub timeout: Duration,
    /// The longest that a script takes.
    pub script_timeout: Duration,
    /// What is done with a reply.
    pub replies: ReplyOptions,
    /// Whether the jobs are also written as a file that other programs read.
    pub mirror: bool,
    /// So many outputs of a job are kept.
    pub outputs: usize,
    /// What is done about missed instants.
    pub missed: MissedOptions,
    /// The zone of jobs that name none.
    pub zone: Zone,
    /// Where that is said.
    pub zone_from: &'static str,
}

/// What is done with a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplyOptions {
    /// It is sent with the name of its job.
    pub wrap: bool,
    /// It becomes part of the conversation that it is delivered to, unless its job says otherwise.
    pub attach: bool,
}

/// What is done about missed instants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissedOptions {
    /// They are made up for as their jobs say, and skipped otherwise.
    pub catch_up: bool,
    /// People are told of them.
    pub tell: bool,
}

impl CronOptions {
    /// As the settings say.
    pub fn of(settings: &Settings) -> Result<Self, ScheduleError> {
        let number = |key: &str| settings.get(key).and_then(Value::as_f64);
        let seconds = |key: &str, usual: u64| {
            number(key).filter(|it| *it >= 0.0).map_or_else(
                || Duration::from_secs(usual),
                |it| Duration::try_from_secs_f64(it).unwrap_or(Duration::MAX),
            )
        };
        let count = |key: &str, usual: usize| {
            let given = settings.get(key).and_then(Value::as_u64);
            given.and_then(|it| usize::try_from(it).ok()).filter(|it| *it > 0).unwrap_or(usual)
        };
        let flag = |key: &str| settings.get(key).and_then(Value::as_bool).unwrap_or(true);
        let inactivity = seconds("cron.timeout", 600);
        let (zone, zone_from) = zone(settings)?;
        Ok(Self {
            parallel: count("cron.max_parallel_jobs", 4),
            inactivity: (!inactivity.is_zero()).then_some(inactivity),
            timeout: Duration::from_hours(1),
            script_timeout: seconds("cron.script_timeout_seconds", 3600),
            replies: ReplyOptions {
                wrap: flag("cron.wrap_response"),
                attach: settings.get("cron.mirror_delivery") == Some(&Value::Bool(true)),
            },
            mirror: flag("cron.write_jobs_json"),
            outputs: count("cron.output_retention", 50),
            missed: MissedOptions {
                catch_up: flag("cron.catch_up_missed"),
                tell: flag("cron.notify_missed"),
            },
            zone,
            zone_from,
        })
    }
}

/// The zone of jobs that name none: a name, never the offset of the moment.
fn zone(settings: &Settings) -> Result<(Zone, &'static str), ScheduleError> {
    for key in ["cron.timezone", "timezone"] {
        if let Some(name) = settings.text(key).filter(|name| !name.is_empty()) {
            return Ok((Zone::named(name)?, key));
        }
    }
    let tz = settings.variable("TZ").map(|it| it.value.expose().to_owned());
    Ok(match host_zone(tz.as_deref()) {
        Some(zone) => (zone, "this machine"),
        None => (Zone::utc(), "no zone is set"),
    })
}
