package wisp.it.cases.steps;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;

/** Three monitors: who is in one does further actions there. One thread at a time wants to come in. */
final class Monitors extends World {
    private final Object[] monitors = {new Object(), "a string of its own " + System.nanoTime(), new int[1]};
    private final Map<Worker, List<Integer>> held = new HashMap<>();
    /** Who began to wait, in this order: HotSpot notifies the one that waits longest. */
    private final List<Worker> order = Collections.synchronizedList(new ArrayList<>());
    /** Waiters that were notified or interrupted: they want to come in again. */
    private final Set<Worker> woken = Collections.synchronizedSet(new HashSet<>());

    Monitors(Random random) {
        super(random);
    }

    @Override
    Action draw(Worker worker) {
        woken.remove(worker);
        int which = random.nextInt(monitors.length);
        Object monitor = monitors[which];
        switch (random.nextInt(14)) {
            case 0: case 1: case 2:
                return worker.depth > 3 || wanted(which) ? null : enter(worker, which);
            case 3: case 4:
                return leave(worker);
            case 5: case 6:
                return waiting(worker, which);
            case 7:
                return wanted(which) ? null : Action.timed("wait short " + which, of(() -> monitor.wait(SHORT, 500_000)));
            case 8:
                return wanted(which) ? null : Action.quick("notify " + which, of(() -> notifyOne(which)));
            case 9:
                return wanted(which) || waiters(which) > 1 ? null
                        : Action.quick("notifyAll " + which, of(() -> notifyAll(which)));
            case 10: case 11:
                return interrupted(worker);
            case 12:
                return Action.ends("sleep", of(() -> Thread.sleep(SHORT)));
            default:
                return one(2) ? Action.quick("deadlocked?", this::deadlocked) : Action.quick("holds?", this::holds);
        }
    }

    private Action enter(Worker worker, int which) {
        return Action.waits("enter " + which, () -> {
            synchronized (monitors[which]) {
                worker.depth++;
                heldBy(worker).add(which);
                worker.done("entered");
                worker.obey();
                worker.depth--;
                heldBy(worker).remove(heldBy(worker).size() - 1);
            }
            return "left";
        }).about(which);
    }

    private synchronized List<Integer> heldBy(Worker worker) {
        return held.computeIfAbsent(worker, w -> new ArrayList<>());
    }

    private Action leave(Worker worker) {
        return worker.depth == 0 ? null : Action.quick("leave", null);
    }

    private Action waiting(Worker worker, int which) {
        boolean timed = one(2);
        boolean first = one(6);
        order.remove(worker);
        order.add(worker);
        return Action.waits((timed ? "wait long " : "wait ") + which + (first ? " as interrupted" : ""), () -> {
            if (first) {
                Thread.currentThread().interrupt();
            }
            if (timed) {
                monitors[which].wait(LONG);
            } else {
                monitors[which].wait();
            }
            return "woken";
        }).about(which);
    }

    private static boolean isEntering(Worker worker) {
        return worker.given().name.startsWith("enter");
    }

    /** Somebody waits to come in, or has been woken and will. */
    private boolean wanted(int which) {
        for (Worker worker : workers) {
            if (!worker.isIdle() && Integer.valueOf(which).equals(worker.given().subject)
                    && (isEntering(worker) || woken.contains(worker))) {
                return true;
            }
        }
        return false;
    }

    private int waiters(int which) {
        return busyWith(which);
    }

    private void notifyOne(int which) {
        monitors[which].notify();
        mark(which, 1);
    }

    private void notifyAll(int which) {
        monitors[which].notifyAll();
        mark(which, workers.length);
    }

    private void mark(int which, int count) {
        int left = count;
        for (Worker worker : order) {
            if (left > 0 && !worker.isIdle() && Integer.valueOf(which).equals(worker.given().subject)
                    && !isEntering(worker) && woken.add(worker)) {
                left--;
            }
        }
    }

    private Action interrupted(Worker by) {
        Worker whom = busyOne(by);
        if (whom == null || whom.given().subject == null) {
            return null;
        }
        int which = (Integer) whom.given().subject;
        if (!isEntering(whom) && wanted(which)) {
            return null;
        }
        return Action.quick("interrupt " + whom.getName(), of(() -> {
            woken.add(whom);
            whom.interrupt();
        }));
    }

    @Override
    Action release(Worker worker) {
        return leave(worker);
    }

    private Object deadlocked() {
        long[] ids = ManagementFactory.getThreadMXBean().findMonitorDeadlockedThreads();
        List<String> names = new ArrayList<>();
        for (Worker worker : workers) {
            if (ids != null && Arrays.stream(ids).anyMatch(id -> id == Steps.idOf(worker))) {
                names.add(worker.getName());
            }
        }
        return names;
    }

    private Object holds() {
        StringBuilder text = new StringBuilder();
        for (Object monitor : monitors) {
            text.append(Thread.holdsLock(monitor) ? "1" : "0");
        }
        return text;
    }
}
