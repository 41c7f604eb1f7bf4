package dev.threadkeep;

import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Looks for a server that went away after 0.1 seconds, then less and less often, down to every 5 seconds. By itself gRPC waits from
 * 1 second up to 2 minutes, and has no setting for it.
 */
final class Reconnect {
  private static final double FIRST_MS = 100;
  private static final double LONGEST_MS = 5_000;
  private static final double FACTOR = 1.6;

  private Reconnect() {}

  /** From now on, until the channel is shut down. */
  static void often(ManagedChannel channel) {
    ConnectivityState state = channel.getState(false);
    if (state == ConnectivityState.TRANSIENT_FAILURE) {
      again(channel, FIRST_MS);
    }
    if (state != ConnectivityState.SHUTDOWN) {
      channel.notifyWhenStateChanged(state, () -> often(channel));
    }
  }

  /** The channel stays in this state while it tries, so it is asked rather than waited for; on the JDK's own timer, to keep none. */
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
