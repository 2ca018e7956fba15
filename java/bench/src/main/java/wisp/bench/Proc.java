package wisp.bench;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/** What the kernel says about this process; works on every JDK without extra modules. */
final class Proc {
    private Proc() {
    }

    /** A field of /proc/self/status in its own unit, e.g. VmRSS in kB. */
    static long status(String field) throws IOException {
        return field("/proc/self/status", field);
    }

    /** User and system time of all threads so far, in milliseconds (the kernel counts in 10 ms). */
    static long cpuMillis() throws IOException {
        String stat = new String(Files.readAllBytes(Paths.get("/proc/self/stat")), StandardCharsets.ISO_8859_1);
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * 10;
    }

    /** How often the kernel threads now alive went to sleep: each is followed by a wake-up. */
    static long sleeps() throws IOException {
        long sum = 0;
        File[] tasks = new File("/proc/self/./task").listFiles();
        for (File task : tasks == null ? new File[0] : tasks) {
            sum += field(task + "/status", "voluntary_ctxt_switches");
        }
        return sum;
    }

    /** Read for this process, readahead included, with io_uring as well. */
    static long bytesFromDisk() throws IOException {
        return field("/proc/self/io", "read_bytes");
    }

    private static long field(String file, String name) throws IOException {
        for (String line : Files.readAllLines(Paths.get(file), StandardCharsets.ISO_8859_1)) {
            if (line.startsWith(name + ":")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new IOException(file + " has no " + name);
    }
}
