package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import java.util.function.IntConsumer;
import wisp.it.Kit;
import wisp.it.WispCase;

/** ReentrantReadWriteLock and StampedLock: many readers or one writer, never both. */
@WispCase
public final class ReadWriteLocks {
    private static final AtomicInteger READERS = new AtomicInteger();
    private static final AtomicInteger WRITERS = new AtomicInteger();
    private static int value;

    public static void main(String[] args) throws Exception {
        for (boolean fair : new boolean[] {false, true}) {
            ReadWriteLock lock = new ReentrantReadWriteLock(fair);
            use(i -> lock.readLock().lock(), i -> lock.readLock().unlock(),
                    i -> lock.writeLock().lock(), i -> lock.writeLock().unlock());
            say("fair %s value %d", fair, value);
        }
        StampedLock stamped = new StampedLock();
        ThreadLocal<Long> stamp = new ThreadLocal<>();
        use(i -> stamp.set(stamped.readLock()), i -> stamped.unlockRead(stamp.get()),
                i -> stamp.set(stamped.writeLock()), i -> stamped.unlockWrite(stamp.get()));
        say("stamped value %d", value);
        long optimistic = stamped.tryOptimisticRead();
        say("valid %s", stamped.validate(optimistic));
        long write = stamped.writeLock();
        say("valid %s", stamped.validate(optimistic));
        say("timed read %d", stamped.tryReadLock(20, TimeUnit.MILLISECONDS));
        stamped.unlockWrite(write);

        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        CyclicBarrier together = new CyclicBarrier(5);
        Kit.together(5, "reader", () -> {
            both.readLock().lock();
            together.await(); // only passes when all hold it at once
            both.readLock().unlock();
        });
        say("five readers at once");
    }

    private static void use(IntConsumer lockRead, IntConsumer unlockRead, IntConsumer lockWrite, IntConsumer unlockWrite)
            throws InterruptedException {
        value = 0;
        Kit.together(8, "user", () -> {
            for (int i = 0; i < 1_000; i++) {
                if (i % 4 == 0) {
                    lockWrite.accept(i);
                    check("one writer", WRITERS.incrementAndGet() == 1 && READERS.get() == 0);
                    value++;
                    WRITERS.decrementAndGet();
                    unlockWrite.accept(i);
                } else {
                    lockRead.accept(i);
                    READERS.incrementAndGet();
                    check("no writer", WRITERS.get() == 0);
                    if (i % 100 == 1) {
                        Thread.yield();
                    }
                    READERS.decrementAndGet();
                    unlockRead.accept(i);
                }
            }
        });
    }
}
