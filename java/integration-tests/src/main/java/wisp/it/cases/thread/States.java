package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** getState in every state, and names in the stack of a thread that waits. */
@WispCase(smoke = true)
public final class States {
    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        Object monitor = new Object();
        Thread fresh = new Thread(() -> { });
        say("%s", fresh.getState());
        fresh.start();
        fresh.join();
        say("%s", fresh.getState());

        Thread running = Kit.start("running", () -> {
            while (!stop) {
                Thread.yield();
            }
        });
        reaches(running, Thread.State.RUNNABLE);
        stop = true;
        Kit.join(running);

        CountDownLatch latch = new CountDownLatch(1);
        Thread parked = Kit.start("parked", latch::await);
        reaches(parked, Thread.State.WAITING);
        Thread sleeping = Kit.start("sleeping", () -> Kit.sayThrown("sleep", () -> Thread.sleep(60_000)));
        reaches(sleeping, Thread.State.TIMED_WAITING);
        Thread waiting = Kit.start("waiting", () -> {
            synchronized (monitor) {
                monitor.wait();
            }
        });
        reaches(waiting, Thread.State.WAITING);
        Thread blocked;
        synchronized (monitor) {
            blocked = Kit.start("blocked", () -> {
                synchronized (monitor) {
                    say("entered");
                }
            });
            reaches(blocked, Thread.State.BLOCKED);
        }
        Kit.join(blocked);
        say("stack of parked has await: %s", mentions(parked.getStackTrace(), "await"));
        say("stack of sleeping has sleep: %s", mentions(sleeping.getStackTrace(), "sleep"));
        say("all stacks have waiting: %s", mentions(Thread.getAllStackTraces().get(waiting), "wait"));
        say("stack of a dead one: %d", fresh.getStackTrace().length);
        latch.countDown();
        sleeping.interrupt();
        synchronized (monitor) {
            monitor.notifyAll();
        }
        Kit.join(parked, sleeping, waiting);
    }

    private static void reaches(Thread thread, Thread.State state) throws InterruptedException {
        Kit.awaitState(thread, state);
        say("%s is %s", thread.getName(), state);
    }

    private static boolean mentions(StackTraceElement[] stack, String method) {
        return Arrays.stream(stack).anyMatch(frame -> frame.getMethodName().startsWith(method));
    }
}
