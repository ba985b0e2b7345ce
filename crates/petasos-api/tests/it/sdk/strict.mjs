// Drives the server with the Vercel AI SDK, which checks every chunk against a schema.
//
// strict.mjs URL   prints how many checks passed as JSON; a failed one ends it.
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";
const require = createRequire(process.env.NODE_MODULES + "/");
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { generateText, streamText } = await load("ai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");

let passed = 0;
const check = (held, what) => {
  if (!held) {
    console.error(`failed: ${what}`);
    process.exit(1);
  }
  passed += 1;
};
const provider = createOpenAICompatible({ name: "petasos", baseURL: process.argv[2], apiKey: process.env.OPENAI_API_KEY, includeUsage: true });
const model = provider("petasos");
const { text } = await generateText({ model, prompt: "hello" });
check(text === "Grüße, 1 messages", `whole ${text}`);
const errors = [];
const streamed = streamText({ model, prompt: "ten tools", onError: ({ error }) => errors.push(error), headers: { "X-Hermes-Tool-Events": "chunk" } });
let said = "";
for await (const piece of streamed.textStream) said += piece;
check(said === "the list is done" && errors.length === 0, `stream ${said} ${errors}`);
check((await streamed.usage).totalTokens > 0, "usage");
console.log(JSON.stringify({ passed }));
