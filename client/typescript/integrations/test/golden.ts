// Writes the golden conversation through an adapter, or reads one and prints its atoms: see tests/integrations/golden.py.
//
// node build/test/golden.js ADDRESS NAME write SESSION
// node build/test/golden.js ADDRESS NAME read SESSION...     prints a JSON object: atoms by session

import { connect } from "@threadkeep/client";

import type { Atom, Golden } from "./atoms.js";

const [address, name, what, ...sessions] = process.argv.slice(2);
const adapter = (await import(`./golden/${name}.js`)) as Golden;
const client = connect({ address: address!, app: "golden", userId: "ada" });
if (what === "write") {
  await adapter.write(client, sessions[0]!);
} else {
  const read: Record<string, Atom[]> = {};
  for (const session of sessions) read[session] = await adapter.read(client, session);
  console.log(JSON.stringify(read));
}
client.close();
