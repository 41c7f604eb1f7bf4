package dev.threadkeep.internal;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Reconnects to a lost server after 0.1 seconds, then at increasing intervals of up to 0.5 seconds: the attempts of a call
 * take longer, so a call to a server that has returned succeeds. gRPC's own intervals are 1 second to 2 minutes and cannot be
 * configured.
 */
public final class Reconnect {
  private static final double FIRST_MS = 100;
  private static final double LONGEST_MS = 500;
  private static final double FACTOR = 1.6;

  private Reconnect() {}

  /** Runs until the channel is shut down. */
  public static void often(ManagedChannel channel) {
    ConnectivityState state = channel.getState(false);
    if (state == ConnectivityState.TRANSIENT_FAILURE) {
      again(channel, FIRST_MS);
    }
    if (state != ConnectivityState.SHUTDOWN) {
      channel.notifyWhenStateChanged(state, () -> often(channel));
    }
  }

  /** The channel's state does not change while it tries, so it is polled; on the JDK's own timer, to avoid another one. */
  private static void again(ManagedChannel channel, double millis) {
    var later = CompletableFuture.delayedExecutor(Math.round(millis), TimeUnit.MILLISECONDS, Runnable::run);
    later.execute(
        () -> {
          if (channel.getState(false) == ConnectivityState.TRANSIENT_FAILURE) {
            channel.resetConnectBackoff();
            again(channel, Math.min(LONGEST_MS, millis * FACTOR));
          }
        });
  }
}
