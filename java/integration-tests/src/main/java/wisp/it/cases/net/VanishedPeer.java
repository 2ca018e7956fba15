package wisp.it.cases.net;

import java.nio.ByteBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import wisp.it.Kit;
import wisp.it.Namespace;
import wisp.it.WispCase;

/**
 * The peer is gone without a word (its link is down): reads end by their timeout, by keep-alive, writes when the
 * kernel gives up. In a network namespace of its own, where the kernel gives up within seconds; skipped where there
 * is none to be had.
 */
@WispCase(requires = "/usr/bin/unshare", timeoutSeconds = 90)
public final class VanishedPeer {
    private static final String NAMESPACE = "cd /proc/sys/net/ipv4 && ip link set lo up && echo 3 > tcp_retries2 "
            + "&& echo 1 > tcp_keepalive_time && echo 1 > tcp_keepalive_intvl && echo 2 > tcp_keepalive_probes "
            + "&& cd /";

    public static void main(String[] args) throws Exception {
        if (Namespace.isInside(args)) {
            inside();
        } else {
            boolean root = System.getProperty("user.name").equals("root");
            Namespace.run(VanishedPeer.class, "network namespace", root ? "-n" : "-rn", NAMESPACE);
        }
    }

    private static void inside() throws Exception {
        Map<String, Kit.Body> waits = new LinkedHashMap<>();
        Net.Pair timed = new Net.Pair();
        timed.client.setSoTimeout(1500);
        waits.put("read with a timeout", () -> {
            String first = Kit.thrown(timed.client.getInputStream()::read);
            Kit.check("times out: " + first, first.equals("java.net.SocketTimeoutException"));
            timed.client.getInputStream().read(); // and it is as usable as before
        });
        Net.Pair alive = new Net.Pair();
        alive.client.setKeepAlive(true);
        waits.put("read with keep-alive", () -> alive.client.getInputStream().read());
        Net.Pair written = new Net.Pair();
        waits.put("write", () -> Net.fill(written.client.getOutputStream()));
        Net.Pair asked = new Net.Pair();
        CountDownLatch down = new CountDownLatch(1);
        waits.put("read after a write that nobody acknowledges", () -> {
            down.await();
            asked.client.getOutputStream().write(1);
            asked.client.getInputStream().read();
        });
        Net.ChannelPair channels = new Net.ChannelPair();
        waits.put("write of a channel", () -> Net.fill(channels.client, 100_000));
        Net.ChannelPair more = new Net.ChannelPair();
        more.client.setOption(java.net.StandardSocketOptions.SO_KEEPALIVE, true);
        waits.put("read of a channel with keep-alive", () -> more.client.read(ByteBuffer.allocate(10)));

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
}
