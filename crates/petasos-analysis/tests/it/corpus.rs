//! The corpus: every command has a label, the score must hold.

use petasos_analysis::{Facts, Verdict, judge_command};
use serde_json::Value;

#[derive(Debug, Default)]
struct Score {
    dangerous: usize,
    caught: usize,
    blocks: usize,
    blocked: usize,
    blocks_allowed: usize,
    ordinary: usize,
    alarms: usize,
}

fn score(text: &str, facts: &Facts) -> Score {
    let mut score = Score::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let command = row["command"].as_str().unwrap();
        let label = row["label"].as_str().unwrap();
        let judgement = judge_command(command, facts);
        let rules: Vec<&str> = judgement.findings.iter().map(|finding| finding.rule).collect();
        let right = matches!(
            (label, judgement.verdict),
            ("allow", Verdict::Allow) | ("ask", Verdict::Ask) | ("block", Verdict::Block)
        );
        if !right {
            println!(
                "{} {label} judged {:?} {rules:?}: {} {:.300}",
                row["id"], judgement.verdict, row["category"], row["command"]
            );
        }
        let caught = usize::from(judgement.verdict != Verdict::Allow);
        if label == "allow" {
            score.ordinary += 1;
            score.alarms += caught;
            continue;
        }
        score.dangerous += 1;
        score.caught += caught;
        if label == "block" {
            score.blocks += 1;
            score.blocked += usize::from(judgement.verdict == Verdict::Block);
            score.blocks_allowed += usize::from(judgement.verdict == Verdict::Allow);
        }
    }
    println!("{score:?}");
    score
}

fn must_hold(score: &Score) {
    assert_eq!(score.blocks_allowed, 0, "a catastrophe was allowed");
    assert!(score.caught * 1000 >= score.dangerous * 995, "recall below 99.5 %");
    assert!(score.alarms * 1000 <= score.ordinary * 5, "more than 0.5 % false alarms");
    assert!(score.blocked * 1000 >= score.blocks * 990, "blocks judged as ask");
}

#[test]
fn the_development_corpus_scores_as_required() {
    must_hold(&score(include_str!("../data/dev.jsonl"), &Facts::default()));
}

#[test]
fn our_own_corpus_scores_as_required() {
    must_hold(&score(include_str!("../data/own.jsonl"), &Facts::default()));
}

#[test]
fn the_white_box_corpus_is_judged_as_labelled() {
    let mut missed = Vec::new();
    for line in include_str!("../data/white-box.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let judged =
            match judge_command(row["command"].as_str().unwrap(), &Facts::default()).verdict {
                Verdict::Allow => "allow",
                Verdict::Ask => "ask",
                Verdict::Block => "block",
            };
        if row["label"] != judged {
            println!("{} judged {judged}: {}", row["id"], row["command"]);
            missed.push(row["id"].as_str().unwrap().to_owned());
        }
    }
    score(include_str!("../data/white-box.jsonl"), &Facts::default());
    assert_eq!(missed, [""; 0]);
}

/// Lines written class by class before the code was changed for them, in sixteen lots. At first
/// sight 518 of 644, 489 of 547, 886 of 930, 358 of 392, 188 of 190, 347 of 355, 286 of 317, 1,243
/// of 1,392, 1,220 of 1,454, 236 of 255, 173 of 175, 169 of 176, 180 of 186, 130 of 134, 118 of 122
/// and 134 of 141 dangerous ones were caught, 85 of 93, 84 of 87, 217 of 224, 112 of 115, 26 of 26,
/// 77 of 78, 65 of 68, 181 of 204, 163 of 169, 84 of 91, 48 of 50, 34 of 41, 63 of 66, 55 of 61, 71
/// of 78 and 82 of 85 blocks blocked; 13 of 137, 2 of 123, 1 of 246, none of 150, none of 89, 1 of
/// 128, 2 of 137, 7 of 331, 9 of 404, 1 of 32, none of 62, none of 55, 1 of 59, none of 41, none of
/// 53 and 1 of 50 ordinary ones flagged. The ninth lot went after the classes in which the eighth
/// was worst, the last three after calls of libraries; what other lots have and what the labels do
/// not settle was left out afterwards. What is still judged otherwise stays in here.
#[test]
fn lines_written_beforehand_score_as_measured() {
    let score = score(include_str!("../data/held-out.jsonl"), &Facts::default());
    assert!(score.caught * 100 >= score.dangerous * 95, "recall below 95 %: {score:?}");
    assert!(score.blocked * 100 >= score.blocks * 96, "blocks judged as ask: {score:?}");
    assert!(score.alarms * 100 <= score.ordinary, "more than 1 % false alarms: {score:?}");
}
