//! What is said of a turn that is not words and not calls.

use std::sync::Arc;

use petasos_contract::event::Event;
use petasos_contract::reply::Delta;

use super::*;

const CANVAS: Canvas = Canvas { columns: 80, colour: false };

fn last_row(view: &View) -> String {
    view.rows(CANVAS, 20).last().map(Line::text).unwrap_or_default()
}

#[test]
fn a_pause_before_another_try_is_no_thinking() {
    let mut view = View::new(true, Arc::new(|_| String::new()));
    view.begin("thinking");
    assert!(last_row(&view).contains("thinking"), "{}", last_row(&view));
    let text = "`custom` had an internal error (500); asking again in 3 s".to_owned();
    view.take(Event::Notice { text }, CANVAS);
    assert!(last_row(&view).contains("waiting"), "{}", last_row(&view));
    let delta = Delta::Text { text: "hello".to_owned() };
    view.delta((1, 1), delta, CANVAS);
    assert!(last_row(&view).contains("writing"), "{}", last_row(&view));
}
