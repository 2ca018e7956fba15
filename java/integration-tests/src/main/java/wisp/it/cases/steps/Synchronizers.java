package wisp.it.cases.steps;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;

/** Semaphore, latch, barrier, phaser, exchanger, futures. */
final class Synchronizers extends World {
    private final Semaphore semaphore;
    private CountDownLatch latch = new CountDownLatch(2);
    private final CyclicBarrier barrier = new CyclicBarrier(2, () -> event("barrier action"));
    private final Phaser phaser = new Phaser(2);
    private final Exchanger<Integer> exchanger = new Exchanger<>();
    private CompletableFuture<Integer> future = new CompletableFuture<>();
    private FutureTask<Integer> task = task();
    private int next;

    Synchronizers(Random random) {
        super(random);
        semaphore = new Semaphore(1, one(2));
    }

    private static FutureTask<Integer> task() {
        return new FutureTask<>(() -> 7);
    }

    @Override
    Action draw(Worker worker) {
        switch (random.nextInt(8)) {
            case 0:
                return semaphore(1 + random.nextInt(2), one(2));
            case 1:
                return latch(one(2));
            case 2:
                return barrier(one(2));
            case 3:
                return phaser();
            case 4:
                return exchange(one(2));
            case 5:
                return future(one(2));
            case 6:
                return task(one(2));
            default:
                return interruptAny(worker);
        }
    }

    private Action semaphore(int count, boolean brief) {
        String text = " " + count;
        switch (random.nextInt(5)) {
            case 0:
                return Action.waits("acquire" + text, of(() -> semaphore.acquire(count)));
            case 1:
                return Action.waits("acquireUninterruptibly" + text, of(() -> semaphore.acquireUninterruptibly(count)));
            case 2:
                return new Action("tryAcquire" + text + " " + millis(brief), kind(brief),
                        () -> semaphore.tryAcquire(count, millis(brief), unit()));
            case 3:
                return Action.quick("release" + text, of(() -> semaphore.release(count)));
            default:
                return Action.quick("look at semaphore", () -> semaphore.availablePermits() + " " + semaphore.getQueueLength());
        }
    }

    private Action latch(boolean brief) {
        CountDownLatch now = latch;
        switch (random.nextInt(4)) {
            case 0:
                return Action.waits("latch.await", of(now::await));
            case 1:
                return new Action("latch.await " + millis(brief), kind(brief), () -> now.await(millis(brief), unit()));
            case 2:
                return Action.quick("countDown", () -> {
                    now.countDown();
                    return now.getCount();
                });
            default:
                if (now.getCount() == 0) {
                    latch = new CountDownLatch(1 + random.nextInt(2));
                }
                return null;
        }
    }

    private Action barrier(boolean brief) {
        switch (random.nextInt(4)) {
            case 0: case 1:
                return Action.waits("barrier.await", barrier::await);
            case 2:
                return new Action("barrier.await " + millis(brief), kind(brief), () -> barrier.await(millis(brief), unit()));
            default:
                return Action.quick("barrier.reset", () -> {
                    boolean broken = barrier.isBroken();
                    int waiting = barrier.getNumberWaiting();
                    barrier.reset();
                    return broken + " " + waiting;
                });
        }
    }

    private Action phaser() {
        switch (random.nextInt(6)) {
            case 0: case 1:
                return phaser.getUnarrivedParties() == 0 ? null : Action.waits("arriveAndAwaitAdvance", phaser::arriveAndAwaitAdvance);
            case 2:
                return phaser.getUnarrivedParties() == 0 ? null : Action.quick("arrive", phaser::arrive);
            case 3:
                return Action.waits("awaitAdvanceInterruptibly",
                        () -> phaser.awaitAdvanceInterruptibly(phaser.getPhase(), LONG, unit()));
            case 4:
                return Action.timed("awaitAdvance short",
                        () -> phaser.awaitAdvanceInterruptibly(phaser.getPhase(), SHORT, unit()));
            default:
                return Action.waits("awaitAdvance", () -> phaser.awaitAdvance(phaser.getPhase()));
        }
    }

    private Action exchange(boolean brief) {
        int item = next++;
        return one(2) ? Action.waits("exchange " + item, () -> exchanger.exchange(item))
                : new Action("exchange " + item + " " + millis(brief), kind(brief),
                        () -> exchanger.exchange(item, millis(brief), unit()));
    }

    private Action future(boolean brief) {
        CompletableFuture<Integer> now = future;
        int value = next++;
        switch (random.nextInt(7)) {
            case 0:
                return Action.waits("future.get", now::get);
            case 1:
                return new Action("future.get " + millis(brief), kind(brief), () -> now.get(millis(brief), unit()));
            case 2:
                return Action.waits("future.join", () -> now.thenApply(n -> n + 1).join());
            case 3:
                return Action.quick("complete " + value, () -> now.complete(value));
            case 4:
                return Action.quick("completeExceptionally", () -> now.completeExceptionally(new IllegalStateException("no " + value)));
            case 5:
                return Action.quick("future.cancel", () -> now.cancel(true));
            default:
                if (now.isDone()) {
                    future = new CompletableFuture<>();
                }
                return null;
        }
    }

    private Action task(boolean brief) {
        FutureTask<Integer> now = task;
        switch (random.nextInt(5)) {
            case 0:
                return Action.waits("task.get", now::get);
            case 1:
                return new Action("task.get " + millis(brief), kind(brief), () -> now.get(millis(brief), unit()));
            case 2:
                return Action.quick("task.run", of(now::run));
            case 3:
                return Action.quick("task.cancel", () -> now.cancel(true));
            default:
                if (now.isDone()) {
                    task = task();
                }
                return null;
        }
    }

    @Override
    List<Action> ends() {
        return Arrays.asList(Action.quick("release", of(() -> semaphore.release(100))),
                Action.quick("complete", () -> future.complete(-1) | task.cancel(false)),
                Action.quick("terminate", of(phaser::forceTermination)));
    }
}
