//! What the environment can set.

use crate::icv::Icvs;

pub(super) const OFFLOADS: [&str; 3] = ["DEFAULT", "MANDATORY", "DISABLED"];

pub(super) const ALLOCATORS: [&str; 8] = [
    "omp_default_mem_alloc",
    "omp_large_cap_mem_alloc",
    "omp_const_mem_alloc",
    "omp_high_bw_mem_alloc",
    "omp_low_lat_mem_alloc",
    "omp_cgroup_mem_alloc",
    "omp_pteam_mem_alloc",
    "omp_thread_mem_alloc",
];

/// `PTHREAD_STACK_MIN`, in bytes.
pub(super) const MIN_STACK: usize =
    if cfg!(target_arch = "aarch64") { 128 << 10 } else { 16 << 10 };

/// What the environment says, or the defaults.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The variables of the first task.
    pub(crate) icvs: Icvs,
    /// `nthreads-var` by nesting level; empty if the environment does not say.
    pub(crate) threads: Vec<u32>,
    /// `bind-var` by nesting level; empty if the environment does not say.
    pub(crate) binds: Vec<i32>,
    /// Processors by place; empty if there are no places.
    pub(crate) places: Vec<Vec<usize>>,
    /// The stack of a thread, in bytes, if the environment says so.
    pub(super) stack: Option<usize>,
    /// What OMP_WAIT_POLICY says: 0 for ACTIVE, 1 for PASSIVE.
    pub(super) policy: Option<usize>,
    /// OMP_NUM_THREADS was reduced to the processors that this process is granted.
    pub(super) is_capped: bool,
    pub(crate) is_cancellable: bool,
    pub(crate) max_task_priority: i32,
    pub(crate) teams: i32,
    pub(crate) teams_thread_limit: i32,
    pub(crate) displays_affinity: bool,
    pub(crate) affinity_format: String,
    /// What OMP_TARGET_OFFLOAD says: 0 for DEFAULT, 1 for MANDATORY, 2 for DISABLED.
    pub(super) offload: usize,
    /// LOCKSLEY_ASSISTS asks for the board: dynamic teams divide the processors with others.
    pub(crate) has_board: bool,
    /// LOCKSLEY_VERBOSE asks for a line on standard error.
    pub(crate) is_verbose: bool,
}

impl Settings {
    /// No wait spins.
    pub(crate) fn is_passive(&self) -> bool {
        self.policy == Some(1)
    }

    /// The stack of a thread, in bytes; `None` for the system's default. A size below the
    /// smallest one counts as none.
    pub(crate) fn stack(&self) -> Option<usize> {
        self.stack.filter(|&it| it >= MIN_STACK)
    }

    /// A target region whose device does not exist ends the program.
    pub(crate) fn is_offload_mandatory(&self) -> bool {
        self.offload == 1
    }
}
