//! Many calls at once while the registry changes under them.
