package wisp.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A thread per connection, all blocked in read: kernel threads and memory of the server. The connections are
 * held by a process of its own, which at the end sends a byte over each and takes it back.
 */
public final class BlockedConnections {
    public static void main(String[] args) throws Exception {
        if (args.length == 3 && args[0].equals("client")) {
            client(Integer.parseInt(args[1]), Integer.parseInt(args[2]));
            return;
        }
        Options options = new Options(BlockedConnections.class).define("connections", 10_000)
                .define("kind", Threads.PLATFORM).parse(args);
        int count = options.number("connections", 1, 100_000);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);
        AtomicInteger echoed = new AtomicInteger();
        Thread[] threads = new Thread[count];
        try (ServerSocket listener = new ServerSocket(0, 1024, InetAddress.getLoopbackAddress())) {
            System.gc();
            long before = Proc.status("VmRSS");
            Process client = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-Xmx128m",
                    "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"),
                    BlockedConnections.class.getName(), "client", Integer.toString(listener.getLocalPort()),
                    Integer.toString(count)).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            long start = System.nanoTime();
            for (int i = 0; i < count; i++) {
                Socket connection = listener.accept();
                threads[i] = Threads.unstarted(kind, () -> echo(connection, echoed));
                threads[i].start();
            }
            double acceptMillis = (System.nanoTime() - start) / 1e6;
            BufferedReader said = new BufferedReader(
                    new InputStreamReader(client.getInputStream(), StandardCharsets.US_ASCII));
            expect(said, "connected");
            Thread.sleep(3000); // lets the last ones really block, and spare kernel threads end
            long rss = Proc.status("VmRSS");
            long kernelThreads = Proc.status("Threads");
            start = System.nanoTime();
            client.getOutputStream().write('\n');
            client.getOutputStream().flush();
            expect(said, "echoed");
            double echoMillis = (System.nanoTime() - start) / 1e6;
            for (Thread thread : threads) {
                thread.join();
            }
            Report.check("the client's exit", 0, client.waitFor());
            Report.check("bytes echoed", count, echoed.get());
            Report.value("accept_ms", acceptMillis);
            Report.value("echo_all_ms", echoMillis);
            Report.value("rss_before_kb", before);
            Report.value("rss_blocked_kb", rss);
            Report.value("kernel_threads", kernelThreads);
            Report.valid();
        }
    }

    private static void expect(BufferedReader said, String word) throws IOException {
        String line = said.readLine();
        if (!word.equals(line)) {
            throw new IOException("the client says " + line + ", not " + word);
        }
    }

    private static void echo(Socket connection, AtomicInteger echoed) {
        try (Socket socket = connection) {
            for (int c; (c = socket.getInputStream().read()) >= 0;) {
                socket.getOutputStream().write(c);
                echoed.incrementAndGet();
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
    }

    private static void client(int port, int count) throws IOException {
        SocketChannel[] connections = new SocketChannel[count];
        InetSocketAddress server = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
        for (int i = 0; i < count; i++) {
            connections[i] = SocketChannel.open(server);
        }
        System.out.println("connected");
        if (System.in.read() < 0) {
            return; // the server is gone
        }
        ByteBuffer one = ByteBuffer.allocate(1);
        for (SocketChannel connection : connections) {
            one.clear();
            connection.write(one);
        }
        for (SocketChannel connection : connections) {
            one.clear();
            if (connection.read(one) != 1) {
                throw new IOException("no byte back");
            }
        }
        System.out.println("echoed");
        for (SocketChannel connection : connections) {
            connection.close();
        }
    }
}
