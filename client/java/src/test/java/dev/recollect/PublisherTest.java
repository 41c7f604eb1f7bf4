package dev.recollect;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.recollect.v1.Change;
import dev.recollect.v1.ErrorReason;
import dev.recollect.v1.WatchSessionResponse;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class PublisherTest {
  private FakeServer server;
  private Recollect client;

  /** Keeps what it is told, and asks for nothing by itself. */
  static final class Told implements Flow.Subscriber<Change> {
    final BlockingQueue<Object> items = new LinkedBlockingQueue<>();
    Flow.Subscription subscription;

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
    }

    @Override
    public void onNext(Change change) {
      items.add(change.getResumeToken());
    }

    @Override
    public void onError(Throwable error) {
      items.add(error);
    }

    @Override
    public void onComplete() {
      items.add("complete");
    }

    Object next() throws InterruptedException {
      return items.poll(10, TimeUnit.SECONDS);
    }

    Object nothing() throws InterruptedException {
      return items.poll(200, TimeUnit.MILLISECONDS);
    }
  }

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

  private Told subscribe() {
    var told = new Told();
    client.watchAsync(client.ref("s"), WatchOptions.LIVE).subscribe(told);
    return told;
  }

  private ServerCallStreamObserver<WatchSessionResponse> stream() throws InterruptedException {
    return server.streams.poll(10, TimeUnit.SECONDS);
  }

  @Test
  void asManyAreHandedOutAsAreAskedFor() throws InterruptedException {
    var told = subscribe();
    told.subscription.request(2);
    var stream = stream();
    stream.onNext(
        WatchTest.frame(CursorTest.batch("s", 1, "t1"), CursorTest.batch("s", 2, "t2"), CursorTest.batch("s", 3, "t3")));
    stream.onNext(WatchTest.frame(CursorTest.batch("s", 4, "t4")));
    assertEquals("t1", told.next());
    assertEquals("t2", told.next());
    assertNull(told.nothing());
    told.subscription.request(Long.MAX_VALUE);
    told.subscription.request(Long.MAX_VALUE);
    assertEquals("t3", told.next());
    assertEquals("t4", told.next());
  }

  @Test
  void whatIsNotAskedForStaysWithTheServer() throws InterruptedException {
    var told = subscribe();
    told.subscription.request(1);
    var stream = stream();
    int sent = fill(stream);
    told.subscription.request(Long.MAX_VALUE);
    for (int n = 0; n < sent; n++) {
      assertEquals("t", told.next());
    }
  }

  /** Sends changes of 1 MiB until the windows of HTTP/2 are full and stay so; how many that were. */
  static int fill(ServerCallStreamObserver<WatchSessionResponse> stream) throws InterruptedException {
    String megabyte = "x".repeat(1 << 20);
    int sent = 0;
    for (int quiet = 0; quiet < 20; ) {
      if (stream.isReady()) {
        stream.onNext(WatchTest.frame(CursorTest.batch("s", ++sent, "t", megabyte)));
        quiet = 0;
      } else {
        TimeUnit.MILLISECONDS.sleep(20);
        quiet++;
      }
      assertTrue(sent < 32, "the server could send " + sent + " MiB to who asked for one change");
    }
    return sent;
  }

  @Test
  void nothingIsOpenedBeforeTheFirstRequest() throws InterruptedException {
    var told = subscribe();
    assertNull(server.streams.poll(200, TimeUnit.MILLISECONDS));
    told.subscription.cancel();
  }

  @Test
  void cancellingReleasesTheCall() throws InterruptedException {
    var told = subscribe();
    told.subscription.request(5);
    var stream = stream();
    told.subscription.cancel();
    while (!stream.isCancelled()) {
      TimeUnit.MILLISECONDS.sleep(5);
    }
    assertNull(told.nothing());
  }

  @Test
  void errorsAreTold() throws InterruptedException {
    var told = subscribe();
    told.subscription.request(5);
    stream().onError(FakeServer.error(Status.Code.OUT_OF_RANGE, "too late", FakeServer.reason("RESUME_POSITION_EXPIRED")));
    var error = assertInstanceOf(RecollectException.class, told.next());
    assertEquals(ErrorReason.ERROR_REASON_RESUME_POSITION_EXPIRED, error.reason());

    var wrong = subscribe();
    wrong.subscription.request(0);
    assertInstanceOf(IllegalArgumentException.class, wrong.next());
    assertNull(wrong.nothing());
  }

  @Test
  void aClosedClientIsTold() throws InterruptedException {
    var told = subscribe();
    told.subscription.request(1);
    stream();
    client.close();
    assertEquals(Status.Code.CANCELLED, assertInstanceOf(RecollectException.class, told.next()).code());
    assertInstanceOf(IllegalStateException.class, subscribe().next());
  }
}
