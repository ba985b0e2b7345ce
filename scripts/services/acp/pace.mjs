// How quickly an agent answers an editor: round trip of a prompt whose model says one word, time to the
// first update, time per streamed update.
// pace.mjs SDK ROUNDS PIECES CWD COMMAND...   prints JSON; the model must answer a short prompt first.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , sdk, rounds, pieces, cwd, command, ...args] = process.argv;
const acp = await import(pathToFileURL(join(sdk, "dist/v1/unstable/acp.js")));
const { methods } = acp;
const child = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "ignore"] });
const output = new WritableStream({ write: (chunk) => new Promise((done, fail) => child.stdin.write(chunk, (error) => (error ? fail(error) : done()))) });
const input = new ReadableStream({
  start(controller) {
    child.stdout.on("data", (chunk) => controller.enqueue(new Uint8Array(chunk)));
    child.stdout.on("end", () => { try { controller.close(); } catch {} });
  },
});
const now = () => performance.now();
let turn = {};
const app = acp
  .client({ name: "pace" })
  .onRequest(methods.client.session.requestPermission, async () => ({ outcome: { outcome: "cancelled" } }))
  .onNotification(methods.client.session.update, ({ params }) => {
    if (params.update.sessionUpdate !== "agent_message_chunk") return;
    turn.first ??= now();
    turn.last = now();
    turn.updates = (turn.updates ?? 0) + 1;
    turn.chars = (turn.chars ?? 0) + (params.update.content.text ?? "").length;
  });
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const saw = {};
await app.connectWith(acp.ndJsonStream(output, input), async (agent) => {
  const began = now();
  await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: "pace", version: "1" } });
  saw.initialize_ms = now() - began;
  const opened = now();
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
  saw.session_ms = now() - opened;
  const once = async (text) => {
    turn = { sent: now() };
    const answer = await agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
    turn.end = now();
    if (answer.stopReason !== "end_turn") throw new Error(JSON.stringify(answer));
    return turn;
  };
  for (let at = 0; at < 3; at++) await once("short"); // warm
  const short = [];
  for (let at = 0; at < Number(rounds); at++) short.push(await once("short"));
  saw.round_trip_ms = median(short.map((it) => it.end - it.sent));
  saw.first_update_ms = median(short.map((it) => it.first - it.sent));
  const long = [];
  for (let at = 0; at < 5; at++) long.push(await once(`long ${pieces}`));
  saw.updates = median(long.map((it) => it.updates));
  saw.per_piece_us = median(long.map((it) => ((it.end - it.sent) * 1000) / Number(pieces)));
});
child.kill();
console.log(JSON.stringify(saw));
process.exit(0);
