package wisp.it.cases.file;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Opening a FIFO waits for its other end, reading waits for data; tasks at both ends, also on one carrier. */
@WispCase
public final class Fifos {
    public static void main(String[] args) throws Exception {
        Data.file("makes-the-folder", 1);
        File[] fifos = new File[5];
        Thread[] threads = new Thread[2 * fifos.length];
        for (int i = 0; i < fifos.length; i++) {
            File fifo = new File("target/files/fifo" + i + "-" + System.nanoTime());
            fifos[i] = fifo;
            check("mkfifo", new ProcessBuilder("mkfifo", fifo.getPath()).start().waitFor() == 0);
            threads[2 * i] = Kit.start("reader" + i, () -> {
                byte[] part = new byte[1000];
                long at = 0;
                try (FileInputStream in = new FileInputStream(fifo)) {
                    for (int n; (n = in.read(part)) >= 0; at += n) {
                        Data.verify("fifo", part, n, at);
                    }
                }
                check("all", at == 200_000);
            });
        }
        Thread.sleep(50);
        for (int i = 0; i < fifos.length; i++) {
            File fifo = fifos[i];
            threads[2 * i + 1] = Kit.start("writer" + i, () -> {
                try (FileOutputStream out = new FileOutputStream(fifo)) {
                    for (int at = 0; at < 200_000; at += 2000) {
                        out.write(Data.bytes(at, 2000));
                        if (at == 100_000) {
                            Thread.sleep(20);
                        }
                    }
                }
            });
        }
        Kit.join(threads);
        for (File fifo : fifos) {
            check("delete", fifo.delete());
        }
        say("all through");
    }
}
