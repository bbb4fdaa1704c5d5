//! Text made from result files. Every report comes from the file alone, so that it can be made again.

pub mod bench;
mod heading;
pub mod load;
pub mod number;
pub mod sweep;
pub mod table;
pub mod wrk;

pub use load::Detail;
