package wisp.it.cases.sockets;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * 1,000 idle connections, a thread blocked in read at each end; tests/compat has 10,000 of them. They cost no
 * processor, under Wisp no kernel threads, and each one wakes when something comes or its socket is closed. (Other
 * collectors have a kernel thread for each processor.)
 */
@WispCase(flags = {"-Xss256k", "-XX:+UseSerialGC"}, carriers = {1, 2})
public final class IdleConnections {
    private static final int JVM_AND_SPARES = 40;

    private static final AtomicInteger BEGUN = new AtomicInteger();
    private static final AtomicInteger ENDS = new AtomicInteger();
    private static final AtomicInteger EXCEPTIONS = new AtomicInteger();
    private static final AtomicInteger ANSWERS = new AtomicInteger();
    private static final AtomicLong SUM = new AtomicLong();

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 1000;
        Socket[] clients = new Socket[count];
        Socket[] servers = new Socket[count];
        try (ServerSocket listener = new ServerSocket(0, 1000, InetAddress.getLoopbackAddress())) {
            for (int i = 0; i < count; i++) {
                Socket client = clients[i] = new Socket(listener.getInetAddress(), listener.getLocalPort());
                Socket server = servers[i] = listener.accept();
                Kit.start("server", () -> serve(server, true));
                Kit.start("client", () -> serve(client, false));
            }
        } catch (OutOfMemoryError refused) {
            Kit.skip(BEGUN.get() + " threads, and no more are allowed: " + refused.getMessage());
        }
        Kit.await("all begin", () -> BEGUN.get() == 2 * count);
        Kit.say("no spin: %s", idleForASecond());
        fewKernelThreads(count);
        long expected = 0;
        for (int i = 0; i < count; i++) {
            clients[i].getOutputStream().write(i % 200);
            expected += i % 200 + 1;
        }
        Kit.await("all are answered", () -> ANSWERS.get() == count);
        Kit.say("%d answers, sum right: %b", ANSWERS.get(), SUM.get() == expected);
        if (Kit.underWisp()) {
            fewKernelThreads(count);
        }
        for (int i = 0; i < count; i++) {
            (i % 2 == 0 ? clients : servers)[i].close();
        }
        Kit.await("all threads leave", () -> ENDS.get() + EXCEPTIONS.get() == 2 * count);
        Kit.say("%d ends of stream, %d exceptions", ENDS.get(), EXCEPTIONS.get());
    }

    /** Those of the JVM, a worker for each carrier and some that SysMonitor once needed: however many connections. */
    private static void fewKernelThreads(int count) throws IOException {
        Map<String, Integer> names = new TreeMap<>();
        int threads = 0;
        for (File task : Kit.kernelThreads()) {
            try {
                names.merge(Files.readAllLines(new File(task, "comm").toPath()).get(0), 1, Integer::sum);
                threads++;
            } catch (IOException ended) {
                // It counts no more.
            }
        }
        boolean holds = threads > 2 * count;
        if (Kit.underWisp()) {
            holds = threads < Integer.getInteger("com.alibaba.wisp.carrierEngines") + JVM_AND_SPARES;
        }
        String found = threads + " kernel threads: " + names;
        System.err.println(found);
        Kit.check(found, holds);
    }

    private static void serve(Socket socket, boolean answers) throws IOException {
        BEGUN.incrementAndGet();
        try {
            for (int value; (value = socket.getInputStream().read()) >= 0; ) {
                if (answers) {
                    socket.getOutputStream().write(value + 1);
                } else {
                    SUM.addAndGet(value);
                    ANSWERS.incrementAndGet();
                }
            }
            ENDS.incrementAndGet();
        } catch (IOException e) {
            EXCEPTIONS.incrementAndGet();
        }
        socket.close();
    }

    /**
     * Sooner or later: the last ones have to get into read first, and on a machine that is short of time the compilers
     * have work for seconds. What spins does so all the time.
     */
    private static boolean idleForASecond() throws Exception {
        for (int round = 0; round < 15; round++) {
            long before = cpuMillis();
            long start = System.nanoTime();
            Thread.sleep(1000);
            long used = cpuMillis() - before;
            System.err.println(used + " ms of processor time in a second");
            if (used < Kit.millisSince(start) / 2) {
                return true;
            }
        }
        return false;
    }

    /** Of the process: what spins may be no Java thread. */
    private static long cpuMillis() throws IOException {
        try (RandomAccessFile stat = new RandomAccessFile("/proc/self/stat", "r")) {
            String[] fields = stat.readLine().split(" ");
            return (Long.parseLong(fields[13]) + Long.parseLong(fields[14])) * 10;
        }
    }
}
