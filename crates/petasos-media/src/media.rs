//! What the media tools of one program share: the gate before decoders.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use petasos_contract::SessionId;
use petasos_contract::ports::Memory;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::fault::MediaError;
use crate::picture::{self, Fit, Picture};

/// Megapixels that are decoded at once, by all calls together.
const GATE: u32 = 100;
/// The longest that one picture may take, the wait before the gate included.
const PATIENCE: Duration = Duration::from_mins(1);

/// The shared part.
#[derive(Debug)]
pub struct Media {
    gate: Arc<Semaphore>,
    least: u32,
    /// Work that outlives its call; it ends with the program.
    late: Mutex<JoinSet<()>>,
}

impl Default for Media {
    fn default() -> Self {
        let cores = available_parallelism().map_or(1, std::num::NonZero::get);
        let cores = u32::try_from(cores).unwrap_or(1).clamp(1, GATE);
        Self {
            gate: Arc::new(Semaphore::new(GATE as usize)),
            least: GATE / cores,
            late: Mutex::default(),
        }
    }
}

impl Memory for Media {
    fn forget(&self, _: &SessionId) {}
}

impl Media {
    /// Work that outlives its call. Its owner is the program: it ends with it.
    pub(crate) fn keep(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
        while late.try_join_next().is_some() {}
        late.spawn(work);
    }

    /// A picture that may go on. No more decoders run at once than there are processors, and no
    /// more pixels than one picture may have.
    pub async fn picture(&self, bytes: Vec<u8>, fit: Fit) -> Result<Picture, MediaError> {
        let late =
            || MediaError::new("timeout", "the picture takes longer than a minute to decode");
        let work = async {
            let survey = picture::survey(&bytes)?;
            let share = survey.megapixels().clamp(self.least.max(1), GATE);
            let gate = Arc::clone(&self.gate).acquire_many_owned(share).await;
            let gate = gate.map_err(|error| MediaError::new("busy", error.to_string()))?;
            let decoding = tokio::task::spawn_blocking(move || {
                let picture = picture::normalise(&bytes, survey, fit);
                drop(gate);
                picture
            });
            decoding.await.unwrap_or_else(|_| {
                Err(MediaError::new("bad_argument", "the picture broke its decoder"))
            })
        };
        tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(late()))
    }
}
