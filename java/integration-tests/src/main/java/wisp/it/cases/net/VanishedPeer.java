package wisp.it.cases.net;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * The peer is gone without a word (its link is down): reads end by their timeout, by keep-alive, writes when the
 * kernel gives up. In a network namespace of its own, where the kernel gives up within seconds; where there is
 * none to be had the case says so and is empty.
 */
@WispCase(requires = "/usr/bin/unshare", timeoutSeconds = 90)
public final class VanishedPeer {
    private static final String NAMESPACE = "cd /proc/sys/net/ipv4 && ip link set lo up && echo 3 > tcp_retries2 "
            + "&& echo 1 > tcp_keepalive_time && echo 1 > tcp_keepalive_intvl && echo 2 > tcp_keepalive_probes "
            + "&& cd / && exec \"$@\"";

    public static void main(String[] args) throws Exception {
        if (args.length != 0) {
            inside();
            return;
        }
        String which = System.getProperty("user.name").equals("root") ? "-n" : "-rn";
        ProcessBuilder builder = Kit.again(VanishedPeer.class, "inside").redirectErrorStream(true);
        builder.command().addAll(0, Arrays.asList("unshare", which, "sh", "-c", NAMESPACE, "sh"));
        Process process = builder.start();
        StringBuilder output = new StringBuilder();
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            for (String line; (line = reader.readLine()) != null;) {
                output.append(line).append('\n');
            }
        }
        int code = process.waitFor();
        if (code != 0 && !output.toString().contains("inside")) {
            System.err.println("SKIPPED: no network namespace of our own: " + output.toString().trim());
            Kit.say("no peer that vanishes to be had");
            return;
        }
        Kit.check("under Wisp as this one is", output.toString().contains("\nwisp: tasks=") == Kit.underWisp());
        Kit.say("%sexit code %d", output, code);
    }

    private static void inside() throws Exception {
        Kit.say("inside");
        Map<String, Kit.Body> waits = new LinkedHashMap<>();
        Net.Pair timed = new Net.Pair();
        timed.client.setSoTimeout(1500);
        waits.put("read with a timeout", () -> {
            Kit.check("times out", Kit.thrown(timed.client.getInputStream()::read).equals("java.net.SocketTimeoutException"));
            timed.client.getInputStream().read(); // and it is as usable as before
        });
        Net.Pair alive = new Net.Pair();
        alive.client.setKeepAlive(true);
        waits.put("read with keep-alive", () -> alive.client.getInputStream().read());
        Net.Pair written = new Net.Pair();
        waits.put("write", () -> fill(written.client.getOutputStream()));
        Net.Pair asked = new Net.Pair();
        CountDownLatch down = new CountDownLatch(1);
        waits.put("read after a write that nobody acknowledges", () -> {
            down.await();
            asked.client.getOutputStream().write(1);
            asked.client.getInputStream().read();
        });
        SocketChannel[] channels = channels();
        waits.put("write of a channel", () -> {
            while (true) {
                channels[0].write(ByteBuffer.allocate(100_000));
            }
        });
        SocketChannel[] more = channels();
        more[0].setOption(java.net.StandardSocketOptions.SO_KEEPALIVE, true);
        waits.put("read of a channel with keep-alive", () -> more[0].read(ByteBuffer.allocate(10)));

        String[] thrown = new String[waits.size()];
        Thread[] threads = new Thread[waits.size()];
        int i = 0;
        for (Kit.Body body : waits.values()) {
            int me = i++;
            threads[me] = Kit.start("wait " + me, () -> thrown[me] = Kit.thrown(body));
        }
        Kit.awaitNative(threads[2]);
        Kit.awaitNative(threads[4]);
        Kit.say("link down: %d", new ProcessBuilder("ip", "link", "set", "lo", "down").inheritIO().start().waitFor());
        down.countDown();
        long start = System.nanoTime();
        Kit.join(threads);
        Kit.check("within the kernel's patience, " + Kit.millisSince(start) + " ms", Kit.millisSince(start) < 45_000);
        i = 0;
        for (String what : waits.keySet()) {
            Kit.say("%s throws %s", what, thrown[i++]);
        }
    }

    private static SocketChannel[] channels() throws Exception {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            SocketChannel client = SocketChannel.open(listener.getLocalAddress());
            return new SocketChannel[] {client, listener.accept()};
        }
    }

    private static void fill(OutputStream out) throws Exception {
        byte[] block = new byte[100_000];
        while (true) {
            out.write(block);
        }
    }
}
