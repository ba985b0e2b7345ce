//! The judge takes any text without a panic, a hang or unbounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use petasos_analysis::{Facts, Language, judge_code, judge_command};

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let facts = Facts::default();
    let languages = [Language::Python, Language::Perl, Language::Ruby, Language::JavaScript, Language::Php, Language::Awk, Language::PowerShell, Language::Other];
    // One input in eight is read as a program, the rest as a shell command.
    match languages.get(usize::from(*first).wrapping_sub(224)) {
        Some(language) => drop(judge_code(*language, &text, &facts)),
        None => drop(judge_command(&text, &facts)),
    }
});
