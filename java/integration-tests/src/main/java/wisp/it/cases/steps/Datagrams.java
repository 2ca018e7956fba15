package wisp.it.cases.steps;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.MulticastSocket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/** DatagramSocket and MulticastSocket: sends, waits, connections to one that is gone. */
final class Datagrams extends World {
    private final List<DatagramSocket> sockets = new ArrayList<>();

    Datagrams(Random random) throws IOException {
        super(random);
        for (int i = 0; i < 3; i++) {
            sockets.add(one(3) ? new MulticastSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0))
                    : new DatagramSocket(0, InetAddress.getLoopbackAddress()));
        }
    }

    @Override
    Action draw(Worker worker) {
        int at = random.nextInt(sockets.size());
        DatagramSocket socket = sockets.get(at);
        DatagramSocket other = any(sockets.toArray(new DatagramSocket[0]));
        int target = sockets.indexOf(other);
        boolean brief = one(2);
        switch (random.nextInt(10)) {
            case 0: case 1: case 2:
                return busyWith(socket) != 0 ? null : new Action(at + " receive" + (brief ? " short" : ""), kind(brief), () -> {
                    DatagramPacket packet = new DatagramPacket(new byte[3], 3);
                    socket.setSoTimeout(brief ? SHORT : 0);
                    socket.receive(packet);
                    return packet.getLength() + " " + Arrays.toString(packet.getData()) + " of " + from(packet.getPort());
                }).about(socket);
            case 3: case 4: case 5:
                byte[] bytes = new byte[1 + random.nextInt(5)];
                bytes[0] = (byte) random.nextInt(100);
                int port = other.getLocalPort();
                return port <= 0 ? null : Action.quick(at + " send " + bytes.length + " to " + target, of(() ->
                        socket.send(new DatagramPacket(bytes, bytes.length, InetAddress.getLoopbackAddress(), port))));
            case 6:
                return interruptAny(worker);
            case 7:
                int to = other.getLocalPort();
                // It waits for a receive in progress on some JDKs.
                return to <= 0 || busyWith(socket) != 0 ? null
                        : Action.waits(at + " connect " + target, of(() -> socket.connect(InetAddress.getLoopbackAddress(), to)));
            case 8:
                return busyWith(socket) != 0 ? null : Action.waits(at + " disconnect", of(socket::disconnect));
            default:
                return one(3) ? Action.quick(at + " close", of(socket::close)) : Action.quick(at + " look", () ->
                        "" + socket.isBound() + socket.isClosed() + socket.isConnected());
        }
    }

    private String from(int port) {
        for (int i = 0; i < sockets.size(); i++) {
            if (sockets.get(i).getLocalPort() == port) {
                return "" + i;
            }
        }
        return "one that is gone";
    }

    @Override
    List<Action> ends() {
        List<Action> all = new ArrayList<>();
        for (DatagramSocket socket : sockets) {
            all.add(Action.quick("close", of(socket::close)));
        }
        return all;
    }
}
