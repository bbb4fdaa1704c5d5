//! Facts about the host, turned into a plan of settings that is applied, verified and restored.
//!
//! Holds nothing yet: what a run needs to know about the host today (cores, limits, usage) is read where it is used.

#![forbid(unsafe_code)]
