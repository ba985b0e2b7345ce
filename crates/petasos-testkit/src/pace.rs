//! Time limits that mean the same on an idle and on a busy machine.
//!
//! A promise such as "a cancel is heard within 250 ms" is about our code, not about the neighbours
//! of the test. So the limit is stretched by as much as this machine is slower right now than it
//! would be alone; on an idle machine it is the promise itself.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// How much processor time the measurement takes.
const SAMPLE: Duration = Duration::from_millis(10);
/// Less than this is an idle machine's own noise.
const NOISE: f64 = 1.5;
/// A wait crosses several threads and processes, and each of them queues for the processor.
const HOPS: f64 = 6.0;

/// The limit as it is fair right now. Ask behind what was timed, while the machine is as busy.
pub fn fair(limit: Duration) -> Duration {
    let slowdown = slowdown();
    if slowdown < NOISE { limit } else { limit.mul_f64(slowdown * HOPS) }
}

/// How many times longer than its processor time a piece of work takes now.
fn slowdown() -> f64 {
    let (start, used) = (Instant::now(), processor_time());
    while processor_time().saturating_sub(used) < SAMPLE {
        std::hint::spin_loop();
    }
    start.elapsed().as_secs_f64() / SAMPLE.as_secs_f64()
}

/// What this thread has had of the processor.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}
