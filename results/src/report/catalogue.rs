//! The list of published result files, as it stands in `results/README.md`: each with the command that made it, made from the files alone, so that
//! no number there is without its file.

use crate::document::Document;
use crate::environment::Environment;
use crate::report::escape;
use crate::report::markdown;
use crate::report::rows::NamedDocument;

/// The lines between which the list stands.
pub const BEGIN: &str = "<!-- The rest is made from the files in runs/ and not written by hand. -->";

/// A text that the list cannot be put into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no line '{BEGIN}' in it, after which the list of files goes")]
pub struct NoPlace;

/// `text` with the list of these documents behind its marker instead of what is there.
///
/// # Errors
/// [`NoPlace`] when it has no such marker.
pub fn put(text: &str, documents: &[NamedDocument]) -> Result<String, NoPlace> {
    let (head, _) = text.split_once(BEGIN).ok_or(NoPlace)?;
    Ok(format!("{head}{BEGIN}\n\n{}", list(documents)))
}

/// The list, in the order of the names, ending in a newline.
#[must_use]
pub fn list(documents: &[NamedDocument]) -> String {
    let mut documents: Vec<&NamedDocument> = documents.iter().collect();
    documents.sort_by(|a, b| a.name.cmp(&b.name));
    if documents.is_empty() {
        return "No file is published.\n".to_owned();
    }
    documents.into_iter().map(section).collect::<Vec<_>>().join("\n")
}

fn section(named: &NamedDocument) -> String {
    let (command, environment) = match &named.document {
        Document::Run(run) => (&run.command, &run.environment),
        Document::Bench(bench) => (&bench.command, &bench.environment),
        Document::Sweep(sweep) => (&sweep.command, &sweep.environment),
        Document::Codec(axis) => (&axis.command, &axis.environment),
        Document::Canonical(suite) => (&suite.command, &suite.host),
        Document::Versus(versus) => (&versus.command, &versus.environment),
    };
    let (heading, tables) = match markdown::text(std::slice::from_ref(named)) {
        text if text.starts_with("## ") => {
            text.split_once("\n\n").map_or_else(|| (text.clone(), String::new()), |(a, b)| (a.to_owned(), b.to_owned()))
        }
        text => (format!("## {}", escape::markdown(&named.name)), text),
    };
    format!("{heading}\n\n```sh\n{}\n```\n\n{}\n{tables}", shell(command), host(environment))
}

/// A command as a shell takes it.
fn shell(words: &[String]) -> String {
    if words.is_empty() {
        return "# a file of before version 1.2 does not say".to_owned();
    }
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:=,@%+".contains(char);
    let quoted = |word: &String| {
        let word = escape::visible(word);
        if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

fn host(environment: &Environment) -> String {
    let commit = environment.zapring_commit.as_deref().unwrap_or("unknown");
    let cores = environment.cpus_online.len();
    format!(
        "zapring {} at commit {}, {cores} CPUs online.\n",
        escape::markdown(&environment.zapring_version),
        escape::markdown(commit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Run;

    fn named(name: &str, command: &[&str]) -> NamedDocument {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        NamedDocument { name: name.to_owned(), document: Run { command, ..Run::default() }.into() }
    }

    #[test]
    fn files_are_listed_by_name_with_their_commands() {
        let files = [named("runs/b.json", &[]), named("runs/a.json", &["zapring", "load", "-H", "X: it's", ""])];
        let text = put(&format!("# Head\n\n{BEGIN}\nold\n"), &files).expect("a marker");
        assert!(text.starts_with(&format!("# Head\n\n{BEGIN}\n\n## runs/a.json\n")), "{text}");
        assert!(text.contains("```sh\nzapring load -H 'X: it'\\''s' ''\n```"), "{text}");
        assert!(text.contains("## runs/b.json") && text.contains("does not say") && !text.contains("old"), "{text}");
        assert_eq!(put(&text, &files).as_ref(), Ok(&text), "made again it is the same");
        assert_eq!(put("nothing", &files), Err(NoPlace));
        assert!(put(BEGIN, &[]).expect("a marker").ends_with("No file is published.\n"));
    }
}
