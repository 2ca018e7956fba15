package wisp.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongConsumer;

/**
 * Blocking echo, one thread per connection on both sides, client and server in this process. Each client
 * sends a message, waits for its echo and compares it; what is counted is round trips in the measured time, and how
 * long each took. With {@code burners}, as many threads of the same kind compute beside them all the time.
 */
public final class EchoBench {
    private static final LongAdder TRIPS = new LongAdder();
    private static volatile boolean stop;

    public static void main(String[] args) throws Exception {
        Options options = new Options(EchoBench.class).define("connections", 100).define("seconds", 3)
                .define("warmup", 2).define("bytes", 64).define("burners", 0).define("kind", Threads.PLATFORM).parse(args);
        int connections = options.number("connections", 1, 100_000);
        int seconds = options.number("seconds", 1, 3600);
        int warmup = options.number("warmup", 0, 3600);
        int bytes = options.number("bytes", 4, 1 << 20);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);
        Burners burners = new Burners(kind, options.number("burners", 0, 10_000));
        Latency latency = Latency.create();

        ServerSocket listener = new ServerSocket(0, 4096, InetAddress.getLoopbackAddress());
        AtomicInteger broken = new AtomicInteger();
        CountDownLatch connected = new CountDownLatch(connections);
        CountDownLatch allThere = new CountDownLatch(1);
        Thread acceptor = Threads.unstarted(kind, () -> accept(kind, listener, connections, bytes));
        acceptor.start();
        Thread[] clients = new Thread[connections];
        for (int i = 0; i < connections; i++) {
            int id = i;
            LongConsumer times = latency.recorder();
            clients[i] = Threads.unstarted(kind, () -> {
                try (Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
                    connected.countDown();
                    allThere.await();
                    ask(socket, id, bytes, times);
                } catch (IOException | InterruptedException e) {
                    connected.countDown();
                    if (broken.getAndIncrement() == 0) {
                        e.printStackTrace();
                    }
                }
            });
            clients[i].start();
        }
        // Virtual threads that echo already may keep others from their first turn for minutes.
        connected.await();
        Report.check("connections refused", 0, broken.get());
        acceptor.join();
        allThere.countDown();
        burners.start();
        Thread.sleep(warmup * 1000L);

        latency.begin();
        Rate trips = new Rate(TRIPS::sum);
        Rate units = new Rate(burners::units);
        Rate cpu = new Rate(Proc::cpuMillis);
        Rate[] all = {trips, units, cpu};
        for (Rate rate : all) {
            rate.begin();
        }
        Thread.sleep(seconds * 1000L);
        for (Rate rate : all) {
            rate.end();
        }
        stop = true;
        burners.stop();
        for (Thread client : clients) {
            client.join();
        }
        listener.close();

        burners.check();
        Report.check("broken connections", 0, broken.get());
        if (burners.count() == 0) { // beside burners, none at all is a result too: they starved the connections
            Report.check("measured any (1: yes)", 1, Math.min(1, trips.counted()));
        }
        Report.value("round_trips_per_s", trips.perSecond());
        Report.value("cpu_us_per_trip", trips.counted() == 0 ? 0 : cpu.perSecond() * 1000 / trips.perSecond());
        Report.value("cpu_ms", cpu.counted());
        // Of each client the trip it was waiting for at the end counts as well: one that took long would be missing.
        latency.report(TRIPS.sum());
        Report.value("burner_units_per_s", units.perSecond());
        Report.value("kernel_threads", Proc.status("Threads"));
        Report.valid();
        System.exit(0);
    }

    private static void accept(String kind, ServerSocket listener, int connections, int bytes) {
        try {
            for (int i = 0; i < connections; i++) {
                Socket socket = listener.accept();
                Threads.unstarted(kind, () -> serve(socket, bytes)).start();
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
    }

    private static void serve(Socket socket, int bytes) {
        try (Socket s = socket) {
            s.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(s.getInputStream());
            OutputStream out = s.getOutputStream();
            byte[] message = new byte[bytes];
            while (true) {
                in.readFully(message);
                out.write(message);
            }
        } catch (IOException theClientHasLeft) {
            // its end of the connection says whether anything was lost
        }
    }

    private static void ask(Socket socket, int id, int bytes, LongConsumer times) throws IOException {
        socket.setTcpNoDelay(true);
        DataInputStream in = new DataInputStream(socket.getInputStream());
        OutputStream out = socket.getOutputStream();
        byte[] message = new byte[bytes];
        byte[] echo = new byte[bytes];
        for (int turn = 0; !stop; turn++) {
            message[0] = (byte) turn;
            message[1] = (byte) (turn >> 8);
            message[2] = (byte) id;
            message[bytes - 1] = (byte) (id >> 8);
            long sent = System.nanoTime();
            out.write(message);
            in.readFully(echo);
            long nanos = System.nanoTime() - sent;
            if (!java.util.Arrays.equals(echo, message)) {
                throw new IOException("connection " + id + ", turn " + turn + ": another message came back");
            }
            TRIPS.increment();
            times.accept(nanos);
        }
    }
}
