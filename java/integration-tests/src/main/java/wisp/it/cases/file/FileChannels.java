package wisp.it.cases.file;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.FileInputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Every way to a file's bytes, from many tasks at once, each with a file of its own and with a shared one. */
@WispCase(smoke = true, variants = WispCase.INTERPRETER)
public final class FileChannels {
    private static final int SIZE = 300_000;
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        Path shared = Data.file("shared", SIZE);
        Kit.together(12, "reader", () -> {
            sharedReads(shared);
            Path own = Data.file("own" + NUMBERS.getAndIncrement(), SIZE);
            channel(own);
            randomAccess(own);
            mapped(own);
            transfers(own);
            errors(own);
            Files.delete(own);
        });
        say("12 tasks: all bytes in place");
    }

    private static void sharedReads(Path shared) throws Exception {
        byte[] all = Files.readAllBytes(shared);
        check("size", all.length == SIZE);
        Data.verify("readAllBytes", all, SIZE, 0);
        try (FileInputStream in = new FileInputStream(shared.toFile())) {
            byte[] part = new byte[7001];
            long at = 0;
            for (int n; (n = in.read(part)) >= 0; at += n) {
                check("a full read", n == Math.min(part.length, SIZE - at));
                Data.verify("stream", part, n, at);
            }
            check("all of the stream", at == SIZE && in.available() == 0);
            in.getChannel().position(1000);
            check("skip", in.skip(500) == 500 && in.read() == (Data.at(1500) & 255));
        }
    }

    private static void channel(Path own) throws Exception {
        try (FileChannel c = FileChannel.open(own, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            ByteBuffer direct = ByteBuffer.allocateDirect(5000);
            for (int k = 0; k < 60; k++) {
                direct.clear();
                long at = k * 4999L;
                int n = c.read(direct, at);
                check("positional", n == Math.min(5000, SIZE - at));
                direct.flip();
                Data.verify("positional", direct, at);
            }
            check("beyond the end", c.read(ByteBuffer.allocate(10), SIZE) == -1 && c.position() == 0);
            ByteBuffer[] parts = {ByteBuffer.allocate(10), ByteBuffer.allocateDirect(70_000), ByteBuffer.allocate(1)};
            check("scattering", c.read(parts) == 70_011);
            parts[1].flip();
            Data.verify("scattering", parts[1], 10);
            c.position(SIZE);
            ByteBuffer[] gathered = {ByteBuffer.wrap(Data.bytes(SIZE, 100)), ByteBuffer.wrap(Data.bytes(SIZE + 100, 5000))};
            check("gathering", c.write(gathered) == 5100 && c.size() == SIZE + 5100);
            check("positional write", c.write(ByteBuffer.wrap(Data.bytes(SIZE + 5100, 900)), SIZE + 5100) == 900);
            c.force(true);
            byte[] tail = new byte[6000];
            check("tail", c.read(ByteBuffer.wrap(tail), SIZE) == 6000);
            Data.verify("tail", tail, 6000, SIZE);
            c.truncate(SIZE);
            c.force(false);
            check("truncated", c.size() == SIZE && c.position() == SIZE);
        }
    }

    private static void randomAccess(Path own) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(own.toFile(), "rwd")) {
            file.seek(12345);
            byte[] bytes = new byte[20_000];
            file.readFully(bytes);
            Data.verify("readFully", bytes, bytes.length, 12345);
            file.setLength(SIZE + 10);
            file.seek(SIZE);
            file.write(Data.bytes(SIZE, 10));
            file.getFD().sync();
            file.seek(SIZE + 9);
            check("last", (byte) file.read() == Data.at(SIZE + 9) && file.read() == -1);
            file.setLength(SIZE);
        }
    }

    private static void mapped(Path own) throws Exception {
        try (FileChannel c = FileChannel.open(own, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            MappedByteBuffer map = c.map(FileChannel.MapMode.READ_WRITE, 4096, 100_000);
            map.load();
            Data.verify("mapped", map.duplicate(), 4096);
            map.put(17, (byte) ~Data.at(4113));
            map.force();
            ByteBuffer one = ByteBuffer.allocate(1);
            c.read(one, 4113);
            check("force", one.get(0) == (byte) ~Data.at(4113));
            map.put(17, Data.at(4113));
            map.force();
        }
    }

    private static void transfers(Path own) throws Exception {
        Path copy = own.resolveSibling(own.getFileName() + ".copy");
        Files.copy(own, copy, StandardCopyOption.REPLACE_EXISTING);
        Data.verify("copy", Files.readAllBytes(copy), SIZE, 0);
        try (FileChannel from = FileChannel.open(own); FileChannel to = FileChannel.open(copy,
                StandardOpenOption.WRITE, StandardOpenOption.TRUNCATE_EXISTING)) {
            long done = 0;
            while (done < SIZE) {
                done += from.transferTo(done, SIZE - done, to);
            }
            Data.verify("transferTo", Files.readAllBytes(copy), SIZE, 0);
            check("transferFrom", to.transferFrom(from, 0, 1000) == 1000);
        }
        try (FileChannel from = FileChannel.open(own)) {
            java.io.ByteArrayOutputStream bytes = new java.io.ByteArrayOutputStream();
            check("to a stream", from.transferTo(0, SIZE, Channels.newChannel(bytes)) == SIZE);
            Data.verify("to a stream", bytes.toByteArray(), SIZE, 0);
        }
        Files.move(copy, own.resolveSibling(own.getFileName() + ".moved"), StandardCopyOption.ATOMIC_MOVE);
        Files.delete(own.resolveSibling(own.getFileName() + ".moved"));
    }

    private static void errors(Path own) throws Exception {
        for (String missing : new String[] {"/no/such/file", own + "/inside"}) {
            try {
                new FileInputStream(missing).close();
                check("no " + missing, false);
            } catch (java.io.FileNotFoundException expected) {
                // its text is libc's
            }
        }
        try (FileInputStream directory = new FileInputStream(own.toFile())) {
            check("channel of a stream", directory.getChannel().size() == SIZE);
        }
        FileChannel closed = FileChannel.open(own);
        closed.close();
        try {
            closed.read(ByteBuffer.allocate(1));
            check("closed", false);
        } catch (java.nio.channels.ClosedChannelException expected) {
            // as it should be
        }
    }
}
