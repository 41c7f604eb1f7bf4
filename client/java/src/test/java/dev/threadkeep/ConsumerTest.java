package dev.threadkeep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.threadkeep.v1.Change;
import dev.threadkeep.v1.ConsumeRequest;
import dev.threadkeep.v1.ConsumeResponse;
import dev.threadkeep.v1.ReplayParkedChangesResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ConsumerTest {
  private FakeServer server;
  private ThreadkeepClient client;

  @BeforeEach
  void open() throws IOException {
    server = new FakeServer(0);
    client = server.client().build();
  }

  @AfterEach
  void close() throws InterruptedException {
    client.close();
    server.close();
  }

  private static dev.threadkeep.v1.Delivery delivery(long id, int partition, int attempt) {
    var change = Change.newBuilder().setResumeToken("" + id);
    return dev.threadkeep.v1.Delivery.newBuilder().setDeliveryId(id).setPartition(partition).setAttempt(attempt).setChange(change).build();
  }

  private static ConsumeResponse joined(dev.threadkeep.v1.Delivery... deliveries) {
    var response = ConsumeResponse.newBuilder().addAllDeliveries(List.of(deliveries));
    response.getJoinedBuilder().getConsumerBuilder().setMaxAttempts(3);
    return response.build();
  }

  /** What was sent about deliveries: "+1" is an acknowledgment, "-1 reason" a rejection, "!1 reason" one that parks. */
  private List<String> outcomes() {
    var outcomes = new ArrayList<String>();
    for (var sent : server.requests) {
      var request = (ConsumeRequest) sent;
      request.getAcknowledge().getDeliveryIdsList().forEach(id -> outcomes.add("+" + id));
      if (request.hasReject()) {
        var reject = request.getReject();
        outcomes.add((reject.getPark() ? "!" : "-") + reject.getDeliveryId() + " " + reject.getReason());
      }
    }
    return outcomes;
  }

  @Test
  void handledDeliveriesAreAcknowledgedInTheOrderOfTheirPartition() throws InterruptedException {
    server.consumed = (request, out) -> {
      if (request.hasJoin()) {
        out.onNext(joined(delivery(1, 0, 1), delivery(2, 0, 1), delivery(3, 1, 1)));
      }
    };
    var handled = Collections.synchronizedList(new ArrayList<String>());
    var all = new CountDownLatch(3);
    try (var run = client.consumer("indexer").run(d -> {
      handled.add(d.change().getResumeToken());
      all.countDown();
    }, o -> o.concurrency(2).label("team", "red").fromBeginning().maxAttempts(3))) {
      all.await();
      run.stop();
      run.join();
    }
    assertTrue(handled.indexOf("1") < handled.indexOf("2"), handled.toString());
    assertEquals(new TreeSet<>(List.of("+1", "+2", "+3")), new TreeSet<>(outcomes()));
    var join = ((ConsumeRequest) server.requests.get(0)).getJoin();
    assertEquals("indexer/shop/ada/red/3", String.join("/", join.getName(), join.getScope().getApp(), join.getScope().getUserId(), join.getScope().getLabelsOrThrow("team"), "" + join.getMaxAttempts()));
  }

  @Test
  void failedDeliveryComesAgainBeforeThoseAfterItAndParkEndsIt() throws InterruptedException {
    server.consumed = (request, out) -> {
      if (request.hasJoin()) {
        out.onNext(joined(delivery(1, 0, 1), delivery(2, 0, 1)));
      } else if (request.getReject().getDeliveryId() == 1) {
        out.onNext(ConsumeResponse.newBuilder().addDeliveries(delivery(3, 0, 2)).addDeliveries(delivery(4, 0, 1)).build());
      }
    };
    var parked = new CountDownLatch(1);
    var run = client.consumer("indexer").run(d -> {
      switch (d.change().getResumeToken()) {
        case "1" -> throw new IOException("not now");
        case "3" -> {}
        case "4" -> {
          parked.countDown();
          throw new ConsumerHandle.Park("never");
        }
        default -> throw new AssertionError("2 is void");
      }
    });
    parked.await();
    run.close();
    assertEquals(List.of("-1 IOException: not now", "+3", "!4 never"), outcomes());
  }

  @Test
  void brokenStreamIsJoinedAgainAndOtherErrorsEndTheRun() throws InterruptedException {
    var joins = new AtomicInteger();
    server.consumed = (request, out) -> {
      if (request.hasJoin()) {
        switch (joins.getAndIncrement()) {
          case 0 -> out.onError(Status.UNAVAILABLE.asRuntimeException());
          case 1 -> out.onNext(joined(delivery(7, 0, 2)));
          default -> out.onError(Status.INTERNAL.asRuntimeException());
        }
      } else {
        out.onError(FakeServer.error(Status.Code.NOT_FOUND, "deleted", FakeServer.reason("CONSUMER_NOT_FOUND")));
      }
    };
    var attempts = new ArrayBlockingQueue<Integer>(1);
    try (var run = client.consumer("indexer").run(d -> attempts.add(d.attempt()))) {
      var error = assertThrows(ThreadkeepException.class, run::join);
      assertEquals(Reason.CONSUMER_NOT_FOUND, error.reason());
    }
    assertEquals(2, attempts.poll());
    assertEquals(2, joins.get());
  }

  @Test
  void closingTheClientEndsTheRun() throws InterruptedException {
    var joined = new CountDownLatch(1);
    server.consumed = (request, out) -> joined.countDown();
    try (var run = client.consumer("indexer").run(d -> {})) {
      joined.await();
      client.close();
      assertEquals(Status.Code.CANCELLED, assertThrows(ThreadkeepException.class, run::join).code());
    }
  }

  @Test
  void subscriberReceivesWhatItRequestsOfAPartitionOneAtATime() throws InterruptedException {
    server.consumed = ConsumerTest::two;
    var received = new ArrayBlockingQueue<Delivery>(4);
    var subscription = new ArrayBlockingQueue<Flow.Subscription>(1);
    client.consumer("indexer").publisher(o -> {}).subscribe(
        new Flow.Subscriber<Delivery>() {
          @Override
          public void onSubscribe(Flow.Subscription given) {
            subscription.add(given);
          }

          @Override
          public void onNext(Delivery delivery) {
            received.add(delivery);
          }

          @Override
          public void onError(Throwable error) {}

          @Override
          public void onComplete() {}
        });
    var demand = subscription.take();
    assertEquals(null, received.poll(50, TimeUnit.MILLISECONDS), "nothing is requested");
    demand.request(2);
    var first = received.take();
    assertEquals(null, received.poll(50, TimeUnit.MILLISECONDS), "the partition waits");
    first.acknowledge();
    first.reject("only the first outcome counts");
    received.take().park("never");
    while (outcomes().size() < 2) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    demand.cancel();
    assertEquals(List.of("+1", "!2 never"), outcomes());
  }

  private static void two(ConsumeRequest request, StreamObserver<ConsumeResponse> out) {
    if (request.hasJoin()) {
      out.onNext(joined(delivery(1, 0, 1), delivery(2, 0, 1)));
    }
  }

  @Test
  void noIdsOfParkedChangesAreNotAll() {
    server.answer = request -> ReplayParkedChangesResponse.newBuilder().setReplayed(2).build();
    var consumer = client.consumer("indexer");
    assertEquals(0, consumer.replayParked(List.of()));
    assertEquals(0, consumer.deleteParked(List.of()));
    assertEquals(List.of(), server.requests);
    assertEquals(2, consumer.replayParked());
  }

  @Test
  void deliveriesAreSettledByTheFuturesOfTheirHandlers() throws Exception {
    server.consumed = (request, out) -> {
      if (request.hasJoin()) {
        out.onNext(joined(delivery(1, 0, 1), delivery(2, 1, 3), delivery(3, 2, 3), delivery(4, 3, 3)));
      }
    };
    var first = new CompletableFuture<Void>();
    var started = new CountDownLatch(4);
    var run = client.async().consumer("indexer").run(d -> {
      started.countDown();
      return switch (d.change().getResumeToken()) {
        case "1" -> first;
        case "2" -> CompletableFuture.failedFuture(new IOException("not now"));
        case "3" -> first.thenCompose(done -> CompletableFuture.failedFuture(new ConsumerHandle.Park("never")));
        default -> throw new IllegalStateException("no future");
      };
    }, o -> o.concurrency(4));
    started.await();
    run.stop();
    TimeUnit.MILLISECONDS.sleep(20);
    assertTrue(!run.done().isDone(), "the first handler runs");
    first.complete(null);
    run.done().get(20, TimeUnit.SECONDS);
    assertEquals(new TreeSet<>(List.of("+1", "-2 IOException: not now", "!3 never", "-4 IllegalStateException: no future")), new TreeSet<>(outcomes()));
  }
}
