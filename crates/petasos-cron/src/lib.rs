//! Schedules: when a job is due, who may run it, and what becomes of its reply.
//!
//! Its law: which instants a schedule has is pure code over the zone data that the program carries,
//! and whoever shows a time asks the same code that fires it. A due time runs once, in whichever
//! process, and one that does not run is noted with its reason.
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
//! | `job`, `jobs` | a job; making, finding and changing jobs |
//! | `scan` | what a prompt must not hold |
//! | `scheduler` | looking for due jobs, claiming them, ending what was left |
//! | `run`, `script`, `reply` | one run: script, prompt, session, limits, what it said |
//! | `desk`, `view` | what a model can do with jobs; jobs and runs as JSON |
//! | `targets` | where a reply goes |
//! | `import`, `mirror` | jobs of another agent, and ours as the file that it knows |
//! | `fields` | what a program says about a job over the network |
//! | `options` | the settings, read once |
//! | `host` | what the program around must offer |

pub mod desk;
pub mod fields;
pub mod host;
pub mod import;
pub mod job;
pub mod jobs;
pub mod late;
pub mod mirror;
pub mod options;
pub mod reply;
pub mod run;
pub mod scan;
pub mod schedule;
pub mod scheduler;
pub mod script;
pub mod targets;
pub mod view;

pub use host::{CronHost, Place, SystemWall, Wall};
pub use job::{Job, JobBody, Notify, moment};
pub use jobs::{Author, Draft, JobError, Jobs, Made};
pub use options::CronOptions;
pub use run::Runs;
pub use schedule::{Expression, Schedule, ScheduleError, Shape, Zone};
pub use scheduler::{
    Attempt, Ended, Look, LostRun, MissedRun, Scheduler, SchedulerOptions, Worker,
};
