import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** What children see of the environment, started in every way Java has, from many threads. */
public class Children {
    static String show(Process p) throws Exception {
        StringBuilder s = new StringBuilder();
        try (BufferedReader r = new BufferedReader(new InputStreamReader(p.getInputStream()))) {
            for (String line; (line = r.readLine()) != null; )
                if (line.startsWith("LD_PRELOAD") || line.startsWith("WISP") || line.startsWith("MARK")) s.append(line).append(' ');
        }
        return s + "exit " + p.waitFor();
    }

    static String report() throws Exception {
        StringBuilder all = new StringBuilder();
        for (String mechanism : new String[] {"FORK", "VFORK", "POSIX_SPAWN"}) {
            System.setProperty("jdk.lang.Process.launchMechanism", mechanism);
            ProcessBuilder b = new ProcessBuilder("/usr/bin/env");
            b.environment().put("MARK", "x");
            all.append(show(b.start())).append("; ");
            all.append(show(Runtime.getRuntime().exec("/usr/bin/env"))).append("; ");
            all.append(show(Runtime.getRuntime().exec("/usr/bin/env", new String[] {"MARK=alone"}))).append("; ");
            all.append(show(new ProcessBuilder("/bin/sh", "-c", "env; exit 3").start())).append('\n');
        }
        all.append(System.getenv("LD_PRELOAD")).append(' ').append(System.getenv("WISP"));
        return all.toString();
    }

    public static void main(String[] args) throws Exception {
        System.out.println(report());
        List<Thread> threads = new ArrayList<>();
        java.util.Set<String> seen = java.util.Collections.synchronizedSet(new java.util.TreeSet<>());
        for (int i = 0; i < 8; i++) {
            Thread t = new Thread(() -> {
                try {
                    for (int k = 0; k < 3; k++)
                        seen.add(show(new ProcessBuilder("/bin/sh", "-c", "env; exit 5").start()));
                } catch (Exception e) {
                    seen.add(e.toString());
                }
            });
            threads.add(t);
            t.start();
        }
        for (Thread t : threads) t.join();
        System.out.println(seen);
    }
}
