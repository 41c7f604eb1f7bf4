// Where the console is served. A proxy may have put it below a path of its own, which only the address of this script shows.

/** Path of the console, with a slash at both ends: "/console/", or "/prefix/console/" behind a proxy. */
export const BASE = import.meta.env.DEV ? "/" : new URL("../", import.meta.url).pathname;

/** Address of the server's HTTP API. */
export const SERVER = import.meta.env.DEV ? location.origin : new URL("../../", import.meta.url).href.replace(/\/$/, "");

/** Whether others on the network could read what is sent: the page came without TLS, and not from this machine. */
export const IS_PLAIN = location.protocol === "http:" && !["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
