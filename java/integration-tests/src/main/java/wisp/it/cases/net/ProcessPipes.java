package wisp.it.cases.net;

import java.io.OutputStream;
import wisp.it.Kit;
import wisp.it.WispCase;

/** The pipes of child processes, in both directions and beyond what a pipe holds. */
@WispCase
public final class ProcessPipes {
    public static void main(String[] args) throws Exception {
        Kit.together(4, "cat", () -> {
            Process cat = new ProcessBuilder("cat").start();
            Thread writer = Kit.start("writer", () -> {
                try (OutputStream out = cat.getOutputStream()) {
                    Net.send(out, 11, 1_000_000);
                }
            });
            Net.receive(cat.getInputStream(), 11, 1_000_000);
            Kit.check("end", cat.getInputStream().read() == -1);
            Kit.join(writer);
            Kit.check("exit", cat.waitFor() == 0);
        });
        Kit.say("cat ok");
        Process sleeper = new ProcessBuilder("sleep", "100").start();
        Thread reader = Kit.start("reader", () -> Kit.say("read %d", sleeper.getInputStream().read()));
        Kit.awaitNative(reader);
        sleeper.destroy();
        Kit.join(reader);
        Kit.say("exit %d", sleeper.waitFor());
    }
}
