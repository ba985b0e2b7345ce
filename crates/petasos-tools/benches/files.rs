//! What the file tools cost beside the plainest way to do the same: `rg` for a search, write,
//! fsync and rename for a write, and nothing at all for a page of a huge file.
//!
//! A program of its own and not a suite: the ratios matter, and both sides run in turns.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use petasos_contract::context::{Principal, Surface};
use petasos_contract::ports::Ports;
use petasos_contract::settings::Parts;
use petasos_contract::{Args, CallContext, SessionId, Settings, Tool, ToolOutput};
use petasos_tools::{FileMemory, discover_builtin_tools};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const FILES: usize = 50_000;
const ROUNDS: usize = 9;

#[expect(clippy::print_stdout, reason = "a benchmark is its output")]
fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let bench = Bench::new(folder.path())?;
    println!("{FILES} files: {:?}", tree(&bench.work)?);
    for (name, pattern) in
        [("rare", "needle_in_the_tree"), ("regex", r"drv_\w+_probe4[0-9]\("), ("common", "return")]
    {
        let (ours, theirs) = bench.search(pattern)?;
        println!("search {name}: ours {ours:?}, rg {theirs:?}, ratio {:.2}", ratio(ours, theirs));
    }
    for size in [1_000, 100_000, 5_000_000] {
        let (ours, plain) = bench.write(size)?;
        println!("write {size} B: ours {ours:?}, plain {plain:?}, ratio {:.2}", ratio(ours, plain));
    }
    let (took, grown) = bench.huge()?;
    println!("page of 2 GB: {took:?}, memory grew by {} kB", grown / 1024);
    Ok(())
}

fn ratio(ours: Duration, theirs: Duration) -> f64 {
    ours.as_secs_f64() / theirs.as_secs_f64()
}

struct Bench {
    work: PathBuf,
    cx: CallContext,
    ports: Ports,
    runtime: tokio::runtime::Runtime,
}

impl Bench {
    fn new(root: &Path) -> Outcome<Self> {
        let root = root.canonicalize()?;
        let known = Parts {
            home: root.join("home/.agent"),
            user_home: root.join("home"),
            workspace: root.join("work"),
            ..Parts::default()
        };
        fs::create_dir_all(&known.workspace)?;
        let work = known.workspace.clone();
        let settings = Arc::new(Settings::new(known));
        let cx =
            CallContext::new(settings, Surface::Embedded, SessionId::new("bench")).attended(true);
        // A script is never told that it has seen something already.
        let cx = CallContext { principal: Principal::Code, ..cx };
        let mut ports = Ports::default();
        ports.file_memory = Some(FileMemory::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { work, cx, ports, runtime })
    }

    fn tool(&self, name: &str) -> Outcome<Arc<dyn Tool>> {
        let found = discover_builtin_tools().iter().find(|def| def.name == name);
        Ok((found.ok_or("no such tool")?.build)(&self.ports))
    }

    fn call(&self, tool: &dyn Tool, args: Value) -> Outcome<Value> {
        let args = Args::try_from(args).map_err(|_| "not an object")?;
        match self.runtime.block_on(petasos_testkit::call(tool, args, &self.cx))? {
            ToolOutput::Text(text) | ToolOutput::Untrusted(text) => {
                Ok(serde_json::from_str(&text)?)
            }
            ToolOutput::Multimodal(_) | ToolOutput::Foreign(_) => Err("not text".into()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the program that we are compared with")]
    fn search(&self, pattern: &str) -> Outcome<(Duration, Duration)> {
        let tool = self.tool("search_files")?;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let started = Instant::now();
            let found = self.call(&*tool, json!({ "pattern": pattern }))?;
            ours.push(started.elapsed());
            let started = Instant::now();
            let printed = std::process::Command::new("rg")
                .args(["--no-config", "-n", "--no-heading", pattern, "."])
                .current_dir(&self.work)
                .output()?;
            theirs.push(started.elapsed());
            let lines = printed.stdout.split(|byte| *byte == b'\n').count() - 1;
            if found["total_count"] != json!(lines) {
                return Err(format!("{} is not {lines}", found["total_count"]).into());
            }
        }
        Ok((median(ours), median(theirs)))
    }

    fn write(&self, size: usize) -> Outcome<(Duration, Duration)> {
        let tool = self.tool("write_file")?;
        let (mut ours, mut plain) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS * 3 {
            let content = format!("{round}\n").repeat(size / format!("{round}\n").len());
            let path = self.work.join("written.txt");
            // A call brings its arguments along: taking them apart is not part of the write.
            let args = json!({ "path": path, "content": content });
            let started = Instant::now();
            let told = self.call(&*tool, args)?;
            ours.push(started.elapsed());
            if told["bytes_written"] != json!(content.len()) {
                return Err(told.to_string().into());
            }
            let started = Instant::now();
            plainly(&self.work.join("plain.txt"), content.as_bytes())?;
            plain.push(started.elapsed());
        }
        Ok((median(ours), median(plain)))
    }

    fn huge(&self) -> Outcome<(Duration, u64)> {
        let path = self.work.join("huge.log");
        let mut file = File::create(&path)?;
        file.write_all("line\n".repeat(1000).as_bytes())?;
        file.seek(SeekFrom::Start(2_000_000_000))?;
        file.write_all(b"\nlast\n")?;
        let tool = self.tool("read_file")?;
        let before = peak()?;
        let started = Instant::now();
        self.call(&*tool, json!({ "path": path }))?;
        Ok((started.elapsed(), peak()? - before))
    }
}

fn plainly(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    let mut file = File::create(&draft)?;
    file.write_all(content)?;
    file.sync_data()?;
    fs::rename(draft, path)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn peak() -> Outcome<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no peak")?;
    Ok(line.split_whitespace().nth(1).ok_or("no peak")?.parse::<u64>()? * 1024)
}

/// Folders and files like a kernel's: a few kinds of names, a few kilobytes of C each.
fn tree(root: &Path) -> Outcome<Duration> {
    let started = Instant::now();
    for index in 0..FILES {
        let (top, middle) = (index % 23, index / 23 % 47);
        let folder = root.join(format!("sub{top}/part{middle}"));
        if index < 23 * 47 {
            fs::create_dir_all(&folder)?;
        }
        let name = if index % 5 == 0 { format!("f{index}.h") } else { format!("f{index}.c") };
        let mut file = io::BufWriter::new(File::create(folder.join(name))?);
        for line in 0..20 + index % 60 {
            writeln!(
                file,
                "static int drv_{middle}_probe{line}(struct dev *d) {{ return d->reg[{index}]; }}"
            )?;
        }
        if index % 10_007 == 0 {
            writeln!(file, "/* needle_in_the_tree */")?;
        }
    }
    Ok(started.elapsed())
}
