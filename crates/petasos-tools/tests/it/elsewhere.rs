//! This machine's terminal, saying that it is another place: what a remote backend would be.

use std::sync::Arc;

use petasos_contract::environment::{
    EnvError, Environment, Environments, Facts, Files, Health, Isolation, Launch, Process,
};
use petasos_contract::path::TargetPath;
use petasos_contract::{BoxFuture, CallContext};

pub(crate) struct Elsewhere(pub(crate) Arc<dyn Environments>);

impl Environments for Elsewhere {
    fn of<'a>(
        &'a self,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Arc<dyn Environment>, EnvError>> {
        Box::pin(async move {
            let here = self.0.of(cx).await?;
            let facts = Facts {
                backend: "elsewhere",
                target: "elsewhere".to_owned(),
                isolation: Isolation::Apart,
                ..here.facts().clone()
            };
            Ok(Arc::new(Place { here, facts }) as Arc<dyn Environment>)
        })
    }

    fn cwd(&self, cx: &CallContext) -> TargetPath {
        self.0.cwd(cx)
    }

    fn set_cwd(&self, cx: &CallContext, cwd: TargetPath) {
        self.0.set_cwd(cx, cwd);
    }
}

struct Place {
    here: Arc<dyn Environment>,
    facts: Facts,
}

impl Environment for Place {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn spawn<'a>(
        &'a self,
        launch: Launch,
        cx: &'a CallContext,
    ) -> BoxFuture<'a, Result<Box<dyn Process>, EnvError>> {
        self.here.spawn(launch, cx)
    }

    fn find<'a>(
        &'a self,
        handle: &'a str,
    ) -> BoxFuture<'a, Result<Option<Box<dyn Process>>, EnvError>> {
        self.here.find(handle)
    }

    fn files(&self) -> &dyn Files {
        self.here.files()
    }

    fn health(&self) -> BoxFuture<'_, Health> {
        self.here.health()
    }

    fn close(&self) -> BoxFuture<'_, Result<(), EnvError>> {
        self.here.close()
    }
}
