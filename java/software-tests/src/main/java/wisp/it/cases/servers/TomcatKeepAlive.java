package wisp.it.cases.servers;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;
import wisp.it.WispCase;

/** 1,200 kept connections to one Tomcat: opened, idle, used again in three rounds, none lost. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class TomcatKeepAlive {
    private static final int CLIENTS = 40;
    private static final int EACH = 30;

    public static void main(String[] args) throws Exception {
        try (Container container = new Container(50)) {
            int port = container.start();
            AtomicInteger right = new AtomicInteger();
            AtomicInteger next = new AtomicInteger();
            Kit.together(CLIENTS, "client", () -> {
                int client = next.incrementAndGet();
                List<Http> kept = new ArrayList<>();
                for (int i = 0; i < EACH; i++) {
                    kept.add(new Http(port));
                }
                for (int round = 0; round < 3; round++) {
                    for (int i = 0; i < EACH; i++) {
                        String n = client + "." + i + "." + round;
                        Kit.check("hello " + n, kept.get(i).text("/hello?n=" + n).equals("hello " + n));
                        right.incrementAndGet();
                    }
                    Thread.sleep(200);
                }
                for (Http http : kept) {
                    http.close();
                }
            });
            Kit.say("%d connections, %d answers right", CLIENTS * EACH, right.get());
        }
        Kit.say("stopped");
    }
}
