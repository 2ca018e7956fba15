import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;

/** What a set-user-id process shows of itself and of the library in it, from the main thread and from another. */
public class Privileged {
    static void show() throws Exception {
        List<String> status = Files.readAllLines(Paths.get("/proc/self/status"));
        for (String line : status)
            if (line.startsWith("Uid:")) System.out.println("uids " + line.split("\\s+")[1] + " " + line.split("\\s+")[2]);
        boolean mapped = Files.readAllLines(Paths.get("/proc/self/maps")).stream().anyMatch(l -> l.endsWith("/libwisp.so"));
        System.out.println("mapped " + (mapped ? "True" : "False"));
        System.out.println("wishes " + System.getenv().keySet().stream().filter(k -> k.startsWith("WISP")).count());
    }

    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> {
            try {
                show();
            } catch (Exception e) {
                System.out.println(e);
            }
        });
        t.start();
        t.join();
    }
}
