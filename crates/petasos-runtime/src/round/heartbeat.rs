//! Long waits of a round are reported: nobody should wonder what is waited for.

use std::future::Future;
use std::time::Duration;

use petasos_contract::CallContext;
use petasos_contract::event::Event;

/// How often a long wait is reported.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Waits for `work` and reports every half minute that `names` still run.
pub(super) async fn during<T>(names: &str, work: impl Future<Output = T>, cx: &CallContext) -> T {
    let started = tokio::time::Instant::now();
    let asked_before = cx.pauses.total();
    let mut beats = tokio::time::interval_at(started + HEARTBEAT, HEARTBEAT);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = beats.tick() => {
                // What waits for a person does not run.
                if cx.pauses.is_open() {
                    continue;
                }
                let asked = cx.pauses.total().saturating_sub(asked_before);
                cx.events.emit(|| {
                    let seconds = started.elapsed().saturating_sub(asked).as_secs();
                    Event::Notice { text: format!("{names} still running after {seconds} s") }
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use petasos_contract::context::Surface;
    use petasos_contract::event::{EventSink, Subscriber};
    use petasos_contract::{SessionId, Settings};

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Subscriber for Heard {
        fn take(&self, event: Event) {
            if let Event::Notice { text } = event {
                self.0.lock().push(text);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_is_reported_every_half_minute() {
        let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
        let mut cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
        let heard = Arc::new(Heard::default());
        cx.events = EventSink::to(Arc::clone(&heard) as _);
        during("`act`", tokio::time::sleep(Duration::from_secs(100)), &cx).await;
        let told = heard.0.lock();
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[0], "`act` still running after 30 s");
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_for_a_person_does_not_count_as_running() {
        let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
        let mut cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
        let heard = Arc::new(Heard::default());
        cx.events = EventSink::to(Arc::clone(&heard) as _);
        let pauses = Arc::clone(&cx.pauses);
        let work = async {
            pauses.during(tokio::time::sleep(Duration::from_secs(95))).await;
            tokio::time::sleep(Duration::from_secs(30)).await;
        };
        during("`act`", work, &cx).await;
        assert_eq!(*heard.0.lock(), ["`act` still running after 25 s"]);
    }
}
