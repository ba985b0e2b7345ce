// Drives `petasos acp` with the official TypeScript client: one scripted editor session.
// drive.mjs SDK PROGRAM CWD TRACE   prints what it saw as JSON; every frame goes to TRACE.
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , sdk, program, cwd, trace] = process.argv;
const acp = await import(pathToFileURL(join(sdk, "dist/v1/unstable/acp.js")));
const { methods } = acp;

const saw = { stops: [], updates: {}, asked: [], text: "", calls: {}, diffs: [], reads: [] };
const note = join(cwd, "note.txt");
const buffers = { [note]: "unsaved words\n" };
const permits = [];
let wake = () => {};

function start() {
  const child = spawn(program, ["acp"], { cwd, stdio: ["pipe", "pipe", "ignore"] });
  const log = (chunk) => appendFileSync(trace, chunk);
  const output = new WritableStream({
    write: (chunk) => new Promise((done, fail) => {
      log(chunk);
      child.stdin.write(chunk, (error) => (error ? fail(error) : done()));
    }),
  });
  const input = new ReadableStream({
    start(controller) {
      // Whole lines alone: what the client writes meanwhile must not stand inside one.
      let rest = Buffer.alloc(0);
      child.stdout.on("data", (chunk) => {
        rest = Buffer.concat([rest, chunk]);
        const end = rest.lastIndexOf(10) + 1;
        if (end) log(rest.subarray(0, end));
        rest = rest.subarray(end);
        controller.enqueue(new Uint8Array(chunk));
      });
      child.stdout.on("end", () => { try { controller.close(); } catch {} });
    },
  });
  return { child, stream: acp.ndJsonStream(output, input) };
}

function app() {
  return acp
    .client({ name: "drive" })
    .onRequest(methods.client.session.requestPermission, async ({ params }) => {
      const permit = permits.shift() ?? "allow_once";
      const diff = (params.toolCall.content ?? []).find((it) => it.type === "diff");
      saw.asked.push({ id: params.toolCall.toolCallId, permit, diff: diff && [diff.oldText, diff.newText] });
      wake();
      return { outcome: { outcome: "selected", optionId: permit } };
    })
    .onRequest(methods.client.fs.readTextFile, async ({ params }) => {
      saw.reads.push(params.path);
      if (!(params.path in buffers)) throw new acp.RequestError(-32002, "no such buffer");
      return { content: buffers[params.path] };
    })
    .onRequest(methods.client.fs.writeTextFile, async ({ params }) => {
      buffers[params.path] = params.content;
      return {};
    })
    .onNotification(methods.client.session.update, ({ params }) => {
      const update = params.update;
      saw.updates[update.sessionUpdate] = (saw.updates[update.sessionUpdate] ?? 0) + 1;
      if (update.sessionUpdate === "agent_message_chunk") saw.text += update.content.text;
      if (update.toolCallId && update.status) saw.calls[update.toolCallId] = update.status;
      for (const it of update.content?.length ? update.content : []) {
        if (it.type === "diff") saw.diffs.push([it.path, it.oldText, it.newText]);
      }
      wake();
    });
}

const until = (done) => new Promise((resolve) => {
  const look = () => done() && resolve();
  wake = look;
  look();
});

const hello = {
  protocolVersion: 1,
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
  clientInfo: { name: "drive", version: "1" },
};
const words = (sessionId, text) => ({ sessionId, prompt: [{ type: "text", text }] });

const one = start();
const session = await app().connectWith(one.stream, async (agent) => {
  saw.version = (await agent.request(methods.agent.initialize, hello)).protocolVersion;
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
  // Read the unsaved text, edit it with consent, be refused a second edit, run a command.
  permits.push("allow_once", "deny", "allow_once");
  saw.stops.push((await agent.request(methods.agent.session.prompt, words(sessionId, "work"))).stopReason);
  // Cancel in the middle of a stream.
  let turn = agent.request(methods.agent.session.prompt, words(sessionId, "think"));
  await until(() => saw.text.includes("begin"));
  await agent.notify(methods.agent.session.cancel, { sessionId });
  saw.stops.push((await turn).stopReason);
  // Cancel in the middle of a tool.
  permits.push("allow_once");
  turn = agent.request(methods.agent.session.prompt, words(sessionId, "sleep"));
  await until(() => Object.values(saw.calls).includes("in_progress"));
  await agent.notify(methods.agent.session.cancel, { sessionId });
  saw.stops.push((await turn).stopReason);
  const copy = await agent.request(methods.agent.session.fork, { sessionId, cwd, mcpServers: [] });
  saw.forked = copy.sessionId !== sessionId;
  const listed = await agent.request(methods.agent.session.list, {});
  saw.listed = listed.sessions.length;
  return sessionId;
});
one.child.kill("SIGKILL");
saw.live = saw.text;

// Another program goes on with it, and shows everything again.
const two = start();
await app().connectWith(two.stream, async (agent) => {
  await agent.request(methods.agent.initialize, hello);
  const before = { ...saw.updates };
  await agent.request(methods.agent.session.load, { sessionId: session, cwd, mcpServers: [] });
  saw.replayed = (saw.updates.user_message_chunk ?? 0) - (before.user_message_chunk ?? 0);
  saw.stops.push((await agent.request(methods.agent.session.prompt, words(session, "again"))).stopReason);
  await agent.request(methods.agent.session.close, { sessionId: session });
});
saw.buffer = buffers[note];
two.child.stdin.end();
console.log(JSON.stringify(saw));
setTimeout(() => process.exit(0), 100);
