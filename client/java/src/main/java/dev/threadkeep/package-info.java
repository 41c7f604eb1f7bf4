/**
 * The Java SDK of Threadkeep, session memory for AI agents. Start at {@link dev.threadkeep.ThreadkeepClient}; the messages of
 * the protocol are in {@code dev.threadkeep.v1}.
 */
package dev.threadkeep;
