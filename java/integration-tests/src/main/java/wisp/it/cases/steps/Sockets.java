package wisp.it.cases.steps;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Connections of java.net: one reader and one writer for each end at a time. */
final class Sockets extends World {
    private static final int BUFFER = 32 << 10;
    /** More than both sides' buffers take. */
    private static final int MUCH = 1 << 20;

    private final ServerSocket listener = new ServerSocket();
    private final InetSocketAddress refusing;
    private final List<End> ends = Collections.synchronizedList(new ArrayList<>());

    private static final class End {
        final String name;
        final Socket socket;

        End(String name, Socket socket) {
            this.name = name;
            this.socket = socket;
        }

        String reading() {
            return name + " reads";
        }

        String writing() {
            return name + " writes";
        }
    }

    Sockets(Random random) throws IOException {
        super(random);
        listener.setReceiveBufferSize(BUFFER);
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        try (ServerSocket gone = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            refusing = new InetSocketAddress(gone.getInetAddress(), gone.getLocalPort());
        }
        connect(place(), 0);
        connected(place(), "s", listener.accept());
    }

    /** For an end to come: which comes first, of an accept and its connect, is not known. */
    private int place() {
        ends.add(null);
        return ends.size() - 1;
    }

    private Object connected(int place, String kind, Socket socket) throws IOException {
        socket.setSendBufferSize(BUFFER);
        // A small write must not wait for the acknowledgement of another.
        socket.setTcpNoDelay(true);
        End end = new End(kind + place, socket);
        ends.set(place, end);
        return end.name;
    }

    private Object connect(int place, int timeout) throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(BUFFER);
        socket.connect(listener.getLocalSocketAddress(), timeout);
        return connected(place, "c", socket);
    }

    @Override
    Action draw(Worker worker) {
        End end = ends.get(random.nextInt(ends.size()));
        if (end == null) {
            return null;
        }
        switch (random.nextInt(11)) {
            case 0:
                return accept(one(3));
            case 1:
                return ends.size() > 9 ? null : connect(one(2) ? 0 : (int) LONG);
            case 2: case 3: case 4:
                return busyWith(end.reading()) != 0 ? null : read(end).about(end.reading());
            case 5: case 6:
                return busyWith(end.writing()) != 0 ? null : write(end).about(end.writing());
            case 7:
                return end(end);
            case 8:
                return interruptAny(worker);
            default:
                return quick(end);
        }
    }

    private Action accept(boolean brief) {
        if (busyWith(listener) != 0 || ends.size() > 9) {
            return null;
        }
        int place = place();
        return new Action("accept" + (brief ? " short" : ""), kind(brief), () -> {
            listener.setSoTimeout(brief ? SHORT : 0);
            return connected(place, "s", listener.accept());
        }).about(listener);
    }

    private Action connect(int timeout) {
        switch (random.nextInt(8)) {
            case 0:
                return Action.quick("connect refused " + timeout, () -> {
                    try (Socket socket = new Socket()) {
                        socket.connect(refusing, timeout);
                        return "connected";
                    }
                });
            case 1:
                return one(2) ? null : Action.quick("close listener", of(listener::close));
            default:
                int place = place();
                return Action.quick("connect " + timeout, () -> connect(place, timeout));
        }
    }

    private Action read(End end) {
        boolean brief = one(3);
        int size = any(1, 3, 10);
        int how = random.nextInt(10);
        String text = end.name + (how == 0 ? " read much" : how == 1 ? " skip " + size : how < 4 ? " read" : " read " + size);
        Action.Kind kind = how == 0 ? Action.Kind.SLOW : kind(brief);
        return new Action(text + (brief ? " short" : ""), kind, () -> {
            end.socket.setSoTimeout(brief ? SHORT : 0);
            InputStream in = end.socket.getInputStream();
            switch (how) {
                case 0:
                    return much(in);
                case 1:
                    return in.skip(size);
                case 2: case 3:
                    return in.read();
                default:
                    byte[] bytes = new byte[size];
                    int got = in.read(bytes);
                    return got + " " + Arrays.toString(Arrays.copyOf(bytes, Math.max(0, got)));
            }
        });
    }

    private static Object much(InputStream in) throws IOException {
        byte[] bytes = new byte[MUCH / 2];
        for (int at = 0, got; at < bytes.length; at += got) {
            got = in.read(bytes, at, bytes.length - at);
            if (got < 0) {
                throw new EOFException(at < 100 ? "after " + at : "some time");
            }
        }
        return "sum " + sum(bytes);
    }

    private static int sum(byte[] bytes) {
        int sum = 0;
        for (byte b : bytes) {
            sum = sum * 31 + b;
        }
        return sum;
    }

    private Action write(End end) {
        int size = any(1, 2, 5);
        byte first = (byte) random.nextInt(100);
        if (one(6)) {
            return Action.slow(end.name + " write much", of(() -> {
                byte[] bytes = new byte[MUCH];
                Arrays.fill(bytes, first);
                end.socket.getOutputStream().write(bytes);
            }));
        }
        return Action.quick(end.name + " write " + size, of(() -> {
            byte[] bytes = new byte[size];
            for (int i = 0; i < size; i++) {
                bytes[i] = (byte) (first + i);
            }
            end.socket.getOutputStream().write(bytes);
        }));
    }

    private Action end(End end) {
        switch (random.nextInt(5)) {
            case 0:
                return Action.quick(end.name + " close", of(end.socket::close));
            case 1:
                return Action.quick(end.name + " reset", of(() -> {
                    end.socket.setSoLinger(true, 0);
                    end.socket.close();
                }));
            case 2:
                return Action.quick(end.name + " shutdownInput", of(end.socket::shutdownInput));
            default:
                return Action.quick(end.name + " shutdownOutput", of(end.socket::shutdownOutput));
        }
    }

    private Action quick(End end) {
        Socket socket = end.socket;
        switch (random.nextInt(4)) {
            case 0:
                return Action.quick(end.name + " available", () -> Math.min(socket.getInputStream().available(), 1000));
            case 1:
                return busyWith(end.writing()) != 0 ? null : Action.quick(end.name + " urgent", of(() -> socket.sendUrgentData(77)));
            case 2:
                boolean inline = one(2);
                return Action.quick(end.name + " inline " + inline, of(() -> socket.setOOBInline(inline)));
            default:
                return Action.quick(end.name + " look", () -> "" + socket.isBound() + socket.isConnected() + socket.isClosed()
                        + socket.isInputShutdown() + socket.isOutputShutdown() + listener.isClosed());
        }
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        for (End end : ends) {
            if (end != null) {
                all.add(Action.quick("close " + end.name, of(end.socket::close)));
            }
        }
        all.add(Action.quick("close listener", of(listener::close)));
        return all;
    }
}
