import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** EMFILE: opens files until refused, on several threads; closes them and goes on. */
public class Descriptors {
    public static void main(String[] args) throws Exception {
        // What lambdas and threads load must be loaded before descriptors run out.
        Runnable warm = () -> { };
        Thread w = new Thread(warm);
        w.start();
        w.join();
        List<FileInputStream> open = new ArrayList<>();
        int[] refused = {0};
        Thread[] threads = new Thread[6];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                try {
                    for (;;) {
                        FileInputStream f = new FileInputStream("/dev/null");
                        synchronized (open) {
                            open.add(f);
                        }
                    }
                } catch (IOException e) {
                    synchronized (open) {
                        if (e.getMessage().contains("Too many open files")) refused[0]++;
                    }
                }
            });
        }
        for (Thread t : threads) t.start();
        for (Thread t : threads) t.join();
        Thread more = new Thread(() -> { synchronized (open) { refused[0] += 100; } });
        more.start();
        more.join();
        for (FileInputStream f : open) f.close();
        open.clear();
        new FileInputStream("/dev/null").close();
        System.out.println("refused " + refused[0]);
        Thread child = new Thread(() -> {
            try {
                System.out.println("child " + new ProcessBuilder("/bin/true").start().waitFor());
            } catch (IOException | InterruptedException e) {
                System.out.println(e);
            }
        });
        child.start();
        child.join();
    }
}
