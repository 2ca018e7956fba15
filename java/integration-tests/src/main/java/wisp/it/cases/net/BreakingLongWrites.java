package wisp.it.cases.net;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * As {@link BreakingAtAnyMoment}, in the middle of a write of more than fits: its peer reads, and stops at that moment,
 * so that only the close or interrupt ends it.
 */
@WispCase(minJdk = 25)
public final class BreakingLongWrites {
    private static final int ROUNDS = 15;
    private static final int SIZE = 64 << 20;
    private static final int BEGUN = 1 << 20;

    /** Writes again and again, until it throws. */
    private interface Writer {
        void write(WritableByteChannel to) throws IOException;
    }

    public static void main(String[] args) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocateDirect(SIZE);
        Path path = Files.createTempFile("wisp", ".file");
        try (ServerSocketChannel listener = ServerSocketChannel.open().bind(Net.ANY);
                FileChannel file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.allocate(1), SIZE - 1);
            for (boolean interrupt : new boolean[] {false, true}) {
                broken("write", interrupt, listener, to -> to.write(bytes.duplicate()));
                broken("pipe write", interrupt, null, to -> to.write(bytes.duplicate()));
            }
            broken("transferTo", false, listener, to -> file.transferTo(0, SIZE, to));
        } finally {
            Files.delete(path);
        }
    }

    private static void broken(String what, boolean interrupt, ServerSocketChannel listener, Writer writer)
            throws Exception {
        int broken = 0;
        for (int i = 0; i < ROUNDS; i++) {
            Pipe pipe = listener == null ? Pipe.open() : null;
            SocketChannel client = pipe == null ? SocketChannel.open(listener.getLocalAddress()) : null;
            ReadableByteChannel from = pipe != null ? pipe.source() : client;
            WritableByteChannel to = pipe != null ? pipe.sink() : listener.accept();
            broken += broken(from, to, interrupt, writer, i) ? 1 : 0;
        }
        Kit.say("%s, %s: %d of %d broken", what, interrupt ? "interrupt" : "close", broken, ROUNDS);
    }

    private static boolean broken(
            ReadableByteChannel from, WritableByteChannel to, boolean interrupt, Writer writer, int moment)
            throws Exception {
        AtomicLong received = new AtomicLong();
        AtomicBoolean stops = new AtomicBoolean();
        AtomicBoolean thrown = new AtomicBoolean();
        Thread reads = Kit.start("reader", () -> {
            ByteBuffer part = ByteBuffer.allocateDirect(1 << 16);
            int n;
            while (!stops.get() && (n = from.read(part)) >= 0) {
                received.addAndGet(n);
                part.clear();
            }
        });
        Thread writes = Kit.start("writer", () -> thrown.set(!Kit.thrown(() -> {
            while (true) {
                writer.write(to);
            }
        }).equals("nothing")));
        while (received.get() < BEGUN) {
            Thread.yield();
        }
        Thread.sleep(0, moment * 60_000);
        if (interrupt) {
            writes.interrupt();
        } else {
            to.close();
        }
        stops.set(true);
        Kit.join(writes);
        to.close();
        Kit.join(reads);
        from.close();
        return thrown.get();
    }
}
