package wisp.it.cases.process;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** The JDK has one reaper thread per child that lives. Under Wisp none of them sits in the kernel. */
@WispCase
public final class Reapers {
    private static final int CHILDREN = 50;
    private static final int WAITID = System.getProperty("os.arch").equals("aarch64") ? 95 : 247;
    private static final int WAIT4 = System.getProperty("os.arch").equals("aarch64") ? 260 : 61;

    public static void main(String[] args) throws Exception {
        Process[] children = new Process[CHILDREN];
        for (int i = 0; i < CHILDREN; i++) {
            children[i] = new ProcessBuilder("sh", "-c", "read line; exit " + i).start();
        }
        AtomicInteger codes = new AtomicInteger();
        AtomicInteger waiting = new AtomicInteger();
        Thread[] waiters = new Thread[CHILDREN];
        for (int i = 0; i < CHILDREN; i++) {
            Process child = children[i];
            waiters[i] = Kit.start("waiter-" + i, () -> {
                waiting.incrementAndGet();
                codes.addAndGet(child.waitFor());
            });
        }
        int expected = Kit.underWisp() ? 0 : CHILDREN;
        Kit.await("kernel threads in waitpid: " + expected, () -> waiting.get() == CHILDREN && inWait() == expected);
        for (Process child : children) {
            child.getOutputStream().close();
        }
        Kit.join(waiters);
        check("all codes", codes.get() == CHILDREN * (CHILDREN - 1) / 2);
        say("%d children reaped", CHILDREN);
    }

    /** Kernel threads of this process that wait for a child. */
    private static int inWait() {
        int count = 0;
        for (File task : Kit.kernelThreads()) {
            Path path = Paths.get(task.getPath(), "syscall");
            try {
                String call = new String(Files.readAllBytes(path), StandardCharsets.US_ASCII).split("\\s")[0];
                if (call.equals(Integer.toString(WAITID)) || call.equals(Integer.toString(WAIT4))) {
                    count++;
                }
            } catch (IOException ended) {
                // The thread is gone.
            }
        }
        return count;
    }
}
