package wisp.it.cases.servers;

import wisp.it.Kit;
import wisp.it.WispCase;

/** Embedded Tomcat 9, NIO connector: short, slow and large blocking servlets; started and stopped twice. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class TomcatServlets {
    public static void main(String[] args) throws Exception {
        for (int round = 0; round < 2; round++) {
            try (Container container = new Container(40)) {
                Servlets.drive(container.start(), 60, 40);
            }
            Kit.say("stopped");
        }
    }
}
