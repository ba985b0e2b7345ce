//! Changing one key of a YAML file and nothing else.
