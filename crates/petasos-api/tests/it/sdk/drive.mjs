// Drives the server with the official Node client, unmodified and with its defaults.
//
// drive.mjs URL   prints how many checks passed as JSON; a failed one ends it.
import { createRequire } from "node:module";
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
console.log(JSON.stringify({ passed }));
