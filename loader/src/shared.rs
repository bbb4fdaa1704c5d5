//! What the shards of a run have in common: the plan, its requests as they go out, and where connections go. Made once, never changed.

use engine::Address;

use crate::{
    phase::Gate,
    plan::LoadPlan,
    request::{Request, RequestError},
    route::Route,
    several::Entry,
    wire::Asked,
};

/// What all shards of a run share: the plan, and the gate through which they start together.
#[derive(Debug)]
pub struct Shared {
    pub(crate) plan: LoadPlan,
    /// The one request of the run, or the first of several.
    pub(crate) request: Request,
    pub(crate) asked: Asked,
    /// Where there are several: all of them.
    pub(crate) entries: Vec<Entry>,
    /// Requests after which a connection is closed by us; `u64::MAX` for none.
    pub(crate) per_conn: u64,
    pub(crate) addresses: Vec<Address>,
    pub(crate) route: Route,
    /// What to say when no local port is left.
    pub(crate) ports_text: String,
    /// Start, stop, and how connecting goes.
    pub gate: Gate,
}

impl Shared {
    /// For a checked plan and the addresses of its target.
    ///
    /// # Errors
    /// [`RequestError`] when the plan's request cannot be encoded.
    pub fn new(mut plan: LoadPlan, addresses: Vec<Address>) -> Result<Self, RequestError> {
        let mut entries = plan.mix.as_ref().map_or_else(Vec::new, Entry::all);
        let (request, asked) = match entries.first() {
            Some(first) => (Request::of_bytes(first.request.to_bytes(), plan.pipeline), first.asked.clone()),
            None => {
                let request = Request::encode(&plan.target, plan.method(), &plan.headers, &plan.body, plan.pipeline)?;
                let reply_bytes = plan.target.wire.floor_sizes().map_or(0, |sizes| sizes.reply_bytes);
                let (is_head, closes) = (plan.is_head(), plan.closes());
                (request, Asked { is_head, closes, body: plan.expect.body.clone(), reply_bytes })
            }
        };
        if entries.len() == 1 {
            plan.expect = entries.remove(0).expect;
        }
        // What one request always says, one connection never carries twice; of several it is looked at as each is sent.
        let closes = entries.is_empty() && asked.closes;
        let per_conn = if closes { 1 } else { plan.requests_per_conn.unwrap_or(u64::MAX) };
        let route = Route::new(plan.share(0).connections as usize, addresses.len());
        let (ports_text, gate) = (String::new(), Gate::default());
        Ok(Self { request, asked, entries, per_conn, route, addresses, plan, ports_text, gate })
    }

    /// Whether the run has several requests, and so needs shards made for that.
    pub fn has_several(&self) -> bool {
        !self.entries.is_empty()
    }

    /// The targets of the engine's plan.
    pub fn targets(&self) -> Vec<Address> {
        self.route.targets(&self.addresses)
    }

    /// The source of the connection with this number over all shards, when it goes to this address.
    pub(crate) fn source(&self, connection: usize, address: usize) -> Option<usize> {
        self.plan.sources.deal(connection, self.addresses.len(), &self.addresses[address])
    }

    /// The request of the run, encoded; of several the first.
    pub fn request(&self) -> &Request {
        &self.request
    }
}
