package wisp.it.cases.exit;

import static wisp.it.Kit.say;

import java.io.File;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** SIGKILL: gone at once. */
@WispCase(exitCode = 137, stats = false)
public final class Killed {
    public static void main(String[] args) throws Exception {
        Kit.start("parked", () -> new CountDownLatch(1).await());
        String pid = new File("/proc/self").getCanonicalFile().getName();
        say("killing");
        System.out.flush();
        new ProcessBuilder("kill", "-KILL", pid).inheritIO().start();
        Thread.sleep(60_000);
    }
}
