package dev.threadkeep.bench;

import dev.threadkeep.Events;
import dev.threadkeep.ThreadkeepClient;
import dev.threadkeep.options.Start;
import dev.threadkeep.v1.AppendEventsRequest;
import dev.threadkeep.v1.CreateIfMissing;
import dev.threadkeep.v1.EventServiceGrpc;
import dev.threadkeep.v1.SessionEvent;
import dev.threadkeep.v1.SessionRef;
import dev.threadkeep.v1.SubscriptionServiceGrpc;
import dev.threadkeep.v1.WatchSessionRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.IntSupplier;

/**
 * The cost of the SDK: the same calls through a generated stub on a plain channel and through the SDK, interleaved. {@code
 * Bench ADDRESS SECONDS} prints one JSON object.
 */
public final class Bench {
  private static final int BLOCK = 20;
  private static final int EVENTS = 20_000;
  private static final int BATCH = 10;
  private static final int ROUNDS = 3;
  private static final SessionEvent EVENT = Events.user("x".repeat(1024));

  private final String run = UUID.randomUUID().toString();
  private final ManagedChannel channel;
  private final ThreadkeepClient client;

  private Bench(String address) {
    channel = Grpc.newChannelBuilder(address, InsecureChannelCredentials.create()).maxInboundMessageSize(64 << 20).keepAliveTime(30, TimeUnit.SECONDS).keepAliveTimeout(10, TimeUnit.SECONDS).build();
    client = ThreadkeepClient.builder().address(address).app("bench").userId(run).timeout(Duration.ofSeconds(30)).build();
  }

  /** Runs the benchmark. */
  public static void main(String[] args) {
    var bench = new Bench(args[0]);
    String unary = bench.unary(Double.parseDouble(args[1]));
    System.out.println("{\"language\":\"java\",\"unary\":%s,\"stream\":%s}".formatted(unary, bench.stream()));
    bench.client.close();
    bench.channel.shutdownNow();
  }

  private String unary(double seconds) {
    for (String name : List.of("stub", "sdk")) {
      client.session(name).append(List.of(EVENT), o -> o.createIfMissing());
    }
    measure(Math.max(2, seconds / 4), new ArrayList<>(), new ArrayList<>());
    var stub = new ArrayList<Long>();
    var sdk = new ArrayList<Long>();
    measure(seconds, stub, sdk);
    return "{\"stub\":%s,\"sdk\":%s}".formatted(summary(stub), summary(sdk));
  }

  private void measure(double seconds, List<Long> stub, List<Long> sdk) {
    var appends = EventServiceGrpc.newBlockingStub(channel);
    var session = client.ref("stub");
    var sdkSession = client.session("sdk");
    int ids = 0;
    long end = System.nanoTime() + (long) (seconds * 1e9);
    for (int block = 0; System.nanoTime() < end; block++) {
      for (int half = 0; half < 2; half++) {
        boolean bare = (block + half) % 2 == 0;
        for (int n = 0; n < BLOCK; n++) {
          long began = System.nanoTime();
          if (bare) {
            var event = EVENT.toBuilder().setEventId(run + began + ids++).build();
            appends
                .withDeadlineAfter(Duration.ofSeconds(30))
                .appendEvents(AppendEventsRequest.newBuilder().setSession(session).addEvents(event).build());
            stub.add(System.nanoTime() - began);
          } else {
            sdkSession.append(EVENT);
            sdk.add(System.nanoTime() - began);
          }
        }
      }
    }
  }

  private static String summary(List<Long> nanos) {
    Collections.sort(nanos);
    double median = nanos.get(nanos.size() / 2) / 1e3;
    double p99 = nanos.get((int) (nanos.size() * 0.99)) / 1e3;
    return String.format(Locale.ROOT, "{\"median_us\":%.1f,\"p99_us\":%.1f,\"calls\":%d}", median, p99, nanos.size());
  }

  private String stream() {
    SessionRef session = client.ref("stream");
    var appends = EventServiceGrpc.newBlockingStub(channel);
    for (int n = 0; n < EVENTS / BATCH; n++) {
      var batch = Events.withIds(Collections.nCopies(BATCH, EVENT));
      var create = CreateIfMissing.getDefaultInstance();
      appends.appendEvents(AppendEventsRequest.newBuilder().setSession(session).addAllEvents(batch).setCreateIfMissing(create).build());
    }
    double stub = Double.POSITIVE_INFINITY;
    double sdk = Double.POSITIVE_INFINITY;
    for (int round = 0; round <= ROUNDS; round++) {
      double bare = timed(() -> bareStream(session));
      double written = timed(() -> sdkStream(session));

      if (round > 0) { // the first is a warm-up
        stub = Math.min(stub, bare);
        sdk = Math.min(sdk, written);
      }
    }
    return String.format(Locale.ROOT, "{\"stub_per_s\":%.0f,\"sdk_per_s\":%.0f,\"events\":%d}", EVENTS / stub, EVENTS / sdk, EVENTS);
  }

  private static double timed(IntSupplier follow) {
    long began = System.nanoTime();
    int events = follow.getAsInt();
    if (events != EVENTS) {
      throw new IllegalStateException("%d events came, not %d".formatted(events, EVENTS));
    }
    return (System.nanoTime() - began) / 1e9;
  }

  private int bareStream(SessionRef session) {
    var request = WatchSessionRequest.newBuilder().setSession(session).setAfterSeq(0).build();
    var context = io.grpc.Context.current().withCancellation();
    var before = context.attach();
    try {
      var frames = SubscriptionServiceGrpc.newBlockingStub(channel).watchSession(request);
      int events = 0;
      while (events < EVENTS) {
        for (var change : frames.next().getChangesList()) {
          events += change.getBatch().getEventsCount();
        }
      }
      return events;
    } finally {
      context.detach(before);
      context.cancel(null);
    }
  }

  private int sdkStream(SessionRef session) {
    int events = 0;
    try (var changes = client.session(session).watch(o -> o.from(Start.beginning()))) {
      while (events < EVENTS) {
        events += changes.next().getBatch().getEventsCount();
      }
    }
    return events;
  }
}
