package wisp.it.cases.tools;

import static wisp.it.Kit.say;

import java.io.File;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/** SIGQUIT prints a dump with every thread, the program goes on. */
@WispCase(smoke = true, keep = "^\"(dumped-\\d)\"|^(?:Full thread dump)|^done$|^JNI global ref")
public final class QuitDump {
    public static void main(String[] args) throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        Thread[] threads = new Thread[5];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Kit.start("dumped-" + i, open::await);
        }
        for (Thread thread : threads) {
            Kit.awaitState(thread, Thread.State.WAITING);
        }
        String pid = new File("/proc/self").getCanonicalFile().getName();
        for (int i = 0; i < 2; i++) {
            new ProcessBuilder("kill", "-QUIT", pid).inheritIO().start().waitFor();
            Thread.sleep(500); // the dump is written by another thread of the JVM
        }
        open.countDown();
        Kit.join(threads);
        say("done");
    }
}
