package wisp.it.cases.libraries;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.X509TrustManager;
import okhttp3.Call;
import okhttp3.Callback;
import okhttp3.OkHttpClient;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;
import wisp.it.Kit;
import wisp.it.WispCase;
import wisp.it.cases.servers.Certificate;
import wisp.it.cases.servers.Container;
import wisp.it.cases.servers.Http;

/**
 * OkHttp 4.12 against Tomcat over TLS: blocking calls, queued ones, cancelled ones. By HTTP/1.1: over HTTP/2 this Tomcat
 * fails some of the calls that come at once, on plain threads as well.
 */
@WispCase(carriers = {1, 2}, timeoutSeconds = 120)
public final class OkHttpClients {
    public static void main(String[] args) throws Exception {
        try (Certificate certificate = new Certificate();
                Container container = new Container(60, "Http11NioProtocol", certificate)) {
            run("https://localhost:" + container.start(), certificate);
        }
        Kit.say("stopped");
    }

    private static void run(String base, Certificate certificate) throws Exception {
        OkHttpClient client = new OkHttpClient.Builder().readTimeout(300, TimeUnit.SECONDS)
                .writeTimeout(300, TimeUnit.SECONDS).connectTimeout(300, TimeUnit.SECONDS)
                .sslSocketFactory(certificate.context().getSocketFactory(),
                        (X509TrustManager) certificate.trust().getTrustManagers()[0])
                .build();
        try (Response response = client.newCall(get(base + "/hello?n=0")).execute()) {
            Kit.say("%s", response.protocol());
        }
        blocking(client, base);
        queued(client, base);
        cancelled(client, base);
        client.dispatcher().executorService().shutdown();
        client.connectionPool().evictAll();
    }

    private static Request get(String url) {
        return new Request.Builder().url(url).build();
    }

    private static byte[] call(OkHttpClient client, Request request) throws IOException {
        try (Response response = client.newCall(request).execute()) {
            Kit.check("status 200", response.code() == 200);
            return response.body().bytes();
        }
    }

    private static void blocking(OkHttpClient client, String base) throws Exception {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger right = new AtomicInteger();
        Kit.together(25, "client", () -> {
            int mine = next.incrementAndGet();
            for (int i = 0; i < 10; i++) {
                int size = mine * 2000 + i * 20_000;
                byte[] large = call(client, get(base + "/large?size=" + size));
                Kit.check("large", Http.sum(large).equals(Http.sum(Http.bytes(size, size))));
                byte[] body = Http.bytes(size + 1, size);
                byte[] sum = call(client, new Request.Builder().url(base + "/sum").post(RequestBody.create(body)).build());
                Kit.check("sum", new String(sum).equals(Http.sum(body)));
                right.addAndGet(2);
            }
        });
        Kit.say("blocking: %d answers right", right.get());
    }

    private static void queued(OkHttpClient client, String base) throws Exception {
        int calls = 150;
        CountDownLatch ended = new CountDownLatch(calls);
        AtomicInteger right = new AtomicInteger();
        client.dispatcher().setMaxRequestsPerHost(20);
        for (int i = 0; i < calls; i++) {
            String wanted = "slow " + i;
            client.newCall(get(base + "/slow?n=" + i)).enqueue(new Callback() {
                @Override
                public void onFailure(Call call, IOException e) {
                    Kit.say("failed: %s", e);
                    ended.countDown();
                }

                @Override
                public void onResponse(Call call, Response response) throws IOException {
                    if (response.body().string().equals(wanted)) {
                        right.incrementAndGet();
                    }
                    ended.countDown();
                }
            });
        }
        Kit.check("all called back", ended.await(300, TimeUnit.SECONDS));
        Kit.say("queued: %d answers right", right.get());
    }

    /** Blocked in the read of an answer that another thread gives up; the client goes on, the servlet until the end. */
    private static void cancelled(OkHttpClient client, String base) throws Exception {
        AtomicInteger cancelled = new AtomicInteger();
        Kit.together(15, "cancelled", () -> {
            Call call = client.newCall(get(base + "/slow?n=1&ms=600000"));
            Thread other = Kit.start("cancel", () -> {
                Kit.await("it runs", call::isExecuted);
                Thread.sleep(50);
                call.cancel();
            });
            try (Response response = call.execute()) {
                Kit.say("answered %d", response.code());
            } catch (IOException e) {
                cancelled.incrementAndGet();
            }
            Kit.join(other);
            Kit.check("hello", new String(call(client, get(base + "/hello?n=2"))).equals("hello 2"));
        });
        Kit.say("cancelled: %d", cancelled.get());
    }
}
