package wisp.it.cases.net;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Bytes through java.net sockets: both directions at once, larger than the buffers, many at a time. */
@WispCase
public final class Streams {
    private static final int SIZE = 3_000_000;

    public static void main(String[] args) throws Exception {
        fullDuplex();
        manyConnections();
        smallTurns();
        halfClose();
    }

    private static void fullDuplex() throws Exception {
        try (Net.Pair pair = new Net.Pair()) {
            Kit.join(Kit.start("cs", () -> Net.send(pair.client.getOutputStream(), 1, SIZE)),
                    Kit.start("sc", () -> Net.send(pair.server.getOutputStream(), 2, SIZE)),
                    Kit.start("sr", () -> Net.receive(pair.server.getInputStream(), 1, SIZE)),
                    Kit.start("cr", () -> Net.receive(pair.client.getInputStream(), 2, SIZE)));
        }
        Kit.say("full duplex ok");
    }

    private static void manyConnections() throws Exception {
        int count = 60;
        try (ServerSocket listener = Net.listen()) {
            Thread[] threads = new Thread[count];
            for (int i = 0; i < count; i++) {
                int id = i;
                threads[i] = Kit.start("client-" + i, () -> {
                    try (Socket s = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
                        s.getOutputStream().write(id);
                        Thread sender = Kit.start("sender", () -> Net.send(s.getOutputStream(), id, 100_000 + id));
                        Net.receive(s.getInputStream(), id, 100_000 + id);
                        Kit.join(sender);
                    }
                });
            }
            for (int i = 0; i < count; i++) {
                Socket s = listener.accept();
                Kit.daemon("server", () -> {
                    InputStream in = s.getInputStream();
                    OutputStream out = s.getOutputStream();
                    int id = in.read();
                    int left = 100_000 + id;
                    byte[] buffer = new byte[1777];
                    while (left > 0) {
                        int n = in.read(buffer);
                        out.write(buffer, 0, n);
                        left -= n;
                    }
                    Kit.check("end of stream", in.read() == -1);
                    s.close();
                });
            }
            Kit.join(threads);
        }
        Kit.say("%d connections ok", count);
    }

    private static void smallTurns() throws Exception {
        try (Net.Pair pair = new Net.Pair()) {
            Thread echo = Kit.start("echo", () -> {
                int b;
                while ((b = pair.server.getInputStream().read()) >= 0) {
                    pair.server.getOutputStream().write(b);
                }
            });
            for (int i = 0; i < 3000; i++) {
                pair.client.getOutputStream().write(i);
                Kit.check("turn " + i, pair.client.getInputStream().read() == (i & 255));
            }
            pair.client.shutdownOutput();
            Kit.join(echo);
        }
        Kit.say("turns ok");
    }

    private static void halfClose() throws IOException {
        try (Net.Pair pair = new Net.Pair()) {
            pair.client.getOutputStream().write(Net.bytes(3, 1000));
            pair.client.shutdownOutput();
            Net.receive(pair.server.getInputStream(), 3, 1000);
            Kit.say("read after half close: %d", pair.server.getInputStream().read());
            pair.server.getOutputStream().write(7);
            Kit.say("other half: %d", pair.client.getInputStream().read());
            Kit.sayThrown("write after shutdownOutput", () -> pair.client.getOutputStream().write(1));
            InputStream in = pair.client.getInputStream(); // a socket whose input is shut down gives none
            pair.client.shutdownInput();
            Kit.say("read after shutdownInput: %d", in.read());
        }
    }
}
