//! Recognises what should not run in the foreground, and says where it belongs.

use super::words::{Simple, simples};

/// Why a command should go into the background instead, with advice.
pub(super) fn refusal(command: &str) -> Option<String> {
    let simples = simples(command);
    if let Some(word) = simples.iter().find_map(leaves) {
        return Some(format!(
            "`{word}` sends a process away where nobody can see or end it: run the command with \
             background=true instead, without `{word}`"
        ));
    }
    let server = simples.iter().find(|simple| serves(simple.program()))?;
    Some(format!(
        "`{}` looks like a server or watcher that does not end by itself: run it with \
         background=true, then use the process tool to read its output; for a test of a moment \
         use `timeout 5 …`",
        server.words.join(" ")
    ))
}

fn leaves(simple: &Simple) -> Option<&'static str> {
    if simple.is_sent_away {
        return Some("&");
    }
    let first = simple.program().first()?.as_str();
    ["nohup", "disown", "setsid"].into_iter().find(|word| *word == first)
}

fn serves(words: &[String]) -> bool {
    let asks = |word: &String| matches!(word.as_str(), "--help" | "-h" | "--version" | "-V" | "-v");
    if words.iter().any(asks) {
        return false;
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let script = |word: &str| {
        let name = word.split(':').next().unwrap_or(word);
        matches!(name, "dev" | "start" | "serve" | "watch")
    };
    match words.as_slice() {
        ["npm" | "pnpm" | "yarn" | "bun", "run", name, ..]
        | ["npm" | "pnpm" | "yarn" | "bun", name, ..] => script(name),
        ["docker", "compose", rest @ ..] | ["docker-compose", rest @ ..] => {
            rest.contains(&"up") && !rest.iter().any(|word| matches!(*word, "-d" | "--detach"))
        }
        ["next" | "nuxt" | "astro", "dev", ..]
        | ["vite"]
        | ["vite", "dev" | "serve" | "preview", ..]
        | ["nodemon" | "uvicorn" | "gunicorn" | "hypercorn", ..]
        | ["flask", "run", ..]
        | ["rails", "server" | "s", ..] => true,
        ["vite", option, ..] => option.starts_with("--"),
        [python, "-m", "http.server", ..] => python.starts_with("python"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_from_commands_that_end() {
        let refused = [
            "npm run dev",
            "yarn start",
            "pnpm dev:web",
            "cd app && npm run watch",
            "PORT=1 docker compose -f x.yml up",
            "npx vite --port 3",
            "uvicorn app:app --reload",
            "python3 -m http.server 8000",
            "nohup ./run.sh",
            "./server &",
            "sleep 5 & echo x",
            "setsid foo",
            "foo; disown",
            "cat > a <<E\nx\nE\nnpm run dev",
        ];
        for command in refused {
            assert!(refusal(command).is_some(), "{command}");
        }
        let fine = [
            "npm run build",
            "npm install",
            "npm run dev --help",
            "docker compose up -d",
            "vite build",
            "echo 'npm run dev'",
            "echo \"a & b\"",
            "make 2>&1 | tee log",
            "a && b",
            "foo &> out",
            "git commit -m 'start & stop'",
            "gunicorn --version",
            "grep nohup file",
            "cat > a.c <<'E'\nint *p = &x;\nE\ncc a.c",
            "cat > README.md <<E\nnpm run dev\nE",
        ];
        for command in fine {
            assert_eq!(refusal(command), None, "{command}");
        }
    }
}
