// Runs the tasks and questions of tasks.cjs with both, and prints the figures.
'use strict';
const { spawn, execFile } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const readline = require('node:readline');
const { chromium } = require('playwright-core');
const { TASKS, QUESTIONS } = require('./tasks.cjs');

const [program, executablePath] = process.argv.slice(2);
const rounds = Number(process.env.ROUNDS || 5);
const only = process.env.ONLY;

function wait(ms) { return new Promise((done) => setTimeout(done, ms)); }

async function pages() {
  const port = 20000 + Math.floor(Math.random() * 20000);
  const server = spawn('python3', [path.join(__dirname, '../services/pages/serve.py'), '--port', String(port)], { stdio: 'ignore' });
  const base = `http://127.0.0.1:${port}/`;
  for (let n = 0; n < 100; n++) {
    const ok = await new Promise((done) => http.get(base + 'index.html', (r) => { r.resume(); done(true); }).on('error', () => done(false)));
    if (ok) return { base, stop: () => server.kill() };
    await wait(50);
  }
  throw new Error('the pages were not served');
}

// Ours, over MCP.
class Ours {
  static async start() {
    const me = new Ours();
    me.home = fs.mkdtempSync(path.join(os.tmpdir(), 'petasos-compare-'));
    fs.mkdirSync(path.join(me.home, '.petasos'));
    fs.writeFileSync(path.join(me.home, '.petasos', 'config.yaml'),
      'security:\n  private_hosts: [127.0.0.1, localhost]\n  taint: off\napprovals:\n  mode: off\n');
    me.child = spawn(program, ['mcp', 'serve'], { cwd: me.home, env: { HOME: me.home, PATH: process.env.PATH }, stdio: ['pipe', 'pipe', process.env.LOUD ? 'inherit' : 'ignore'] });
    me.waiting = new Map();
    me.child.on('exit', (code) => { for (const done of me.waiting.values()) done({ error: { message: `petasos ended with ${code}` } }); });
    me.next = 1;
    readline.createInterface({ input: me.child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      if (message.id !== undefined && message.method === undefined) {
        const done = me.waiting.get(message.id);
        if (done) { me.waiting.delete(message.id); done(message); }
      } else if (message.method === 'elicitation/create') {
        me.send({ jsonrpc: '2.0', id: message.id, result: { action: 'accept', content: { decision: 'once' } } });
      }
    });
    await me.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'compare', version: '1' } });
    me.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    return me;
  }
  send(message) { this.child.stdin.write(JSON.stringify(message) + '\n'); }
  ask(method, params) {
    const id = this.next++;
    const answer = new Promise((done) => this.waiting.set(id, done));
    this.send({ jsonrpc: '2.0', id, method, params });
    return answer;
  }
  async call(name, args) {
    const reply = await this.ask('tools/call', { name, arguments: args });
    if (reply.error) throw new Error(reply.error.message);
    const text = reply.result.content.map((c) => c.text || '').join('');
    const from = text.indexOf('{'), to = text.lastIndexOf('}');
    if (from < 0) throw new Error(text);
    const answer = JSON.parse(text.slice(from, to + 1));
    if (answer.success === false || answer.error) throw new Error(answer.error + ' ' + (answer.error_type || ''));
    return answer;
  }
  async open(url) { const a = await this.call('browser_navigate', { url }); this.text = a.snapshot; return a; }
  async snapshot() { this.text = (await this.call('browser_snapshot', {})).snapshot; return this.text; }
  // The reference on the line with this role and name; a fresh look when the last one has none.
  async find(role, name) {
    const roles = { textbox: ['textbox', 'editor', 'searchbox'], date: ['date'], searchbox: ['searchbox', 'textbox'] }[role] || [role];
    const look = () => {
      // What was told last counts: an element may have a successor of the same name.
      for (const line of (this.text || '').split('\n').reverse()) {
        const m = /^\s*- (\S+) ("(?:[^"\\]|\\.)*")?.*?@(e\d+)/.exec(line);
        if (m && roles.includes(m[1]) && m[2] && JSON.parse(m[2]) === name && !/ disabled/.test(line)) return '@' + m[3];
      }
      return null;
    };
    let found = look();
    if (!found) { await this.snapshot(); this.extra = (this.extra || 0) + 1; found = look(); }
    if (!found) throw new Error(`no ${role} "${name}"`);
    return found;
  }
  async do(step, base) {
    if (step.open) return this.open(base + step.open);
    let answer;
    if (step.click) answer = await this.call('browser_click', { ref: await this.find(...step.click) });
    else if (step.type) answer = await this.call('browser_type', { ref: await this.find(step.type[0], step.type[1]), text: step.type[2], submit: !!step.submit });
    else if (step.press) answer = await this.call('browser_press', { key: step.press });
    else if (step.back) { answer = await this.call('browser_back', {}); this.text = answer.snapshot; }
    if (answer.changes) this.text += '\n' + [].concat(answer.changes).join('\n');
    if (answer.navigated && !answer.snapshot) this.text = '';
    this.told = JSON.stringify(answer);
  }
  async sees(words) {
    if ((this.told || '').includes(words)) return true;
    this.extra = (this.extra || 0) + 1;
    return (await this.snapshot()).includes(words);
  }
  async stop() { this.child.stdin.end(); await wait(300); this.child.kill(); fs.rmSync(this.home, { recursive: true, force: true }); }
}

// Playwright with the snapshot that its own server for models gives.
class Theirs {
  static async start() {
    const me = new Theirs();
    me.browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
    me.page = await (await me.browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
    me.page.setDefaultTimeout(5000);
    return me;
  }
  async snapshot() {
    const snap = this.page._snapshotForAI ? await this.page._snapshotForAI() : await this.page.ariaSnapshot({ mode: 'ai' });
    return typeof snap === 'string' ? snap : snap.full || snap.snapshot || JSON.stringify(snap);
  }
  async open(url) { await this.page.goto(url); return this.snapshot(); }
  locate(role, name) {
    if (role === 'date') return this.page.getByLabel(name, { exact: true });
    return this.page.getByRole(role, { name, exact: true });
  }
  // Frames are searched as a model would that got the snapshot with them.
  async find(role, name) {
    const here = this.locate(role, name);
    for (let n = 0; n < 20; n++) {
      if (await here.count()) return here.first();
      for (const frame of this.page.frames().slice(1)) {
        const inside = frame.getByRole(role, { name, exact: true });
        if (await inside.count()) return inside.first();
      }
      await wait(50);
    }
    throw new Error(`no ${role} "${name}"`);
  }
  async do(step, base) {
    if (step.open) return this.open(base + step.open);
    if (step.click) await (await this.find(...step.click)).click();
    else if (step.type) {
      const field = await this.find(step.type[0], step.type[1]);
      if (step.type[0] === 'combobox') await field.selectOption({ label: step.type[2] });
      else await field.fill(step.type[2]);
      if (step.submit) await field.press('Enter');
    } else if (step.press) await this.page.keyboard.press(step.press);
    else if (step.back) await this.page.goBack();
    this.last = await this.snapshot();
  }
  async sees(words) {
    for (let n = 0; n < 20; n++) {
      if ((await this.snapshot()).includes(words)) return true;
      await wait(50);
    }
    return false;
  }
  async stop() { await this.browser.close(); }
}

// The program that Hermes' browser tools call for every step, where it is installed (AGENT_BROWSER).
class Hermes {
  static async start() {
    const me = new Hermes();
    me.home = fs.mkdtempSync(path.join(os.tmpdir(), 'hermes-compare-'));
    return me;
  }
  run(...args) {
    const env = { HOME: this.home, PATH: process.env.PATH, AGENT_BROWSER_EXECUTABLE_PATH: executablePath, AGENT_BROWSER_ARGS: '--no-sandbox' };
    return new Promise((done, fail) => execFile(process.env.AGENT_BROWSER, args, { env, timeout: 30000 },
      (error, out, err) => (error ? fail(new Error(`${args[0]}: ${(err || out || error.message).trim()}`)) : done(out))));
  }
  async snapshot() { this.text = await this.run('snapshot'); return this.text; }
  async open(url) { await this.run('open', url); return this.snapshot(); }
  async find(role, name) {
    const roles = { date: ['Date', 'date', 'textbox'], searchbox: ['searchbox', 'textbox'] }[role] || [role];
    for (let n = 0; n < 5; n++) {
      for (const line of this.text.split('\n')) {
        const m = /^\s*- (\S+) ("(?:[^"\\]|\\.)*") \[.*?ref=(e\d+)/.exec(line);
        if (m && roles.includes(m[1]) && JSON.parse(m[2]).trim() === name && !/disabled/.test(line)) return '@' + m[3];
      }
      await wait(100);
      await this.snapshot();
    }
    throw new Error(`no ${role} "${name}"`);
  }
  async do(step, base) {
    if (step.open) return this.open(base + step.open);
    if (step.click) await this.run('click', await this.find(...step.click));
    else if (step.type) {
      const field = await this.find(step.type[0], step.type[1]);
      await this.run(step.type[0] === 'combobox' ? 'select' : 'fill', field, step.type[2]);
      if (step.submit) await this.run('press', 'Enter');
    } else if (step.press) await this.run('press', step.press);
    else if (step.back) await this.run('back');
    return this.snapshot();
  }
  async sees(words) {
    for (let n = 0; n < 5; n++) {
      if ((await this.snapshot()).includes(words)) return true;
      await wait(100);
    }
    return false;
  }
  async stop() { await this.run('close').catch(() => {}); fs.rmSync(this.home, { recursive: true, force: true }); }
}

// About the pieces that a model's tokeniser makes: words, runs of blanks and single marks.
function tokens(text) { return (text.match(/\s?[A-Za-z]+|\s?\d{1,3}|\s+|[^\sA-Za-z\d]/g) || []).reduce((n, p) => n + Math.max(1, Math.ceil(p.trim().length / 8)), 0); }
function median(list) { const s = [...list].sort((a, b) => a - b); return s[Math.floor(s.length / 2)]; }
const answers = (text, words) => words.every((w) => (w instanceof RegExp ? w.test(text) : text.includes(w)));

async function main() {
  const site = await pages();
  const both = { petasos: await Ours.start(), playwright: await Theirs.start() };
  if (process.env.AGENT_BROWSER) both.hermes = await Hermes.start();
  try {
    const zero = () => Object.fromEntries(Object.keys(both).map((who) => [who, 0]));
    const told = (counts, of) => Object.entries(counts).map(([who, n]) => `${who} ${n}${of ? ` of ${of}` : ''}`).join(', ');
    const done = zero(), steps = zero();
    for (const [name, list, sees] of TASKS.filter(([n]) => !only || n.includes(only))) {
      for (const [who, driver] of Object.entries(both)) {
        try {
          driver.extra = 0; driver.told = '';
          for (const step of list) await driver.do(step, site.base);
          if (!(await driver.sees(sees))) throw new Error(`"${sees}" was not seen`);
          done[who]++;
          steps[who] += list.length + driver.extra;
        } catch (error) {
          console.log(`${who} failed "${name}": ${String(error.message).split('\n')[0]}`);
        }
      }
    }
    console.log(`tasks done: ${told(done, TASKS.length)}`);
    console.log(`steps: ${told(steps)} (the others' answers hold a snapshot after every step)`);

    const names = [...new Set(QUESTIONS.map(([page]) => page))];
    const chars = zero(), size = zero(), known = zero();
    for (const page of names) {
      await both.petasos.open(site.base + page);
      const texts = { petasos: await both.petasos.snapshot(), playwright: await both.playwright.open(site.base + page) };
      if (both.hermes) texts.hermes = await both.hermes.open(site.base + page);
      if (process.env.SHOW === page) console.log(texts.petasos + '\n----\n' + texts.playwright);
      for (const [who, text] of Object.entries(texts)) {
        chars[who] += text.length; size[who] += tokens(text);
        for (const [p, question, words] of QUESTIONS) {
          if (p !== page) continue;
          if (answers(text, words)) known[who]++; else console.log(`${who} cannot answer (${p}): ${question}`);
        }
      }
    }
    console.log(`questions answered: ${told(known, QUESTIONS.length)}`);
    console.log(`snapshots of ${names.length} pages, characters: ${told(chars)}; about so many tokens: ${told(size)}; ratio to playwright ${(size.petasos / size.playwright).toFixed(2)}`);

    const ratios = [], quiet = [], mine = [], others = [], third = [];
    for (const page of names) {
      for (let n = 0; n < rounds; n++) {
        const url = site.base + page;
        let at = performance.now();
        await both.petasos.open(url);
        const a = performance.now() - at;
        at = performance.now();
        await both.playwright.open(url);
        const b = performance.now() - at;
        at = performance.now();
        await both.playwright.page.goto(url, { waitUntil: 'networkidle' });
        await both.playwright.snapshot();
        const c = performance.now() - at;
        if (both.hermes) { at = performance.now(); await both.hermes.open(url); third.push(performance.now() - at); }
        ratios.push(a / b); quiet.push(a / c); mine.push(a); others.push(b);
      }
    }
    console.log(`navigate and snapshot, ${names.length} pages, ${rounds} rounds: petasos ${median(mine).toFixed(0)} ms, playwright (load) ${median(others).toFixed(0)} ms`);
    console.log(`ratio of medians to playwright waiting for load ${(median(mine) / median(others)).toFixed(2)}, median of ratios ${median(ratios).toFixed(2)}; waiting for quiet, as ours does, median of ratios ${median(quiet).toFixed(2)}`);
    if (both.hermes) console.log(`hermes' own path: ${median(third).toFixed(0)} ms, two programs a page; ratio of medians ${(median(mine) / median(third)).toFixed(2)}`);
  } finally {
    for (const driver of Object.values(both)) await driver.stop();
    site.stop();
  }
}
main().catch((error) => { console.error(error); process.exit(1); });
