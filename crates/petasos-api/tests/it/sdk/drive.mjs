// Drives the server with the official Node client, unmodified and with its defaults.
//
// drive.mjs URL KEY   (KEY may not answer approvals) prints how many checks passed as JSON; a failed one ends it.
import { createRequire } from "node:module";
import net from "node:net";
const require = createRequire(process.env.NODE_MODULES + "/");
const OpenAI = require("openai").default ?? require("openai");

const client = new OpenAI({ baseURL: process.argv[2] });
let passed = 0;
const check = (held, what) => {
  if (!held) {
    console.error(`failed: ${what}`);
    process.exit(1);
  }
  passed += 1;
};
const raises = async (kind, call, code) => {
  try {
    await call();
  } catch (error) {
    check(error instanceof kind && (!code || error.code === code), `${kind.name} ${code}: ${error}`);
    return;
  }
  check(false, `no ${kind.name}`);
};
const messages = (text) => [{ role: "user", content: text }];
const model = "petasos";

const models = await client.models.list();
check(models.data[0].id === model, "models");
check((await client.models.retrieve(model)).id === model, "model");
const whole = await client.chat.completions.create({ model, messages: messages("hello") });
check(whole.choices[0].message.content === "Grüße, 1 messages", "chat");
let text = "";
for await (const chunk of await client.chat.completions.create({ model, messages: messages("use a tool"), stream: true })) {
  text += chunk.choices[0]?.delta?.content ?? "";
}
check(text === "I look.\n\nthe list is done", `stream ${text}`);
const helper = client.chat.completions.stream({ model, messages: messages("hello"), stream_options: { include_usage: true } });
check((await helper.finalContent()) === "Grüße, 1 messages", "stream helper");
check((await helper.totalUsage()).total_tokens > 0, "usage of the helper");
const told = client.chat.completions.stream({ model, messages: messages("use a tool") }, { headers: { "X-Hermes-Tool-Events": "chunk" } });
check((await told.finalContent()).endsWith("the list is done"), "tool events as chunks");
await raises(OpenAI.NotFoundError, () => client.chat.completions.create({ model: "gpt-9", messages: messages("x") }), "model_not_found");
await raises(OpenAI.InternalServerError, () => client.chat.completions.create({ model, messages: messages("fail") }), "provider_error");
await raises(OpenAI.APIError, async () => {
  for await (const _ of await client.chat.completions.create({ model, messages: messages("fail late"), stream: true }));
});
let many = "";
for await (const chunk of await client.chat.completions.create({ model, messages: messages("many"), stream: true })) {
  many += chunk.choices[0]?.delta?.content ?? "";
}
check(many === "wörter 🦀 ".repeat(1000), "a long stream");
const parts = [
  { type: "text", text: "hello" },
  { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
];
const seen = await client.chat.completions.create({ model, messages: messages(parts) });
check(seen.choices[0].finish_reason === "stop", "an image");
const roles = [
  { role: "system", content: "Be kind." },
  { role: "developer", content: "Be brief." },
  ...messages("a"),
  { role: "assistant", content: "b" },
  ...messages("c"),
];
const both = await client.chat.completions.create({ model, messages: roles });
check(both.choices[0].message.content.includes("3 messages"), "roles");
const first = await client.responses.create({ model, input: "hello" });
check(first.output_text === "Grüße, 1 messages", "response");
const second = await client.responses.create({ model, input: "more", previous_response_id: first.id });
check(second.output_text.includes("3 messages"), "a chain");
const response = await client.responses.stream({ model, input: "use a tool" }).finalResponse();
check(response.output_text === "I look.the list is done", `response helper ${response.output_text}`);
await client.responses.delete(first.id);
await raises(OpenAI.NotFoundError, () => client.responses.retrieve(first.id), "response_not_found");
const stopped = new AbortController();
const hanging = await client.chat.completions.create({ model, messages: messages("hang"), stream: true }, { signal: stopped.signal });
for await (const chunk of hanging) {
  if (chunk.choices[0]?.delta?.content) stopped.abort();
}
check(stopped.signal.aborted, "aborted");
// Every refusal has its class; nothing is tried again that became a turn.
const other = new OpenAI({ baseURL: process.argv[2], apiKey: process.argv[3] });
await raises(OpenAI.PermissionDeniedError, () => other.get("/approvals"), "insufficient_scope");
await raises(OpenAI.AuthenticationError, () => new OpenAI({ baseURL: process.argv[2], apiKey: "wrong" }).models.list(), "invalid_api_key");
await raises(OpenAI.BadRequestError, () => client.chat.completions.create({ model, messages: messages("x"), n: 2 }), "unsupported_parameter");
const once = (text) => client.chat.completions.create({ model, messages: messages(text) }, { headers: { "Idempotency-Key": "node-1" } });
check((await once("hello")).id === (await once("hello")).id, "once");
await raises(OpenAI.UnprocessableEntityError, () => once("other words"), "idempotency_mismatch");
const named = { headers: { "X-Hermes-Session-Id": "node-busy" } };
const held = await client.chat.completions.create({ model, messages: messages("hang"), stream: true }, named);
await raises(OpenAI.ConflictError, () => client.chat.completions.create({ model, messages: messages("x") }, named), "session_busy");
held.controller.abort();
await raises(OpenAI.APIConnectionTimeoutError, () => client.chat.completions.create({ model, messages: messages("hang") }, { timeout: 1000, maxRetries: 0 }));
const talk = (input) => client.responses.create({ model, input, conversation: "node-talk" });
check((await talk("a")).output_text.includes("1 messages") && (await talk("b")).output_text.includes("3 messages"), "a conversation");
const { response: head } = await client.chat.completions.create({ model, messages: messages("hello") }).withResponse();
check(head.headers.get("x-hermes-session-id").startsWith("api-"), "headers");
await raises(OpenAI.APIError, () => client.get("/chat/completions"), "method_not_allowed");
// More turns than may be at once.
const busy = [];
for (let number = 0; number < 10; number += 1) {
  const one = { headers: { "X-Hermes-Session-Id": `node-${number}` } };
  let stream;
  const until = Date.now() + 20000;
  // The turns that were left above may still be ending.
  while (!stream) {
    try {
      stream = await client.chat.completions.create({ model, messages: messages("hang"), stream: true }, one);
    } catch (error) {
      if (!(error instanceof OpenAI.RateLimitError) || Date.now() > until) throw error;
    }
  }
  busy.push(stream);
}
await raises(OpenAI.RateLimitError, () => client.chat.completions.create({ model, messages: messages("x") }, { maxRetries: 0 }), "too_many_runs");
for (const stream of busy) stream.controller.abort();
// Every byte of an answer in a packet of its own.
const where = new URL(process.argv[2]);
const proxy = net.createServer((near) => {
  const far = net.connect(Number(where.port), where.hostname);
  near.setNoDelay(true);
  near.pipe(far);
  far.on("data", (data) => {
    for (const byte of data) near.write(Buffer.from([byte]));
  });
  far.on("end", () => near.end());
  near.on("error", () => far.destroy());
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
const apart = new OpenAI({ baseURL: `http://127.0.0.1:${proxy.address().port}${where.pathname}` });
let bytes = "";
const started = Date.now();
while (!bytes) {
  try {
    for await (const chunk of await apart.chat.completions.create({ model, messages: messages("hello"), stream: true })) {
      bytes += chunk.choices[0]?.delta?.content ?? "";
    }
  } catch (error) {
    if (!(error instanceof OpenAI.RateLimitError) || Date.now() > started + 20000) throw error;
  }
}
check(bytes === "Grüße, 1 messages", `every byte apart: ${bytes}`);
console.log(JSON.stringify({ passed }));
process.exit(0);
