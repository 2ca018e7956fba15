package wisp.it.cases.libraries;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdInputStream;
import com.github.luben.zstd.ZstdOutputStream;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import net.jpountz.lz4.LZ4Factory;
import org.xerial.snappy.Snappy;
import wisp.it.Kit;
import wisp.it.WispCase;

/** zstd with worker threads of its own, lz4, snappy: 20 threads, everything read back. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class Compressors {
    public static void main(String[] args) throws Exception {
        AtomicInteger numbers = new AtomicInteger();
        Kit.together(20, "compressor", () -> {
            int number = numbers.getAndIncrement();
            for (int i = 0; i < 3; i++) {
                byte[] data = data(number * 10 + i);
                streams(data, number % 4);
                Kit.check("zstd", Arrays.equals(data, Zstd.decompress(Zstd.compress(data, 3), data.length)));
                LZ4Factory lz4 = LZ4Factory.nativeInstance();
                byte[] small = lz4.fastCompressor().compress(data);
                Kit.check("lz4", Arrays.equals(data, lz4.safeDecompressor().decompress(small, data.length)));
                Kit.check("snappy", Arrays.equals(data, Snappy.uncompress(Snappy.compress(data))));
            }
        });
        Kit.say("all as before");
    }

    private static byte[] data(int seed) {
        byte[] data = new byte[200_000 + seed * 100];
        Random random = new Random(seed);
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (random.nextInt(8) * (i / 1000));
        }
        return data;
    }

    private static void streams(byte[] data, int workers) throws IOException {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        try (ZstdOutputStream out = new ZstdOutputStream(compressed, 3)) {
            out.setWorkers(workers);
            for (int at = 0; at < data.length; at += 50_000) {
                out.write(data, at, Math.min(50_000, data.length - at));
                Thread.yield();
            }
        }
        ByteArrayOutputStream back = new ByteArrayOutputStream();
        try (InputStream in = new ZstdInputStream(new ByteArrayInputStream(compressed.toByteArray()))) {
            byte[] buffer = new byte[70_000];
            for (int got; (got = in.read(buffer)) > 0; back.write(buffer, 0, got)) Thread.yield();
        }
        Kit.check("the streams", Arrays.equals(data, back.toByteArray()));
    }
}
