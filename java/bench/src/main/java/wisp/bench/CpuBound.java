package wisp.bench;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Code that never blocks: what it costs to run as a coroutine. Four kernels, each verified by a checksum,
 * each timed over several rounds on {@code threads} threads at once; the median round counts.
 */
public final class CpuBound {
    private static final long SORT_SUM = 8781024894708143119L;
    private static final long COMPRESS_SUM = 2941477999L;
    private static final long PARSE_SUM = -3846277158402162515L;
    private static final long GC_SUM = 1703911L;

    private interface Kernel {
        long run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(CpuBound.class).define("kernel", "all").define("rounds", 15)
                .define("threads", 1).parse(args);
        String wanted = options.text("kernel", "all", "sort", "compress", "parse", "gc");
        int rounds = options.number("rounds", 3, 10_000);
        int threads = options.number("threads", 1, 1_000);

        String[] names = {"sort", "compress", "parse", "gc"};
        long[] checksums = {SORT_SUM, COMPRESS_SUM, PARSE_SUM, GC_SUM};
        Kernel[] kernels = {CpuBound::sort, CpuBound::compress, CpuBound::parse, CpuBound::churn};
        for (int k = 0; k < kernels.length; k++) {
            if (!wanted.equals("all") && !wanted.equals(names[k])) {
                continue;
            }
            double[] millis = new double[rounds];
            for (int round = -3; round < rounds; round++) {
                double time = round(names[k], kernels[k], checksums[k], threads);
                if (round >= 0) {
                    millis[round] = time;
                }
            }
            Report.samples(names[k] + "_ms", millis);
        }
        Report.valid();
    }

    private static double round(String name, Kernel kernel, long expected, int threads) throws InterruptedException {
        AtomicLong sum = new AtomicLong();
        Runnable[] bodies = new Runnable[threads];
        Arrays.fill(bodies, (Runnable) () -> {
            try {
                sum.addAndGet(kernel.run());
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        long start = System.nanoTime();
        Threads.runAll(Threads.PLATFORM, bodies);
        double millis = (System.nanoTime() - start) / 1e6;
        Report.check(name + " checksum", expected * threads, sum.get());
        return millis;
    }

    private static long next(long x) {
        x ^= x << 13;
        x ^= x >>> 7;
        return x ^ x << 17;
    }

    private static long sort() {
        int[] numbers = new int[800_000];
        long x = 1;
        for (int i = 0; i < numbers.length; i++) {
            x = next(x);
            numbers[i] = (int) x;
        }
        Arrays.sort(numbers);
        long sum = 0;
        for (int i = 0; i < numbers.length; i++) {
            sum = sum * 31 + numbers[i];
        }
        return sum;
    }

    private static long compress() throws DataFormatException {
        byte[] text = new byte[1 << 20];
        long x = 2;
        for (int i = 0; i < text.length; i++) {
            x = next(x);
            text[i] = (byte) ((x & 7) == 0 ? x >>> 32 & 31 : i / 7 & 15);
        }
        Deflater deflater = new Deflater();
        deflater.setInput(text);
        deflater.finish();
        byte[] packed = new byte[text.length * 2];
        int size = 0;
        while (!deflater.finished()) {
            size += deflater.deflate(packed, size, packed.length - size);
        }
        deflater.end();
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, size);
        byte[] unpacked = new byte[text.length];
        int length = 0;
        while (length < unpacked.length && !inflater.finished()) {
            length += inflater.inflate(unpacked, length, unpacked.length - length);
        }
        inflater.end();
        CRC32 crc = new CRC32(); // of the text: the packed form depends on the version of zlib
        crc.update(unpacked, 0, length);
        return crc.getValue();
    }

    private static long parse() {
        StringBuilder text = new StringBuilder();
        long x = 3;
        for (int i = 0; i < 60_000; i++) {
            x = next(x);
            text.append("{\"id\":").append(i).append(",\"price\":").append(x % 100_000).append("}\n");
        }
        long sum = 0;
        for (String line : text.toString().split("\n")) {
            String[] parts = line.substring(1, line.length() - 1).split(",");
            for (String part : parts) {
                sum = sum * 17 + Long.parseLong(part.substring(part.indexOf(':') + 1));
            }
        }
        return sum;
    }

    private static final class Node {
        final Node left;
        final Node right;

        Node(int depth) {
            left = depth == 0 ? null : new Node(depth - 1);
            right = depth == 0 ? null : new Node(depth - 1);
        }

        int count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }
    }

    private static long churn() {
        Node kept = new Node(16);
        long nodes = 0;
        for (int i = 0; i < 24; i++) {
            nodes += new Node(15).count();
        }
        return nodes + kept.count();
    }
}
