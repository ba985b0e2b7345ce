//! Random jobs, clock jumps, changed zones, deaths, two to eight schedulers: no due time runs twice,
//! and each is accounted for.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use petasos_cron::late::{Misfire, Overlap};
use petasos_cron::{Job, JobBody, Schedule, Scheduler, Wall as _};
use petasos_store::{JobChange, ScheduleStore};

use super::world::{Habit, World};
use super::{at, zone};
use petasos_cron::schedule;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[usize::try_from(self.below(list.len() as u64)).unwrap()]
    }
}

const SCHEDULES: [&str; 8] = [
    "every 7m",
    "every 1h",
    "*/5 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "15 2,14 * * *",
    "0 9 * * 1-5",
    "every 1d",
];
const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];

/// What a job must account for: the due times that came while it had this schedule.
struct Model {
    schedule: Schedule,
    cursor: Timestamp,
    due: Vec<i64>,
}

impl Model {
    fn reach(&mut self, now: Timestamp) {
        let mut at = self.cursor.min(now);
        while let Some(next) = self.schedule.next_after(at).filter(|next| *next <= now) {
            self.due.push(next.as_millisecond());
            at = next;
        }
        self.cursor = now;
    }
}

struct Play {
    world: World,
    store: Arc<petasos_sqlite::Store>,
    random: Random,
    schedulers: Vec<Arc<Scheduler>>,
    models: BTreeMap<String, Model>,
}

impl Play {
    async fn new(seed: u64) -> Self {
        let world = World::new(at("2026-10-23T00:00:00Z"));
        let (store, mut random) = (world.store(), Random(seed));
        // Most runs work, some are stuck before or after they called something.
        *world.worker.habit.lock() = Some(|number| match number % 9 {
            3 => Habit::StuckBefore,
            7 => Habit::StuckAfter,
            _ => Habit::Works,
        });
        let mut models = BTreeMap::new();
        for number in 0..12 {
            let id = format!("{number:012x}");
            let zone = zone(random.of(&ZONES));
            let text = random.of(&SCHEDULES);
            let schedule = schedule::parse(text, &zone, world.clock.now()).unwrap().schedule;
            let body = JobBody {
                misfire: random.of(Misfire::ALL),
                overlap: random.of(Overlap::ALL),
                ..JobBody::default()
            };
            world.job(&*store, &id, &schedule, body).await;
            let model = Model { schedule, cursor: world.clock.now(), due: Vec::new() };
            models.insert(id, model);
        }
        let count = 2 + random.below(7);
        let schedulers = (0..count).map(|_| world.scheduler(50)).collect();
        Self { world, store, random, schedulers, models }
    }

    /// All schedulers look at once.
    async fn look(&mut self) {
        let tasks: Vec<_> = self
            .schedulers
            .iter()
            .map(|one| {
                let one = Arc::clone(one);
                petasos_contract::wait::Owned::start(async move { one.look().await.unwrap() })
            })
            .collect();
        for task in tasks {
            task.join().await.unwrap();
        }
        let now = self.world.clock.now();
        for model in self.models.values_mut() {
            model.reach(now);
        }
    }

    /// One process dies and comes back; what it ran is in the hands of nobody.
    fn die(&mut self) {
        let victim = usize::try_from(self.random.below(self.schedulers.len() as u64)).unwrap();
        let ids = self.schedulers[victim].claimed();
        let fresh = self.world.scheduler(50);
        drop(std::mem::replace(&mut self.schedulers[victim], fresh));
        self.world.died(&ids);
    }

    async fn change_zone(&mut self) {
        let ids: Vec<String> = self.models.keys().cloned().collect();
        let id = ids[usize::try_from(self.random.below(ids.len() as u64)).unwrap()].clone();
        let row = self.store.job(&id).await.unwrap().unwrap();
        let (revision, job) = (row.revision, Job::read(row).unwrap());
        let now = self.world.clock.now();
        let zone = zone(self.random.of(&ZONES));
        let schedule = Schedule { shape: job.schedule.shape, zone };
        let body = JobBody { schedule: Some(schedule.stored()), ..job.body };
        let next = schedule.next_after(now).map(Timestamp::as_millisecond);
        let change = JobChange {
            body: Some(body.to_map()),
            times: Some((now.as_millisecond(), next)),
            ..JobChange::default()
        };
        if self.store.change_job(&id, revision, change, now.as_millisecond()).await.unwrap() {
            let model = self.models.get_mut(&id).unwrap();
            (model.schedule, model.cursor) = (schedule, now);
        }
    }

    async fn step(&mut self) {
        match self.random.below(20) {
            0 => self.die(),
            1 => self.change_zone().await,
            2 => {
                let back = i64::try_from(120 + self.random.below(2 * 3600)).unwrap();
                let now = self.world.clock.now();
                self.world.clock.set(now.checked_sub(SignedDuration::from_secs(back)).unwrap());
            }
            3 => {
                let ahead = i64::try_from(self.random.below(3 * 86_400)).unwrap();
                self.world.clock.pass(ahead);
            }
            _ => self.world.clock.pass(i64::try_from(30 + self.random.below(900)).unwrap()),
        }
        self.look().await;
    }

    async fn check(&self, seed: u64) {
        let called = self.world.worker.called.lock().clone();
        for ((job, due), count) in &called {
            assert_eq!(*count, 1, "seed {seed}: {job} ran {count} times for {due}");
        }
        for (id, model) in &self.models {
            let rows = self.world.rows(id).await;
            for due in &model.due {
                let covered =
                    rows.iter().any(|row| row.new.first_ms <= *due && *due <= row.new.scheduled_ms);
                assert!(
                    covered,
                    "seed {seed}: {id} knows nothing of {}",
                    petasos_cron::moment(*due)
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_due_time_runs_twice_or_is_lost() {
    for seed in [0x1234_5678_9abc_def1, 0xfeed_0000_beef_0003, 0x0bad_cafe_dead_0005] {
        let mut play = Play::new(seed).await;
        for _ in 0..60 {
            play.step().await;
        }
        play.look().await;
        play.check(seed).await;
    }
}
