package wisp.it.cases.net;

import java.io.Closeable;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * As {@link Breaking}, but the close comes at every moment of the call: before it waits, while it begins to, and
 * after. It always ends, and always by an exception. (Sockets only, and not those of JDK 8 to 11: channels of every
 * JDK and these sockets miss such a close now and then on plain threads as well.)
 */
@WispCase(minJdk = 17, variants = WispCase.INTERPRETER)
public final class BreakingAtAnyMoment {
    private static final int MOMENTS = 100;
    private static final long STEP_NANOS = 600;

    /** One call on a fresh descriptor. */
    private interface Subject {
        Call prepare() throws Exception;
    }

    private static final class Call {
        final Closeable subject;
        final Kit.Body body;
        final Closeable[] others;

        Call(Closeable subject, Kit.Body body, Closeable... others) {
            this.subject = subject;
            this.body = body;
            this.others = others;
        }
    }

    private static final InetSocketAddress ANY = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    public static void main(String[] args) throws Exception {
        sockets();
        connects();
    }

    private static void sockets() throws Exception {
        for (int timeout : new int[] {0, 20_000}) {
            String timed = timeout != 0 ? "timed " : "";
            broken(timed + "read", () -> {
                Net.Pair pair = new Net.Pair();
                pair.client.setSoTimeout(timeout);
                return new Call(pair.client, () -> pair.client.getInputStream().read(), pair);
            });
            broken(timed + "accept", () -> {
                ServerSocket listener = Net.listen();
                listener.setSoTimeout(timeout);
                return new Call(listener, listener::accept);
            });
            broken(timed + "receive", () -> {
                DatagramSocket socket = new DatagramSocket(ANY);
                socket.setSoTimeout(timeout);
                return new Call(socket, () -> socket.receive(new DatagramPacket(new byte[1], 1)));
            });
        }
    }

    /** To a listener whose queue is full: Linux drops what comes. */
    private static void connects() throws Exception {
        List<Socket> fill = new ArrayList<>();
        try (ServerSocket full = new ServerSocket(0, 1, ANY.getAddress())) {
            InetSocketAddress address = new InetSocketAddress(full.getInetAddress(), full.getLocalPort());
            for (int i = 0; i < 4; i++) {
                Socket socket = new Socket();
                fill.add(socket);
                Kit.thrown(() -> socket.connect(address, 200));
            }
            for (int timeout : new int[] {0, 20_000}) {
                broken((timeout != 0 ? "timed " : "") + "connect", () -> {
                    Socket socket = new Socket();
                    // Makes the descriptor. A close of a Socket without one only marks it, and a connect that has
                    // begun does not look at the mark.
                    socket.setTcpNoDelay(true);
                    return new Call(socket, () -> socket.connect(address, timeout));
                });
            }
        }
        for (Socket socket : fill) {
            socket.close();
        }
    }

    private static void broken(String what, Subject subject) throws Exception {
        AtomicInteger thrown = new AtomicInteger();
        for (int i = 0; i < MOMENTS; i++) {
            Call call = subject.prepare();
            AtomicBoolean begins = new AtomicBoolean();
            Thread caller = Kit.start(what + " " + i, () -> {
                begins.set(true);
                if (!Kit.thrown(call.body).equals("nothing")) {
                    thrown.incrementAndGet();
                }
            });
            while (!begins.get()) {
                Thread.yield();
            }
            for (long until = System.nanoTime() + i * STEP_NANOS; System.nanoTime() < until; ) {
                // The moment matters: neither a sleep nor a yield hits it.
            }
            call.subject.close();
            Kit.join(caller);
            for (Closeable other : call.others) {
                other.close();
            }
        }
        Kit.say("%s: %d of %d broken by a close", what, thrown.get(), MOMENTS);
    }
}
