package wisp.it.cases.liveness;

import static wisp.it.Kit.say;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** Tasks sit in kernel calls (a pipe, a socket, a child process); the others go on meanwhile. */
@WispCase(smoke = true)
public final class BlockedInKernel {
    public static void main(String[] args) throws Exception {
        Process slow = new ProcessBuilder("cat").start();
        Process endless = new ProcessBuilder("sleep", "600").start();
        ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
        CountDownLatch started = new CountDownLatch(4);
        Thread pipe = Kit.start("pipe", () -> {
            started.countDown();
            say("from the pipe %d", slow.getInputStream().read());
        });
        Kit.await("reading", () -> started.getCount() == 3);
        Thread child = Kit.start("child", () -> {
            started.countDown();
            say("the process ended with %d", endless.waitFor());
        });
        Thread accept = Kit.start("accept", () -> {
            started.countDown();
            try (Socket socket = server.accept()) {
                started.countDown();
                say("from the socket %d", socket.getInputStream().read());
            }
        });
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        started.await();

        AtomicInteger work = new AtomicInteger();
        Kit.together(5, "others", () -> {
            for (int i = 0; i < 100; i++) {
                work.incrementAndGet();
                Thread.sleep(1);
            }
        });
        say("the others did %d", work.get());
        slow.getOutputStream().write(65);
        slow.getOutputStream().flush();
        Kit.join(pipe);
        client.getOutputStream().write(66);
        Kit.join(accept);
        endless.destroy();
        Kit.join(child);
        slow.getOutputStream().close();
        say("cat ended with %d", slow.waitFor());
    }
}
