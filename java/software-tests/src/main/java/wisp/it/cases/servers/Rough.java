package wisp.it.cases.servers;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;
import wisp.it.Kit;

/** Clients that come and go, vanish in mid-answer or ask while the server stops; the others must not notice. */
final class Rough {
    private Rough() {
    }

    static void treat(String protocol) throws Exception {
        Container container = new Container(40, protocol);
        int port = container.start();
        AtomicInteger right = new AtomicInteger();
        AtomicInteger gone = new AtomicInteger();
        AtomicInteger next = new AtomicInteger();
        Kit.together(40, "client", () -> {
            int client = next.incrementAndGet();
            for (int i = 0; i < 40; i++) {
                Http http = new Http(port);
                if (client <= 10) {
                    http.abort("/large?size=3000000", i % 2 == 0);
                    gone.incrementAndGet();
                } else if (client <= 14 && i % 8 == 0) {
                    int size = 2_000_000 + i;
                    Kit.check("large", Http.sum(http.get("/large?size=" + size)).equals(Http.sum(Http.bytes(size, size))));
                } else {
                    Kit.check("hello", http.text("/hello?n=" + i).equals("hello " + i));
                    right.incrementAndGet();
                }
                http.close();
            }
        });
        Kit.say("%s: %d right, %d gone", protocol, right.get(), gone.get());
        AtomicInteger ended = new AtomicInteger();
        AtomicInteger before = new AtomicInteger();
        Thread[] clients = new Thread[20];
        for (int i = 0; i < clients.length; i++) {
            clients[i] = Kit.start("late", () -> {
                try (Http http = new Http(port)) {
                    while (true) {
                        http.text("/slow?n=1");
                        before.incrementAndGet();
                    }
                } catch (IOException | RuntimeException e) {
                    ended.incrementAndGet(); // cut off in whatever state
                }
            });
        }
        Kit.await("they are at work", () -> before.get() > 40);
        container.close();
        Kit.join(clients);
        Kit.say("%s: stopped, %d clients ended", protocol, ended.get());
    }
}
