//! `/model`: who answers, and somebody else from now on.

use petasos_contract::store::Amend;

use crate::backstage::{Page, Wish};
use crate::chat::Chat;
use crate::command::{Next, Slash};

pub(super) static SLASH: Slash = Slash {
    name: "model",
    aliases: &[],
    usage: "[name] [--provider P] [--session|--once|--global]",
    about: "Show or change the model",
    run: |chat, words| Box::pin(run(chat, words)),
};

async fn run(chat: &mut Chat, words: &str) -> Result<Next, String> {
    let asked = Asked::read(words)?;
    if asked.wish == Wish::default() {
        let text = chat.backstage.page(Page::Provider, "", &chat.choice).await?;
        chat.tell(&text);
        chat.remark(
            "/model NAME [--provider P] changes it; /models lists what the provider offers",
        );
        return Ok(Next::Done);
    }
    chat.quiet()?;
    let who = chat.backstage.resolve(&asked.wish).await?;
    let before = chat.choice.clone();
    if asked.wish.model.is_some() {
        chat.choice.model.clone_from(&asked.wish.model);
    }
    if asked.wish.provider.is_some() {
        chat.choice.provider.clone_from(&asked.wish.provider);
    }
    if asked.reach == Reach::Once {
        chat.once = Some(before);
    }
    let choice = chat.choice.clone();
    if let Some(agent) = chat.quiet()? {
        let (model, provider) = (choice.model.clone(), choice.provider.clone());
        *agent.choice_mut() = choice;
        let kept = agent.transcript().amend(Amend::Model { model, provider }).await;
        kept.map_err(|error| error.to_string())?;
        chat.remark("the provider's cache of this conversation starts anew with another model");
    }
    let reach = match asked.reach {
        Reach::Session => "for this conversation".to_owned(),
        Reach::Once => "for the next turn".to_owned(),
        Reach::Global => chat.backstage.keep_model(&asked.wish)?,
    };
    chat.tell(&format!("{who} ({reach})"));
    Ok(Next::Done)
}

/// How far a choice reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Session,
    Once,
    Global,
}

#[derive(Debug, PartialEq, Eq)]
struct Asked {
    wish: Wish,
    reach: Reach,
}

impl Asked {
    /// Reads the words; dashes that a phone made long are dashes.
    fn read(words: &str) -> Result<Self, String> {
        let words = words.replace(['—', '–'], "--");
        let mut asked = Self { wish: Wish::default(), reach: Reach::Session };
        let mut words = words.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "--provider" => {
                    let provider = words.next().ok_or("--provider needs a name")?;
                    asked.wish.provider = Some(provider.to_owned());
                }
                "--session" => asked.reach = Reach::Session,
                "--once" => asked.reach = Reach::Once,
                "--global" => asked.reach = Reach::Global,
                flag if flag.starts_with("--") => return Err(format!("there is no `{flag}` here")),
                model => asked.wish.model = Some(model.to_owned()),
            }
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_in_any_order() {
        let wish = |model: Option<&str>, provider: Option<&str>| Wish {
            model: model.map(str::to_owned),
            provider: provider.map(str::to_owned),
        };
        let read = |words| Asked::read(words).map(|it| (it.wish, it.reach));
        assert_eq!(read("a/b —once"), Ok((wish(Some("a/b"), None), Reach::Once)));
        assert_eq!(
            read("--provider p m --global"),
            Ok((wish(Some("m"), Some("p")), Reach::Global))
        );
        assert!(read("m --forever").is_err() && read("--provider").is_err());
    }
}
