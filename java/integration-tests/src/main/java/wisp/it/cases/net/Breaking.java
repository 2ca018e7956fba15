package wisp.it.cases.net;

import java.io.OutputStream;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A blocked call ends at once when its socket is closed, shut down or its thread interrupted. */
@WispCase
public final class Breaking {
    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 3; round++) {
            sockets();
            channels();
        }
    }

    private static void fill(OutputStream out) throws Exception {
        byte[] block = new byte[100_000];
        while (true) {
            out.write(block);
        }
    }

    private static void sockets() throws Exception {
        try (Net.Pair pair = new Net.Pair()) {
            Net.sayBroken("read, close", () -> pair.client.getInputStream().read(), pair.client::close);
        }
        try (Net.Pair pair = new Net.Pair()) {
            pair.client.setSoTimeout(120_000);
            Net.sayBroken("timed read, close", () -> pair.client.getInputStream().read(), pair.client::close);
        }
        try (Net.Pair pair = new Net.Pair()) {
            Net.sayBroken("write, close", () -> fill(pair.client.getOutputStream()), pair.client::close);
        }
        try (Net.Pair pair = new Net.Pair()) {
            Net.sayBroken("read, shutdownInput", () -> Kit.say("read %d", pair.client.getInputStream().read()),
                    pair.client::shutdownInput);
        }
        try (Net.Pair pair = new Net.Pair()) {
            Net.sayBroken("read, peer closes", () -> Kit.say("read %d", pair.client.getInputStream().read()),
                    pair.server::close);
        }
        try (Net.Pair pair = new Net.Pair()) {
            pair.server.setSoLinger(true, 0);
            Net.sayBroken("read, peer resets", () -> pair.client.getInputStream().read(), pair.server::close);
        }
        ServerSocket listener = Net.listen();
        Net.sayBroken("accept, close", listener::accept, listener::close);
        ServerSocket timed = Net.listen();
        timed.setSoTimeout(120_000);
        Net.sayBroken("timed accept, close", timed::accept, timed::close);
        DatagramSocket datagrams = new DatagramSocket();
        Net.sayBroken("receive, close", () -> datagrams.receive(new DatagramPacket(new byte[1], 1)),
                datagrams::close);
    }

    private static void channels() throws Exception {
        InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(any);
            for (int i = 0; i < 2; i++) {
                boolean interrupt = i == 1;
                String by = interrupt ? "interrupt" : "close";
                SocketChannel reader = SocketChannel.open(listener.getLocalAddress());
                SocketChannel silent = listener.accept();
                breakIt("channel read, " + by, () -> reader.read(ByteBuffer.allocate(10)), reader, interrupt);
                SocketChannel writer = SocketChannel.open(listener.getLocalAddress());
                SocketChannel deaf = listener.accept();
                breakIt("channel write, " + by, () -> {
                    ByteBuffer block = ByteBuffer.allocateDirect(1 << 20);
                    while (true) {
                        block.clear();
                        writer.write(block);
                    }
                }, writer, interrupt);
                silent.close();
                deaf.close();
            }
        }
        for (int i = 0; i < 2; i++) {
            boolean interrupt = i == 1;
            String by = interrupt ? "interrupt" : "close";
            ServerSocketChannel listener = ServerSocketChannel.open();
            listener.bind(any);
            breakIt("channel accept, " + by, listener::accept, listener, interrupt);
            DatagramChannel datagrams = DatagramChannel.open().bind(any);
            breakIt("channel receive, " + by, () -> datagrams.receive(ByteBuffer.allocate(10)), datagrams, interrupt);
            Pipe pipe = Pipe.open();
            breakIt("pipe read, " + by, () -> pipe.source().read(ByteBuffer.allocate(10)), pipe.source(), interrupt);
            pipe.sink().close();
        }
    }

    private static void breakIt(String what, Kit.Body body, java.nio.channels.Channel channel, boolean interrupt)
            throws Exception {
        Thread[] blocked = new Thread[1];
        Net.sayBroken(what, () -> {
            blocked[0] = Thread.currentThread();
            body.run();
        }, () -> {
            if (interrupt) {
                blocked[0].interrupt();
            } else {
                channel.close();
            }
        });
        Kit.check(what + " closed the channel", !channel.isOpen());
    }
}
