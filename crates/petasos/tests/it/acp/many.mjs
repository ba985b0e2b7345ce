// Drives many sessions with the official TypeScript client, each by another walk through the methods.
// many.mjs SDK PROGRAM CWD TRACE SESSIONS   prints what it saw as JSON; every frame goes to TRACE.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , sdk, program, cwd, trace, count] = process.argv;
const acp = await import(pathToFileURL(join(sdk, "dist/v1/unstable/acp.js")));
const { methods } = acp;
const saw = { sessions: 0, stops: {}, updates: {}, asked: 0, refused: {}, open: 0, stray: 0 };
let seed = 0x9e3779b9;
const random = (below) => {
  seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5; seed >>>= 0;
  return seed % below;
};
const permits = ["allow_once", "allow_session", "deny", "deny_always", "nonsense", "cancelled"];
const modes = ["default", "accept_edits", "dont_ask", "plan"];
const calls = {};

function start() {
  const child = spawn(program, ["acp"], { cwd, stdio: ["pipe", "pipe", "ignore"] });
  // Both sides number their requests on their own, so each frame says whose it is.
  const log = (from, lines) => {
    const marked = (line) => { try { return JSON.stringify({ ...JSON.parse(line), _from: from }); } catch { return line; } };
    appendFileSync(trace, lines.filter((line) => line.trim()).map((line) => `${marked(line)}\n`).join(""));
  };
  const output = new WritableStream({
    write: (chunk) => new Promise((done, fail) => { log("client", new TextDecoder().decode(chunk).split("\n")); child.stdin.write(chunk, (error) => (error ? fail(error) : done())); }),
  });
  const input = new ReadableStream({
    start(controller) {
      let rest = "";
      child.stdout.on("data", (chunk) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop();
        // Whole lines alone: what the client writes meanwhile must not stand inside one.
        log("agent", lines);
        for (const line of lines) { try { if (JSON.parse(line).jsonrpc !== "2.0") saw.stray++; } catch { saw.stray++; } }
        controller.enqueue(new Uint8Array(chunk));
      });
      child.stdout.on("end", () => { try { controller.close(); } catch {} });
    },
  });
  return { child, stream: acp.ndJsonStream(output, input) };
}

const app = () => acp
  .client({ name: "many" })
  .onRequest(methods.client.session.requestPermission, async () => {
    saw.asked++;
    const permit = permits[random(permits.length)];
    return permit === "cancelled" ? { outcome: { outcome: "cancelled" } } : { outcome: { outcome: "selected", optionId: permit } };
  })
  .onRequest(methods.client.fs.readTextFile, async () => { throw new acp.RequestError(-32002, "no such buffer"); })
  .onRequest(methods.client.fs.writeTextFile, async () => ({}))
  .onNotification(methods.client.session.update, ({ params: { update } }) => {
    saw.updates[update.sessionUpdate] = (saw.updates[update.sessionUpdate] ?? 0) + 1;
    if (update.toolCallId) calls[update.toolCallId] = update.status ?? calls[update.toolCallId] ?? "pending";
  });

const words = (sessionId, text) => ({ sessionId, prompt: [{ type: "text", text }] });
const PROCESSES = 4;
for (let process_ = 0; process_ < PROCESSES; process_++) {
  const one = start();
  await app().connectWith(one.stream, async (agent) => {
    const on = (bit) => (process_ & (1 << bit)) !== 0;
    await agent.request(methods.agent.initialize, { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: on(0), writeTextFile: on(0) }, ...(on(1) ? { session: { notices: {} } } : {}) } });
    const refuse = async (method, params) => {
      try { return (await agent.request(method, params)) ?? true; } catch (error) { saw.refused[error.code] = (saw.refused[error.code] ?? 0) + 1; }
    };
    for (let at = 0; at < Number(count) / PROCESSES; at++) {
      let { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
      const stop = async (turn) => { const { stopReason } = await turn; saw.stops[stopReason] = (saw.stops[stopReason] ?? 0) + 1; };
      await agent.request(methods.agent.session.setMode, { sessionId, modeId: modes[random(modes.length)] });
      const steps = 1 + random(2);
      for (let step = 0; step < steps; step++) {
        const turn = agent.request(methods.agent.session.prompt, words(sessionId, random(4) ? `do ${step}` : "/status"));
        if (!random(4)) await agent.notify(methods.agent.session.cancel, { sessionId });
        await stop(turn);
      }
      switch (random(7)) {
        case 0: await agent.request(methods.agent.session.list, {}); break;
        case 1: await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] }); break;
        case 2: await agent.request(methods.agent.session.setConfigOption, { sessionId, configId: "thought_level", value: "low" }); break;
        case 3: await refuse(methods.agent.session.load, { sessionId: "nobody", cwd, mcpServers: [] }); break;
        case 4: await refuse(methods.agent.session.prompt, { sessionId, prompt: [] }); break;
        case 5: await agent.request(methods.agent.session.delete, { sessionId }); sessionId = null; break;
        default:
          await agent.request(methods.agent.session.close, { sessionId });
          // Also where nothing was said.
          await agent.request(methods.agent.session.resume, { sessionId, cwd, mcpServers: [] });
      }
      if (sessionId) await agent.request(methods.agent.session.close, { sessionId });
      saw.sessions++;
    }
    if (process_ !== PROCESSES - 1) return;
    // Everything that is listed, page by page.
    const ids = new Set();
    saw.pages = saw.listed = 0;
    for (let cursor = null; cursor !== undefined; saw.pages++) {
      const page = await agent.request(methods.agent.session.list, cursor ? { cursor } : {});
      page.sessions.forEach((it) => ids.add(it.sessionId));
      saw.listed += page.sessions.length;
      cursor = page.nextCursor ?? undefined;
    }
    saw.names = ids.size;
  });
  one.child.stdin.end();
  await new Promise((done) => one.child.on("exit", done));
}
saw.open = Object.values(calls).filter((state) => state !== "completed" && state !== "failed").length;
console.log(JSON.stringify(saw));
process.exit(0);
