package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** The deprecated three, where the JDK still has them. */
@WispCase(maxJdk = 17)
@SuppressWarnings("deprecation")
public final class SuspendResumeStop {
    private static volatile long counter;

    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(() -> {
            try {
                while (true) {
                    counter++;
                    Thread.yield();
                }
            } catch (ThreadDeath death) {
                say("stopped by ThreadDeath");
                throw death;
            }
        }, "counting");
        thread.start();
        Kit.await("it counts", () -> counter > 100);
        thread.suspend();
        Thread.sleep(50);
        long before = counter;
        Thread.sleep(100);
        say("stands still: %s", counter == before);
        thread.resume();
        Kit.await("it counts again", () -> counter > before + 100);
        thread.stop();
        Kit.join(thread);
        say("%s", thread.getState());
    }
}
