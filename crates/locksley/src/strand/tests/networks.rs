//! Random networks of processes: pipelines, rings, fans and whatever else comes out, against an interpreter that goes through what they do in
//! one order in which that could happen.

use super::*;
use crate::kahn::{Declared, Inlet, Network, Outlet, Over, Owner, Ports, Receiver, Sender};
use crate::sync::Semaphore;

/// Whether processes may have stacks of their own.
const HAS_STACKS: bool = cfg!(all(feature = "stacks", not(locksley_portable)));

#[derive(Clone, Copy, Debug)]
enum Step {
    Work(i64),
    Send(usize),
    Receive(usize),
    /// There is nothing more to come.
    End(usize),
}

#[derive(Debug)]
struct Link {
    from: usize,
    to: usize,
    capacity: u64,
}

/// What each process does, and all of it in an order in which no channel ever has too much or too little in it: so no process waits for ever.
#[derive(Debug)]
struct Plan {
    links: Vec<Link>,
    steps: Vec<Vec<Step>>,
    order: Vec<(usize, Step)>,
    /// Whether a process has a stack of its own.
    on_stack: Vec<bool>,
    /// In which order they may end.
    ends: Vec<usize>,
}

impl Plan {
    fn random(random: &mut Random, with_stacks: bool) -> Self {
        let processes = 2 + random.below(6) as usize;
        let links = Self::links(random, processes);
        let on_stack = (0..processes).map(|_| with_stacks && random.below(2) == 0).collect();
        let ends = (0..processes).collect();
        let steps = vec![Vec::new(); processes];
        let mut plan = Self { links, steps, order: Vec::new(), on_stack, ends };
        let (mut sent, mut received) = (vec![0; plan.links.len()], vec![0; plan.links.len()]);
        for _ in 0..60 + random.below(200) {
            let link = random.below(plan.links.len() as u64) as usize;
            let Link { from, to, capacity } = plan.links[link];
            match random.below(5) {
                0 => plan.does(from, Step::Work(random.below(50_000) as i64)),
                1 | 2 if sent[link] - received[link] < capacity => {
                    sent[link] += 1;
                    plan.does(from, Step::Send(link));
                }
                _ if received[link] < sent[link] => {
                    received[link] += 1;
                    plan.does(to, Step::Receive(link));
                    plan.does(to, Step::Work(random.below(5_000) as i64));
                }
                _ => {}
            }
        }
        for place in 0..processes {
            let other = place + random.below((processes - place) as u64) as usize;
            plan.ends.swap(place, other);
            let (this, gone) = (plan.ends[place], plan.ends[..place].to_vec());
            for link in 0..plan.links.len() {
                let Link { from, to, .. } = plan.links[link];
                if to == this && gone.contains(&from) && random.below(2) == 0 {
                    while received[link] < sent[link] {
                        received[link] += 1;
                        plan.does(this, Step::Receive(link));
                    }
                    plan.does(this, Step::End(link));
                }
                // Some of it may be more than there is room for, and nobody will receive it.
                if from == this && gone.contains(&to) {
                    for _ in 0..random.below(8) {
                        plan.does(this, Step::Send(link));
                    }
                }
            }
            plan.does(this, Step::Work(random.below(5_000) as i64));
        }
        plan
    }

    fn links(random: &mut Random, processes: usize) -> Vec<Link> {
        let mut of = |from, to| {
            let most = if random.below(2) == 0 { 2 } else { 20 };
            Link { from, to, capacity: 1 + random.below(most) }
        };
        match processes % 4 {
            // A pipeline; a ring; a fan; and others on top of each.
            0 => (1..processes).map(|to| of(to - 1, to)).collect(),
            1 => (0..processes).map(|from| of(from, (from + 1) % processes)).collect(),
            2 => (1..processes).map(|from| of(from, 0)).collect(),
            _ => {
                let mut links: Vec<_> = (1..processes).map(|to| of(0, to)).collect();
                for _ in 0..4 {
                    let [from, to] = [(); 2].map(|()| random.below(processes as u64) as usize);
                    if from != to {
                        links.push(Link { from, to, capacity: 1 + random.below(3) });
                    }
                }
                links
            }
        }
    }

    fn does(&mut self, process: usize, step: Step) {
        self.steps[process].push(step);
        self.order.push((process, step));
    }
}

/// The ends of channels that a process has, with their numbers.
struct Hands {
    out: Vec<(usize, Sender<usize>)>,
    inn: Vec<(usize, Receiver<usize>)>,
    steps: Vec<Step>,
}

fn at<T>(all: &mut [(usize, T)], number: usize) -> &mut T {
    &mut all.iter_mut().find(|(its, _)| *its == number).expect("it has that").1
}

fn work(ticks: i64) {
    (0..ticks % 64).for_each(|_| spin_loop());
    spend(ticks);
}

impl Hands {
    async fn run(mut self) {
        for step in self.steps {
            match step {
                Step::Work(ticks) => work(ticks),
                Step::Send(link) => at(&mut self.out, link).send(link).await,
                Step::Receive(link) => {
                    assert_eq!(at(&mut self.inn, link).recv().await, Some(link));
                }
                Step::End(link) => assert_eq!(at(&mut self.inn, link).recv().await, None),
            }
        }
    }

    fn run_blocking(mut self) -> Result<(), Over> {
        for step in self.steps {
            match step {
                Step::Work(ticks) => work(ticks),
                Step::Send(link) => at(&mut self.out, link).send_blocking(link)?,
                Step::Receive(link) => {
                    assert_eq!(at(&mut self.inn, link).recv_blocking()?, Some(link));
                }
                Step::End(link) => assert_eq!(at(&mut self.inn, link).recv_blocking()?, None),
            }
        }
        Ok(())
    }
}

fn network(plan: &Plan) -> Network {
    let mut network = Network::new();
    let (mut out, mut inn): (Vec<_>, Vec<_>) = plan
        .links
        .iter()
        .map(|link| network.channel::<usize>("channel", link.capacity as usize))
        .map(|(outlet, inlet)| (Some(outlet), Some(inlet)))
        .unzip();
    for (process, steps) in plan.steps.iter().enumerate() {
        let mut mine = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, link) in plan.links.iter().enumerate() {
            if link.from == process {
                mine.0.push(number);
                mine.1.push(out[number].take().unwrap());
            }
            if link.to == process {
                mine.2.push(number);
                mine.3.push(inn[number].take().unwrap());
            }
        }
        let (outs, outlets, inns, inlets) = mine;
        let steps = steps.clone();
        let hands = move |(out, inn): (Vec<Sender<usize>>, Vec<Receiver<usize>>)| Hands {
            out: outs.into_iter().zip(out).collect(),
            inn: inns.into_iter().zip(inn).collect(),
            steps,
        };
        if plan.on_stack[process] {
            network.process_on_stack("process", (outlets, inlets), move |ends| {
                hands(ends).run_blocking().unwrap();
            });
        } else {
            network
                .process("process", (outlets, inlets), async move |ends| hands(ends).run().await);
        }
    }
    network
}

/// The longest path to the end of the network, and its work.
fn expected(plan: &Plan, burden: i64) -> (Path, i64) {
    // The network is begun by a task, which spawns the processes; and one that has a stack of its own is spawned once more, to begin there.
    let edges = plan.on_stack.iter().map(|&on_stack| if on_stack { 3 } else { 2 });
    let mut paths: Vec<_> = edges.map(|edges| Path::default().along(edges * burden)).collect();
    let mut work = 0;
    let mut sent: Vec<Vec<Path>> = plan.links.iter().map(|_| Vec::new()).collect();
    let mut taken = sent.clone();
    let mut ends: Vec<Option<Path>> = vec![None; plan.steps.len()];
    let left = |process: usize, plan: &Plan| plan.steps[process].len();
    let mut done = vec![0; plan.steps.len()];
    for &(process, step) in &plan.order {
        let path = paths[process];
        let edge = |other: Path| path.meet(other.along(burden));
        paths[process] = match step {
            Step::Work(ticks) => {
                work += ticks;
                Path { span: path.span + ticks, burdened: path.burdened + ticks, ..path }
            }
            Step::Send(link) => {
                let Link { to, capacity, .. } = plan.links[link];
                let room = sent[link].len().checked_sub(capacity as usize);
                let made = room.map(|room| match taken[link].get(room) {
                    Some(&taken) => taken,
                    None => ends[to].expect("who will not receive has ended"),
                });
                let path = made.map_or(path, edge);
                sent[link].push(path);
                path
            }
            Step::Receive(link) => {
                let path = edge(sent[link][taken[link].len()]);
                taken[link].push(path);
                path
            }
            Step::End(link) => edge(ends[plan.links[link].from].expect("it has ended")),
        };
        done[process] += 1;
        if done[process] == left(process, plan) {
            ends[process] = Some(paths[process]);
        }
    }
    let ended = paths.into_iter().map(|path| path.along(burden)).reduce(Path::meet);
    (ended.unwrap().along(burden), work)
}

fn check_networks(seed: u64, with_stacks: bool, build: impl Fn() -> PoolBuilder) {
    let pool = build().build().unwrap();
    let burden = Region::new(Clock::Virtual, 1).burden();
    let mut random = Random(seed);
    for _ in 0..PROGRAMS {
        check(&Plan::random(&mut random, with_stacks), &pool, burden);
    }
}

fn check(plan: &Plan, pool: &Pool, burden: i64) {
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let report = network(plan).run(pool).unwrap();
        assert_eq!(report.times_grown(), 0);
    });
    let (path, work) = expected(plan, burden);
    assert_eq!(figures.work, work, "{plan:?}");
    let found = (figures.path.span, figures.path.burdened);
    assert_eq!(found, (path.span, path.burdened), "{plan:?}");
    assert_eq!((figures.uncarried, figures.under_way), (0, 0), "{plan:?}");
}

#[test]
fn random_networks_on_any_number_of_workers() {
    for workers in [1, 2, 3, 5] {
        check_networks(workers as u64 * 7919, false, || Pool::builder().workers(workers));
    }
}

#[test]
fn random_networks_of_processes_with_stacks_of_their_own() {
    for workers in [1, 3].into_iter().filter(|_| HAS_STACKS) {
        check_networks(53 + workers as u64, true, || Pool::builder().workers(workers));
    }
}

#[test]
fn random_networks_of_tasks_that_run_where_they_were_woken() {
    let build = || Pool::builder().workers(3).placement(crate::task::Placement::Current);
    check_networks(59, false, build);
}

/// A message is no edge from what its sender did after it, however many are in the channel; nor is room.
#[test]
fn what_is_sent_later_is_on_no_path_of_what_was_sent_before() {
    let pool = Pool::new(1).unwrap();
    let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
        let mut network = Network::new();
        let (out, inn) = network.channel::<i64>("numbers", 8);
        network.process("sends", out, async |mut out| {
            for ticks in [1, 100] {
                spend(ticks);
                out.send(ticks).await;
            }
            spend(1000);
        });
        network.process("receives", inn, async |mut inn| {
            assert_eq!(inn.recv().await, Some(1));
            spend(500);
            assert_eq!(inn.recv().await, Some(100));
            spend(700);
        });
        network.run(&pool).unwrap();
    });
    assert_eq!((figures.work, figures.path.span, figures.uncarried), (2301, 1201, 0));
}

/// After many messages, received or not wanted, a process lets others go first. That is no edge.
#[test]
fn who_gives_way_comes_after_itself_alone() {
    const MESSAGES: usize = 700;
    let burden = Region::new(Clock::Virtual, 1).burden();
    for (workers, on_stack) in [(1, false), (2, false), (2, HAS_STACKS)] {
        let pool = Pool::new(workers).unwrap();
        for (are_received, capacity) in [(true, 1000), (true, 1), (false, 1)] {
            let mut plan = Plan {
                links: vec![Link { from: 0, to: 1, capacity }],
                steps: vec![Vec::new(); 2],
                order: Vec::new(),
                on_stack: vec![on_stack; 2],
                ends: Vec::new(),
            };
            plan.does(0, Step::Work(3));
            let send = |plan: &mut Plan| plan.does(0, Step::Send(0));
            if are_received {
                for _ in 0..MESSAGES {
                    send(&mut plan);
                    plan.does(1, Step::Receive(0));
                    plan.does(1, Step::Work(2));
                }
            } else {
                plan.does(1, Step::Work(50));
                (0..MESSAGES).for_each(|_| send(&mut plan));
            }
            check(&plan, &pool, burden);
        }
    }
}

/// A poll of a process counts, as any future's does, if it ends with a wait for what is none of its channels.
#[test]
fn a_process_that_waits_elsewhere_is_counted() {
    const TIMES: u64 = 3;
    for workers in [1, 2] {
        let pool = Pool::new(workers).unwrap();
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let mut network = Network::new();
            let (out, inn) = network.channel("numbers", 1);
            network.process("sends", out, async |mut out| {
                for number in 0..9 {
                    out.send(number).await;
                }
            });
            network.process("yields", inn, async |mut inn| {
                for _ in 0..TIMES {
                    spend(5);
                    crate::task::yield_now().await;
                    assert!(inn.recv().await.is_some());
                }
            });
            network.run(&pool).unwrap();
        });
        assert_eq!((figures.work, figures.path.span), (5 * TIMES as i64, 5 * TIMES as i64));
        assert_eq!((figures.uncarried, figures.under_way), (TIMES, 0));
    }
}

/// Ports that are dropped by who is given them.
struct Drops<P>(P);

impl<P: Ports> Ports for Drops<P> {
    type Owned = ();

    fn declare(&self, declared: &mut Declared<'_>) {
        self.0.declare(declared);
    }

    fn own(self, _: &Owner<'_>) {
        spend(100);
    }
}

/// Nobody else says after what one comes that learns of it; this is counted, once. But who never was there has done nothing.
#[test]
fn an_end_of_a_channel_that_nobody_uses_carries_no_path() {
    async fn send(mut out: Sender<u32>) {
        for number in 0..9 {
            out.send(number).await;
        }
    }
    async fn receive(mut inn: Receiver<u32>) {
        for _ in 0..3 {
            assert_eq!(inn.recv().await, None);
        }
    }
    let pool = Pool::new(2).unwrap();
    type Build = dyn Fn(&mut Network, Outlet<u32>, Inlet<u32>) + Sync;
    let uncarried = |build: &Build| {
        let ((), figures) = pool.metered_by(Clock::Virtual, |_| {
            let mut network = Network::new();
            let (out, inn) = network.channel("channel", 2);
            build(&mut network, out, inn);
            network.run(&pool).unwrap();
        });
        figures.uncarried
    };
    let dropped_outlet = uncarried(&|network, out, inn| {
        network.process("drops", Drops(out), async |()| ());
        network.process("receives", inn, receive);
    });
    let dropped_inlet = uncarried(&|network, out, inn| {
        network.process("sends", out, send);
        network.process("drops", Drops(inn), async |()| ());
    });
    assert_eq!((dropped_outlet, dropped_inlet), (1, 1));
    let no_outlet = uncarried(&|network, out, inn| {
        drop(out);
        network.process("receives", inn, receive);
    });
    let no_inlet = uncarried(&|network, out, inn| {
        drop(inn);
        network.process("sends", out, send);
    });
    assert_eq!((no_outlet, no_inlet), (0, 0));
}

/// Then its processes are as those of any other.
#[test]
fn a_network_that_outlives_its_report_goes_on() {
    const MESSAGES: u64 = 2000;
    for (workers, capacity) in [(1, 1), (2, 7), (2, 3000)] {
        let (pool, permits) = (Pool::new(workers).unwrap(), Arc::new(Semaphore::new(0)));
        let wanted = Arc::clone(&permits);
        let mut network = Network::new();
        let (out, inn) = network.channel("numbers", capacity);
        network.process("sends", out, async move |mut out| {
            out.send(0).await;
            wanted.acquire().await.unwrap().forget();
            for number in 1..MESSAGES {
                out.send(number).await;
            }
        });
        let found = network.process("receives", inn, async |mut inn| {
            let mut next = 0;
            while next < MESSAGES / 2 {
                assert_eq!(inn.recv().await, Some(next));
                next += 1;
            }
            next
        });
        let (running, figures) = pool.metered_by(Clock::Virtual, |_| network.start(&pool).unwrap());
        assert!(figures.under_way > 0, "it waits for us");
        permits.add_permits(1);
        running.join().unwrap();
        assert_eq!(found.take(), Some(MESSAGES / 2));
    }
}
