package wisp.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A child's time limit on a loaded machine. Seconds in which it was ready to run and got less than half a processor
 * do not count: a JVM that needs half a second took minutes beside the work of others, on plain threads too. What
 * sleeps for ever, or spins with a processor to itself, is over its limit as ever; the most is eight times as long.
 */
final class Patience {
    private static final int MOST = 8;

    private final long limit;
    private long counted;
    private long passed;
    private long processorTime;

    Patience(long limitNanos) {
        limit = limitNanos;
    }

    /** After another so many nanoseconds: what the child had of the processor so far, and whether it wants more. */
    boolean isOver(long nanos, boolean ready, long processorNanos) {
        boolean starved = ready && processorNanos - processorTime < nanos / 2;
        processorTime = processorNanos;
        passed += nanos;
        counted += starved ? 0 : nanos;
        return counted >= limit || passed >= MOST * limit;
    }

    /** False when it did not end within its limit. */
    static boolean waitFor(Process process, int seconds) throws InterruptedException {
        Patience patience = new Patience(TimeUnit.SECONDS.toNanos(seconds));
        long last = System.nanoTime();
        while (!process.waitFor(1, TimeUnit.SECONDS)) {
            boolean ready = false;
            long processorTime = 0;
            try (Stream<ProcessHandle> tree = Stream.concat(Stream.of(process.toHandle()), process.descendants())) {
                for (ProcessHandle one : (Iterable<ProcessHandle>) tree::iterator) {
                    try (DirectoryStream<Path> threads = Files.newDirectoryStream(Path.of("/proc/" + one.pid() + "/task"))) {
                        for (Path thread : threads) {
                            String state = Files.readString(thread.resolve("stat"));
                            ready |= state.charAt(state.lastIndexOf(')') + 2) == 'R';
                            String times = Files.readString(thread.resolve("schedstat"));
                            processorTime += Long.parseLong(times.substring(0, times.indexOf(' ')));
                        }
                    } catch (IOException | java.nio.file.DirectoryIteratorException | UncheckedIOException gone) {
                        // It ended meanwhile; what it had used counts for nothing, which is on the child's side.
                    }
                }
            }
            long now = System.nanoTime();
            if (patience.isOver(now - last, ready, processorTime)) {
                return false;
            }
            last = now;
        }
        return true;
    }
}
