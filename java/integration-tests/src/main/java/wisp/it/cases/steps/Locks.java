package wisp.it.cases.steps;

import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Locks of java.util.concurrent and their conditions. Who waits is served in order, so all is drawn at any time. */
final class Locks extends World {
    private final Lock[] locks;
    private final Condition condition;
    /** Whose lock it is, for {@link #condition}. */
    private final Lock conditional;
    private final Map<Worker, List<Integer>> held = new HashMap<>();

    Locks(Random random) {
        super(random);
        ReentrantLock lock = new ReentrantLock(one(2));
        // A StampedLock of JDK 8 spins in a wait that was interrupted.
        ReadWriteLock shared = one(2) || JDK == 8 ? new ReentrantReadWriteLock(one(2)) : new StampedLock().asReadWriteLock();
        locks = new Lock[] {lock, shared.readLock(), shared.writeLock()};
        conditional = shared instanceof ReentrantReadWriteLock && one(2) ? shared.writeLock() : lock;
        condition = conditional.newCondition();
    }

    private synchronized List<Integer> heldBy(Thread worker) {
        return held.computeIfAbsent((Worker) worker, w -> new ArrayList<>());
    }

    private Object got(int which) {
        heldBy(Thread.currentThread()).add(which);
        return "got";
    }

    @Override
    Action draw(Worker worker) {
        int which = random.nextInt(locks.length);
        Lock lock = locks[which];
        boolean brief = one(2);
        switch (random.nextInt(16)) {
            case 0: case 1:
                return Action.waits("lock " + which, () -> {
                    lock.lock();
                    return got(which);
                });
            case 2:
                return Action.waits("lockInterruptibly " + which, () -> {
                    lock.lockInterruptibly();
                    return got(which);
                });
            case 3:
                return Action.quick("tryLock " + which, () -> lock.tryLock() ? got(which) : "not");
            case 4: case 5:
                return new Action("tryLock " + which + " " + millis(brief), kind(brief),
                        () -> lock.tryLock(millis(brief), unit()) ? got(which) : "not");
            case 6: case 7: case 8:
                return unlock(worker);
            case 9: case 10: case 11:
                return holds(worker, conditional) ? await(random.nextInt(6)) : null;
            case 12:
                return Action.quick("signal", of(condition::signal));
            case 13:
                return Action.quick("signalAll", of(condition::signalAll));
            case 14:
                return interruptAny(worker);
            default:
                return Action.quick("look", this::look);
        }
    }

    /** Before JDK 14 readers that come in at once may wake a signalled writer to no end, or not. */
    @Override
    boolean staysInPlace() {
        return JDK >= 14;
    }

    private boolean holds(Worker worker, Lock lock) {
        return heldBy(worker).stream().anyMatch(which -> locks[which] == lock);
    }

    private Action await(int how) {
        switch (how) {
            case 0: case 1:
                return Action.waits("await", of(condition::await));
            case 2:
                return Action.waits("awaitUninterruptibly", of(condition::awaitUninterruptibly));
            case 3:
                return Action.timed("await short", () -> condition.await(SHORT, unit()));
            case 4:
                return Action.timed("awaitUntil", () -> condition.awaitUntil(new Date(System.currentTimeMillis() + SHORT)));
            default:
                return Action.waits("awaitNanos long", () -> condition.awaitNanos(LONG * 1_000_000) > 0);
        }
    }

    private Action unlock(Worker worker) {
        List<Integer> mine = heldBy(worker);
        if (mine.isEmpty()) {
            return null;
        }
        int at = random.nextInt(mine.size());
        return Action.quick("unlock " + mine.get(at), of(() -> locks[mine.remove(at)].unlock()));
    }

    private Object look() {
        String text = (locks[0] + " " + locks[1] + " " + locks[2]).replaceAll("[\\w.$]+(?=[@\\[])", "");
        if (locks[0] instanceof ReentrantLock) {
            ReentrantLock lock = (ReentrantLock) locks[0];
            text += " queue " + lock.getQueueLength() + " mine " + lock.getHoldCount();
        }
        return text;
    }

    @Override
    Action release(Worker worker) {
        List<Integer> mine = heldBy(worker);
        return mine.isEmpty() ? null : Action.quick("unlock all", of(() -> {
            while (!mine.isEmpty()) {
                locks[mine.remove(mine.size() - 1)].unlock();
            }
        }));
    }
}
