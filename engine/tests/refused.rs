//! io_uring refused for real: a seccomp filter on a thread, which the shards started from it inherit.

use std::{sync::Arc, thread};

use engine::{
    Board, Cause, Conn, Cx, Engine, EngineOptions, Flow, LaunchError, Limits, Next, Origin, Outbox, Plan, RingError,
    Shard, Taken, launch,
};

struct Nothing;

impl Shard for Nothing {
    fn open(&mut self, _: Conn, _: Origin, _: &mut Cx<'_>) {}

    fn connect_failed(&mut self, _: usize, _: &std::io::Error, _: &mut Cx<'_>) {}

    fn data(&mut self, _: Conn, input: &[u8], _: bool, _: Option<&mut Outbox>, _: &mut Cx<'_>) -> Taken {
        Taken { consumed: input.len(), next: Next::Need(0) }
    }

    fn fill(&mut self, _: Conn, _: &mut Outbox, _: &mut Cx<'_>) -> Flow {
        Flow::Idle
    }

    fn tick(&mut self, _: &mut Cx<'_>) {}

    fn closed(&mut self, _: Conn, _: Cause, _: &mut Cx<'_>) {}

    fn drain(&mut self, _: &mut Cx<'_>) {}
}

/// Makes `io_uring_setup(2)` fail with this errno for the calling thread and those it starts. There is no way back.
fn refuse_rings(errno: i32) {
    let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut filter = [
        // Load the number of the system call, compare, and answer.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: a valid program, which the kernel copies.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program), 0);
    }
}

fn plan(engine: Engine) -> Plan {
    Plan {
        engine,
        shards: 2,
        cores: Vec::new(),
        listeners: Vec::new(),
        targets: Vec::new(),
        sources: Vec::new(),
        limits: Limits::default(),
        options: EngineOptions::default(),
        incoming_cpus: Vec::new(),
    }
}

#[test]
fn a_filter_is_named_and_epoll_still_works() {
    for (errno, name) in [(libc::EPERM, "EPERM"), (libc::ENOSYS, "ENOSYS")] {
        let checked = thread::spawn(move || {
            refuse_rings(errno);
            for engine in Engine::ALL.into_iter().filter(|engine| *engine != Engine::Epoll) {
                let error = launch(plan(engine), Arc::new(Board::new(2)), |_| Nothing).err().expect("refused");
                assert!(
                    matches!(&error, LaunchError::Ring { source: RingError::Seccomp { errno }, .. } if *errno == name),
                    "{engine}: {error}"
                );
                assert!(error.to_string().contains("--engine epoll"), "{error}");
            }
            let fleet = launch(plan(Engine::Epoll), Arc::new(Board::new(2)), |_| Nothing).expect("no ring is needed");
            assert!(fleet.join().into_iter().all(|shard| shard.is_ok()));
        });
        checked.join().expect("the checks hold");
    }
}
