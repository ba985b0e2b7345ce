//! Manners towards the hosts of pages: two requests at once, a pause from the fourth in a turn on,
//! and what a site asks of programs where no person asked the question.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use petasos_contract::{CallContext, SessionId, TurnId};
use petasos_net::{Method, Net, Reach, Request, Url};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::WebError;
use crate::robots::Rules;

const AT_ONCE: usize = 2;
const UNHURRIED: u32 = 3;
const APART: Duration = Duration::from_secs(1);
const RULES_KEPT: Duration = Duration::from_hours(1);
const RULES_BYTES_MAX: usize = 512_000;
const RULES_WAIT: Duration = Duration::from_secs(10);
/// Hosts that are remembered; more are a crawl, and the oldest rules are asked for again.
const HOSTS_MAX: usize = 1_000;

/// What is said of places that the address rule or the user's own list refuses.
const REFUSED: [&str; 2] = ["blocked_address", "blocked_policy"];

/// How often each host was asked in a turn.
type Asked = (TurnId, HashMap<String, u32>);

/// What is known of the hosts that pages came from.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    gates: Mutex<HashMap<String, Arc<Semaphore>>>,
    turns: Mutex<HashMap<SessionId, Asked>>,
    rules: Mutex<HashMap<String, (Instant, Arc<Rules>)>>,
}

impl Hosts {
    /// Waits for a place at the host; it is held until the page is there.
    pub(crate) async fn wait(&self, url: &Url, cx: &CallContext) -> Option<OwnedSemaphorePermit> {
        let host = url.host_str()?.to_owned();
        let gate = {
            let mut gates = self.gates.lock();
            if gates.len() > HOSTS_MAX {
                gates.retain(|_, gate| Arc::strong_count(gate) > 1);
            }
            Arc::clone(
                gates.entry(host.clone()).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE))),
            )
        };
        let place = gate.acquire_owned().await.ok()?;
        if self.count(host, cx) > UNHURRIED {
            tokio::time::sleep(APART).await;
        }
        Some(place)
    }

    /// How many pages of the host this turn has asked for.
    fn count(&self, host: String, cx: &CallContext) -> u32 {
        let mut turns = self.turns.lock();
        let begun = || (cx.turn.clone(), HashMap::new());
        let (turn, hosts) = turns.entry(cx.session.clone()).or_insert_with(begun);
        if *turn != cx.turn {
            turn.clone_from(&cx.turn);
            hosts.clear();
        }
        let count = hosts.entry(host).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn forget(&self, session: &SessionId) {
        self.turns.lock().remove(session);
    }

    /// Whether the site lets programs fetch this page, where that is to be asked.
    pub(crate) async fn ask(&self, net: &Net, url: &Url, cx: &CallContext) -> Result<(), WebError> {
        let asks = match cx.settings.text("web.robots").unwrap_or("unattended") {
            "off" => false,
            "always" => true,
            _ => !cx.attended,
        };
        if !asks || self.rules(net, url).await.allows(&path(url)) {
            return Ok(());
        }
        let host = url.host_str().unwrap_or_default();
        let text = format!(
            "{host} asks programs in its robots.txt not to fetch this page; web.robots decides when that is followed"
        );
        Err(WebError::new("blocked_site", text))
    }

    async fn rules(&self, net: &Net, url: &Url) -> Arc<Rules> {
        let site = url.origin().ascii_serialization();
        let known = self.rules.lock().get(&site).cloned();
        if let Some((at, rules)) = known.filter(|(at, _)| at.elapsed() < RULES_KEPT) {
            tracing::trace!(age = ?at.elapsed(), "the rules of the site are known");
            return rules;
        }
        let rules = Arc::new(fetched(net, url).await);
        let mut all = self.rules.lock();
        if all.len() >= HOSTS_MAX {
            all.retain(|_, (at, _)| at.elapsed() < RULES_KEPT / 2);
        }
        all.insert(site, (Instant::now(), Arc::clone(&rules)));
        rules
    }
}

fn path(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

/// A missing file allows everything; one that cannot be read now allows nothing. A place that is
/// not reached at all is refused by its page, which says why.
async fn fetched(net: &Net, url: &Url) -> Rules {
    let Ok(place) = url.join("/robots.txt") else { return Rules::default() };
    let mut request = Request::new(Method::GET, place).first_byte(RULES_WAIT);
    request.reach = Reach::PublicOnly;
    let reply = match net.send(request).await {
        Ok(reply) => reply,
        Err(error) if REFUSED.contains(&error.error_type()) => return Rules::default(),
        Err(_) => return Rules::closed(),
    };
    match reply.status {
        200..=299 => match reply.bytes(RULES_BYTES_MAX, RULES_WAIT).await {
            Ok(bytes) => Rules::parse(&String::from_utf8_lossy(&bytes)),
            Err(_) => Rules::closed(),
        },
        400..=499 => Rules::default(),
        _ => Rules::closed(),
    }
}
