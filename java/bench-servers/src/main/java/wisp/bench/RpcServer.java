package wisp.bench;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/**
 * The called side of {@link RpcClient}: a thread per connection that reads a request and answers it. Prints
 * {@code port=N}; ends when its standard input ends.
 */
public final class RpcServer {
    private RpcServer() {
    }

    public static void main(String[] args) throws Exception {
        Options options = new Options(RpcServer.class).define("kind", Threads.PLATFORM).parse(args);
        String kind = options.text("kind", Threads.PLATFORM, Threads.VIRTUAL);
        ServerSocket listener = new ServerSocket(0, 4096, InetAddress.getLoopbackAddress());
        Thread acceptor = new Thread(() -> accept(kind, listener));
        acceptor.setDaemon(true);
        acceptor.start();
        Report.value("port", listener.getLocalPort());
        while (System.in.read() >= 0) {
            // until whoever started this is gone
        }
        System.exit(0);
    }

    static long price(String item) {
        return item.hashCode() & 0xffff;
    }

    private static void accept(String kind, ServerSocket listener) {
        try {
            while (true) {
                Socket socket = listener.accept();
                Threads.unstarted(kind, () -> serve(socket)).start();
            }
        } catch (IOException e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private static void serve(Socket socket) {
        try (Socket s = socket) {
            s.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(new BufferedInputStream(s.getInputStream()));
            DataOutputStream out = new DataOutputStream(new BufferedOutputStream(s.getOutputStream()));
            while (true) {
                long id = in.readLong();
                String item = in.readUTF();
                int quantity = in.readInt();
                out.writeLong(id);
                out.writeLong(price(item) * quantity);
                out.writeUTF(item);
                out.flush();
            }
        } catch (EOFException theClientHasLeft) {
            // the caller checks its replies
        } catch (IOException e) {
            e.printStackTrace();
        }
    }
}
