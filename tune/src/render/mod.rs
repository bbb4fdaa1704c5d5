//! Texts made of facts, plans and journals: for people, and as scripts. Pure functions to strings.

pub mod outcome;
pub mod plan;
pub mod script;
pub mod show;
