/**
 * The Java SDK of Recollect, a session store for agents. Start at {@link dev.recollect.Recollect}; the messages of the protocol are
 * in {@code dev.recollect.v1}.
 */
package dev.recollect;
