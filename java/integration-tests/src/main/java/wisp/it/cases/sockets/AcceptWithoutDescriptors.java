package wisp.it.cases.sockets;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/**
 * accept(2) fails for want of descriptors (EMFILE) while connections wait: it says so at once, the process
 * does not spin, and when there are descriptors again each waiting connection is served.
 */
@WispCase(requires = "/usr/bin/prlimit", carriers = {1, 2})
public final class AcceptWithoutDescriptors {
    private static final int CLIENTS = 40;
    private static final RandomAccessFile STAT = open("/proc/self/stat");

    public static void main(String[] args) throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 200, InetAddress.getLoopbackAddress())) {
            serveOne(listener);
            Kit.say("%d clients, %s", CLIENTS, true); // all that is loaded on first use is loaded
            Thread.sleep(50);
            List<Socket> clients = new ArrayList<>();
            AtomicInteger refused = new AtomicInteger();
            AtomicInteger served = new AtomicInteger();
            AtomicBoolean stop = new AtomicBoolean();
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(new Socket(listener.getInetAddress(), listener.getLocalPort()));
            }
            List<FileInputStream> all = takeAll();
            Thread acceptor = Kit.start("acceptor", () -> {
                while (!stop.get()) {
                    try {
                        Socket socket = listener.accept();
                        Kit.start("server", () -> {
                            socket.getOutputStream().write(socket.getInputStream().read() + 1);
                            socket.close();
                            served.incrementAndGet();
                        });
                    } catch (IOException e) {
                        Kit.check("'" + e.getMessage() + "' says why", e.getMessage().contains("Too many open files"));
                        refused.incrementAndGet();
                        Thread.sleep(100);
                    }
                }
            });
            Kit.await("refused", () -> refused.get() >= 2);
            long cpu = cpu();
            long start = System.nanoTime();
            int before = refused.get();
            Thread.sleep(1000);
            Kit.say("nobody served: %s", served.get() == 0);
            Kit.say("no spin: %s", cpu() - cpu < (System.nanoTime() - start) / 2);
            Kit.await("accept fails at once, not only when there are descriptors", () -> refused.get() - before >= 3);
            for (FileInputStream one : all) {
                one.close();
            }
            int right = 0;
            for (int i = 0; i < CLIENTS; i++) {
                Socket client = clients.get(i);
                client.getOutputStream().write(i);
                client.setSoTimeout(120_000);
                right += client.getInputStream().read() == i + 1 ? 1 : 0;
                client.close();
            }
            Kit.say("%d of %d answers right", right, CLIENTS);
            Kit.await("all served", () -> served.get() == CLIENTS);
            stop.set(true);
            new Socket(listener.getInetAddress(), listener.getLocalPort()).close();
            acceptor.join();
        }
    }

    private static void serveOne(ServerSocket listener) throws Exception {
        Kit.start("first", () -> listener.accept().close());
        try (Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
            Kit.check("closed", socket.getInputStream().read() < 0);
        }
        cpu();
    }

    /** Opens files until there are no descriptors left. */
    private static List<FileInputStream> takeAll() throws Exception {
        int highest = 0;
        for (String name : new java.io.File("/proc/self/fd").list()) {
            highest = Math.max(highest, Integer.parseInt(name));
        }
        limit(highest + 200);
        List<FileInputStream> all = new ArrayList<>();
        try {
            while (true) {
                all.add(new FileInputStream("/dev/null"));
            }
        } catch (IOException e) {
            Kit.check("as many as all clients need", all.size() > CLIENTS);
        }
        return all;
    }

    /** Of the process, in ns: what spins may be no Java thread. */
    private static long cpu() throws IOException {
        STAT.seek(0);
        String[] fields = STAT.readLine().split(" ");
        return (Long.parseLong(fields[13]) + Long.parseLong(fields[14])) * 10_000_000;
    }

    private static RandomAccessFile open(String file) {
        try {
            return new RandomAccessFile(file, "r");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void limit(int descriptors) throws Exception {
        String self = Files.readSymbolicLink(Paths.get("/proc/self")).toString();
        Process change = new ProcessBuilder("prlimit", "--pid", self, "--nofile=" + descriptors + ":").start();
        Kit.check("prlimit ends", change.waitFor(120, TimeUnit.SECONDS) && change.exitValue() == 0);
    }
}
