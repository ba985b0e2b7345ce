//! S120: random schedules against a reader that looks at every minute of the clock.
//!
//! Each of two thousand schedules is held against one of forty zones over three years: the days
//! around every change of the zone's clock minute by minute, and some weeks in between. With
//! `PETASOS_ORACLE=years` every minute of the three years is looked at, with `PETASOS_ORACLE=all`
//! each schedule in all forty zones (use an optimised build for that).

use jiff::civil::DateTime;
use jiff::{Timestamp, ToSpan as _};
use petasos_cron::{Expression, Schedule, Shape, Zone};

use super::{at, zone};

#[rustfmt::skip]
const ZONES: [&str; 40] = [
    "UTC", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "Europe/Dublin", "Europe/Kyiv",
    "Europe/Moscow", "Atlantic/Azores", "America/New_York", "America/Chicago", "America/Denver",
    "America/Los_Angeles", "America/Anchorage", "America/Halifax", "America/St_Johns",
    "America/Havana", "America/Santiago", "America/Asuncion", "America/Sao_Paulo",
    "America/Nuuk", "America/Scoresbysund", "Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun",
    "Africa/Lagos", "Asia/Beirut", "Asia/Jerusalem", "Asia/Gaza", "Asia/Kolkata", "Asia/Kathmandu",
    "Asia/Tokyo", "Asia/Tehran", "Australia/Sydney", "Australia/Adelaide", "Australia/Lord_Howe",
    "Antarctica/Troll", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Easter", "Pacific/Apia",
];

/// Small and repeatable.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// A field as text and as the numbers that it means.
struct Field {
    text: String,
    set: u64,
    star: bool,
}

fn field(random: &mut Random, (min, max): (u64, u64), star: u64) -> Field {
    let mut pick = || min + random.below(max - min + 1);
    let (a, b, c) = (pick(), pick(), pick());
    let bits = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, |set, n| set | 1 << n);
    if random.chance(star) {
        return Field { text: "*".into(), set: bits(&mut (min..=max)), star: true };
    }
    let (low, high, step) = (a.min(b), a.max(b), 1 + random.below(7));
    let stepped = |low, high| bits(&mut (low..=high).filter(|n| (n - low) % step == 0));
    let (text, set) = match random.below(5) {
        0 => (format!("*/{step}"), stepped(min, max)),
        1 => (format!("{low}-{high}"), bits(&mut (low..=high))),
        2 => (format!("{low}-{high}/{step}"), stepped(low, high)),
        3 => (format!("{a},{b},{c}"), bits(&mut [a, b, c].into_iter())),
        _ => (a.to_string(), 1 << a),
    };
    Field { star: text.starts_with('*'), text, set }
}

/// Minute, hour, day, month and day of the week of a wall time.
type Shown = [i8; 5];

fn shown(civil: DateTime) -> Shown {
    let weekday = civil.weekday().to_sunday_zero_offset();
    [civil.minute(), civil.hour(), civil.day(), civil.month(), weekday]
}

/// A minute of a zone's clock.
struct Minute {
    at: Timestamp,
    shown: Shown,
    /// The clock has shown this before.
    again: bool,
    /// What the clock left out right before.
    skipped: Vec<Shown>,
}

struct Model {
    fields: [Field; 5],
}

impl Model {
    fn random(random: &mut Random) -> Self {
        let fields = [
            field(random, (0, 59), 15),
            field(random, (0, 23), 30),
            field(random, (1, 31), 65),
            field(random, (1, 12), 85),
            field(random, (0, 6), 65),
        ];
        Self { fields }
    }

    fn text(&self) -> String {
        self.fields.each_ref().map(|field| field.text.as_str()).join(" ")
    }

    fn shows(&self, shown: Shown) -> bool {
        let has = |at: usize| self.fields[at].set >> shown[at] & 1 == 1;
        if !has(0) || !has(1) || !has(3) {
            return false;
        }
        let either = self.fields[2].text != "*" && self.fields[4].text != "*";
        if either { has(2) || has(4) } else { has(2) && has(4) }
    }

    fn is_fixed(&self) -> bool {
        !self.fields[0].star && !self.fields[1].star
    }

    /// Every instant of a span, by looking at each minute.
    fn instants(&self, minutes: &[Minute]) -> Vec<Timestamp> {
        let fixed = self.is_fixed();
        let runs = |minute: &&Minute| {
            let now = self.shows(minute.shown) && !(fixed && minute.again);
            now || (fixed && minute.skipped.iter().any(|shown| self.shows(*shown)))
        };
        minutes.iter().filter(runs).map(|minute| minute.at).collect()
    }
}

/// The minutes after an instant. The clock was not changed shortly before it.
fn minutes(zone: &Zone, from: Timestamp, count: i64) -> Vec<Minute> {
    let mut before = zone.civil(from);
    let mut top = before;
    let look = |ahead: i64| {
        let at = from.checked_add(ahead.minutes()).unwrap();
        let now = zone.civil(at);
        let next = |civil: &DateTime| civil.checked_add(1.minute()).ok();
        let skipped = std::iter::successors(next(&before), next);
        let skipped = skipped.take_while(|civil| *civil < now).map(shown).collect();
        let minute = Minute { at, shown: shown(now), again: now <= top, skipped };
        (before, top) = (now, top.max(now));
        minute
    };
    (1..=count).map(look).collect()
}

/// The days around every change of the clock in three years, and a few others.
fn spans(random: &mut Random, zone: &Zone) -> Vec<Vec<Minute>> {
    let begin = at("2026-01-01T00:00:00Z");
    let mut spans = Vec::new();
    let mut offset = zone.offset(begin);
    for hour in 0..3 * 365 * 24_i64 {
        let now = begin.checked_add(hour.hours()).unwrap();
        if zone.offset(now) != offset {
            offset = zone.offset(now);
            spans.push(minutes(zone, now.checked_sub(26.hours()).unwrap(), 2 * 26 * 60));
        }
    }
    for _ in 0..2 {
        let hour = i64::try_from(random.below(3 * 365 * 24)).unwrap();
        let start = begin.checked_add(hour.hours()).unwrap();
        let quiet = (0..4_i64).all(|day| {
            let before = start.checked_sub((day * 24).hours()).unwrap();
            zone.offset(before) == zone.offset(start)
        });
        if quiet {
            spans.push(minutes(zone, start, 2 * 24 * 60));
        }
    }
    spans
}

/// A schedule that comes at all: no 30 February.
fn sound(random: &mut Random) -> (Model, Expression) {
    loop {
        let model = Model::random(random);
        match Expression::parse(&model.text()) {
            Ok(expression) => return (model, expression),
            Err(refused) => assert!(refused.to_string().contains("never comes"), "{refused}"),
        }
    }
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Changes,
    Years,
    All,
}

#[expect(clippy::disallowed_methods, reason = "the harness chooses the size by a variable")]
fn size() -> Size {
    match std::env::var("PETASOS_ORACLE").as_deref() {
        Ok("years") => Size::Years,
        Ok("all") => Size::All,
        _ => Size::Changes,
    }
}

/// Holds a schedule against the minutes of some spans; gives how many instants there were.
fn held(model: &Model, schedule: &Schedule, spans: &[Vec<Minute>]) -> usize {
    let mut seen = 0;
    for span in spans {
        let wanted = model.instants(span);
        let from = span[0].at.checked_sub(1.minute()).unwrap();
        let until = span[span.len() - 1].at;
        let next = |at: &Timestamp| schedule.next_after(*at);
        let found: Vec<Timestamp> = std::iter::successors(schedule.next_after(from), next)
            .take_while(|at| *at <= until)
            .collect();
        assert_eq!(found, wanted, "{} {} from {from}", model.text(), schedule.zone.name());
        seen += found.len();
    }
    seen
}

#[test]
fn s120_two_thousand_schedules_agree_with_every_minute() {
    let mut random = Random(0x5eed_cafe_f00d_0001);
    let mut seen = 0;
    for name in ZONES {
        let zone = zone(name);
        let spans = match size() {
            Size::Changes => spans(&mut random, &zone),
            Size::Years | Size::All => {
                vec![minutes(&zone, at("2026-01-01T00:00:00Z"), 3 * 365 * 24 * 60)]
            }
        };
        let count = if size() == Size::All { 2000 } else { 50 };
        for _ in 0..count {
            let (model, expression) = sound(&mut random);
            assert_eq!(expression.is_fixed(), model.is_fixed(), "{}", model.text());
            let shape = Shape::Cron(Box::new(expression));
            let schedule = Schedule { shape, zone: zone.clone() };
            seen += held(&model, &schedule, &spans);
        }
        if size() == Size::All {
            // Every zone sees the same two thousand.
            random = Random(0x5eed_cafe_f00d_0001);
        }
    }
    assert!(seen > 100_000, "{seen}");
    println!("{seen} instants agree");
}
