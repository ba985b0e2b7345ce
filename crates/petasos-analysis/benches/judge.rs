//! How fast commands are judged: the corpus, one command, and inputs made to hurt.

use divan::{Bencher, black_box};
use petasos_analysis::{Facts, judge_command};
use std::time::Instant;

#[path = "../tests/it/shapes.rs"]
mod shapes;

fn main() {
    corpus_figures();
    shape_figures();
    divan::main();
}

fn corpus() -> Vec<String> {
    let text = include_str!("../tests/data/dev.jsonl");
    let command = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
        row["command"].as_str().unwrap_or_default().to_owned()
    };
    text.lines().map(command).collect()
}

/// The figures the requirement names: median and throughput over the corpus.
#[expect(clippy::print_stdout, reason = "a benchmark reports on its standard output")]
fn corpus_figures() {
    let facts = Facts::default();
    let commands = corpus();
    let mut times = Vec::new();
    let whole = Instant::now();
    for _ in 0..20 {
        for command in &commands {
            let start = Instant::now();
            black_box(judge_command(command, &facts));
            times.push(start.elapsed());
        }
    }
    let rate =
        times.len() * 1000 / usize::try_from(whole.elapsed().as_millis().max(1)).unwrap_or(1);
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "corpus: median {:?}, p99 {:?}, slowest {:?}, {rate} commands/s",
        at(50),
        at(99),
        at(100)
    );
}

/// Inputs of 50 KB and 100 KB made to hurt: the slowest, and those that grow too fast.
#[expect(clippy::print_stdout, reason = "a benchmark reports on its standard output")]
fn shape_figures() {
    let facts = Facts::default();
    let fastest = |command: &str| {
        let runs = (0..5).map(|_| {
            let start = Instant::now();
            black_box(judge_command(command, &facts));
            start.elapsed()
        });
        runs.min().unwrap_or_default()
    };
    let whole = shapes::all(100_000);
    let half = shapes::all(50_000);
    let mut figures: Vec<_> = whole
        .iter()
        .zip(&half)
        .map(|((name, long), (_, short))| (fastest(long), fastest(short), *name))
        .collect();
    figures.sort_unstable();
    println!("shapes: {} of 100 KB, slowest first", figures.len());
    for (long, short, name) in figures.iter().rev().take(12) {
        println!("  {name}: {long:?}, at half the size {short:?}");
    }
}

#[divan::bench]
fn whole_corpus(bencher: Bencher<'_, '_>) {
    let facts = Facts::default();
    let commands = corpus();
    bencher.bench_local(|| {
        for command in &commands {
            black_box(judge_command(black_box(command), &facts));
        }
    });
}

const SIZES: [usize; 4] = [1, 2, 4, 8];
/// A quarter of the 100 KB of the requirement; four times this is the stated input.
const UNIT: usize = 25_000;

fn judged(bencher: Bencher<'_, '_>, command: &str) {
    let facts = Facts::default();
    bencher.bench_local(|| black_box(judge_command(black_box(command), &facts)));
}

fn filled(piece: &str, size: usize) -> String {
    piece.repeat(UNIT * size / piece.len())
}

#[divan::bench(args = SIZES)]
fn list_of_commands(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &filled("a;", size));
}

#[divan::bench(args = SIZES)]
fn list_of_deletes(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &filled("rm -rf x;", size));
}

#[divan::bench(args = SIZES)]
fn one_long_word(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &("echo ".to_owned() + &filled("a", size)));
}

#[divan::bench(args = SIZES)]
fn quotes(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &("echo ".to_owned() + &filled("'a'\"b\"", size)));
}

#[divan::bench(args = SIZES)]
fn many_arguments(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &("rm -rf ".to_owned() + &filled("a ", size)));
}

#[divan::bench(args = SIZES)]
fn substitutions(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &filled("echo $(ls);", size));
}

#[divan::bench(args = SIZES)]
fn open_nesting(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &filled("$(", size));
}

#[divan::bench(args = SIZES)]
fn assignments(bencher: Bencher<'_, '_>, size: usize) {
    let text = (0..UNIT * size / 15)
        .fold(String::new(), |text, index| text + "a" + &index.to_string() + "=1;(b=2);");
    judged(bencher, &text);
}

#[divan::bench(args = SIZES)]
fn pipes(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &("cat".to_owned() + &filled("|cat", size)));
}

#[divan::bench(args = SIZES)]
fn program_text(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &format!("python3 -c '{}'", filled("f(\"x\" + a);", size)));
}

#[divan::bench(args = SIZES)]
fn document(bencher: Bencher<'_, '_>, size: usize) {
    judged(bencher, &format!("cat > f <<'E'\n{}\nE\n", filled("some words of text\n", size * 5)));
}
