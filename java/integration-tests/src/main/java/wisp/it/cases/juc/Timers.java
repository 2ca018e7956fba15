package wisp.it.cases.juc;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import wisp.it.Kit;
import wisp.it.WispCase;

/** java.util.Timer: its thread ticks, cancels, dies with its task. */
@WispCase(smoke = true)
public final class Timers {
    private static TimerTask task(Runnable body) {
        return new TimerTask() {
            @Override
            public void run() {
                body.run();
            }
        };
    }

    public static void main(String[] args) throws Exception {
        Timer timer = new Timer("timer");
        CountDownLatch ticks = new CountDownLatch(20);
        long start = System.nanoTime();
        timer.scheduleAtFixedRate(task(ticks::countDown), 5, 10);
        say("ticks %s", ticks.await(300, TimeUnit.SECONDS));
        check("not too early", Kit.millisSince(start) >= 190);
        CountDownLatch once = new CountDownLatch(1);
        TimerTask cancelled = task(() -> say("never"));
        timer.schedule(cancelled, 60_000);
        timer.schedule(task(once::countDown), 20);
        say("once %s", once.await(300, TimeUnit.SECONDS));
        say("cancelled %s, again %s", cancelled.cancel(), cancelled.cancel());
        timer.cancel();
        Kit.sayThrown("schedule after cancel", () -> timer.schedule(task(() -> { }), 1));

        Timer daemon = new Timer("daemon", true);
        AtomicReference<Thread> thread = new AtomicReference<>();
        daemon.schedule(task(() -> {
            thread.set(Thread.currentThread());
            Thread.currentThread().setUncaughtExceptionHandler((t, e) -> say("%s in %s", e.getMessage(), t.getName()));
            throw new IllegalStateException("a task fails");
        }), 1);
        Kit.await("ran", () -> thread.get() != null);
        Kit.join(thread.get());
        Kit.sayThrown("schedule after death", () -> daemon.schedule(task(() -> { }), 1));
    }
}
