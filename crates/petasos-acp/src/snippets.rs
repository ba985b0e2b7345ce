//! What an editor must be told so that it finds this agent.

/// The lines of one editor.
#[derive(Debug, Clone, Copy)]
pub struct EditorSnippet {
    /// Its name at `petasos acp --setup`.
    pub editor: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// Where the lines belong.
    pub place: &'static str,
    /// The language of the lines.
    pub language: &'static str,
    /// The lines.
    pub text: &'static str,
    /// What else there is to know.
    pub about: &'static str,
}

/// Editors that are known to speak the protocol.
pub static SNIPPETS: &[EditorSnippet] = &[
    EditorSnippet {
        editor: "zed",
        name: "Zed",
        place: "settings.json",
        language: "json",
        text: r#"{
  "agent_servers": {
    "Petasos": {
      "type": "custom",
      "command": "petasos",
      "args": ["acp"],
      "env": {}
    }
  }
}
"#,
        about: "Open the agent panel, press `+` and choose Petasos.",
    },
    EditorSnippet {
        editor: "jetbrains",
        name: "JetBrains IDEs",
        place: "~/.jetbrains/acp.json",
        language: "json",
        text: r#"{
  "agent_servers": {
    "Petasos": {
      "command": "petasos",
      "args": ["acp"],
      "env": {}
    }
  }
}
"#,
        about: "AI Chat, then *Add Custom Agent* opens this file.",
    },
    EditorSnippet {
        editor: "neovim",
        name: "Neovim with CodeCompanion",
        place: "init.lua",
        language: "lua",
        text: r#"require("codecompanion").setup({
  adapters = {
    acp = {
      petasos = function()
        return require("codecompanion.adapters").extend("opencode", {
          name = "petasos",
          formatted_name = "Petasos",
          commands = { default = { "petasos", "acp" } },
        })
      end,
    },
  },
  interactions = { chat = { adapter = "petasos" } },
})
"#,
        about: "Avante has a table `acp_providers` that takes the same command and arguments.",
    },
    EditorSnippet {
        editor: "emacs",
        name: "Emacs with agent-shell",
        place: "init.el",
        language: "elisp",
        text: r#"(require 'agent-shell)
(add-to-list 'agent-shell-agent-configs
             (agent-shell-make-agent-config
              :identifier 'petasos
              :mode-line-name "Petasos"
              :buffer-name "Petasos"
              :shell-prompt "Petasos> "
              :shell-prompt-regexp "Petasos> "
              :client-maker
              (lambda (buffer)
                (agent-shell--make-acp-client
                 :command "petasos"
                 :command-params '("acp")
                 :context-buffer buffer))))
"#,
        about: "`M-x agent-shell` then offers Petasos; it is built on `acp.el`.",
    },
    EditorSnippet {
        editor: "vscode",
        name: "VS Code with an ACP extension",
        place: "settings.json",
        language: "json",
        text: r#"{
  "acp.agents": {
    "Petasos": {
      "command": "petasos",
      "args": ["acp"],
      "env": {}
    }
  }
}
"#,
        about: "VS Code has no client of its own; extensions from the marketplace bring one.",
    },
];

/// What the guide says before the lines of each editor.
const INTRODUCTION: &str = "# Editors

Petasos serves editors that speak the [Agent Client Protocol](https://agentclientprotocol.com): the
editor starts `petasos acp` and talks with it over standard input and output. Nothing else is ever
printed there. `petasos acp --check` says whether the server works here, and `petasos acp --setup
EDITOR` prints the lines below. This page is generated from the program.

Set up a provider first (`petasos setup`); without one the editor is told to authenticate.

## What is asked

| mode | edits | commands |
|---|---|---|
| Ask (`default`) | every edit, with its difference | those that may change something |
| Accept edits (`accept_edits`) | outside the workspace and the folder for temporary files | as the approval policy says |
| Do not ask (`dont_ask`) | none | as the approval policy says |
| Plan (`plan`) | nothing is written | nothing is run but what only reads |

`.env` files, keys, and what is below `.git`, `.ssh` and the agent's own folder are asked about in every
mode, each time, whatever name or link leads there, also where a command or a script would change them.
The approval policy of the program holds besides: a mode adds questions and takes none away. A question
that nobody answers expires after `approvals.gateway_timeout` seconds, and nothing runs. *Deny for this
session* refuses the same file, by any of its names and by any command that would change it, or the very
command, without another question.

## What else

- Modes, models and the level of thinking are options of a session. Chosen during a turn, a mode counts
  from the next call on, a model or a level from the next request. Who stands in for a model that fails
  is shown as the option's value.
- A call is shown as soon as its name is known, and an edit with the line that it changes. Calls of
  subagents are shown with `↳`, and what must be asked about them is asked here, unlike elsewhere.
- A text that the editor embeds is labelled as words from outside, as a page that was read would be,
  unless it is a file of the workspace; `/taint` lists them.
- An editor that offers terminals for signing in runs `petasos acp --sign-in` there. Whoever has set up
  a provider meanwhile opens a session without starting the server again.
- Text, images, embedded files and links can be part of a prompt; recordings where a recogniser is set
  up (`stt`), as the words that are heard.
- Slash commands are announced; those that a terminal needs and an editor does not are left out. One
  that becomes a turn (`/retry`, a skill) ends as the turn does. `/new` begins anew under the editor's
  name for the conversation; `/branch` and `/resume` name one that you open from the editor's list.
- MCP servers that the editor passes belong to that session alone and end with it.
- Where the editor offers its files, unsaved text is what is read and edited: an edit goes through the
  editor, or to the disk where it only shows its texts. A file that the editor cannot give is read from
  the disk, and you are told; what it refuses to write is not written.
- `acp.use_client_terminal: true` runs foreground commands in the editor's own terminal, where you see
  them and can stop them. Our sandbox does not reach there, a folder or a variable that a command
  changes is forgotten with it, and where a sandbox is required the command is refused. Background jobs
  stay with us.
- Two windows on one conversation, even of two programs, follow each other: messages and calls appear
  in both when they are stored, a question is put in both and the first answer counts.
- `acp.list_all: true` lists conversations of the terminal, too.

## The other way round: other agents

Any agent that speaks the protocol can do a part of the work (`delegate_task` takes its name), or answer
a whole conversation in the place of a model.

```yaml
acp:
  agents:
    claude:
      command: claude-agent-acp
      pass_env: [ANTHROPIC_API_KEY]
    gemini:
      command: gemini
      args: [--acp]
      pass_env: [GEMINI_API_KEY]
    codex:
      command: codex-acp
      mode: read-only
    opencode:
      command: opencode
      args: [acp]
```

It runs in the workspace of the conversation with tools of its own. What it asks permission for is
judged by your approval policy and, where that asks, by you; never for longer than once. What it does
without asking is its own affair, so put it into a mode in which it asks: by its own settings, or by
`mode`, the name of one of its modes (Codex judges by itself unless it is `read-only` or
`workspace-write`). `scripts/acp-agents` runs the four above before a model on this machine. It gets no variable but those in `env` and `pass_env`.

In the place of a model it is chosen like one: `acp:claude` among the models of an editor, `/model
claude --provider acp` in a chat, or for every conversation:

```yaml
model:
  provider: acp
  default: claude
```

Each conversation then has a program of its own, which keeps what was said; after a restart it is told
what came before. Its calls are shown and stay out of the stored transcript. Our instructions, notes and
tools are not offered to it: it has its own. The modes of an editor and plan mode hold for what it asks.
";

/// The page of the guide.
pub fn page() -> String {
    use std::fmt::Write as _;
    let mut page = String::from(INTRODUCTION);
    for snippet in SNIPPETS {
        let EditorSnippet { name, place, language, text, about, .. } = snippet;
        write!(page, "\n## {name}\n\nIn `{place}`:\n\n```{language}\n{text}```\n\n{about}\n")
            .unwrap_or_default();
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_lines_are_json_and_brackets_close() {
        for snippet in SNIPPETS {
            if snippet.language == "json" {
                let read: serde_json::Value = serde_json::from_str(snippet.text).unwrap();
                assert!(read.to_string().contains(r#""args":["acp"]"#), "{}", snippet.editor);
                continue;
            }
            let mut open = Vec::new();
            for sign in snippet.text.chars() {
                match sign {
                    '(' | '[' | '{' => open.push(sign),
                    ')' => assert_eq!(open.pop(), Some('('), "{}", snippet.editor),
                    ']' => assert_eq!(open.pop(), Some('['), "{}", snippet.editor),
                    '}' => assert_eq!(open.pop(), Some('{'), "{}", snippet.editor),
                    _ => {}
                }
            }
            assert!(open.is_empty(), "{}", snippet.editor);
        }
    }
}
