package wisp.it.cases.net;

import java.net.InetSocketAddress;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Timed reads, accepts, connects and datagrams; a timeout leaves the socket usable. */
@WispCase
public final class Timeouts {
    public static void main(String[] args) throws Exception {
        reads();
        accepts();
        connects();
        datagrams();
    }

    private static void reads() throws Exception {
        try (Net.Pair pair = new Net.Pair()) {
            pair.client.setSoTimeout(150);
            Net.timed("read", 150, () -> pair.client.getInputStream().read());
            Net.timed("second read", 150, () -> pair.client.getInputStream().read());
            pair.server.getOutputStream().write(5);
            Kit.say("read after timeouts: %d", pair.client.getInputStream().read());
            pair.client.setSoTimeout(120_000);
            Thread late = Kit.start("late", () -> {
                Thread.sleep(50);
                pair.server.getOutputStream().write(6);
            });
            Kit.say("in time: %d", pair.client.getInputStream().read());
            Kit.join(late);
            pair.client.setSoTimeout(0);
            late = Kit.start("later", () -> {
                Thread.sleep(200);
                pair.server.getOutputStream().write(Net.bytes(9, 500_000));
            });
            Net.receive(pair.client.getInputStream(), 9, 500_000);
            Kit.join(late);
            pair.client.setSoTimeout(120_000);
            for (int i = 0; i < 500; i++) {
                int turn = i;
                Thread t = i % 50 == 0 ? Kit.start("turn", () -> pair.server.getOutputStream().write(turn)) : null;
                if (t == null) {
                    pair.server.getOutputStream().write(i);
                }
                Kit.check("timed turn", pair.client.getInputStream().read() == (i & 255));
                if (t != null) {
                    Kit.join(t);
                }
            }
            Kit.say("timed turns ok");
        }
    }

    private static void accepts() throws Exception {
        try (ServerSocket listener = Net.listen()) {
            listener.setSoTimeout(120);
            Net.timed("accept", 120, listener::accept);
            try (Socket s = new Socket(listener.getInetAddress(), listener.getLocalPort());
                 Socket t = listener.accept()) {
                t.getOutputStream().write(1);
                Kit.say("accepted after timeout: %d", s.getInputStream().read());
            }
            listener.setSoTimeout(0);
            Thread client = Kit.start("client", () -> {
                Thread.sleep(100);
                new Socket(listener.getInetAddress(), listener.getLocalPort()).close();
            });
            listener.accept().close();
            Kit.join(client);
        }
    }

    private static void connects() throws Exception {
        try (Socket bound = new Socket()) { // bound, and nobody listens: a port given back may be somebody's at once
            bound.bind(new InetSocketAddress(java.net.InetAddress.getLoopbackAddress(), 0));
            Kit.sayThrown("connect to nobody", () -> new Socket("127.0.0.1", bound.getLocalPort()));
        }
        try (Net.FullListener full = new Net.FullListener();
             Socket last = new Socket()) {
            Net.timed("connect", 200, () -> {
                try (Socket timed = new Socket()) {
                    timed.connect(full.address, 200);
                }
            });
            Net.sayBroken("connect of a closed socket", () -> last.connect(full.address), last::close);
        }
    }

    private static void datagrams() throws Exception {
        try (DatagramSocket socket = new DatagramSocket(0, java.net.InetAddress.getLoopbackAddress())) {
            DatagramPacket packet = new DatagramPacket(new byte[100], 100);
            socket.setSoTimeout(100);
            Net.timed("receive", 100, () -> socket.receive(packet));
            socket.send(new DatagramPacket(new byte[42], 42, socket.getLocalSocketAddress()));
            socket.receive(packet);
            Kit.say("received %d", packet.getLength());
        }
    }
}
