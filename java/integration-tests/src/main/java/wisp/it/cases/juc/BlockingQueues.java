package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Every BlockingQueue with several producers and consumers: each item arrives once. */
@WispCase(smoke = true)
public final class BlockingQueues {
    private static final int ITEMS = 1_000;

    private static final class Due implements Delayed {
        private final long at = System.nanoTime() + 1_000_000;
        private final int number;

        Due(int number) {
            this.number = number;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(at - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(at, ((Due) other).at);
        }
    }

    public static void main(String[] args) throws Exception {
        pass(new LinkedBlockingQueue<>());
        pass(new LinkedBlockingQueue<>(2));
        pass(new ArrayBlockingQueue<>(3));
        pass(new ArrayBlockingQueue<>(3, true));
        pass(new LinkedBlockingDeque<>(2));
        pass(new PriorityBlockingQueue<>());
        pass(new LinkedTransferQueue<>());
        pass(new SynchronousQueue<>());
        pass(new SynchronousQueue<>(true));

        DelayQueue<Due> delayed = new DelayQueue<>();
        AtomicLong sum = new AtomicLong();
        Thread taker = Kit.start("taker", () -> {
            for (int i = 0; i < 100; i++) {
                sum.addAndGet(delayed.take().number);
            }
        });
        for (int i = 0; i < 100; i++) {
            delayed.put(new Due(i));
        }
        Kit.join(taker);
        say("DelayQueue %d", sum.get());

        LinkedTransferQueue<Integer> transfer = new LinkedTransferQueue<>();
        Thread receiver = Kit.start("receiver", () -> say("transferred %d", transfer.take()));
        transfer.transfer(7);
        Kit.join(receiver);
        say("nobody there: %s %s", transfer.tryTransfer(8), transfer.tryTransfer(9, 10, TimeUnit.MILLISECONDS));
    }

    private static void pass(BlockingQueue<Integer> queue) throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        AtomicInteger roles = new AtomicInteger();
        Kit.together(8, queue.getClass().getSimpleName(), () -> {
            boolean producer = roles.getAndIncrement() % 2 == 0;
            for (int i = 0; i < ITEMS; i++) {
                if (producer) {
                    queue.put(i);
                } else {
                    sum.addAndGet(queue.take());
                }
            }
        });
        long start = System.nanoTime();
        Integer none = queue.poll(15, TimeUnit.MILLISECONDS);
        check("poll took its time", Kit.millisSince(start) >= 14);
        say("%s sum %d, left %d, poll %s", queue.getClass().getSimpleName(), sum.get(), queue.size(), none);
    }
}
