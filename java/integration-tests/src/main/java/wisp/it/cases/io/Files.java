package wisp.it.cases.io;

import static wisp.it.Kit.check;
import static wisp.it.Kit.say;

import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Many threads write, append, map and read files at once. */
@WispCase
public final class Files {
    public static void main(String[] args) throws Exception {
        Path folder = java.nio.file.Files.createTempDirectory("wisp-it");
        AtomicInteger numbers = new AtomicInteger();
        AtomicLong bytes = new AtomicLong();
        Kit.together(8, "writer", () -> {
            Path file = folder.resolve("file" + numbers.getAndIncrement());
            CRC32 written = new CRC32();
            try (OutputStream out = java.nio.file.Files.newOutputStream(file)) {
                byte[] block = new byte[4_096];
                for (int i = 0; i < 200; i++) {
                    Arrays.fill(block, (byte) i);
                    out.write(block);
                    written.update(block);
                }
            }
            CRC32 read = new CRC32();
            try (FileChannel channel = FileChannel.open(file)) {
                ByteBuffer buffer = ByteBuffer.allocateDirect(10_000);
                while (channel.read(buffer) >= 0) {
                    buffer.flip();
                    bytes.addAndGet(buffer.remaining());
                    read.update(buffer);
                    buffer.clear();
                }
                CRC32 mapped = new CRC32();
                mapped.update(channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()));
                check("mapped", mapped.getValue() == written.getValue());
            }
            check("read back", read.getValue() == written.getValue());
            try (RandomAccessFile random = new RandomAccessFile(file.toFile(), "rw"); FileLock lock = random.getChannel().lock()) {
                check("locked", lock.isValid());
                random.seek(100);
                random.writeInt(42);
                random.getFD().sync();
                random.seek(100);
                check("at random", random.readInt() == 42);
            }
            java.nio.file.Files.delete(file);
        });
        say("bytes %d, left %d", bytes.get(), folder.toFile().list().length);
        java.nio.file.Files.delete(folder);
    }
}
