//! Skills that people call like commands.

use petasos_contract::SessionId;
use petasos_contract::ports::CalledSkill;

use super::Sessions;
use crate::command;

impl Sessions {
    /// Skills that a person can call anywhere: name, and what each is for.
    pub async fn callable_skills(&self) -> Vec<(String, String)> {
        let Some(skills) = self.parts.engine.ports.skills.clone() else { return Vec::new() };
        let cx = self.parts.services.context(&SessionId::new("menu"));
        let lines = skills.callable(&cx).await.into_iter();
        lines.map(|line| (line.name, line.about)).collect()
    }

    /// The skill that a line calls in a session; nothing when the line is another command or
    /// none. The error says why the skill cannot be called.
    pub async fn called_skill(
        &self,
        session: &SessionId,
        line: &str,
    ) -> Option<Result<CalledSkill, String>> {
        let name = self.meant_skill(session, line).await?;
        let (_, words) = command::split(line)?;
        let skills = self.parts.engine.ports.skills.clone()?;
        let cx = self.parts.services.context(session);
        Some(skills.call(&name, words, &cx).await)
    }

    /// The name of the skill that a line means; nothing is read or counted.
    pub async fn meant_skill(&self, session: &SessionId, line: &str) -> Option<String> {
        let (name, _) = command::split(line)?;
        let known = command::is_known(&name, &self.parts.extras);
        let skills = self.parts.engine.ports.skills.clone().filter(|_| !known)?;
        let cx = self.parts.services.context(session);
        command::meant(skills.as_ref(), &name, &cx).await.ok()
    }
}
