//! Known answers of the kernel model.

use super::*;

const MILLISECOND: Nanos = config::MILLISECOND;

#[test]
fn two_threads_take_turns() {
    let topology = Topology::new(1, 1, 1, 1).unwrap();
    let config = KernelConfig::round_robin(MILLISECOND).without_costs();
    let mut kernel = Kernel::new(topology, config);
    let [a, b] = [(); 2].map(|()| kernel.add_thread(ProgramId(0), None, Cpu(0)));
    kernel.wake(a, None, 0);
    kernel.wake(b, None, 0);
    assert_eq!(kernel.pick(Cpu(0), 0).thread, Some(a));
    let picked = kernel.pick(Cpu(0), MILLISECOND);
    assert_eq!(picked, Picked { thread: Some(b), switched: true, cost: 0 });
    assert_eq!(kernel.times(a, MILLISECOND).run, MILLISECOND);
    assert_eq!(kernel.times(b, MILLISECOND).delay, MILLISECOND);
}
