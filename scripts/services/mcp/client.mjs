// Uses a server with the official TypeScript client: client.mjs NODE_MODULES WANTED_JSON
//
// The same words as client.py.
import { pathToFileURL } from "node:url";

const [modules, given] = process.argv.slice(2);
const wanted = JSON.parse(given);
const part = (name) => import(pathToFileURL(`${modules}/@modelcontextprotocol/sdk/dist/esm/${name}.js`).href);
const { Client } = await part("client/index");
const { StdioClientTransport } = await part("client/stdio");
const { StreamableHTTPClientTransport } = await part("client/streamableHttp");
const { ElicitRequestSchema } = await part("types");

const asked = [];
const client = new Client({ name: "official", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { decision: wanted.decision ?? "deny" } };
});
const headers = wanted.token ? { Authorization: `Bearer ${wanted.token}` } : {};
const transport = wanted.url
  ? new StreamableHTTPClientTransport(new URL(wanted.url), { requestInit: { headers } })
  : new StdioClientTransport({ command: wanted.command, args: wanted.args, env: wanted.env, cwd: wanted.cwd });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((tool) => tool.name);
const resources = (await client.listResources()).resources.map((one) => one.uri);
const results = [];
for (const [name, args] of wanted.calls) {
  const done = await client.callTool({ name, arguments: args });
  results.push({ text: done.content.map((piece) => piece.text ?? "").join(""), error: done.isError === true });
}
console.log(JSON.stringify({ tools, resources, results, asked }));
await client.close();
