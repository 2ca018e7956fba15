package wisp.it.cases.file;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.FileInputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Reads that must wait for the disk return all that was asked for; a stream shared by tasks is cut into whole pieces. */
@WispCase
public final class ColdReads {
    private static final int SIZE = 8 << 20;

    public static void main(String[] args) throws Exception {
        Path path = Data.file("cold", SIZE);
        for (int round = 0; round < 3; round++) {
            Data.drop(path);
            Kit.together(8, "random", () -> {
                Random random = new Random(Thread.currentThread().getName().hashCode());
                try (FileChannel channel = FileChannel.open(path)) {
                    for (int k = 0; k < 60; k++) {
                        int size = 1 + random.nextInt(40_000);
                        long at = random.nextInt(SIZE - size);
                        ByteBuffer buffer = ByteBuffer.allocate(size);
                        check("all of it", channel.read(buffer, at) == size);
                        Data.verify("random", buffer.array(), size, at);
                    }
                }
            });
            Data.drop(path);
            Kit.together(4, "sequential", () -> {
                try (FileInputStream in = new FileInputStream(path.toFile())) {
                    byte[] part = new byte[100_000];
                    long at = 0;
                    for (int n; (n = in.read(part)) >= 0; at += n) {
                        check("a full read", n == Math.min(part.length, SIZE - at));
                        Data.verify("sequential", part, n, at);
                    }
                    check("to the end", at == SIZE);
                }
            });
            shared(path);
        }
        say("cold reads complete");
    }

    /** Which task gets which piece is open; that each is contiguous and none is lost is not. */
    private static void shared(Path path) throws Exception {
        Data.drop(path);
        AtomicLong total = new AtomicLong();
        AtomicLong pieces = new AtomicLong();
        try (FileInputStream in = new FileInputStream(path.toFile())) {
            Kit.together(6, "sharing", () -> {
                byte[] part = new byte[24_000];
                for (int n; (n = in.read(part)) >= 0;) {
                    total.addAndGet(n);
                    pieces.incrementAndGet();
                    contiguous(part, n);
                }
            });
        }
        check("everything once: " + total + " in " + pieces, total.get() == SIZE && pieces.get() == (SIZE + 23_999) / 24_000);
    }

    /** The pattern repeats every 256 * 251 bytes: compares with the only places where such bytes may stand. */
    private static void contiguous(byte[] part, int size) {
        for (long from = 0; from < 256 * 251; from++) {
            boolean same = true;
            for (int i = 0; same && i < Math.min(size, 600); i++) {
                same = part[i] == Data.at(from + i);
            }
            if (same) {
                Data.verify("shared", part, size, from);
                return;
            }
        }
        check("a piece of the file", false);
    }
}
