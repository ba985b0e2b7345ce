//! Pictures that are shown in the chat, and words that are spoken into it.

use serde_json::json;

use super::home;
use super::pane::{Pane, Start};
use crate::loopback::{Loopback, Say};
use crate::making::painter;

#[test]
fn a_picture_that_was_made_is_written_to_a_terminal_that_shows_pictures() {
    let (url, _asked) = painter();
    let draw = json!({ "prompt": "a red kite" });
    let model =
        Loopback::saying(vec![Say::Calls(vec![("image_generate", draw)]), Say::Text("drawn")]);
    let more = format!(
        "display:\n  inline_images: kitty\nimage_gen:\n  provider: openai\n  openai:\n    \
         base_url: {url}\n"
    );
    let home = home(&model, &more);
    home.write(".petasos/.env", "OPENAI_API_KEY=sk-paint-0123456789abcdef\n");
    let Some(pane) = Pane::open("seen", &home, &Start::default()) else { return };
    pane.see("❯");
    let raw = home.user().join("raw");
    pane.record(&raw);
    pane.enter("draw a kite");
    pane.ready_after("drawn");
    let written = std::fs::read(&raw).expect("it was recorded");
    let written = String::from_utf8_lossy(&written).into_owned();
    assert!(written.contains("\u{1b}_Ga=T,f=100,q=2,c=1,r=1,m=0;iVBOR"), "{written:?}");
}

/// In voice mode what is heard is sent, the answer is said aloud, and the person is heard again
/// until nobody speaks any more.
#[test]
fn voice_mode_hears_answers_aloud_and_listens_again() {
    let model = Loopback::saying(vec![Say::Text("it is sunny"), Say::Text("it will rain")]);
    let wave = b"RIFF\xa4\x3e\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x80\x3e\0\0";
    let said = petasos_testkit::Home::temp();
    let recording = said.write("said.wav", [&wave[..], &[0; 16_000]].concat());
    let (heard, played) = (said.user().join("heard"), said.user().join("played"));
    let recording = recording.display();
    // Each time something else is said, and the third time nothing.
    let more = format!(
        "voice:\n  record_command: cp {recording} {{output_path}}\n  play_command: cat {{input_path}} \
         >> {played}\ntts:\n  provider: mine\n  providers:\n    mine:\n      type: command\n      \
         output_format: wav\n      command: (printf 'RIFF____WAVEfmt '; cat {{text_path}}; echo) > \
         {{output_path}}\nstt:\n  provider: mine\n  providers:\n    mine:\n      type: command\n      \
         command: echo x >> {heard}; case $(wc -l < {heard}) in 1) echo and today;; 2) echo /and \
         tomorrow;; esac\n",
        played = played.display(),
        heard = heard.display(),
    );
    let home = home(&model, &more);
    let Some(pane) = Pane::open("voice mode", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/voice on");
    pane.see("it is sunny");
    pane.see("it will rain");
    pane.see("voice mode is off");
    let asked = model.asked();
    assert!(asked[0]["messages"].to_string().contains("and today"));
    assert!(
        asked[1]["messages"].to_string().contains("and tomorrow"),
        "what is said is no command"
    );
    let aloud = std::fs::read_to_string(played).expect("it was played");
    assert!(aloud.contains("it is sunny") && aloud.contains("it will rain"), "{aloud}");
}

#[test]
fn what_is_spoken_stands_in_the_line_until_it_is_sent() {
    let model = Loopback::saying(vec![Say::Text("sunny")]);
    let wave = b"RIFF\xa4\x3e\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x80\x3e\0\0";
    let said = petasos_testkit::Home::temp();
    let said_file = said.write("said.wav", [&wave[..], &[0; 16_000]].concat());
    let more = format!(
        "voice:\n  record_command: cp {} {{output_path}}\nstt:\n  provider: mine\n  providers:\n    \
         mine:\n      type: command\n      command: echo how is the weather\n",
        said_file.display()
    );
    let home = home(&model, &more);
    let Some(pane) = Pane::open("spoken", &home, &Start::default()) else { return };
    pane.see("❯");
    pane.enter("/voice 2");
    pane.see("how is the weather");
    assert!(model.asked().is_empty(), "it is sent by its person");
    pane.press(&["Enter"]);
    pane.see("sunny");
    let asked = model.asked().last().expect("a request")["messages"].to_string();
    assert!(asked.contains("how is the weather"), "{asked}");
}
