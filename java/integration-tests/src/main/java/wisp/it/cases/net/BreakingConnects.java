package wisp.it.cases.net;

import java.net.Socket;
import java.nio.channels.SocketChannel;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * A connect that waits, since the listener's queue is full, ends at once when its socket is closed or its thread
 * interrupted; others to the same listener are not disturbed and succeed when it accepts.
 */
@WispCase
public final class BreakingConnects {
    public static void main(String[] args) throws Exception {
        for (boolean interrupt : new boolean[] {false, true}) {
            channels(interrupt);
        }
        sockets();
        others();
    }

    private static void channels(boolean interrupt) throws Exception {
        try (Net.FullListener full = new Net.FullListener()) {
            SocketChannel waits = SocketChannel.open();
            Net.sayBroken("connect", () -> waits.connect(full.address), waits, interrupt);
            SocketChannel begun = SocketChannel.open();
            begun.configureBlocking(false);
            Kit.say("at once: %b", begun.connect(full.address));
            begun.configureBlocking(true);
            Net.sayBroken("finishConnect", begun::finishConnect, begun, interrupt);
            SocketChannel timed = SocketChannel.open();
            Net.sayBroken("timed connect of its socket", () -> timed.socket().connect(full.address, 120_000), timed,
                    interrupt);
        }
    }

    private static void sockets() throws Exception {
        try (Net.FullListener full = new Net.FullListener()) {
            for (int timeout : new int[] {0, 120_000}) {
                Socket waits = new Socket();
                Net.sayBroken("socket's connect, " + timeout, () -> waits.connect(full.address, timeout), waits::close);
            }
        }
    }

    private static void others() throws Exception {
        SocketChannel[] channels = new SocketChannel[6];
        Thread[] threads = new Thread[channels.length];
        String[] thrown = new String[channels.length];
        try (Net.FullListener full = new Net.FullListener()) {
            for (int i = 0; i < channels.length; i++) {
                int me = i;
                channels[i] = SocketChannel.open();
                Kit.Body connect = () -> channels[me].connect(full.address);
                threads[i] = Kit.start("connect " + i, () -> thrown[me] = Kit.thrown(connect));
            }
            for (Thread thread : threads) {
                Kit.awaitNative(thread);
            }
            channels[0].close();
            threads[1].interrupt();
            Kit.join(threads[0], threads[1]);
            for (int i = 2; i < channels.length; i++) {
                Kit.check("connect " + i + " goes on", Kit.awaitNativeOrEnd(threads[i]));
            }
            full.acceptAll();
            Kit.join(threads);
        }
        for (int i = 0; i < channels.length; i++) {
            Kit.say("%d throws %s, open %b", i, thrown[i], channels[i].isOpen());
            channels[i].close();
        }
    }
}
