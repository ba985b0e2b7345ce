// A plugin without any package: JSON-RPC over stdin and stdout, one message a line.
// Written in TypeScript; `index.mjs` is the same without the types, for every Node from 18 on.

import { createInterface } from "node:readline";

let number = 0;
const waiting = new Map();

function send(message) {
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
}

/** Asks the host: every `ctx` verb is a request. */
function ctx(verb, params) {
  const id = ++number;
  send({ id, method: `ctx.${verb}`, params });
  return new Promise((resolve, reject) => {
    waiting.set(id, (answer) => (answer.error ? reject(new Error(answer.error.message)) : resolve(answer.result)));
  });
}

async function register() {
  await ctx("register_tool", {
    name: "clock_now",
    toolset: "clock",
    schema: {
      description: "The time in a time zone",
      parameters: { type: "object", properties: { zone: { type: "string" } } },
    },
  });
  await ctx("register_hook", { name: "pre_tool_call" });
}

async function serve(method, params) {
  switch (method) {
    case "initialize":
      await register();
      return { protocol_version: 1 };
    case "tool.call": {
      const zone = params.args.zone ?? "UTC";
      return JSON.stringify({ zone, now: new Date().toLocaleString("en-GB", { timeZone: zone }) });
    }
    case "hook.fire": {
      const said = JSON.stringify(params.payload.args ?? {});
      return said.includes("xyzzy") ? [{ action: "block", message: "that word is secret" }] : [];
    }
    default:
      return null;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method === undefined) {
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  } else {
    serve(message.method, message.params)
      .then((result) => send({ id: message.id, result: result ?? null }))
      .catch((error) => send({ id: message.id, error: { code: -32000, message: error.message } }));
  }
}
