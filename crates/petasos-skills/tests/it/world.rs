//! A home, a workspace and a library.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use petasos_contract::context::Surface;
use petasos_contract::ports::Ports;
use petasos_contract::settings::{Parts, Source, Variable};
use petasos_contract::{CallContext, Secret, SessionId, Settings};
use petasos_skills::Library;
use petasos_testkit::Home;
use serde_json::{Value, json};

pub(crate) struct World {
    pub(crate) home: Home,
    pub(crate) library: Library,
    values: Value,
    variables: Vec<(String, String)>,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(json!({}))
    }

    /// Without the skills that come with the program, unless the test wants them.
    pub(crate) fn with(mut values: Value) -> Self {
        if values["skills"]["starter"].is_null() {
            values["skills"]["starter"] = false.into();
        }
        let library = Library::new(&Ports::default());
        Self { home: Home::temp(), library, values, variables: Vec::new() }
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        let variable = |(name, value): &(String, String)| {
            let source = Source::Environment { variable: name.clone() };
            (name.clone(), Variable { value: Secret::new(value.as_str()), source })
        };
        Arc::new(Settings::new(Parts {
            home: self.home.agent(),
            user_home: self.home.user().to_owned(),
            workspace: self.home.workspace(),
            temp: self.home.user().join("tmp"),
            values: self.values.as_object().cloned().unwrap(),
            variables: self.variables.iter().map(variable).collect(),
            ..Parts::default()
        }))
    }

    pub(crate) fn cx(&self) -> CallContext {
        CallContext::new(self.settings(), Surface::Cli, SessionId::new("one"))
    }

    /// A skill of the home.
    pub(crate) fn skill(&self, place: &str, about: &str, body: &str) -> PathBuf {
        self.at(&format!(".petasos/skills/{place}"), about, body)
    }

    /// A skill anywhere below the user's home.
    pub(crate) fn at(&self, folder: &str, about: &str, body: &str) -> PathBuf {
        let name = folder.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: {about}\n---\n{body}\n");
        self.home.write(&format!("{folder}/SKILL.md"), text).parent().unwrap().to_owned()
    }

    pub(crate) async fn view(&self, name: &str) -> Value {
        self.library.view(name, None, &self.cx()).await
    }

    pub(crate) async fn file(&self, name: &str, file: &str) -> Value {
        self.library.view(name, Some(file), &self.cx()).await
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let survey = self.library.survey(&self.cx());
        let own = survey.skills.iter().filter(|skill| skill.place.as_str() != "bundled");
        own.map(|skill| skill.name.clone()).collect()
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}
