package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import wisp.it.WispCase;

/** Without a handler the stack trace goes to standard error, the same frames as ever. */
@WispCase(stderr = true)
public final class UncaughtStackTrace {
    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) {
            Thread thread = new Thread(() -> outer(3), "thrower-" + i);
            thread.start();
            thread.join();
        }
        say("main goes on");
    }

    private static void outer(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("at the bottom", new RuntimeException("the cause"));
        }
        outer(depth - 1);
    }
}
