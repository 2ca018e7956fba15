package wisp.it.cases.forkjoin;

import static wisp.it.Kit.say;

import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import wisp.it.Kit;
import wisp.it.WispCase;

/** The common pool: parallel streams from several threads at once, asynchronous tasks, quiescence. */
@WispCase(smoke = true, flags = "-Djava.util.concurrent.ForkJoinPool.common.parallelism=3")
public final class CommonPool {
    public static void main(String[] args) throws Exception {
        AtomicLong sum = new AtomicLong();
        Kit.together(4, "streamer", () -> sum.addAndGet(LongStream.rangeClosed(1, 300_000).parallel().filter(x -> x % 3 == 0).sum()));
        say("sum %d", sum.get());
        int[] numbers = new Random(7).ints(200_000).toArray();
        Arrays.parallelSort(numbers);
        say("first %d last %d", numbers[0], numbers[numbers.length - 1]);
        AtomicInteger ran = new AtomicInteger();
        for (int i = 0; i < 500; i++) {
            ForkJoinPool.commonPool().execute(ran::incrementAndGet);
        }
        say("quiescent %s, ran %d", ForkJoinPool.commonPool().awaitQuiescence(300, TimeUnit.SECONDS), ran.get());
        say("parallelism %d", ForkJoinPool.getCommonPoolParallelism());
    }
}
