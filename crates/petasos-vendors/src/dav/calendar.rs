//! Events of calendars: listed within a time, made, changed and removed.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::lines::{Line, escaped, folded, unfolded};
use super::when::{When, stamp};
use super::{CALDAV, Collection, Dav};
use crate::fault::VendorError;
use crate::service::{Answer, Sent};
use crate::text::{alike, cut};

const TITLE_CHARS: usize = 300;
const WORDS_CHARS: usize = 2000;
const EVENTS_MAX: usize = 500;
const TEXT_CHARS_MAX: usize = 20_000;

/// From when to when.
#[derive(Debug, Clone)]
pub struct Span {
    /// Its begin.
    pub from: When,
    /// Its end.
    pub to: When,
    /// The zone of whoever asks.
    pub zone: TimeZone,
}

/// What an event is to say; what is not given stays.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Its title.
    pub title: Option<String>,
    /// Its begin.
    pub start: Option<When>,
    /// Its end.
    pub end: Option<When>,
    /// Where it is.
    pub location: Option<String>,
    /// More words.
    pub description: Option<String>,
}

/// The properties of the event in a file that is no exception of a series.
fn event(text: &str) -> Vec<Vec<Line>> {
    let (mut events, mut depth): (Vec<Vec<Line>>, Vec<String>) = (Vec::new(), Vec::new());
    for line in unfolded(text).iter().filter_map(|line| Line::read(line)) {
        match line.name.as_str() {
            "BEGIN" => {
                depth.push(line.value.trim().to_uppercase());
                if depth.last().is_some_and(|it| it == "VEVENT") {
                    events.push(Vec::new());
                }
            }
            "END" => {
                depth.pop();
            }
            // Alarms inside of an event have properties of their own.
            _ if depth.last().is_some_and(|it| it == "VEVENT") => {
                if let Some(last) = events.last_mut() {
                    last.push(line);
                }
            }
            _ => {}
        }
    }
    events
}

fn find<'a>(lines: &'a [Line], name: &str) -> Option<&'a Line> {
    lines.iter().find(|line| line.name == name)
}

fn row(lines: &[Line], href: &str, calendar: &str, zone: &TimeZone) -> Option<(Timestamp, Value)> {
    let start = When::of(find(lines, "DTSTART")?)?;
    let text = |name: &str, chars| find(lines, name).map(|line| cut(&line.text(), chars));
    let mut told = json!({
        "id": href, "calendar": calendar, "title": text("SUMMARY", TITLE_CHARS).unwrap_or_default(),
        "start": start.told(zone),
    });
    let end = find(lines, "DTEND").and_then(When::of).map(|end| end.told(zone));
    let series = find(lines, "RRULE").map(|line| line.value.clone());
    let guests = lines.iter().filter(|line| line.name == "ATTENDEE").count();
    if let Some(object) = told.as_object_mut() {
        for (key, value) in [
            ("end", end),
            ("location", text("LOCATION", TITLE_CHARS)),
            ("description", text("DESCRIPTION", WORDS_CHARS)),
            ("status", text("STATUS", 40)),
            ("recurs", series),
        ] {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                object.insert(key.to_owned(), value.into());
            }
        }
        if matches!(start, When::Day(_)) {
            object.insert("all_day".to_owned(), true.into());
        }
        if guests > 0 {
            object.insert("attendees".to_owned(), guests.into());
        }
    }
    Some((start.instant(zone)?, told))
}

impl Dav {
    async fn calendars(&self) -> Result<Vec<Collection>, VendorError> {
        self.collections("calendar-home-set", "calendar").await
    }

    /// The calendars.
    pub async fn calendar_list(&self) -> Result<Value, VendorError> {
        let all = self.calendars().await?;
        let rows: Vec<Value> =
            all.iter().map(|it| json!({ "id": it.href, "name": it.name })).collect();
        Ok(json!({ "success": true, "count": rows.len(), "calendars": rows }))
    }

    /// The calendar of a name; without one, the only one there is.
    async fn calendar(&self, name: Option<&str>) -> Result<Collection, VendorError> {
        let all = self.calendars().await?;
        let names: Vec<String> = all.iter().map(|it| it.name.clone()).collect();
        let Some(name) = name else {
            return match <[Collection; 1]>::try_from(all) {
                Ok([only]) => Ok(only),
                Err(none) if none.is_empty() => Err(VendorError::new(
                    "not_found",
                    "the account has no calendar; make one there",
                )),
                Err(_) => {
                    Err(VendorError::new("ambiguous", "there are several calendars: name one")
                        .with("candidates", names))
                }
            };
        };
        let same = |it: &&Collection| it.href == name || it.name.eq_ignore_ascii_case(name);
        let mut found = all.iter().filter(same);
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.clone()),
            (Some(_), Some(_)) => {
                let ids: Vec<String> = all.iter().filter(same).map(|it| it.href.clone()).collect();
                Err(VendorError::new(
                    "ambiguous",
                    format!("several calendars are called `{name}`: give its id"),
                )
                .with("candidates", ids))
            }
            (None, _) => {
                let near = alike(name, names.iter().map(String::as_str), 5);
                let near = if near.is_empty() { names } else { near };
                Err(VendorError::new(
                    "not_found",
                    format!("there is no calendar `{}`", cut(name, 100)),
                )
                .with("candidates", near))
            }
        }
    }

    /// Events within a time, of one calendar or of all, in order.
    pub async fn events(
        &self,
        span: &Span,
        calendar: Option<&str>,
        words: &str,
    ) -> Result<Value, VendorError> {
        let (Some(from), Some(to)) = (span.from.instant(&span.zone), span.to.instant(&span.zone))
        else {
            return Err(VendorError::argument("the time cannot be placed in its zone"));
        };
        if from >= to {
            return Err(VendorError::argument("`to` must be later than `from`"));
        }
        let calendars = match calendar {
            Some(name) => vec![self.calendar(Some(name)).await?],
            None => self.calendars().await?,
        };
        let (from, to) = (stamp(from), stamp(to));
        let body = format!(
            "<C:calendar-query xmlns:D=\"DAV:\" xmlns:C=\"{CALDAV}\"><D:prop><C:calendar-data>\
             <C:expand start=\"{from}\" end=\"{to}\"/></C:calendar-data></D:prop><C:filter>\
             <C:comp-filter name=\"VCALENDAR\"><C:comp-filter name=\"VEVENT\">\
             <C:time-range start=\"{from}\" end=\"{to}\"/></C:comp-filter></C:comp-filter>\
             </C:filter></C:calendar-query>"
        );
        let wanted: Vec<String> =
            words.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let mut rows = Vec::new();
        for calendar in &calendars {
            for it in self.listed("REPORT", &calendar.href, "1", body.clone()).await? {
                let href = self.path(&it.href)?;
                for lines in event(it.text("calendar-data").unwrap_or_default()) {
                    rows.extend(row(&lines, &href, &calendar.name, &span.zone));
                }
            }
        }
        rows.retain(|(_, row)| {
            let text = ["title", "location", "description"]
                .map(|key| row.get(key).and_then(Value::as_str).unwrap_or_default().to_lowercase());
            wanted.iter().all(|word| text.iter().any(|text| text.contains(word)))
        });
        rows.sort_by_key(|(at, _)| *at);
        let total = rows.len();
        let rows: Vec<Value> = rows.into_iter().take(EVENTS_MAX).map(|(_, row)| row).collect();
        Ok(json!({
            "success": true, "time_zone": span.zone.iana_name().unwrap_or("UTC"),
            "count": rows.len(), "total": total, "events": rows,
        }))
    }

    /// Makes an event; the same token again makes no second one.
    pub async fn create(
        &self,
        calendar: Option<&str>,
        change: &Change,
        token: &str,
        zone: &TimeZone,
    ) -> Result<Value, VendorError> {
        let (Some(title), Some(start)) = (&change.title, &change.start) else {
            return Err(VendorError::argument("an event needs `title` and `start`"));
        };
        let end = change.end.clone().or_else(|| start.usual_end());
        ordered(Some(start), end.as_ref(), zone)?;
        bounded(change)?;
        let calendar = self.calendar(calendar).await?;
        let digest = Sha256::digest(format!("{token}\n{title}\n{}", start.line("S")));
        let mark = digest.iter().take(12).fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
        let uid = format!("petasos-{mark:024x}");
        let mut lines = vec![
            "BEGIN:VCALENDAR".to_owned(),
            "VERSION:2.0".to_owned(),
            "PRODID:-//petasos//EN".to_owned(),
            "BEGIN:VEVENT".to_owned(),
            format!("UID:{uid}"),
            format!("DTSTAMP:{}", stamp(Timestamp::now())),
            start.line("DTSTART"),
        ];
        lines.extend(end.as_ref().map(|end| end.line("DTEND")));
        lines.extend(written(change));
        lines.extend(["END:VEVENT".to_owned(), "END:VCALENDAR".to_owned()]);
        let href = format!("{}/{uid}.ics", calendar.href.trim_end_matches('/'));
        let file = folded(lines.iter().map(String::as_str));
        let answer = self.put(&href, file, ("if-none-match", "*".to_owned())).await?;
        if answer.status == 412 {
            let text = "this very event is there already; change it instead";
            return Err(VendorError::new("bad_argument", text).with("id", href));
        }
        self.good(&answer)?;
        Ok(json!({
            "success": true, "id": href, "calendar": calendar.name, "title": title,
            "start": start.told(zone), "end": end.map(|end| end.told(zone)),
        }))
    }

    /// Changes an event; what others changed meanwhile is not overwritten.
    pub async fn update(
        &self,
        id: &str,
        change: &Change,
        zone: &TimeZone,
    ) -> Result<Value, VendorError> {
        bounded(change)?;
        let (href, text, tag) = self.file(id).await?;
        let events = event(&text);
        let series = events.len() > 1 || events.iter().any(|it| find(it, "RRULE").is_some());
        if change.start.is_some() != change.end.is_some() {
            return Err(VendorError::argument("give `start` and `end` together"));
        }
        if series && change.start.is_some() {
            let text = "this event recurs: its times are changed in the calendar itself";
            return Err(VendorError::new("unsupported", text));
        }
        ordered(change.start.as_ref(), change.end.as_ref(), zone)?;
        let file = changed(&text, change);
        let answer = self.put(&href, file, ("if-match", tag)).await?;
        if answer.status == 412 {
            let text = "somebody changed the event meanwhile; look at it again";
            return Err(VendorError::new("stale", text));
        }
        self.good(&answer)?;
        Ok(json!({ "success": true, "id": href, "message": "the event was changed" }))
    }

    /// Removes an event as it was last seen.
    pub async fn delete(&self, id: &str) -> Result<Value, VendorError> {
        let (href, text, tag) = self.file(id).await?;
        let sent = Sent { headers: vec![("if-match", tag)], ..Sent::default() };
        let answer = self.ask("DELETE", &href, sent).await?;
        if answer.status == 412 {
            let text = "somebody changed the event meanwhile; look at it again";
            return Err(VendorError::new("stale", text));
        }
        self.good(&answer)?;
        let title = event(&text).first().and_then(|it| find(it, "SUMMARY").map(Line::text));
        Ok(
            json!({ "success": true, "id": href, "title": title, "message": "the event was removed" }),
        )
    }

    /// An event's file by its id, which lies in one of the calendars.
    async fn file(&self, id: &str) -> Result<(String, String, String), VendorError> {
        let unknown = || VendorError::new("not_found", "there is no such event: list them for ids");
        let href = self.path(id).map_err(|_| unknown())?;
        let inside = |it: &Collection| {
            let folder = format!("{}/", it.href.trim_end_matches('/'));
            href.strip_prefix(&folder).is_some_and(|name| !name.is_empty() && !name.contains('/'))
        };
        if !self.calendars().await?.iter().any(inside) {
            return Err(unknown());
        }
        let answer = self.ask("GET", &href, Sent::default()).await?;
        if answer.status == 404 {
            return Err(unknown());
        }
        self.good(&answer)?;
        let tag = answer.headers.get("etag").and_then(|tag| tag.to_str().ok());
        let tag = tag.unwrap_or("*").to_owned();
        Ok((href, String::from_utf8_lossy(&answer.body).into_owned(), tag))
    }

    async fn put(
        &self,
        href: &str,
        file: String,
        condition: (&'static str, String),
    ) -> Result<Answer, VendorError> {
        let body = Some(("text/calendar; charset=utf-8", file.into()));
        self.ask("PUT", href, Sent { body, headers: vec![condition] }).await
    }

    fn good(&self, answer: &Answer) -> Result<(), VendorError> {
        if (200..300).contains(&answer.status) { Ok(()) } else { Err(self.service.failure(answer)) }
    }
}

fn ordered(start: Option<&When>, end: Option<&When>, zone: &TimeZone) -> Result<(), VendorError> {
    let (Some(start), Some(end)) = (start, end) else { return Ok(()) };
    if matches!(start, When::Day(_)) != matches!(end, When::Day(_)) {
        return Err(VendorError::argument("`start` and `end` are both days or both times"));
    }
    if start.instant(zone) >= end.instant(zone) {
        return Err(VendorError::argument("`end` must be later than `start`"));
    }
    Ok(())
}

fn bounded(change: &Change) -> Result<(), VendorError> {
    let texts = [&change.title, &change.location, &change.description];
    if texts.into_iter().flatten().any(|text| text.chars().count() > TEXT_CHARS_MAX) {
        return Err(VendorError::new(
            "too_large",
            "a text of the event is longer than 20,000 characters",
        ));
    }
    Ok(())
}

/// The texts that are given, as properties.
fn written(change: &Change) -> Vec<String> {
    let texts = [
        ("SUMMARY", &change.title),
        ("LOCATION", &change.location),
        ("DESCRIPTION", &change.description),
    ];
    let given = texts.into_iter().filter_map(|(name, text)| {
        let text = text.as_deref().filter(|text| !text.is_empty())?;
        Some(format!("{name}:{}", escaped(text)))
    });
    given.collect()
}

/// The file with what is given replaced in its first event, and everything else as it was.
fn changed(text: &str, change: &Change) -> String {
    let times = change.start.is_some();
    let replaced = |name: &str| match name {
        "SUMMARY" => change.title.is_some(),
        "LOCATION" => change.location.is_some(),
        "DESCRIPTION" => change.description.is_some(),
        "DTSTART" | "DTEND" | "DURATION" => times,
        "DTSTAMP" | "LAST-MODIFIED" => true,
        _ => false,
    };
    let (mut kept, mut depth, mut seen) = (Vec::new(), Vec::new(), 0_usize);
    for raw in unfolded(text) {
        let line = Line::read(&raw);
        let name = line.as_ref().map(|line| line.name.as_str()).unwrap_or_default();
        let value = line.as_ref().map(|line| line.value.trim().to_uppercase()).unwrap_or_default();
        let inside = seen == 1 && depth.last().is_some_and(|it: &String| it == "VEVENT");
        match name {
            "BEGIN" => {
                seen += usize::from(value == "VEVENT");
                depth.push(value);
            }
            "END" => {
                if inside {
                    let now = stamp(Timestamp::now());
                    kept.extend([format!("DTSTAMP:{now}"), format!("LAST-MODIFIED:{now}")]);
                    kept.extend(change.start.as_ref().map(|start| start.line("DTSTART")));
                    kept.extend(change.end.as_ref().map(|end| end.line("DTEND")));
                    kept.extend(written(change));
                }
                depth.pop();
            }
            _ if inside && replaced(name) => continue,
            _ => {}
        }
        kept.push(raw);
    }
    folded(kept.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_leaves_everything_else_as_it_was() {
        let text = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nSUMMARY:Old\r\nDTSTART:20261120T100000Z\r\n\
            X-OWN;A=b:kept\r\nBEGIN:VALARM\r\nDESCRIPTION:ring\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
        let change = Change {
            title: Some("New, and; better\nBEGIN:VEVENT".to_owned()),
            description: Some(String::new()),
            ..Change::default()
        };
        let new = changed(text, &change);
        assert!(new.contains("X-OWN;A=b:kept") && new.contains("DESCRIPTION:ring"), "{new}");
        assert!(new.contains("DTSTART:20261120T100000Z") && !new.contains("SUMMARY:Old"));
        let events = event(&new);
        assert_eq!(events.len(), 1, "words do not become another event: {new}");
        assert_eq!(find(&events[0], "SUMMARY").unwrap().text(), "New, and; better\nBEGIN:VEVENT");
    }
}
