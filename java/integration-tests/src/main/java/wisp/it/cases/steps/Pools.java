package wisp.it.cases.steps;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** A pool of one kind, tasks that wait at a gate, their futures; a timer. */
final class Pools extends World {
    private final ExecutorService pool;
    private final Semaphore gate = new Semaphore(0, true);
    private final List<Future<?>> futures = new ArrayList<>();
    private final Timer timer = new Timer("timer", true);

    Pools(Random random) {
        super(random);
        pool = pool(random.nextInt(4));
    }

    private static ExecutorService pool(int kind) {
        switch (kind) {
            case 0:
                return new ThreadPoolExecutor(1, 2, 1, TimeUnit.HOURS, new LinkedBlockingQueue<>(2));
            case 1:
                return Executors.newCachedThreadPool();
            case 2:
                return Executors.newScheduledThreadPool(2);
            default:
                return new ForkJoinPool(2);
        }
    }

    @Override
    Action draw(Worker worker) {
        int at = futures.isEmpty() ? -1 : random.nextInt(futures.size());
        boolean brief = one(2);
        switch (random.nextInt(12)) {
            case 0: case 1: case 2:
                return futures.size() > 8 || isFull() ? null : submit(random.nextInt(4));
            case 3: case 4:
                return at < 0 ? null : new Action("get " + at + " " + millis(brief), kind(brief),
                        () -> futures.get(at).get(millis(brief), unit()));
            case 5:
                return at < 0 ? null : Action.waits("get " + at, () -> futures.get(at).get());
            case 6:
                return at < 0 || pool instanceof ForkJoinPool ? null
                        : Action.quick("cancel " + at, () -> futures.get(at).cancel(brief) + " " + futures.get(at).isCancelled());
            case 7:
                return Action.quick("open gate", of(() -> gate.release()));
            case 8:
                return one(4) ? Action.quick("shutdown", of(pool::shutdown)) : one(6) && !(pool instanceof ForkJoinPool)
                        ? Action.quick("shutdownNow", () -> pool.shutdownNow().size()) : null;
            case 9:
                return new Action("awaitTermination " + millis(brief), kind(brief), () -> pool.awaitTermination(millis(brief), unit()));
            case 10:
                return interruptAny(worker);
            default:
                return Action.ends("timer", of(() -> {
                    timer.schedule(new TimerTask() {
                        @Override
                        public void run() {
                            event("timer ran");
                        }
                    }, SHORT);
                    Thread.sleep(3 * SHORT);
                }));
        }
    }

    /** A fork/join pool has no order in what queues. */
    private boolean isFull() {
        return pool instanceof ForkJoinPool && futures.stream().filter(future -> !future.isDone()).count() > 1;
    }

    private Action submit(int kind) {
        int number = futures.size();
        Callable<Object> task = () -> {
            if (kind == 1) {
                throw new IllegalStateException("task " + number);
            }
            if (kind >= 2) {
                gate.acquire();
            }
            return "done " + number;
        };
        if (pool instanceof ScheduledExecutorService && one(2)) {
            return Action.ends("schedule " + number + " " + kind, of(() -> {
                futures.add(((ScheduledExecutorService) pool).schedule(task, SHORT, unit()));
                Thread.sleep(3 * SHORT);
            }));
        }
        return Action.quick("submit " + number + " " + kind, of(() -> futures.add(pool.submit(task))));
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        all.add(Action.quick("gates", of(() -> gate.release(100))));
        all.add(Action.quick("shutdown", of(pool::shutdown)));
        all.add(Action.waits("termination", () -> pool.awaitTermination(10, TimeUnit.SECONDS)));
        all.add(Action.quick("timer", of(timer::cancel)));
        return all;
    }
}
