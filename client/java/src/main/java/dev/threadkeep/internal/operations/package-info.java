/** Not part of the API: the requests of the handles, and how their responses are read. Both clients run them. */
package dev.threadkeep.internal.operations;
