package wisp.bench;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads read (and write, every tenth time with {@code mix}) blocks at random places of one file, which is in the
 * page cache or, with {@code cache cold}, put out of it before each round, which then takes no block twice and ends with
 * the last. A ticker beside them says how long a thread that only sleeps had to wait for its turn; the share that the
 * disk gave says how cold the cache was.
 */
public final class FileBench {
    private static final int PAGE = 4096;

    private final Path path;
    private final int fileSize;
    private final int block;
    /** Blocks lie at multiples of it: one of them shares no page with another. */
    private final int step;
    private final String by;
    private final String work;
    private final String kind;
    private final AtomicLong operations = new AtomicLong();
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicLong wrong = new AtomicLong();
    /** Of a cold round: all blocks in random order, and how many of them were taken; null with a hot cache. */
    private final int[] order;
    private final AtomicInteger taken = new AtomicInteger();

    private FileBench(Options options) throws IOException {
        path = Paths.get(options.text("file"));
        fileSize = options.number("megabytes", 1, 1900) << 20;
        block = options.number("block", 1, 1 << 24);
        step = (block + PAGE - 1) / PAGE * PAGE;
        by = options.text("by", "channel", "random", "position");
        work = options.text("work", "read", "mix", "sync");
        kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);
        order = options.text("cache", "hot", "cold").equals("cold") ? shuffled(fileSize / step) : null;
        byte[] piece = new byte[1 << 20];
        for (int i = 0; i < piece.length; i += 8) {
            piece[i] = mark(i);
        }
        try (FileChannel out = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            for (int at = 0; at < fileSize; at += piece.length) {
                out.write(ByteBuffer.wrap(piece), at);
            }
            out.force(true);
        }
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(FileBench.class).define("file", "filebench.data").define("megabytes", 64)
                .define("block", PAGE).define("threads", 4).define("seconds", 2).define("rounds", 5)
                .define("cache", "hot").define("by", "channel").define("work", "read")
                .define("kind", Threads.PLATFORM).parse(args);
        int threads = options.number("threads", 1, 100_000);
        int rounds = options.number("rounds", 1, 1000);
        int seconds = options.number("seconds", 1, 3600);
        FileBench bench = new FileBench(options);
        double[] rates = new double[rounds];
        double[] worst = new double[rounds];
        double[] cpu = new double[rounds];
        double[] fromDisk = new double[rounds];
        for (int round = -1; round < rounds; round++) { // the first one compiles
            if (bench.order != null) {
                bench.dropCache();
            } else {
                Files.readAllBytes(bench.path);
            }
            double[] result = bench.round(threads, seconds * 1_000_000_000L);
            if (round >= 0) {
                rates[round] = result[0];
                worst[round] = result[1];
                cpu[round] = result[2];
                fromDisk[round] = result[3];
            }
        }
        Files.delete(bench.path);
        Report.samples("operations_per_s", rates);
        Report.samples("worst_tick_ms", worst);
        Report.samples("cpu_ns_per_operation", cpu); // what is left to compare on a loaded machine
        Report.samples("from_disk_percent", fromDisk);
        Report.check("blocks with another block's content, or not read at all", 0, bench.wrong.get());
        Report.check("whole blocks", bench.operations.get() * bench.block, bench.bytes.get());
        Report.valid();
    }

    /**
     * Operations per second, the ticker's longest delay in ms, CPU time of the process per operation in ns, what was read
     * from the disk in percent of what went to and fro.
     */
    private double[] round(int threads, long nanos) throws IOException, InterruptedException {
        AtomicBoolean done = new AtomicBoolean();
        double[] late = new double[1];
        Thread ticker = Threads.unstarted(kind, () -> tick(done, late));
        Thread[] workers = new Thread[threads];
        taken.set(0);
        long before = operations.get();
        long moved = bytes.get();
        long disk = Proc.bytesFromDisk();
        long cpu = Proc.cpuMillis();
        long start = System.nanoTime();
        for (int i = 0; i < threads; i++) {
            workers[i] = Threads.unstarted(kind, () -> work(start + nanos));
            workers[i].start();
        }
        ticker.start();
        for (Thread worker : workers) {
            worker.join();
        }
        double elapsed = (System.nanoTime() - start) / 1e9;
        done.set(true);
        ticker.join();
        double count = operations.get() - before;
        cpu = Proc.cpuMillis() - cpu;
        disk = Proc.bytesFromDisk() - disk;
        return new double[] {count / elapsed, late[0], cpu * 1e6 / count, disk * 100.0 / (bytes.get() - moved)};
    }

    private static void tick(AtomicBoolean done, double[] late) {
        while (!done.get()) {
            long start = System.nanoTime();
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                return;
            }
            late[0] = Math.max(late[0], (System.nanoTime() - start) / 1e6 - 1);
        }
    }

    private void work(long until) {
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), work.equals("read") ? "r" : "rw")) {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            ByteBuffer direct = ByteBuffer.allocateDirect(block);
            byte[] heap = new byte[block];
            long count = 0;
            long moved = 0;
            while (System.nanoTime() < until) {
                int first = order == null ? 0 : taken.getAndAdd(10);
                if (order != null && first + 10 > order.length) {
                    break;
                }
                for (int i = 0; i < 10; i++) {
                    long at = (long) step * (order == null ? random.nextInt(fileSize / step) : order[first + i]);
                    if (work.equals("sync") || work.equals("mix") && i == 9) {
                        direct.clear();
                        direct.put(0, mark(at));
                        moved += file.getChannel().write(direct, at);
                        if (work.equals("sync")) {
                            file.getChannel().force(false);
                        }
                    } else {
                        moved += read(file, direct, heap, at);
                        byte got = by.equals("random") ? heap[0] : direct.get(0);
                        if (got != mark(at)) {
                            wrong.incrementAndGet();
                        }
                    }
                    count++;
                }
            }
            operations.addAndGet(count);
            bytes.addAndGet(moved);
        } catch (IOException e) {
            e.printStackTrace();
            wrong.incrementAndGet();
        }
    }

    private static int[] shuffled(int count) {
        int[] numbers = new int[count];
        for (int i = 1; i < count; i++) {
            int other = ThreadLocalRandom.current().nextInt(i + 1);
            numbers[i] = numbers[other];
            numbers[other] = i;
        }
        return numbers;
    }

    /** The first byte of the page at that place: which of its megabyte's 256 pages it is. */
    private static byte mark(long at) {
        return (byte) (at >> 12);
    }

    private int read(RandomAccessFile file, ByteBuffer direct, byte[] heap, long at) throws IOException {
        switch (by) {
            case "channel": // pread
                direct.clear();
                return file.getChannel().read(direct, at);
            case "position": // lseek and read, through the channel
                direct.clear();
                return file.getChannel().position(at).read(direct);
            default: // lseek and read, through the heap
                file.seek(at);
                return file.read(heap);
        }
    }

    /** Any user may put a file of his own out of the page cache; root empties it. */
    private void dropCache() throws IOException, InterruptedException {
        Process dd = new ProcessBuilder("dd", "of=" + path, "oflag=nocache", "conv=notrunc,fdatasync", "count=0")
                .redirectErrorStream(true).start();
        while (dd.getInputStream().read() >= 0) {
            // until it ends
        }
        if (dd.waitFor() != 0) {
            throw new IOException("dd could not drop " + path);
        }
    }
}
