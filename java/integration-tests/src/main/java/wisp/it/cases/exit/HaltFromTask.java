package wisp.it.cases.exit;

import static wisp.it.Kit.say;

import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Runtime.halt in a task: no hooks, the exit code, at once. */
@WispCase(smoke = true, exitCode = 9)
public final class HaltFromTask {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> say("never: halt runs no hooks")));
        Kit.start("halting", () -> {
            Thread.sleep(20);
            say("halting");
            System.out.flush();
            Runtime.getRuntime().halt(9);
        });
        new CountDownLatch(1).await();
    }
}
