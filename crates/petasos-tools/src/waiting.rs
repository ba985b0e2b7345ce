//! Long waits that people hear of: what is waited for, and for how long by now.

use std::future::Future;
use std::time::{Duration, Instant};

use petasos_contract::CallContext;
use petasos_contract::event::Event;

/// Shorter waits are nobody's concern.
const FIRST: Duration = Duration::from_secs(3);
const THEN: Duration = Duration::from_secs(5);

/// Waits for the work, and tells what it is waited for when that takes long.
pub(crate) async fn telling<T>(cx: &CallContext, what: &str, work: impl Future<Output = T>) -> T {
    let began = Instant::now();
    let mut work = Box::pin(work);
    let mut pause = FIRST;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = tokio::time::sleep(pause) => {}
        }
        pause = THEN;
        let seconds = began.elapsed().as_secs();
        cx.events.emit(|| Event::ToolOutput {
            call: cx.call.clone(),
            text: format!("still waiting for {what}: {seconds} s\n"),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use petasos_contract::context::Surface;
    use petasos_contract::event::{EventSink, Subscriber};
    use petasos_contract::{SessionId, Settings};

    use super::*;

    #[derive(Debug, Default)]
    struct Ear(Mutex<Vec<String>>);

    impl Subscriber for Ear {
        fn take(&self, event: Event) {
            if let (Event::ToolOutput { text, .. }, Ok(mut heard)) = (event, self.0.lock()) {
                heard.push(text);
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_wait_is_told_of_and_a_short_one_is_not() {
        let ear = Arc::new(Ear::default());
        let settings = Arc::new(Settings::from_values(serde_json::Map::new()));
        let mut cx = CallContext::new(settings, Surface::Cli, SessionId::new("s"));
        cx.events = EventSink::to(Arc::clone(&ear) as _);
        telling(&cx, "a page", tokio::time::sleep(Duration::from_secs(2))).await;
        assert!(ear.0.lock().unwrap().is_empty());
        telling(&cx, "a page", tokio::time::sleep(Duration::from_secs(9))).await;
        assert_eq!(ear.0.lock().unwrap().len(), 2);
    }
}
