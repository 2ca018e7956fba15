package wisp.bench;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.SocketTimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;

/**
 * UDP request and reply: client threads, each with its socket, ask server threads, each with its socket and
 * several clients. A datagram that loopback drops is asked for again and counted; its round trip took until the answer.
 */
public final class UdpBench {
    private static final LongAdder TRIPS = new LongAdder();
    private static final LongAdder LOST = new LongAdder();
    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        Options options = new Options(UdpBench.class).define("clients", 100).define("servers", 10)
                .define("seconds", 3).define("warmup", 2).define("kind", Threads.PLATFORM).parse(args);
        int clients = options.number("clients", 1, 100_000);
        int servers = options.number("servers", 1, 10_000);
        int seconds = options.number("seconds", 1, 3600);
        int warmup = options.number("warmup", 0, 3600);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);

        Latency latency = Latency.create();
        AtomicInteger broken = new AtomicInteger();
        DatagramSocket[] sockets = new DatagramSocket[servers];
        for (int i = 0; i < servers; i++) {
            DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress());
            sockets[i] = socket;
            Threads.unstarted(kind, () -> serve(socket)).start();
        }
        Thread[] threads = new Thread[clients];
        for (int i = 0; i < clients; i++) {
            int id = i;
            LongConsumer times = latency.recorder();
            threads[i] = Threads.unstarted(kind, () -> {
                try {
                    ask(sockets[id % servers].getLocalPort(), id, times);
                } catch (IOException e) {
                    broken.incrementAndGet();
                    e.printStackTrace();
                }
            });
            threads[i].start();
        }
        Thread.sleep(warmup * 1000L);
        latency.begin();
        Rate trips = new Rate(TRIPS::sum);
        Rate cpu = new Rate(Proc::cpuMillis);
        trips.begin();
        cpu.begin();
        Thread.sleep(seconds * 1000L);
        trips.end();
        cpu.end();
        stop = true;
        for (Thread thread : threads) {
            thread.join();
        }
        Report.check("broken clients", 0, broken.get());
        Report.check("measured any (1: yes)", 1, Math.min(1, trips.counted()));
        Report.value("round_trips_per_s", trips.perSecond());
        Report.value("cpu_us_per_trip", cpu.perSecond() * 1000 / trips.perSecond());
        latency.report(TRIPS.sum());
        Report.value("lost", LOST.sum());
        Report.valid();
        System.exit(0);
    }

    private static void serve(DatagramSocket socket) {
        DatagramPacket packet = new DatagramPacket(new byte[512], 512);
        try {
            while (true) {
                packet.setLength(512);
                socket.receive(packet);
                socket.send(packet);
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
    }

    private static void ask(int port, int id, LongConsumer times) throws IOException {
        try (DatagramSocket socket = new DatagramSocket(0, InetAddress.getLoopbackAddress())) {
            socket.setSoTimeout(1000);
            byte[] bytes = new byte[64];
            DatagramPacket out = new DatagramPacket(bytes, 64, InetAddress.getLoopbackAddress(), port);
            DatagramPacket in = new DatagramPacket(new byte[512], 512);
            long asked = System.nanoTime();
            for (int turn = 0; !stop; ) {
                bytes[0] = (byte) turn;
                bytes[1] = (byte) id;
                socket.send(out);
                try {
                    do {
                        socket.receive(in);
                    } while (in.getData()[0] != bytes[0]);  // the late answer to a repeated request
                } catch (SocketTimeoutException e) {
                    LOST.increment();
                    continue;
                }
                if (in.getLength() != 64 || in.getData()[1] != (byte) id) {
                    throw new IOException("another client's answer");
                }
                TRIPS.increment();
                long now = System.nanoTime();
                times.accept(now - asked);
                asked = now;
                turn++;
            }
        }
    }
}
