//! Text made from result files. Every report comes from the file alone, so that it can be made again.

pub mod bench;
pub mod canonical;
pub mod catalogue;
pub mod chart;
pub mod charts;
pub mod codec;
pub mod compare;
pub mod csv;
pub mod escape;
pub mod gate;
mod heading;
pub mod hgrm;
pub mod html;
mod intervals;
pub mod load;
pub mod markdown;
pub mod number;
pub mod over_time;
mod page_table;
mod requests;
pub mod rows;
pub mod sweep;
pub mod table;
pub mod versus;
pub mod wrk;

use crate::document::Document;

pub use load::Detail;
pub use rows::{NamedDocument, Row};

/// The text of all documents, in the order given, with a heading each when there are several.
#[must_use]
pub fn text(documents: &[NamedDocument], detail: Detail) -> String {
    let one = |named: &NamedDocument| {
        let text = match &named.document {
            Document::Run(run) => load::text(run, detail),
            Document::Bench(bench) => bench::text(bench),
            Document::Sweep(sweep) => sweep::text(sweep),
            Document::Codec(axis) => codec::text(axis),
            Document::Canonical(suite) => canonical::text(suite),
            Document::Versus(versus) => versus::text(versus),
        };
        if documents.len() > 1 { format!("{}:\n{text}", escape::visible(&named.name)) } else { text }
    };
    documents.iter().map(one).collect::<Vec<_>>().join("\n")
}
