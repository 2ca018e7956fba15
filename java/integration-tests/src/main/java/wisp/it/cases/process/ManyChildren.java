package wisp.it.cases.process;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.InputStream;
import java.io.OutputStream;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Many tasks start children at once, feed them, read from them and wait for them; a ticker goes on. */
@WispCase
public final class ManyChildren {
    private static final int CHILDREN = 24;

    public static void main(String[] args) throws Exception {
        AtomicLong bytes = new AtomicLong();
        Kit.besideTicker(100, () -> {
            bytes.set(0);
            Kit.together(CHILDREN, "parent", () -> {
                Process cat = new ProcessBuilder("cat").start();
                Thread feeder = Kit.start("feeder", () -> {
                    byte[] block = new byte[10_000];
                    try (OutputStream out = cat.getOutputStream()) {
                        for (int i = 0; i < 40; i++) {
                            out.write(block);
                        }
                    }
                });
                byte[] part = new byte[8192];
                try (InputStream in = cat.getInputStream()) {
                    for (int n; (n = in.read(part)) >= 0;) {
                        bytes.addAndGet(n);
                    }
                }
                Kit.join(feeder);
                check("cat ends", cat.waitFor() == 0);
                Process sleeper = new ProcessBuilder("sleep", "30").start();
                check("still there", !sleeper.waitFor(20, TimeUnit.MILLISECONDS) && sleeper.isAlive());
                sleeper.destroy();
                check("terminated", sleeper.waitFor() == 128 + 15);
                Process slow = new ProcessBuilder("sh", "-c", "sleep 0.3; exit 7").start();
                check("exit code", slow.waitFor() == 7);
            });
        });
        say("%d children echoed %d bytes", CHILDREN, bytes.get());
    }
}
