//! The texts that run in the target. POSIX `sh` and what every image has: no bash, no python.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use petasos_contract::environment::Stderr;

use super::news::News;
use petasos_terminal::remote::Order;

/// Cuts what comes on its input into numbered pieces; waits while two hundred are not fetched.
const PIECES: &str = r#"pieces() {
  n=0
  while :; do
    dd bs=65536 count=1 of="$1$n.t" 2>/dev/null || break
    [ -s "$1$n.t" ] || break
    mv "$1$n.t" "$1$n" || break
    n=$((n+1))
    while [ -e "$1$((n-200))" ]; do sleep 0.05 2>/dev/null || sleep 1; done
  done
  rm -f "$1$n.t"
  : > "$1$n.end"
}
"#;

/// Runs one program. Whoever makes the folder `taken` decides: the runner that it begins, or a
/// starter who waited in vain that it never will. The program itself runs in the foreground,
/// because what a shell starts beside itself cannot be interrupted.
const RUNNER: &str = r#"d=$1
cd "$d" || exit
mkdir taken 2>/dev/null || exit
mkfifo o || exit
pieces o < o &
if [ -e apart ]; then mkfifo e; pieces e < e & fi
holder=
from=in0
if [ -e open ]; then
  from=in
  mkfifo in x
  exec 8<>x
  { exec 9>in; cat in0 >&9; rm -f in0; read _ <&8; } 2>/dev/null &
  holder=$!
fi
: > began
(
  exec 0<"$from" 8<&-
  if [ -e apart ]; then exec >o 2>e; else exec >o 2>&1; fi
  [ "$holder" ] || rm -f in0
  cd "$HOME" 2>/dev/null || cd /
  sh "$d/run"
  code=$?
  echo "$code" > "$d/exit.t" && mv "$d/exit.t" "$d/exit"
)
[ "$holder" ] && kill "$holder" 2>/dev/null
exec 8<&-
wait
"#;

/// Starts a runner in a session of its own, where nothing of ours can reach it by accident.
pub(super) const DETACH: &str = r#"detach() {
  setsid -f sh "$1/go" "$1" </dev/null >/dev/null 2>&1 && return
  if command -v setsid >/dev/null 2>&1; then
    setsid sh "$1/go" "$1" </dev/null >/dev/null 2>&1 &
  else
    sh "$1/go" "$1" </dev/null >/dev/null 2>&1 &
  fi
}
"#;

/// Tells what is new. Leaves at once when there is news, else after so many quarter seconds.
const FETCH: &str = r#"news() {
  if [ "$gone" ]; then echo petasos-gone; echo petasos-end; return; fi
  w=0
  while [ $w -lt $limit ]; do
    [ -e "o$i" ] || [ -e "e$j" ] && break
    [ -z "$told_o" ] && [ -e "o$i.end" ] && break
    [ -z "$told_e" ] && [ -e "e$j.end" ] && break
    [ -z "$told_x" ] && [ -e exit ] && break
    w=$((w+1))
    if [ $w -lt 40 ]; then sleep 0.01 2>/dev/null || sleep 1; else sleep 0.1 2>/dev/null || { sleep 1; w=$((w+9)); }; fi
  done
  # What was written before the end is on its way through the pieces.
  if [ -e exit ] && [ ! -e "o$i.end" ] && [ ! -e "o$i" ]; then sleep 0.05 2>/dev/null; fi
  for s in o e; do
    if [ $s = o ]; then k=$i; else k=$j; fi
    list=; c=0
    while [ -e "$s$k" ] && [ $c -lt 32 ]; do list="$list $s$k"; k=$((k+1)); c=$((c+1)); done
    if [ $c -gt 0 ]; then echo "petasos-$s $c"; cat $list | base64; echo .; fi
    [ -e "$s$k.end" ] && echo "petasos-$s-end"
    if [ $s = o ]; then i=$k; else j=$k; fi
  done
  if [ -e exit ] && [ ! -e "o$i" ] && [ ! -e "e$j" ]; then echo "petasos-exit $(cat exit)"; fi
  echo petasos-end
}
"#;

/// Where the fetching of a program is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct At {
    pub(super) folder: String,
    output: Stream,
    errors: Stream,
    /// What the last answer brought; the next question tells that it has arrived.
    arrived: Vec<String>,
    exited: bool,
}

/// One stream: the next piece, and whether there will be none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Stream {
    next: u64,
    ended: bool,
}

impl Stream {
    fn take(&mut self, letter: char, pieces: u64, ended: bool) -> Vec<String> {
        let from = self.next;
        self.next += pieces;
        self.ended |= ended;
        (from..self.next).map(|at| format!("{letter}{at}")).collect()
    }
}

impl At {
    /// The beginning.
    pub(super) fn of(folder: String, order: &Order) -> Self {
        let errors = Stream { next: 0, ended: !is_apart(order) };
        let (output, arrived) = (Stream::default(), Vec::new());
        Self { folder, output, errors, arrived, exited: false }
    }

    /// Whether there is nothing more to come.
    pub(super) fn is_over(&self) -> bool {
        self.exited && self.output.ended && self.errors.ended
    }

    /// Moves on by what has arrived.
    pub(super) fn take(&mut self, news: &News) {
        self.arrived = self.output.take('o', news.outputs, news.output_ended);
        self.arrived.extend(self.errors.take('e', news.pieces_of_errors, news.errors_ended));
        self.exited |= news.exit.is_some();
    }
}

fn is_apart(order: &Order) -> bool {
    order.stderr == Stderr::Apart && order.pty.is_none()
}

/// A word for `sh`, whatever it holds.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A script that is read to its end before it begins: it may arrive on the input of its shell.
pub(super) fn whole(body: &str) -> String {
    format!("main() {{\n{body}\n}}\nmain </dev/null\n")
}

/// The text that becomes the program.
pub(crate) fn program_text(order: &Order) -> String {
    let exports = order.variables.iter();
    let mut lines: Vec<String> =
        exports.map(|(name, value)| format!("export {name}={}", quoted(value))).collect();
    let words: Vec<String> = order.argv.iter().map(|word| quoted(word)).collect();
    let words = words.join(" ");
    lines.push(match order.pty {
        None => format!("exec {words}"),
        Some(size) => {
            let sized = format!("stty rows {} cols {}; exec {words}", size.rows, size.columns);
            format!("exec script -qefc {} /dev/null", quoted(&sized))
        }
    });
    lines.push(String::new());
    lines.join("\n")
}

/// Waits until the runner has begun; decides that it never will when it has not.
const BEGUN: &str = "w=0
while [ ! -e began ] && [ $w -lt 500 ]; do w=$((w+1)); sleep 0.01 2>/dev/null || sleep 1; done
if [ ! -e began ] && mkdir taken 2>/dev/null; then
  echo petasos-not-started nothing in the sandbox takes commands; echo petasos-end; return
fi
i=0 j=0 told_o= told_e= told_x= gone= limit=6
news";

/// Brings a program, starts it, and tells what it said at once.
pub(super) fn start(
    folder: &str,
    order: &Order,
    inline: bool,
    relay: Option<String>,
    garbage: &[String],
) -> String {
    let place = quoted(folder);
    let write = |name: &str, bytes: &[u8]| {
        format!("printf %s {} | base64 -d > {name}", STANDARD.encode(bytes))
    };
    let mut lines = vec!["umask 077".to_owned()];
    lines.extend(garbage.iter().map(|old| format!("rm -rf {}", quoted(old))));
    lines.push(format!(
        "mkdir -p {place} && cd {place} || {{ echo petasos-not-started no folder can be made; \
         echo petasos-end; return; }}"
    ));
    lines.push(write("run", program_text(order).as_bytes()));
    lines.push(write("go", format!("{PIECES}{RUNNER}").as_bytes()));
    lines.push(if inline { write("in0", &order.stdin) } else { format!("mv {place}.in in0") });
    let flags = [("open", order.open), ("apart", is_apart(order))];
    lines.extend(flags.iter().filter(|(_, wanted)| *wanted).map(|(flag, _)| format!(": > {flag}")));
    lines.push(match relay {
        None => format!("detach {place}"),
        // Opened for both ways, so that a relay that is gone does not make the starter wait.
        Some(fifo) => format!("printf '%s\\n' {place} 1<>{}", quoted(&fifo)),
    });
    lines.push(BEGUN.to_owned());
    format!("{FETCH}{DETACH}{}", whole(&lines.join("\n")))
}

/// Asks for news, and tells what has arrived.
pub(super) fn fetch(at: &At, seconds: u32) -> String {
    let flag = |told: bool| if told { "1" } else { "" };
    let arrived = match at.arrived.as_slice() {
        [] => String::new(),
        arrived => format!("[ \"$gone\" ] || rm -f {}", arrived.join(" ")),
    };
    let body = format!(
        "gone=; cd {} 2>/dev/null || gone=1\n{arrived}\n\
         i={} j={} told_o={} told_e={} told_x={} limit={}\nnews",
        quoted(&at.folder),
        at.output.next,
        at.errors.next,
        flag(at.output.ended),
        flag(at.errors.ended),
        flag(at.exited),
        40 + seconds * 10,
    );
    format!("{FETCH}{}", whole(&body))
}

/// Types to a program.
pub(super) fn write_input(folder: &str, bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    whole(&format!(
        // Opened both ways first: a program that has closed its input must not make us wait.
        "cd {} && [ ! -e exit ] && [ -p in ] && exec 7<>in 8>in && exec 7<&- && printf %s {text} | base64 -d 2>/dev/null >&8",
        quoted(folder)
    ))
}

/// Ends the input of a program; of one that has ended there is nothing to end.
pub(super) fn close_input(folder: &str) -> String {
    whole(&format!("cd {} && if [ ! -e exit ] && [ -p x ]; then echo 1<>x; fi", quoted(folder)))
}

/// Ends the input of a program that nobody listens to, and removes its folder when it has ended.
pub(super) fn abandon(folder: &str) -> String {
    let place = quoted(folder);
    whole(&format!(
        "cd {place} 2>/dev/null || return 0\n\
         if [ ! -e exit ] && [ -p x ]; then echo 1<>x; fi\n\
         w=0; while [ ! -e exit ] && [ $w -lt 40 ]; do w=$((w+1)); sleep 0.05 2>/dev/null || sleep 1; done\n\
         if [ -e exit ]; then cd / && rm -rf {place}; fi"
    ))
}
