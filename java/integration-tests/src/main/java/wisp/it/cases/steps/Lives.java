package wisp.it.cases.steps;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Threads that begin, wait, are joined, end or fail; park, sleep and their interrupts. */
final class Lives extends World {
    private final ThreadGroup group = new ThreadGroup("group");
    private final InheritableThreadLocal<String> inherited = new InheritableThreadLocal<>();
    private final ThreadLocal<Integer> local = ThreadLocal.withInitial(() -> 0);
    private final List<Child> children = new ArrayList<>();

    private final class Child extends Thread {
        private final CountDownLatch go = new CountDownLatch(1);
        private final boolean fails;

        Child(int number, boolean fails) {
            super(group, null, "child" + number, 256 << 10);
            this.fails = fails;
        }

        @Override
        public void run() {
            try {
                go.await();
            } catch (InterruptedException e) {
                event(getName() + " interrupted");
            }
            event(getName() + " ends with " + inherited.get() + " " + local.get());
            if (fails) {
                throw new IllegalStateException(getName());
            }
        }
    }

    Lives(Random random) {
        super(random);
    }

    @Override
    Action draw(Worker worker) {
        switch (random.nextInt(15)) {
            case 0:
                return Action.waits("park", of(LockSupport::park));
            case 1:
                return Action.waits("park for", of(() -> LockSupport.park(group)));
            case 2:
                return Action.ends("parkNanos", of(() -> LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(SHORT))));
            case 3:
                return one(2) ? Action.waits("parkNanos long", of(() -> LockSupport.parkNanos(group, LONG * 1_000_000)))
                        : Action.ends("parkUntil", of(() -> LockSupport.parkUntil(System.currentTimeMillis() + SHORT)));
            case 4:
                Worker parked = any(workers);
                // One that is idle waits by parking, too.
                return parked.isIdle() && parked != worker ? null
                        : Action.quick("unpark " + parked.getName(), of(() -> LockSupport.unpark(parked)));
            case 5:
                return one(2) ? Action.waits("sleep long", of(() -> Thread.sleep(LONG)))
                        : Action.ends("sleep", of(() -> Thread.sleep(SHORT, 500_000)));
            case 6:
                return Action.timed("sleep as interrupted", of(() -> {
                    Thread.currentThread().interrupt();
                    Thread.sleep(SHORT);
                }));
            case 7:
                return interruptAny(worker);
            case 8:
                return children.size() > 4 ? null : begin(children.size());
            case 9:
                int priority = 1 + random.nextInt(10);
                return Action.quick("priority", () -> {
                    Thread.currentThread().setPriority(priority);
                    local.set(priority);
                    inherited.set("of " + priority);
                    return Thread.currentThread().getPriority() + " " + local.get();
                });
            case 10:
                return Action.quick("group", () -> {
                    Thread[] all = new Thread[10];
                    int count = group.enumerate(all);
                    StringBuilder text = new StringBuilder();
                    for (int i = 0; i < count; i++) {
                        text.append(all[i].getName()).append(' ').append(Steps.whereabouts(all[i])).append("; ");
                    }
                    return text;
                });
            default:
                return children.isEmpty() ? null : of(children.get(random.nextInt(children.size())), random.nextInt(6));
        }
    }

    private Action begin(int number) {
        Child child = new Child(number, one(3));
        boolean handled = one(2);
        boolean daemon = one(2);
        children.add(child);
        return Action.quick("start " + child.getName(), () -> {
            child.setDaemon(daemon);
            child.setUncaughtExceptionHandler(handled ? (t, e) -> event("handler " + t.getName() + " " + e) : (t, e) -> { });
            String before = child.getState() + " " + child.isAlive();
            child.start();
            return before + " " + child.getPriority() + " " + child.isDaemon();
        });
    }

    private Action of(Child child, int what) {
        String name = child.getName();
        switch (what) {
            case 0: case 1:
                return Action.waits("join " + name, of(child::join));
            case 2:
                return one(2) ? Action.timed("join short " + name, of(() -> child.join(SHORT)))
                        : Action.waits("join long " + name, of(() -> child.join(LONG, 1)));
            case 3:
                return Action.quick("let end " + name, of(child.go::countDown));
            case 4:
                return Action.quick("interrupt " + name, of(child::interrupt));
            default:
                return Action.quick("look " + name, () -> child.getState() + " " + child.isAlive() + " " + child.isInterrupted()
                        + " " + (child.getThreadGroup() == null));
        }
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        for (Child child : children) {
            all.add(Action.waits("end " + child.getName(), () -> {
                child.go.countDown();
                child.join();
                return child.getState();
            }));
        }
        return all;
    }
}
