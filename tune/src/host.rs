//! The edge: reads and writes one setting of the host, and waits for a link. Decides nothing.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::thread;
use std::time::Instant;

use crate::facts::{Facts, Interrupts};
use crate::limits::{LINK_POLL, LINK_SETTLE, LINK_WAIT};
use crate::netlink::{Netlink, NetlinkError};
use crate::roots::{Roots, number, text};
use crate::setting::Setting;

/// Why a setting could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// It is not there, or not any more.
    #[error("it does not exist")]
    Gone,
    /// The kernel or the driver does not have it.
    #[error("unsupported: {0}")]
    Unsupported(String),
    /// It was not taken.
    #[error("refused: {0}")]
    Refused(String),
    /// The link did not come back.
    #[error("the link of {nic} did not come back within {wait_s} s")]
    Link {
        /// The interface.
        nic: String,
        /// How long was waited.
        wait_s: u64,
    },
}

/// A host whose settings can be read and written.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    roots: &'a Roots,
    netlink: &'a dyn Netlink,
}

impl<'a> Host<'a> {
    /// The host that these trees and this netlink belong to.
    #[must_use]
    pub const fn new(roots: &'a Roots, netlink: &'a dyn Netlink) -> Self {
        Self { roots, netlink }
    }

    /// Its trees.
    #[must_use]
    pub const fn roots(&self) -> &'a Roots {
        self.roots
    }

    /// Everything that rules are made from.
    #[must_use]
    pub fn facts(&self) -> Facts {
        Facts::gather(self.roots, self.netlink)
    }

    /// The value of a setting now.
    ///
    /// # Errors
    /// [`SettingError`].
    pub fn read(&self, setting: &Setting) -> Result<String, SettingError> {
        if let Setting::Device { nic, knob } = setting {
            let device = self.netlink.device(nic).map_err(explain)?;
            return device
                .value(*knob)
                .ok_or_else(|| SettingError::Unsupported("the driver does not have it".to_owned()));
        }
        let setting = self.found_again(setting)?;
        let path = setting.path(self.roots).ok_or(SettingError::Gone)?;
        text(&path).ok_or_else(|| match std::fs::metadata(&path) {
            Err(_) => SettingError::Gone,
            Ok(_) => SettingError::Unsupported("the kernel does not tell it".to_owned()),
        })
    }

    /// Sets a setting, and waits for the link where that resets it.
    ///
    /// # Errors
    /// [`SettingError`], with what the kernel or the driver said.
    pub fn write(&self, setting: &Setting, value: &str) -> Result<(), SettingError> {
        let Setting::Device { nic, knob } = setting else {
            let setting = self.found_again(setting)?;
            let path = setting.path(self.roots).ok_or(SettingError::Gone)?;
            return write(&path, value).map_err(|error| refusal(&error));
        };
        let was_up = self.carrier(nic);
        self.netlink.set_device(nic, *knob, value).map_err(explain)?;
        if knob.resets_link() && was_up { self.wait_for_link(nic) } else { Ok(()) }
    }

    /// Whether somebody else's interface has this name now.
    #[must_use]
    pub fn ifindex(&self, nic: &str) -> Option<u32> {
        number(&self.roots.sys(format!("class/net/{nic}/ifindex")))
    }

    fn carrier(&self, nic: &str) -> bool {
        number::<u8>(&self.roots.sys(format!("class/net/{nic}/carrier"))) == Some(1)
    }

    fn wait_for_link(&self, nic: &str) -> Result<(), SettingError> {
        // The trees of tests have no link that could go down.
        if self.roots.are_live() {
            thread::sleep(LINK_SETTLE);
        }
        let begun = Instant::now();
        while !self.carrier(nic) {
            if begun.elapsed() > LINK_WAIT {
                return Err(SettingError::Link { nic: nic.to_owned(), wait_s: LINK_WAIT.as_secs() });
            }
            thread::sleep(LINK_POLL);
        }
        Ok(())
    }

    /// An interrupt under the number that it has now: a driver that was reset may have got other ones.
    fn found_again(&self, setting: &Setting) -> Result<Setting, SettingError> {
        let Setting::Interrupt { nic, irq, action } = setting else { return Ok(setting.clone()) };
        let interrupts = Interrupts::read(self.roots);
        let irq = if interrupts.has(*irq, action) { Some(*irq) } else { interrupts.named(action) };
        let irq = irq.ok_or(SettingError::Gone)?;
        Ok(Setting::Interrupt { nic: nic.clone(), irq, action: action.clone() })
    }
}

/// One write, as the kernel's files want it.
fn write(path: &std::path::Path, value: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(format!("{value}\n").as_bytes())
}

fn refusal(error: &io::Error) -> SettingError {
    const EOPNOTSUPP: i32 = 95;
    match error.kind() {
        io::ErrorKind::NotFound => SettingError::Gone,
        _ if error.raw_os_error() == Some(EOPNOTSUPP) => SettingError::Unsupported(error.to_string()),
        _ => SettingError::Refused(error.to_string()),
    }
}

fn explain(error: NetlinkError) -> SettingError {
    match error {
        NetlinkError::Missing { .. } => SettingError::Gone,
        NetlinkError::Unsupported { message } if message.is_empty() => {
            SettingError::Unsupported("by the driver".to_owned())
        }
        NetlinkError::Unsupported { message } => SettingError::Unsupported(message),
        NetlinkError::Refused { reason, message } if message.is_empty() => SettingError::Refused(reason),
        NetlinkError::Refused { reason, message } => SettingError::Refused(format!("{message} ({reason})")),
        other => SettingError::Refused(other.to_string()),
    }
}

/// Whether this process may set what only root may.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
