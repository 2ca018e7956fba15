package wisp.it.cases.steps;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.FileChannel;
import java.nio.channels.GatheringByteChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.ScatteringByteChannel;
import java.nio.channels.SelectableChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Channels, blocking and not: connections, local ones, pipes, datagrams. At most two are in a direction of a channel. */
final class Channels extends World {
    private static final int BUFFER = 32 << 10;
    private static final int MUCH = 1 << 20;

    private final ServerSocketChannel listener;
    private final FileChannel file;
    private final List<End> ends = Collections.synchronizedList(new ArrayList<>());

    private static final class End {
        final String name;
        final SelectableChannel channel;
        /** By a long write that did not block: how much fits now is not known. */
        boolean filled;

        End(String name, SelectableChannel channel) {
            this.name = name;
            this.channel = channel;
        }

        String reading() {
            return name + " reads";
        }

        String writing() {
            return name + " writes";
        }

        ReadableByteChannel in() {
            return (ReadableByteChannel) channel;
        }

        WritableByteChannel out() {
            return (WritableByteChannel) channel;
        }
    }

    Channels(Random random) throws Exception {
        super(random);
        listener = ServerSocketChannel.open();
        listener.setOption(StandardSocketOptions.SO_RCVBUF, BUFFER);
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Path path = Files.write(Files.createTempFile("wisp", ".file"), new byte[MUCH]);
        file = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.DELETE_ON_CLOSE);
        pair(random.nextInt(2));
        pair(2 + random.nextInt(2));
        pair(3);
    }

    private void pair(int kind) throws Exception {
        switch (kind) {
            case 0:
                Pipe pipe = Pipe.open();
                add("source", pipe.source());
                add("sink", pipe.sink());
                break;
            case 1:
                DatagramChannel a = DatagramChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                DatagramChannel b = DatagramChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
                a.connect(b.getLocalAddress());
                b.connect(a.getLocalAddress());
                add("packets", a);
                add("packets", b);
                break;
            case 2:
                SocketChannel[] local = LocalSockets.pair();
                for (int i = 0; local != null && i < 2; i++) {
                    add("local", local[i]);
                }
                break;
            default:
                SocketChannel client = client();
                client.connect(listener.getLocalAddress());
                add("client", client);
                add("server", listener.accept());
        }
    }

    /** Without this its buffer grows in time, also while nobody reads. */
    private static SocketChannel client() throws IOException {
        return SocketChannel.open().setOption(StandardSocketOptions.SO_RCVBUF, BUFFER);
    }

    /** For an end to come: which comes first, of an accept and its connect, is not known. */
    private int place() {
        ends.add(null);
        return ends.size() - 1;
    }

    private Object add(String kind, SelectableChannel channel) throws IOException {
        return add(place(), kind, channel);
    }

    private Object add(int place, String kind, SelectableChannel channel) throws IOException {
        if (channel instanceof SocketChannel) {
            ((SocketChannel) channel).setOption(StandardSocketOptions.SO_SNDBUF, BUFFER);
            if (!kind.equals("local")) {
                // A small write must not wait for the acknowledgement of another.
                ((SocketChannel) channel).setOption(StandardSocketOptions.TCP_NODELAY, true);
            }
        }
        End end = new End(kind + place, channel);
        ends.set(place, end);
        return end.name;
    }

    @Override
    Action draw(Worker worker) throws Exception {
        End end = ends.get(random.nextInt(ends.size()));
        if (end == null) {
            return null;
        }
        switch (random.nextInt(12)) {
            case 0: case 1: case 2: case 3:
                return end.channel instanceof ReadableByteChannel && busyWith(end.reading()) < 2 && !isReadMuch(end)
                        ? about(end.reading(), read(end)) : null;
            case 4: case 5: case 6:
                return end.channel instanceof WritableByteChannel && busyWith(end.writing()) < 2
                        ? about(end.writing(), write(end)) : null;
            case 7:
                return interrupted(worker);
            case 8:
                boolean blocks = one(2);
                return isReadMuch(end) ? null : Action.waits(end.name + " blocks " + blocks, of(() -> end.channel.configureBlocking(blocks)));
            case 9:
                return isSending(end) ? null : one(2) ? Action.quick(end.name + " close", of(end.channel::close)) : shut(end);
            case 10:
                return ends.size() > 11 ? null : open();
            default:
                return Action.quick(end.name + " look", () -> "" + end.channel.isOpen() + end.channel.isBlocking()
                        + end.channel.isRegistered());
        }
    }

    private static Action about(Object subject, Action action) {
        return action == null ? null : action.about(subject);
    }

    private Action read(End end) {
        boolean blocks = end.channel.isBlocking();
        boolean alone = busyWith(end.reading()) == 0;
        int size = any(1, 3, 10);
        ByteBuffer buffer = one(2) ? ByteBuffer.allocate(size) : ByteBuffer.allocateDirect(size);
        boolean first = one(10) && !isSending(end);
        switch (random.nextInt(8)) {
            case 0:
                return end.channel instanceof SocketChannel && isInternet(end) ? adapted(end, size, one(2)) : null;
            case 1:
                if (end.channel instanceof DatagramChannel || !blocks || !alone) {
                    return null;
                }
                return Action.slow(end.name + " read much", () -> {
                    ByteBuffer much = ByteBuffer.allocate(MUCH / 2);
                    while (much.hasRemaining() && end.in().read(much) > 0) {
                        // On.
                    }
                    return much.hasRemaining() ? "end" : "sum " + Arrays.hashCode(much.array());
                });
            case 2:
                ByteBuffer other = ByteBuffer.allocate(2);
                return new Action(end.name + " scatter " + size, blocks ? Action.Kind.WAITS : Action.Kind.QUICK,
                        () -> ((ScatteringByteChannel) end.channel).read(new ByteBuffer[] {other, buffer})
                                + content(other) + content(buffer));
            default:
                return new Action(end.name + " read " + size + (first ? " as interrupted" : ""),
                        blocks ? Action.Kind.WAITS : Action.Kind.QUICK, () -> {
                    if (first) {
                        Thread.currentThread().interrupt();
                    }
                    return end.in().read(buffer) + content(buffer);
                });
        }
    }

    /** Between its reads others would come, or not. */
    private boolean isReadMuch(End end) {
        for (Worker worker : workers) {
            if (!worker.isIdle() && worker.given().name.equals(end.name + " read much")) {
                return true;
            }
        }
        return false;
    }

    private boolean isSending(End end) {
        for (Worker worker : workers) {
            if (!worker.isIdle() && worker.given().name.equals(end.name + " send much")) {
                return true;
            }
        }
        return false;
    }

    /** Before JDK 25 a channel that is closed under a transferTo goes on with it on plain threads; so none is closed there. */
    private Action interrupted(Worker by) {
        Worker whom = busyOne(by);
        for (End end : ends) {
            if (whom != null && end != null && isSending(end) && !whom.given().name.endsWith("send much")
                    && (end.reading().equals(whom.given().subject) || end.writing().equals(whom.given().subject))) {
                return null;
            }
        }
        return whom == null ? null : interrupt(whom);
    }

    private static boolean isInternet(End end) {
        return !end.name.startsWith("local");
    }

    /** By the adaptor. */
    private Action adapted(End end, int size, boolean brief) {
        byte[] bytes = new byte[size];
        return new Action(end.name + " stream read " + size + (brief ? " short" : ""), kind(brief), () -> {
            Socket socket = ((SocketChannel) end.channel).socket();
            socket.setSoTimeout(brief ? SHORT : 0);
            return socket.getInputStream().read(bytes) + " " + Arrays.toString(bytes);
        });
    }

    private static String content(ByteBuffer buffer) {
        buffer.flip();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return " " + Arrays.toString(bytes);
    }

    private Action write(End end) {
        boolean blocks = end.channel.isBlocking();
        int size = any(1, 2, 5);
        byte first = (byte) random.nextInt(100);
        boolean gathers = one(3);
        if (one(5) && !(end.channel instanceof DatagramChannel)) {
            ByteBuffer much = one(2) ? ByteBuffer.allocate(MUCH) : ByteBuffer.allocateDirect(MUCH);
            // A send may end in the middle, when another one's interrupt closes the file.
            boolean sends = one(3);
            end.filled |= !blocks || sends;
            return new Action(end.name + (sends ? " send much" : " write much"), blocks ? Action.Kind.SLOW : Action.Kind.QUICK, () -> {
                long wrote = sends ? file.transferTo(0, MUCH, end.out()) : end.out().write(much);
                return !blocks || sends ? "some" : wrote == MUCH ? "all" : "a part";
            });
        }
        if (end.filled) {
            return null;
        }
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) (first + i);
        }
        // Behind a long write it waits.
        Action.Kind kind = busyWith(end.writing()) != 0 ? Action.Kind.WAITS : Action.Kind.QUICK;
        return new Action(end.name + (gathers ? " gather " : " write ") + size, kind, () -> gathers
                ? ((GatheringByteChannel) end.channel).write(new ByteBuffer[] {ByteBuffer.wrap(bytes, 0, 1), ByteBuffer.wrap(bytes, 1, size - 1)})
                : end.out().write(ByteBuffer.wrap(bytes)));
    }

    private Action shut(End end) {
        if (!(end.channel instanceof SocketChannel)) {
            return null;
        }
        SocketChannel channel = (SocketChannel) end.channel;
        return one(2) ? Action.quick(end.name + " shutdownInput", of(channel::shutdownInput))
                : Action.quick(end.name + " shutdownOutput", of(channel::shutdownOutput));
    }

    private Action open() {
        boolean blocks = listener.isBlocking();
        int place = place();
        switch (random.nextInt(6)) {
            case 0:
                boolean blocking = one(2);
                return Action.waits("listener blocks " + blocking, of(() -> listener.configureBlocking(blocking)));
            case 1: case 2:
                return busyWith(listener) > 1 ? null
                        : new Action("accept", blocks ? Action.Kind.WAITS : Action.Kind.QUICK, () -> {
                    SocketChannel accepted = listener.accept();
                    return accepted == null ? "none" : add(place, "server", accepted);
                }).about(listener);
            case 3:
                return Action.quick("connect without blocking", () -> {
                    SocketChannel channel = client();
                    channel.configureBlocking(false);
                    channel.connect(listener.getLocalAddress());
                    boolean done = channel.finishConnect();
                    channel.configureBlocking(true);
                    return done + " " + add(place, "client", channel);
                });
            case 4:
                return one(3) ? Action.quick("close listener", of(listener::close)) : null;
            default:
                return Action.quick("connect", () -> {
                    SocketChannel channel = client();
                    channel.connect(listener.getLocalAddress());
                    return add(place, "client", channel);
                });
        }
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        all.add(Action.quick("close file", of(file::close)));
        for (End end : ends) {
            if (end != null) {
                all.add(Action.quick("close " + end.name, of(end.channel::close)));
            }
        }
        all.add(Action.quick("close listener", of(listener::close)));

        return all;
    }
}
