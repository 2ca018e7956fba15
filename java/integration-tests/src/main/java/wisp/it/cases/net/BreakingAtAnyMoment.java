package wisp.it.cases.net;

import java.io.Closeable;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * As {@link Breaking}, but the close or interrupt comes at every moment of the call: before it waits, while it
 * begins to, and after. It always ends, and always by an exception. Channels on JDK 25 only: on plain threads of 8, 17
 * and 21 calls on them were seen to go on after such a close. Sockets from JDK 17: on plain threads of 8 they all
 * ended, but took up to 10 s now and then, beside other load; why was not looked into.
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

    public static void main(String[] args) throws Exception {
        sockets();
        connects();
        String version = System.getProperty("java.specification.version");
        if (Integer.parseInt(version) >= 25) {
            try (ServerSocketChannel listener = ServerSocketChannel.open().bind(Net.ANY)) {
                for (boolean interrupt : new boolean[] {false, true}) {
                    channels(listener, interrupt);
                }
            }
        }
    }

    private static void sockets() throws Exception {
        for (int timeout : new int[] {0, 20_000}) {
            String timed = timeout != 0 ? "timed " : "";
            broken(timed + "read", false, () -> {
                Net.Pair pair = new Net.Pair();
                pair.client.setSoTimeout(timeout);
                return new Call(pair.client, () -> pair.client.getInputStream().read(), pair);
            });
            broken(timed + "accept", false, () -> {
                ServerSocket listener = Net.listen();
                listener.setSoTimeout(timeout);
                return new Call(listener, listener::accept);
            });
            broken(timed + "receive", false, () -> {
                DatagramSocket socket = new DatagramSocket(Net.ANY);
                socket.setSoTimeout(timeout);
                return new Call(socket, () -> socket.receive(new DatagramPacket(new byte[1], 1)));
            });
        }
    }

    private static void connects() throws Exception {
        try (Net.FullListener full = new Net.FullListener()) {
            for (int timeout : new int[] {0, 20_000}) {
                broken((timeout != 0 ? "timed " : "") + "connect", false, () -> {
                    Socket socket = new Socket();
                    // Makes the descriptor. A close of a Socket without one only marks it, and a connect that has
                    // begun does not look at the mark.
                    socket.setTcpNoDelay(true);
                    return new Call(socket, () -> socket.connect(full.address, timeout));
                });
            }
        }
    }

    private static void channels(ServerSocketChannel listener, boolean interrupt) throws Exception {
        broken("channel read", interrupt, () -> {
            SocketChannel reader = SocketChannel.open(listener.getLocalAddress());
            return new Call(reader, () -> reader.read(ByteBuffer.allocate(10)), listener.accept());
        });
        broken("channel accept", interrupt, () -> {
            ServerSocketChannel own = ServerSocketChannel.open().bind(Net.ANY);
            return new Call(own, own::accept);
        });
        broken("channel receive", interrupt, () -> {
            DatagramChannel channel = DatagramChannel.open().bind(Net.ANY);
            return new Call(channel, () -> channel.receive(ByteBuffer.allocate(10)));
        });
        broken("pipe write", interrupt, () -> {
            Pipe full = Pipe.open();
            full.sink().configureBlocking(false);
            while (full.sink().write(ByteBuffer.allocate(4096)) > 0) {
                // It takes some.
            }
            full.sink().configureBlocking(true);
            return new Call(full.sink(), () -> full.sink().write(ByteBuffer.allocate(10)), full.source());
        });
        try (Net.FullListener full = new Net.FullListener()) {
            broken("channel connect", interrupt, () -> {
                SocketChannel channel = SocketChannel.open();
                return new Call(channel, () -> channel.connect(full.address));
            });
        }
        // A select does not throw when it is interrupted; that it ends is what counts.
        broken("select", interrupt, () -> {
            Selector selector = Selector.open();
            return new Call(selector, () -> {
                selector.select();
                throw new java.nio.channels.ClosedSelectorException();
            });
        });
    }

    private static void broken(String what, boolean interrupt, Subject subject) throws Exception {
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
            if (interrupt) {
                caller.interrupt();
            } else {
                call.subject.close();
            }
            Kit.join(caller);
            call.subject.close();
            for (Closeable other : call.others) {
                other.close();
            }
        }
        Kit.say("%s, %s: %d of %d broken", what, interrupt ? "interrupt" : "close", thrown.get(), MOMENTS);
    }
}
