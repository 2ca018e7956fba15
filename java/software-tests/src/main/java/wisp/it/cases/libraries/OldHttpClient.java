package wisp.it.cases.libraries;

import java.util.concurrent.atomic.AtomicInteger;
import org.apache.commons.httpclient.HttpClient;
import org.apache.commons.httpclient.MultiThreadedHttpConnectionManager;
import org.apache.commons.httpclient.methods.ByteArrayRequestEntity;
import org.apache.commons.httpclient.methods.GetMethod;
import org.apache.commons.httpclient.methods.PostMethod;
import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.servers.Container;
import wisp.it.cases.servers.Http;

/** commons-httpclient 3.1 (2007): 50 threads share 8 connections to an embedded Tomcat; time-outs hold. */
@WispCase(carriers = {1, 2}, timeoutSeconds = 90)
public final class OldHttpClient {
    public static void main(String[] args) throws Exception {
        MultiThreadedHttpConnectionManager manager = new MultiThreadedHttpConnectionManager();
        manager.getParams().setDefaultMaxConnectionsPerHost(8);
        HttpClient client = new HttpClient(manager);
        try (Container container = new Container(20)) {
            String base = "http://127.0.0.1:" + container.start();
            AtomicInteger next = new AtomicInteger();
            AtomicInteger right = new AtomicInteger();
            Kit.together(50, "client", () -> {
                int mine = next.incrementAndGet();
                for (int i = 0; i < 20; i++) {
                    get(client, base + "/hello?n=" + mine, "hello " + mine);
                    post(client, base + "/sum", Http.bytes(mine * 100L + i, i * 3000));
                    right.addAndGet(2);
                }
            });
            Kit.say("%d answers right", right.get());
            client.getParams().setSoTimeout(5);
            String thrown = "nothing";
            // Who loses the processor for those 2 s finds the answer there.
            for (int go = 0; go < 5 && thrown.equals("nothing"); go++) {
                GetMethod slow = new GetMethod(base + "/slow?n=1&ms=2000");
                thrown = Kit.thrown(() -> client.executeMethod(slow));
                slow.releaseConnection();
            }
            Kit.say("slow answer throws %s", thrown);
            manager.shutdown();
        }
    }

    private static void get(HttpClient client, String url, String wanted) throws Exception {
        GetMethod get = new GetMethod(url);
        try {
            Kit.check("status 200", client.executeMethod(get) == 200);
            Kit.check(wanted, get.getResponseBodyAsString().equals(wanted));
        } finally {
            get.releaseConnection();
        }
    }

    private static void post(HttpClient client, String url, byte[] body) throws Exception {
        PostMethod post = new PostMethod(url);
        try {
            post.setRequestEntity(new ByteArrayRequestEntity(body));
            Kit.check("status 200", client.executeMethod(post) == 200);
            Kit.check("sum", post.getResponseBodyAsString().equals(Http.sum(body)));
        } finally {
            post.releaseConnection();
        }
    }
}
