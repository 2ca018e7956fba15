package wisp.it.cases.tools;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * SIGQUIT prints a dump with every thread, the program goes on. A JVM of its own is asked, since only who reads its
 * output knows when a dump is complete.
 */
@WispCase(smoke = true, keep = "^\"(dumped-\\d)\"|^(?:Full thread dump)|^done$|^JNI global ref")
public final class QuitDump {
    public static void main(String[] args) throws Exception {
        if (args.length != 0) {
            beDumped();
            return;
        }
        Process asked = Kit.again(QuitDump.class, "asked").redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(asked.getInputStream()))) {
            String pid = sayUntil(lines, "pid ").substring(4);
            for (int i = 0; i < 2; i++) {
                check("kill", new ProcessBuilder("kill", "-QUIT", pid).inheritIO().start().waitFor() == 0);
                sayUntil(lines, "JNI global ref");
            }
            asked.getOutputStream().close();
            sayUntil(lines, "done");
        }
        check("it ends well", asked.waitFor() == 0);
    }

    /** Says what the other JVM writes, to the line that begins so. */
    private static String sayUntil(BufferedReader lines, String start) throws Exception {
        for (String line; (line = lines.readLine()) != null;) {
            System.out.println(line);
            if (line.startsWith(start)) {
                return line;
            }
        }
        throw new AssertionError("ended before " + start);
    }

    private static void beDumped() throws Exception {
        CountDownLatch open = new CountDownLatch(1);
        Thread[] threads = new Thread[5];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = Kit.start("dumped-" + i, open::await);
        }
        for (Thread thread : threads) {
            Kit.awaitState(thread, Thread.State.WAITING);
        }
        say("pid %s", new File("/proc/self").getCanonicalFile().getName());
        check("asked to end", System.in.read() < 0);
        open.countDown();
        Kit.join(threads);
        say("\ndone"); // on a line of its own, should the second dump still be under way
    }
}
