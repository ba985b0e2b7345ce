//! A dry run: the environment itself, with a few models, before anything is trained.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::effect::{Effect, Effects};
use petasos_contract::processes::HelperSpec;
use petasos_contract::{Args, CallContext, Secret};
use serde::Deserialize;
use serde_json::{Value, json};

use super::fields::text;
use super::locked::{self, Servers};
use super::{Choice, Environment, Place, Seat, line, word};
use crate::trouble::Trouble;

const MODELS: [(&str, &str); 3] = [
    ("qwen/qwen3-8b", "small"),
    ("z-ai/glm-4.7-flash", "medium"),
    ("minimax/minimax-m2.7", "large"),
];
const BASE: &str = "https://openrouter.ai/api/v1";
const KEY: &str = "OPENROUTER_API_KEY";
/// One model.
const WITHIN: Duration = Duration::from_mins(10);
const MODELS_MAX: usize = 8;
const GRACE: Duration = Duration::from_secs(2);
/// For each answer of a small model.
const ANSWERS_A_CENT: u32 = 8;

#[derive(Deserialize)]
struct Input {
    #[serde(default = "steps")]
    num_steps: u32,
    #[serde(default = "group")]
    group_size: u32,
    #[serde(default)]
    models: Vec<String>,
}

fn steps() -> u32 {
    3
}

fn group() -> u32 {
    16
}

impl Input {
    fn models(&self) -> Vec<(String, &'static str)> {
        if self.models.is_empty() {
            return MODELS.iter().map(|(id, scale)| ((*id).to_owned(), *scale)).collect();
        }
        let scale = |id: &str| MODELS.iter().find(|it| it.0 == id).map_or("custom", |it| it.1);
        self.models.iter().map(|id| (id.clone(), scale(id))).collect()
    }
}

/// How long it may take.
pub(crate) fn limit(args: &Args) -> Option<Duration> {
    let input: Input = args.clone().parse().ok()?;
    let count = u32::try_from(input.models().len().min(MODELS_MAX)).ok()?;
    Some(WITHIN * count + Duration::from_secs(30))
}

/// What it would do.
pub(crate) fn effects(args: &Args, cx: &CallContext) -> Effects {
    let (Ok(place), Ok(input)) = (Place::of(&cx.settings), args.clone().parse::<Input>()) else {
        return Effects::none();
    };
    let chosen = Choice::read(&place).ok().and_then(|choice| choice.environment);
    let known = super::scan(&place.environments());
    let Some(found) = known.into_iter().find(|it| Some(&it.name) == chosen.as_ref()) else {
        return Effects::none();
    };
    let words = vec![word(&place.python), found.file_path, "process".to_owned()];
    let models = u32::try_from(input.models().len()).unwrap_or(u32::MAX);
    let answers = input.num_steps.saturating_mul(input.group_size).saturating_mul(models);
    Effects::one(Effect::Command { script: line(&words), cwd: place.folder })
        .and(Effect::Reach("openrouter.ai".to_owned()))
        .and(Effect::Spend { cents: answers.div_ceil(ANSWERS_A_CENT) })
}

/// Runs it, one model after the other.
pub(crate) async fn trial(seat: &Seat<'_>, args: Args) -> Result<Value, Trouble> {
    let input: Input = args.parse()?;
    let models = input.models();
    if models.len() > MODELS_MAX || input.num_steps == 0 || input.group_size == 0 {
        let why = "at most 8 models, at least one step and one answer a step";
        return Err(Trouble::new("bad_argument", why));
    }
    let (_, environment) = seat.chosen()?;
    let key = seat.cx.settings.variable(KEY).map(|it| it.value.clone());
    let key = key.ok_or_else(|| {
        Trouble::new("missing_setup", "needs OPENROUTER_API_KEY for the models")
            .with("missing", vec![KEY])
    })?;
    let mut tested = Vec::new();
    for (model, scale) in &models {
        let mut told = one(seat, &environment, (model, &input), &key).await;
        told["model"] = model.as_str().into();
        told["scale"] = (*scale).into();
        tested.push(told);
        if seat.cx.cancel.is_cancelled() {
            break;
        }
    }
    let working = tested.iter().filter(|it| it["steps_tested"].as_u64() > Some(0)).count();
    let rollouts = u64::from(input.num_steps) * u64::from(input.group_size);
    Ok(json!({
        "environment": environment.name,
        "environment_file": environment.file_path,
        "test_config": {
            "num_steps": input.num_steps,
            "group_size": input.group_size,
            "rollouts_per_model": rollouts,
        },
        "summary": { "models_tested": tested.len(), "models_working": working },
        "models_tested": tested,
    }))
}

async fn one(
    seat: &Seat<'_>,
    environment: &Environment,
    (model, input): (&str, &Input),
    key: &Secret,
) -> Value {
    let plain = |it: char| if it.is_ascii_alphanumeric() { it } else { '_' };
    let safe: String = model.chars().map(plain).collect();
    let output = seat.place.kept.join("trials").join(format!("{}_{safe}.jsonl", environment.name));
    match run(seat, environment, (model, input), (&output, key)).await {
        Ok(()) => scored(&output),
        Err(why) => json!({ "error": why, "steps_tested": 0 }),
    }
}

async fn run(
    seat: &Seat<'_>,
    environment: &Environment,
    (model, input): (&str, &Input),
    (output, key): (&Path, &Secret),
) -> Result<(), String> {
    let processes = seat.ports.processes.as_ref().ok_or("programs cannot be started here")?;
    if let Some(folder) = output.parent() {
        tokio::fs::create_dir_all(folder).await.map_err(|error| error.to_string())?;
    }
    // What an earlier trial left is not this one's.
    tokio::fs::remove_file(output).await.unwrap_or_default();
    let locked = locked::environment(&Servers::of(&seat.cx.settings));
    let mut argv =
        vec![word(&seat.place.python), environment.file_path.clone(), "process".to_owned()];
    let mut option = |name: &str, value: String| argv.extend([format!("--{name}"), value]);
    option("env.total_steps", input.num_steps.to_string());
    option("env.group_size", input.group_size.to_string());
    option("env.use_wandb", "false".to_owned());
    option("env.data_path_to_save_groups", word(output));
    for name in ["tokenizer_name", "max_token_length", "max_num_workers", "max_batches_offpolicy"] {
        let value = locked.get(name).cloned().unwrap_or_default();
        option(
            &format!("env.{name}"),
            value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        );
    }
    let base = seat.cx.settings.text("services.endpoints.openrouter").unwrap_or(BASE);
    option("openai.base_url", base.to_owned());
    option("openai.model_name", model.to_owned());
    option("openai.server_type", "openai".to_owned());
    option("openai.health_check", "false".to_owned());
    let mut spec = HelperSpec::new("trial of an environment", argv, &seat.cx.settings);
    spec.cwd.clone_from(&seat.place.folder);
    spec.env.insert("PYTHONPATH".to_owned(), word(&seat.place.folder));
    // The client of the environment reads its key here; a command line is seen by everybody.
    spec.env.insert("OPENAI_API_KEY".to_owned(), key.expose().to_owned());
    let helper = processes.start(spec).await.map_err(|error| error.to_string())?;
    let hand = Arc::clone(&helper.hand);
    drop(helper.stdin);
    let work = async { tokio::join!(hand.exited(), text(helper.stdout), text(helper.stderr)) };
    let ended = tokio::select! {
        biased;
        () = seat.cx.cancel.cancelled() => Err("cancelled"),
        ended = tokio::time::timeout(WITHIN, work) => ended.map_err(|_| "it took longer than 600 s"),
    };
    match ended {
        Err(why) => {
            hand.kill(GRACE).await.map_err(|error| error.to_string())?;
            Err(why.to_owned())
        }
        Ok((ending, _, err)) => match ending.map_err(|error| error.to_string())?.code() {
            0 => Ok(()),
            code => {
                let last = err.trim().lines().last().unwrap_or("it said nothing");
                Err(format!("it ended with {code}: {last}"))
            }
        },
    }
}

/// What the groups that were written down say.
fn scored(output: &Path) -> Value {
    let Ok(text) = std::fs::read_to_string(output) else {
        return json!({ "error": "it wrote no groups", "steps_tested": 0 });
    };
    let groups = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut steps, mut all, mut right, mut any) = (Vec::new(), 0_usize, 0_usize, 0_usize);
    for group in groups {
        let scores = group["scores"].as_array().cloned().unwrap_or_default();
        let correct = scores.iter().filter(|it| it.as_f64().is_some_and(|it| it > 0.0)).count();
        all += scores.len();
        right += correct;
        any += usize::from(correct > 0);
        steps.push(json!({
            "step": steps.len() + 1,
            "completions": scores.len(),
            "correct": correct,
        }));
    }
    json!({
        "steps_tested": steps.len(),
        "steps": steps,
        "total_completions": all,
        "correct_completions": right,
        "accuracy": share(right, all),
        "step_success_rate": share(any, steps.len()),
        "output_file": word(output),
    })
}

/// A share in thousandths.
fn share(part: usize, whole: usize) -> f64 {
    let thousandths = part.saturating_mul(1000).checked_div(whole).unwrap_or_default();
    f64::from(u32::try_from(thousandths).unwrap_or(1000)) / 1000.0
}
