//! Words into a picture: who draws, with which model, and what became of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use petasos_contract::ports::Logins;
use petasos_contract::{CallContext, Secret, Settings};
use tokio::time::Instant;

use crate::course::{Begun, Course, Made, Shop};
use crate::fault::MediaError;
use crate::images::PAINTERS;
use crate::picture::{self, Picture};
use crate::sniff::PictureKind;
use crate::store::{Shelf, Store};
use crate::vendor::{Answer, Outgoing, Vendor};

const SECTION: &str = "image_gen";
const PATIENCE: Duration = Duration::from_mins(3);
const PICTURE_BYTES_MAX: usize = 50 << 20;
/// What is said about a picture that was handed in.
const HANDED_IN_MAX: usize = 1 << 20;
/// What a picture whose price is not known counts as.
pub const CENTS_UNKNOWN: u32 = 10;
/// What is said when nobody was chosen.
pub const NEEDS: &str = "needs image_gen.provider";
/// What another one may be asked after.
const PASSING: [&str; 4] = ["rate_limited", "quota", "upstream", "timeout"];

/// Somebody who draws: data, and pure functions.
#[derive(Debug)]
pub struct ImageDef {
    /// Who is asked; its name is the one in settings and results.
    pub vendor: Vendor,
    /// The login that pays in the place of a key.
    pub login: Option<&'static str>,
    /// How pictures to work from are handed in, where the request takes addresses only.
    pub stage: Option<Stage>,
    /// The variable that names a model, where there is one.
    pub variable: Option<&'static str>,
    /// Models that are known, the usual one first.
    pub models: &'static [ImageModel],
    /// What is asked.
    pub outgoing: fn(&Draw) -> Outgoing,
    /// How it is made.
    pub course: Course,
}

/// How a picture is handed in before it is worked from.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// What is sent.
    pub outgoing: fn(&Picture) -> Outgoing,
    /// The address that it has from then on.
    pub address: fn(&Answer) -> Result<String, String>,
}

/// What a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageModel {
    /// Its name.
    pub id: &'static str,
    /// So many pictures it takes to work from; none when it cannot edit.
    pub sources: usize,
    /// What one picture costs at most, in cents.
    pub cents: u32,
}

/// The shape of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aspect {
    /// Wide.
    #[default]
    Landscape,
    /// As wide as high.
    Square,
    /// High.
    Portrait,
}

impl Aspect {
    /// By its word.
    pub fn of(word: &str) -> Option<Self> {
        match word.trim().to_ascii_lowercase().as_str() {
            "landscape" => Some(Self::Landscape),
            "square" => Some(Self::Square),
            "portrait" => Some(Self::Portrait),
            _ => None,
        }
    }

    /// As a ratio, which most vendors understand.
    pub fn ratio(self) -> &'static str {
        match self {
            Self::Landscape => "16:9",
            Self::Square => "1:1",
            Self::Portrait => "9:16",
        }
    }

    /// As pixels of OpenAI's three sizes.
    pub fn pixels(self) -> &'static str {
        match self {
            Self::Landscape => "1536x1024",
            Self::Square => "1024x1024",
            Self::Portrait => "1024x1536",
        }
    }
}

/// What is to be drawn.
#[derive(Debug, Clone, Default)]
pub struct Draw {
    /// The words.
    pub prompt: String,
    /// The shape.
    pub aspect: Aspect,
    /// Pictures to work from.
    pub sources: Vec<Picture>,
    /// Where they are, for a painter that takes addresses.
    pub addresses: Vec<String>,
    /// The model.
    pub model: String,
}

/// Who was chosen, with which model.
#[derive(Debug, Clone)]
pub struct Painter {
    def: &'static ImageDef,
    /// The model.
    pub model: String,
}

impl Painter {
    /// Its name.
    pub fn id(&self) -> &'static str {
        self.def.vendor.id
    }

    /// So many pictures it works from; a model that is not known may try one.
    pub fn sources(&self) -> usize {
        self.known().map_or(1, |model| model.sources)
    }

    /// What one picture costs at most.
    pub fn cents(&self) -> u32 {
        self.known().map_or(CENTS_UNKNOWN, |model| model.cents)
    }

    /// The host that is asked.
    pub fn host(&self, settings: &Settings) -> Option<String> {
        self.def.vendor.host(SECTION, settings)
    }

    fn known(&self) -> Option<&'static ImageModel> {
        self.def.models.iter().find(|model| model.id == self.model)
    }

    fn shop(&self) -> Shop {
        Shop { vendor: self.def.vendor, section: SECTION, course: self.def.course }
    }
}

/// The painters in the order in which they are asked, with everything that was passed over.
#[derive(Debug)]
pub struct Choice {
    /// The one by name, then those of `image_gen.fallback`.
    pub chosen: Result<Vec<Painter>, String>,
    /// What was looked at on the way.
    pub trace: Vec<String>,
}

/// Chooses, from the snapshot alone. A key for chat is no consent to pay for pictures: only who is
/// named is asked.
pub fn choose(settings: &Settings, logins: Option<&Arc<dyn Logins>>) -> Choice {
    let named = settings.text("image_gen.provider").map(str::trim).filter(|name| !name.is_empty());
    let Some(name) = named else {
        let trace = vec!["image_gen.provider is not set: nobody is paid unasked".to_owned()];
        return Choice { chosen: Err(NEEDS.to_owned()), trace };
    };
    let mut trace = vec![format!("image_gen.provider names `{name}`")];
    let first = match painter(name, settings, logins) {
        Ok(first) => first,
        Err(why) => {
            trace.push(why.clone());
            return Choice { chosen: Err(why), trace };
        }
    };
    trace.push(format!("{} has what it needs, with {}", first.id(), first.model));
    let mut chosen = vec![first];
    for name in settings.names("image_gen.fallback").unwrap_or_default() {
        match painter(&name, settings, logins) {
            Ok(next) => {
                trace.push(format!("image_gen.fallback names `{name}`, with {}", next.model));
                chosen.push(next);
            }
            Err(why) => trace.push(format!("image_gen.fallback names `{name}`: {why}")),
        }
    }
    Choice { chosen: Ok(chosen), trace }
}

fn painter(
    name: &str,
    settings: &Settings,
    logins: Option<&Arc<dyn Logins>>,
) -> Result<Painter, String> {
    let def = PAINTERS.iter().copied().find(|def| def.vendor.id == name).ok_or_else(|| {
        let known: Vec<_> = PAINTERS.iter().map(|def| def.vendor.id).collect();
        format!("image_gen.provider `{name}` is none of {}", known.join(", "))
    })?;
    if let Some(login) = def.login {
        if !logins.is_some_and(|logins| logins.is_signed_in(login, settings)) {
            return Err(format!("{NEEDS} and its login: petasos auth login {login}"));
        }
    } else if def.vendor.missing(settings).is_some() {
        let keys = def.vendor.keys.join(" or ");
        return Err(format!("{NEEDS} and its key {keys}"));
    }
    let text = |path: &str| {
        let text = settings.text(path).map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let variable = def.variable.and_then(|variable| settings.variable(variable));
    let variable = variable.map(|variable| variable.value.expose().trim().to_owned());
    // A model of the section is the named provider's and no other's.
    let is_first = settings.text("image_gen.provider").map(str::trim) == Some(name);
    let model = text(&format!("image_gen.{name}.model"))
        .or_else(|| text("image_gen.model").filter(|_| is_first))
        .or_else(|| variable.filter(|model| !model.is_empty()))
        .or_else(|| def.models.first().map(|model| model.id.to_owned()));
    let model = model.ok_or_else(|| format!("{name} needs image_gen.{name}.model"))?;
    Ok(Painter { def, model })
}

/// What was drawn.
#[derive(Debug)]
pub struct Drawn {
    /// The file, in the store.
    pub path: PathBuf,
    /// Who drew.
    pub provider: &'static str,
    /// With which model.
    pub model: String,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Where it was fetched.
    pub source_url: Option<String>,
    /// What it cost, where the vendor says so.
    pub cents: Option<f64>,
    /// Who was asked before and could not.
    pub fell_back_from: Vec<&'static str>,
}

/// Draws. What a painter cannot take is refused before anybody is asked.
pub async fn draw(
    ask: &Draw,
    logins: Option<&Arc<dyn Logins>>,
    cx: &CallContext,
) -> Result<Drawn, MediaError> {
    let chosen = choose(&cx.settings, logins).chosen;
    let painters = chosen.map_err(|why| MediaError::new("missing_setup", why))?;
    let (mut tried, mut last) = (Vec::new(), None);
    for painter in painters {
        if let Some(error) = refused(&painter, ask.sources.len()) {
            last.get_or_insert(error);
            continue;
        }
        let mut asked = Draw { model: painter.model.clone(), ..ask.clone() };
        let drawn = async {
            asked.addresses = handed_in(&painter, &asked.sources, cx).await?;
            drawn(&painter, &asked, logins, cx).await
        };
        match Box::pin(drawn).await {
            Ok(drawn) => return Ok(Drawn { fell_back_from: tried, ..drawn }),
            Err(error) if PASSING.contains(&error.kind) => {
                tried.push(painter.id());
                last = Some(error);
            }
            Err(error) => return Err(error),
        }
    }
    Err(last.unwrap_or_else(|| MediaError::new("missing_setup", NEEDS)))
}

fn refused(painter: &Painter, sources: usize) -> Option<MediaError> {
    let most = painter.sources();
    let why = match (sources, most) {
        (0, _) => return None,
        (_, 0) => "cannot work from pictures: leave them out, or choose a model that edits".into(),
        (given, most) if given > most => {
            format!("takes at most {most} pictures to work from, and {given} were given")
        }
        _ => return None,
    };
    let told = format!("{} of {} {why}", painter.model, painter.id());
    Some(MediaError::new("unsupported", told))
}

/// The addresses of pictures to work from, where the painter wants them. Nothing is paid for it.
async fn handed_in(
    painter: &Painter,
    sources: &[Picture],
    cx: &CallContext,
) -> Result<Vec<String>, MediaError> {
    let Some(stage) = painter.def.stage else { return Ok(Vec::new()) };
    let vendor = &painter.def.vendor;
    let mut addresses = Vec::new();
    for source in sources {
        let limits = (HANDED_IN_MAX, PATIENCE);
        let answer = vendor.ask(SECTION, (stage.outgoing)(source), limits, cx).await?;
        addresses.push((stage.address)(&answer).map_err(|what| vendor.unusable(&what))?);
    }
    Ok(addresses)
}

/// Asks for a picture. A refused token cost nothing: it is renewed and shown once more.
async fn begun(
    painter: &Painter,
    ask: &Draw,
    logins: Option<&Arc<dyn Logins>>,
    cx: &CallContext,
) -> Result<Begun, MediaError> {
    let shop = painter.shop();
    let outgoing = || (painter.def.outgoing)(ask);
    let (Some(login), Some(logins)) = (painter.def.login, logins) else {
        return shop.begin(outgoing(), PATIENCE, cx).await;
    };
    let first = token(login, logins, None, cx).await?;
    match shop.begin(outgoing().signed(first.clone()), PATIENCE, cx).await {
        Err(error) if error.kind == "auth" => {
            let renewed = token(login, logins, Some(&first), cx).await?;
            shop.begin(outgoing().signed(renewed), PATIENCE, cx).await
        }
        begun => begun,
    }
}

async fn token(
    login: &str,
    logins: &Arc<dyn Logins>,
    refused: Option<&Secret>,
    cx: &CallContext,
) -> Result<Secret, MediaError> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(MediaError::cancelled()),
        given = logins.access(login, &cx.settings, refused) => {
            given.map_err(|why| MediaError::new("auth", why))
        }
    }
}

async fn drawn(
    painter: &Painter,
    ask: &Draw,
    logins: Option<&Arc<dyn Logins>>,
    cx: &CallContext,
) -> Result<Drawn, MediaError> {
    let shop = painter.shop();
    let until = Instant::now() + PATIENCE;
    let made: Made = match begun(painter, ask, logins, cx).await? {
        Begun::Made(made) => made,
        Begun::Waits(queue, ticket) => shop.end((queue, &ticket), until, cx).await?,
    };
    let (bytes, source_url) = shop.bytes(&made, (PICTURE_BYTES_MAX, PATIENCE), cx).await?;
    let survey =
        picture::survey(&bytes).map_err(|error| painter.def.vendor.unusable(&error.to_string()))?;
    let ending = match survey.kind {
        PictureKind::Jpeg => "jpg",
        PictureKind::Webp => "webp",
        PictureKind::Gif => "gif",
        PictureKind::Svg => "svg",
        _ => "png",
    };
    let path = Store::of(cx.settings.home()).keep(Shelf::Images, ending, &bytes)?;
    Ok(Drawn {
        path,
        provider: painter.id(),
        model: painter.model.clone(),
        width: survey.width,
        height: survey.height,
        source_url,
        cents: made.cents,
        fell_back_from: Vec::new(),
    })
}
