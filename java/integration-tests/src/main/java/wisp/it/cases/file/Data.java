package wisp.it.cases.file;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import wisp.it.Kit;

/** Files whose every byte says where it stands. */
final class Data {
    private Data() {
    }

    static byte at(long position) {
        return (byte) (position * 31 + position / 251);
    }

    static byte[] bytes(long from, int size) {
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = at(from + i);
        }
        return bytes;
    }

    static void verify(String what, byte[] bytes, int size, long from) {
        for (int i = 0; i < size; i++) {
            if (bytes[i] != at(from + i)) {
                Kit.check(what + ": byte " + (from + i), false);
            }
        }
    }

    static void verify(String what, ByteBuffer flipped, long from) {
        byte[] bytes = new byte[flipped.remaining()];
        flipped.get(bytes);
        verify(what, bytes, bytes.length, from);
    }

    /** In the working directory rather than in /tmp, which may be a tmpfs. */
    static Path file(String name, int size) throws IOException {
        Path path = Files.createTempFile(Files.createDirectories(new java.io.File("target/files").toPath()), name, ".data");
        path.toFile().deleteOnExit();
        Files.write(path, bytes(0, size));
        return path;
    }

    /** Takes the file out of the page cache, as any user may do with a file of his own. */
    static void drop(Path path) throws Exception {
        new ProcessBuilder("sync", path.toString()).start().waitFor();
        Process dd = new ProcessBuilder("dd", "of=" + path, "oflag=nocache", "conv=notrunc,fdatasync", "count=0")
                .redirectErrorStream(true).start();
        while (dd.getInputStream().read() >= 0) {
            // until it ends
        }
        Kit.check("dd", dd.waitFor() == 0);
    }
}
