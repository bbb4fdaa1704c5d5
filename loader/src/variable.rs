//! Environment variables in the values of headers, as `${NAME}`. Their values may be secrets: no error quotes one.

use thiserror::Error;

/// Why a variable cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VariableError {
    /// A variable's name that is none.
    #[error(
        "{given:?} is not the name of an environment variable: it has letters, digits and _, and no digit first; a variable is written ${{NAME}}, and $${{ stands for ${{ itself"
    )]
    Name {
        /// What was given.
        given: String,
    },
    /// A variable that is not set and was not required.
    #[error(
        "a header needs the environment variable {variable}, which is not set or is empty: set it, or add requires_env = {variable:?}, which leaves the request out without it"
    )]
    Unset {
        /// The variable.
        variable: String,
    },
    /// A variable's value that would change the shape of the request. It is not quoted: it may be a secret.
    #[error(
        "the value of the environment variable {variable} holds a control character or is not UTF-8: no header may have that"
    )]
    UnfitValue {
        /// The variable.
        variable: String,
    },
}

/// A variable of the environment, as far as it can be used. Without `Debug`: it may be a secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Variable {
    /// Not set, or empty.
    Unset,
    /// Not UTF-8.
    Unfit,
    /// Its value.
    Set(String),
}

impl Variable {
    /// The variable of this name in this process's environment.
    pub(crate) fn of_this_process(name: &str) -> Self {
        match std::env::var(name) {
            Ok(value) if value.is_empty() => Variable::Unset,
            Ok(value) => Variable::Set(value),
            Err(std::env::VarError::NotPresent) => Variable::Unset,
            Err(std::env::VarError::NotUnicode(_)) => Variable::Unfit,
        }
    }
}

/// Whether this can be the name of a variable.
///
/// # Errors
/// [`VariableError::Name`].
pub(crate) fn check_name(name: &str) -> Result<(), VariableError> {
    if is_name(name) { Ok(()) } else { Err(VariableError::Name { given: name.into() }) }
}

fn is_name(name: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(letters) && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

/// A header's value with the variables in it replaced by theirs.
pub(crate) fn substitute(value: &str, variable_of: impl Fn(&str) -> Variable) -> Result<String, VariableError> {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        let behind = &rest[at + 2..];
        if let Some(before) = rest[..at].strip_suffix('$') {
            out.push_str(before);
            out.push_str("${");
            rest = behind;
            continue;
        }
        out.push_str(&rest[..at]);
        let (variable, after) = behind.split_once('}').unwrap_or((behind, ""));
        if !is_name(variable) || variable.len() == behind.len() {
            return Err(VariableError::Name { given: variable.into() });
        }
        match variable_of(variable) {
            Variable::Set(text) if !text.chars().any(char::is_control) => out.push_str(&text),
            Variable::Unset => return Err(VariableError::Unset { variable: variable.into() }),
            _ => return Err(VariableError::UnfitValue { variable: variable.into() }),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
