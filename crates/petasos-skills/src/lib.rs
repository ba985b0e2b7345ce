//! Skills: folders of instructions that a model reads when it needs them.
