import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;

/** Jobs of the soak: memory, classes, children, sockets, files, the end of a stack. */
final class SoakOutside {
    static final Soak.Job[] JOBS = {
        r -> { // garbage
            long h = 0;
            Object[] keep = new Object[100];
            for (int i = 0; i < 3000; i++) {
                byte[] b = new byte[r.nextInt(2000)];
                keep[i % 100] = b;
                h += b.length;
            }
            if (r.nextInt(6) == 0) System.gc();
            return h;
        },
        r -> { // a class of a loader of its own
            URL here = Soak.class.getProtectionDomain().getCodeSource().getLocation();
            long sum = 0;
            try (URLClassLoader loader = new URLClassLoader(new URL[] {here}, null)) {
                Class<?> c = loader.loadClass("Soak$Tiny");
                for (int i = 0; i < 5; i++) sum += (Long) c.getMethod("next", long.class).invoke(null, (long) i);
            }
            return sum;
        },
        r -> { // a child
            int n = r.nextInt(100);
            Process p = new ProcessBuilder("/bin/sh", "-c", "read x; echo $x; exit " + n).start();
            p.getOutputStream().write((n + "\n").getBytes());
            p.getOutputStream().close();
            long back;
            try (BufferedReader in = new BufferedReader(new InputStreamReader(p.getInputStream()))) {
                back = Long.parseLong(in.readLine());
            }
            return back * 100 + p.waitFor();
        },
        r -> { // sockets
            int n = 20 + r.nextInt(80);
            long sum = 0;
            try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
                Thread t = Soak.start(() -> {
                    try (Socket s = server.accept()) {
                        s.setTcpNoDelay(true);
                        DataInputStream in = new DataInputStream(s.getInputStream());
                        DataOutputStream out = new DataOutputStream(s.getOutputStream());
                        for (int i = 0; i < n; i++) out.writeLong(in.readLong() + 1);
                    } catch (Exception e) {
                        e.printStackTrace();
                        Soak.sink.set(-5);
                    }
                });
                try (Socket s = new Socket(server.getInetAddress(), server.getLocalPort())) {
                    s.setTcpNoDelay(true);
                    if (r.nextBoolean()) s.setSoTimeout(50000);
                    DataInputStream in = new DataInputStream(s.getInputStream());
                    DataOutputStream out = new DataOutputStream(s.getOutputStream());
                    for (int i = 0; i < n; i++) {
                        out.writeLong(i);
                        sum += in.readLong();
                    }
                }
                t.join();
            }
            return sum;
        },
        r -> { // files
            File f = File.createTempFile("soak", null);
            byte[] data = new byte[r.nextInt(20000)];
            r.nextBytes(data);
            Files.write(f.toPath(), data);
            long h = java.util.Arrays.hashCode(Files.readAllBytes(f.toPath()));
            if (!f.delete()) throw Soak.wrong("delete");
            return h;
        },
        r -> { // stack overflow
            try {
                return deep(0) & 0;
            } catch (StackOverflowError e) {
                return 5;
            }
        },
    };

    static long deep(long n) {
        synchronized (Soak.sink) {
            return deep(n + 1) + 1;
        }
    }
}
