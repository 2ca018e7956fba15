package wisp.it.cases.net;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.Pipe;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.ServerSocketChannel;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A blocked call ends at once when its socket is closed, shut down or its thread interrupted. */
@WispCase
public final class Breaking {
    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 2; round++) {
            sockets();
            channels();
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
            Net.sayBroken("write, close", () -> Net.fill(pair.client.getOutputStream()), pair.client::close);
        }
        try (Net.Pair pair = new Net.Pair()) {
            Net.sayBroken("write, shutdownOutput", () -> Net.fill(pair.client.getOutputStream()),
                    pair.client::shutdownOutput);
            Kit.say("open %b, its input works: %b", !pair.client.isClosed(), works(pair.server, pair.client));
        }
        try (Net.Pair pair = new Net.Pair()) {
            Net.sayBroken("write, peer closes", () -> Net.fill(pair.client.getOutputStream()), pair.server::close);
        }
        try (Net.Pair pair = new Net.Pair()) {
            Net.sayBroken("read, shutdownInput", () -> Kit.say("read %d", pair.client.getInputStream().read()),
                    pair.client::shutdownInput);
            Kit.say("open %b, its output works: %b", !pair.client.isClosed(), works(pair.client, pair.server));
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

    private static boolean works(Socket from, Socket to) throws Exception {
        from.getOutputStream().write(77);
        return to.getInputStream().read() == 77;
    }

    private static void channels() throws Exception {
        for (boolean interrupt : new boolean[] {false, true}) {
            try (Net.ChannelPair pair = new Net.ChannelPair()) {
                Net.sayBroken("channel read", () -> pair.client.read(ByteBuffer.allocate(10)), pair.client, interrupt);
            }
            try (Net.ChannelPair pair = new Net.ChannelPair()) {
                Net.sayBroken("channel write", () -> Net.fill(pair.client, 1 << 20), pair.client, interrupt);
            }
            ServerSocketChannel listener = ServerSocketChannel.open().bind(Net.ANY);
            Net.sayBroken("channel accept", listener::accept, listener, interrupt);
            DatagramChannel datagrams = DatagramChannel.open().bind(Net.ANY);
            Net.sayBroken("channel receive", () -> datagrams.receive(ByteBuffer.allocate(10)), datagrams, interrupt);
            Pipe empty = Pipe.open();
            Net.sayBroken("pipe read", () -> empty.source().read(ByteBuffer.allocate(10)), empty.source(), interrupt);
            Kit.sayThrown("write into what was read", () -> empty.sink().write(ByteBuffer.allocate(1)));
            empty.sink().close();
            // Whole pages: what waits has written nothing. Of a large one a part is written.
            for (int block : new int[] {4096, 1 << 20}) {
                Pipe full = Pipe.open();
                Net.sayBroken("pipe write of " + block, () -> Net.fill(full.sink(), block), full.sink(), interrupt);
                Kit.say("then it ends: %b", ends(full.source()));
                full.source().close();
            }
        }
        shutdowns();
    }

    /** The ends of channels one at a time, which leaves the channel open, and the other end's closing. */
    private static void shutdowns() throws Exception {
        try (Net.ChannelPair pair = new Net.ChannelPair()) {
            Net.sayBroken("channel read, shutdownInput",
                    () -> Kit.say("read %d", pair.client.read(ByteBuffer.allocate(10))), pair.client::shutdownInput);
            pair.client.write(ByteBuffer.allocate(3));
            int got = pair.server.read(ByteBuffer.allocate(9));
            Kit.say("open %b, its output works: %d", pair.client.isOpen(), got);
        }
        try (Net.ChannelPair pair = new Net.ChannelPair()) {
            // Which IOException depends on whether the write or the shutdown is through first.
            Net.sayBroken("channel write, shutdownOutput", () -> {
                try {
                    Net.fill(pair.client, 1 << 20);
                } catch (IOException e) {
                    throw new IOException("one or the other", e);
                }
            }, pair.client::shutdownOutput);
            pair.server.write(ByteBuffer.allocate(3));
            int got = pair.client.read(ByteBuffer.allocate(9));
            Kit.say("open %b, its input works: %d", pair.client.isOpen(), got);
            Kit.say("then it ends: %b", ends(pair.server));
        }
        Pipe empty = Pipe.open();
        Net.sayBroken("pipe read, sink closes",
                () -> Kit.say("read %d", empty.source().read(ByteBuffer.allocate(10))), empty.sink()::close);
        empty.source().close();
        Pipe full = Pipe.open();
        Net.sayBroken("pipe write, source closes", () -> Net.fill(full.sink(), 1 << 20), full.source()::close);
        full.sink().close();
    }

    /** Reads what the writer had left there. */
    private static boolean ends(ReadableByteChannel channel) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(100_000);
        while (channel.read(buffer) >= 0) {
            buffer.clear();
        }
        return true;
    }
}
