//! A plan as a table, with what is already so, what the host does not have, and what is left to people.

use results::report::table::render;

use crate::plan::{Note, Plan, Role};

/// The whole plan as text.
#[must_use]
pub fn text(plan: &Plan) -> String {
    let request = &plan.request;
    let nic = request.nic.as_deref().unwrap_or("no interface");
    let cores: Vec<String> = request.cores.iter().map(u32::to_string).collect();
    let side = match request.role {
        Role::Server => "a server".to_owned(),
        Role::Loader => "a loader".to_owned(),
        Role::Both => format!("a server with its loader on cores {}", request.loader_cores),
    };
    let mut text = format!("{}, {nic}, for {side}; workers on cores {}\n\n", request.profile, cores.join(","));
    if plan.steps.is_empty() {
        text.push_str("nothing to change\n");
    } else {
        let heading = ["#", "setting", "from", "to", "", "why", "source"].map(str::to_owned);
        let row = |(index, step): (usize, &crate::plan::Step)| {
            let optional = if step.optional { "optional" } else { "" };
            let number = (index + 1).to_string();
            let (what, from, to) = (step.what.as_str(), shown(&step.from), step.to.as_str());
            [number.as_str(), what, from, to, optional, &step.reason, &step.source].map(str::to_owned).to_vec()
        };
        let rows: Vec<Vec<String>> = plan.steps.iter().enumerate().map(row).collect();
        text.push_str(&render(&heading, &rows, heading.len()));
    }
    if !plan.settled.is_empty() {
        let settled: Vec<String> =
            plan.settled.iter().map(|settled| format!("{} {}", settled.what, shown(&settled.value))).collect();
        text.push_str(&format!("\nalready so: {}\n", settled.join(", ")));
    }
    notes(&mut text, "not on this host", &plan.unsupported);
    notes(&mut text, "left to you", &plan.advice);
    text
}

/// An empty value is seen as one.
fn shown(value: &str) -> &str {
    if value.is_empty() { "(empty)" } else { value }
}

/// Notes below a heading, nothing for none.
pub(super) fn notes(text: &mut String, heading: &str, notes: &[Note]) {
    if notes.is_empty() {
        return;
    }
    text.push_str(&format!("\n{heading}:\n"));
    for note in notes {
        text.push_str(&format!("  {}: {}\n", note.what, note.why));
    }
}
