package wisp.it.cases.thread;

import static wisp.it.Kit.say;

import wisp.it.Kit;
import wisp.it.WispCase;

/** main dies of an exception: the others finish, the exit code is 1. */
@WispCase(exitCode = 1, stderr = true)
public final class UncaughtInMain {
    public static void main(String[] args) {
        Kit.start("survivor", () -> {
            Thread.sleep(200);
            say("the survivor finished");
        });
        throw new IllegalStateException("main ends here");
    }
}
