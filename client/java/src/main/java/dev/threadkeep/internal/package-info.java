/** Not part of the API: it changes without notice. */
package dev.threadkeep.internal;
