package wisp.it.cases.exit;

import static wisp.it.Kit.say;

import java.io.File;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** SIGTERM while tasks run: hooks, then exit code 143. */
@WispCase(smoke = true, exitCode = 143)
public final class Terminated {
    public static void main(String[] args) throws Exception {
        Runtime.getRuntime().addShutdownHook(Kit.thread("hook", () -> {
            Thread.sleep(20);
            say("hook ran");
        }));
        for (int i = 0; i < 5; i++) {
            Kit.start("parked" + i, () -> new CountDownLatch(1).await());
        }
        Kit.start("computing", () -> {
            while (true) {
                Thread.yield();
            }
        });
        String pid = new File("/proc/self").getCanonicalFile().getName();
        new ProcessBuilder("kill", "-TERM", pid).inheritIO().start();
        Thread.sleep(60_000);
        say("never");
    }
}
