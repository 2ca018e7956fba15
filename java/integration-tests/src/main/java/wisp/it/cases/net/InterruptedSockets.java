package wisp.it.cases.net;

import java.io.InputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * java.net does not care for interrupts: the blocked call goes on waiting with the flag set, also one that begins
 * with it set, and ends when there is something, or by its time-out and not before.
 */
@WispCase
public final class InterruptedSockets {
    /** A call that says what it got. */
    private interface Call {
        Object run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        for (int timeout : new int[] {0, 120_000}) {
            for (boolean before : new boolean[] {false, true}) {
                String how = (timeout == 0 ? "%s, interrupted " : "timed %s, interrupted ")
                        + (before ? "before" : "while it waits");
                reads(how, timeout, before);
                accepts(how, timeout, before);
                receives(how, timeout, before);
                connects(how, timeout, before);
                if (timeout == 0) {
                    writes(how, before);
                }
            }
        }
        timeouts();
        manyInterrupts();
    }

    /** Then `give` is what it waits for. */
    private static void interrupted(String how, boolean before, Call call, Kit.Body give) throws Exception {
        Thread waits = Kit.start("waits", () -> {
            if (before) {
                Thread.currentThread().interrupt();
            }
            Object got;
            try {
                got = call.run();
            } catch (Exception e) {
                got = e.getClass();
            }
            Kit.say("%s: got %s, flag %b", how, got, Thread.interrupted());
        });
        boolean goesOn = Kit.awaitNativeOrEnd(waits);
        for (int i = 0; i < 2 && !before && goesOn; i++) {
            waits.interrupt();
            goesOn = Kit.awaitNativeOrEnd(waits);
        }
        Kit.say("%s: goes on waiting %b, flag %b", how, goesOn, waits.isInterrupted());
        give.run();
        Kit.join(waits);
    }

    private static void reads(String how, int timeout, boolean before) throws Exception {
        try (Net.Pair pair = new Net.Pair()) {
            pair.client.setSoTimeout(timeout);
            interrupted(String.format(how, "read"), before, () -> pair.client.getInputStream().read(),
                    () -> pair.server.getOutputStream().write(42));
            pair.server.getOutputStream().write(43);
            Kit.say("as usable as before: %d", pair.client.getInputStream().read());
            interrupted(String.format(how, "read of the end"), before, () -> pair.client.getInputStream().read(),
                    pair.server::close);
        }
    }

    private static void accepts(String how, int timeout, boolean before) throws Exception {
        try (ServerSocket listener = Net.listen()) {
            listener.setSoTimeout(timeout);
            Socket client = new Socket();
            client.bind(Net.ANY);
            interrupted(String.format(how, "accept"), before, () -> {
                try (Socket got = listener.accept()) {
                    return got.getRemoteSocketAddress().equals(client.getLocalSocketAddress());
                }
            }, () -> client.connect(listener.getLocalSocketAddress()));
            client.close();
        }
    }

    private static void receives(String how, int timeout, boolean before) throws Exception {
        try (DatagramSocket socket = new DatagramSocket(Net.ANY)) {
            socket.setSoTimeout(timeout);
            interrupted(String.format(how, "receive"), before, () -> {
                DatagramPacket packet = new DatagramPacket(new byte[100], 100);
                socket.receive(packet);
                return packet.getLength();
            }, () -> socket.send(new DatagramPacket(new byte[33], 33, socket.getLocalSocketAddress())));
        }
    }

    private static void connects(String how, int timeout, boolean before) throws Exception {
        try (Net.FullListener full = new Net.FullListener(); Socket socket = new Socket()) {
            interrupted(String.format(how, "connect"), before, () -> {
                socket.connect(full.address, timeout);
                return socket.isConnected();
            }, full::acceptAll);
        }
    }

    private static void writes(String how, boolean before) throws Exception {
        int size = 20_000_000; // more than the buffers of both ends take
        try (Net.Pair pair = new Net.Pair()) {
            interrupted(String.format(how, "write"), before, () -> {
                pair.client.getOutputStream().write(Net.bytes(8, size));
                return size;
            }, () -> Net.receive(pair.server.getInputStream(), 8, size));
        }
    }

    /** Those who are interrupted meanwhile neither end earlier nor begin anew. */
    private static void timeouts() throws Exception {
        try (Net.Pair pair = new Net.Pair();
             ServerSocket listener = Net.listen();
             DatagramSocket socket = new DatagramSocket(Net.ANY)) {
            pair.client.setSoTimeout(400);
            listener.setSoTimeout(400);
            socket.setSoTimeout(400);
            beingInterrupted("read", () -> pair.client.getInputStream().read());
            beingInterrupted("accept", listener::accept);
            beingInterrupted("receive", () -> socket.receive(new DatagramPacket(new byte[1], 1)));
        }
    }

    private static void beingInterrupted(String what, Kit.Body body) throws Exception {
        Thread waits = Kit.start(what, () -> Net.timed("timed " + what + " being interrupted", 400, body));
        while (waits.isAlive()) {
            Thread.sleep(20);
            waits.interrupt();
        }
        Kit.join(waits);
    }

    /** At every moment of a read. */
    private static void manyInterrupts() throws Exception {
        byte[] sent = Net.bytes(9, 3000);
        byte[] got = new byte[sent.length];
        AtomicInteger flags = new AtomicInteger();
        try (Net.Pair pair = new Net.Pair()) {
            Thread reader = Kit.start("reader", () -> {
                InputStream in = pair.client.getInputStream();
                for (int i = 0; i < got.length; i++) {
                    got[i] = (byte) in.read();
                    flags.addAndGet(Thread.interrupted() ? 1 : 0);
                }
            });
            for (int i = 0; i < sent.length; i++) {
                if (i % 3 == 0) {
                    reader.interrupt();
                }
                pair.server.getOutputStream().write(sent[i]);
                if (i % 2 == 0) {
                    reader.interrupt();
                }
                if (i % 100 == 0) {
                    Thread.sleep(1);
                }
            }
            Kit.join(reader);
            Kit.say("all bytes: %b; flags seen: %b", Arrays.equals(sent, got), flags.get() > 0);
        }
    }
}
