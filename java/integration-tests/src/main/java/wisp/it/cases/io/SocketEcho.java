package wisp.it.cases.io;

import static wisp.it.Kit.say;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicLong;
import wisp.it.Kit;
import wisp.it.WispCase;

/** A thread per connection on both sides; every byte comes back. */
@WispCase(smoke = true)
public final class SocketEcho {
    public static void main(String[] args) throws Exception {
        int clients = 20;
        ServerSocket server = new ServerSocket(0, clients, InetAddress.getLoopbackAddress());
        Thread acceptor = Kit.start("acceptor", () -> {
            for (int i = 0; i < clients; i++) {
                Socket socket = server.accept();
                Kit.start("serve" + i, () -> {
                    byte[] buffer = new byte[512];
                    try (Socket mine = socket) {
                        for (int n = mine.getInputStream().read(buffer); n >= 0; n = mine.getInputStream().read(buffer)) {
                            mine.getOutputStream().write(buffer, 0, n);
                        }
                    }
                });
            }
        });
        AtomicLong sum = new AtomicLong();
        Kit.together(clients, "client", () -> {
            try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                DataOutputStream out = new DataOutputStream(socket.getOutputStream());
                DataInputStream in = new DataInputStream(socket.getInputStream());
                for (int i = 0; i < 50; i++) {
                    out.writeInt(i);
                    sum.addAndGet(in.readInt());
                }
            }
        });
        Kit.join(acceptor);
        say("sum %d", sum.get());
    }
}
