//! What a case of the suite is: requests made, answered and checked.

use codec::zap::builder::Builder;
use codec::zap::slot::Object;

use super::CaseName;
use super::chance::Chance;

/// A case.
pub(crate) trait Work {
    /// Which one.
    const NAME: CaseName;
    /// What is known of the right answer when the request is made.
    type Expected: Copy + PartialEq + std::fmt::Display;

    /// Builds a request, root included.
    fn request(chance: &mut Chance, builder: &mut Builder) -> Self::Expected;

    /// Answers a request, root included. A request that is cut short or points astray is answered with what can be read of it.
    fn answer(request: Object<'_>, builder: &mut Builder);

    /// What the answer says.
    fn found(answer: Object<'_>) -> Self::Expected;
}
