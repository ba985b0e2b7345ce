"""Runs one Python plugin, a package with register(ctx), for Petasos.

Speaks JSON-RPC 2.0 over stdin and stdout, one message a line. Needs the standard library only.
What a plugin prints goes to its log, never into the protocol.
"""

import argparse
import asyncio
import contextlib
import contextvars
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import itertools
import json
import os
import queue
import sys
import threading
import traceback
import types
from pathlib import Path

PROTOCOL = 1
WORKERS_MAX = 32
CALL = contextvars.ContextVar("petasos_call", default=None)


class DownstreamError(RuntimeError):
    """What next_call() met further in; let it pass and it is reported as itself."""


class Pipe:
    """The two directions of the protocol."""

    def __init__(self):
        out = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._out = os.fdopen(out, "wb", buffering=0)
        self._in = os.fdopen(os.dup(0), "rb", buffering=65536)
        self._writing = threading.Lock()
        self._numbers = itertools.count(1)
        self._waiting = {}

    def send(self, message):
        line = json.dumps(message, ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
        with self._writing:
            view = memoryview(line)
            while view:
                view = view[self._out.write(view):]

    def ask(self, method, params):
        number = next(self._numbers)
        answer = queue.SimpleQueue()
        self._waiting[number] = answer
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        message = answer.get()
        error = message.get("error")
        if error is None:
            return message.get("result")
        text = error.get("message", "")
        if text.startswith("DownstreamError: "):
            raise DownstreamError(text[len("DownstreamError: "):])
        if "may not" in text or "would replace" in text:
            raise PermissionError(text)
        raise RuntimeError(text)

    def __iter__(self):
        for line in self._in:
            if not line.strip():
                continue
            message = json.loads(line)
            if "method" in message:
                yield message
                continue
            waiting = self._waiting.pop(message.get("id"), None)
            if waiting is not None:
                waiting.put(message)


class Workers:
    """A few threads that take work in order; more are started while all are busy."""

    def __init__(self):
        self._work = queue.SimpleQueue()
        self._idle = 0
        self._count = 0
        self._lock = threading.Lock()

    def submit(self, job):
        with self._lock:
            start = self._idle <= self._work.qsize() and self._count < WORKERS_MAX
            if start:
                self._count += 1
        self._work.put(job)
        if start:
            threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            with self._lock:
                self._idle += 1
            job = self._work.get()
            with self._lock:
                self._idle -= 1
            job()


class Usage:
    def __init__(self, fields):
        for name in ("input_tokens", "output_tokens", "total_tokens", "cache_read_tokens",
                     "cache_write_tokens"):
            setattr(self, name, fields.get(name, 0))
        self.cost_usd = fields.get("cost_usd")


class Completion:
    def __init__(self, fields):
        self.text = fields.get("text", "")
        self.provider = fields.get("provider", "")
        self.model = fields.get("model", "")
        self.agent_id = ""
        self.usage = Usage(fields.get("usage") or {})
        self.audit = {}
        self.parsed = None
        self.content_type = "text"


class Llm:
    """Completions made by the program, with the user's model and without showing any key."""

    def __init__(self, host):
        self._host = host

    def complete(self, messages, *, provider=None, model=None, temperature=None, max_tokens=None,
                 **_ignored):
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        fields = {"messages": messages, "provider": provider, "model": model,
                  "temperature": temperature, "max_tokens": max_tokens, "token": CALL.get()}
        return Completion(self._host.pipe.ask("ctx.llm.complete", fields))

    def complete_structured(self, *, instructions, input=(), json_schema=None, json_mode=False,
                            schema_name=None, system_prompt=None, provider=None, model=None,
                            temperature=None, max_tokens=None, **_ignored):
        parts = [instructions]
        for block in input or ():
            text = block.get("text") if isinstance(block, dict) else getattr(block, "text", None)
            if text:
                parts.append(text)
        wants_json = json_mode or json_schema is not None
        system = [system_prompt] if system_prompt else []
        if wants_json:
            system.append("Answer with one JSON object and nothing else.")
        messages = [{"role": "system", "content": text} for text in system]
        messages.append({"role": "user", "content": "\n\n".join(parts)})
        fields = {"messages": messages, "provider": provider, "model": model,
                  "temperature": temperature, "max_tokens": max_tokens,
                  "json_schema": json_schema, "schema_name": schema_name, "token": CALL.get()}
        done = Completion(self._host.pipe.ask("ctx.llm.complete", fields))
        if wants_json:
            text = done.text.strip()
            if text.startswith("```"):
                text = text.strip("`").removeprefix("json").strip()
            try:
                done.parsed, done.content_type = json.loads(text), "json"
            except ValueError:
                pass
        return done

    async def acomplete(self, *args, **named):
        return await asyncio.to_thread(self.complete, *args, **named)

    async def acomplete_structured(self, **named):
        return await asyncio.to_thread(self.complete_structured, **named)


class Context:
    """What register(ctx) is given."""

    def __init__(self, host, greeting):
        self._host = host
        self._settings = greeting.get("settings") or {}
        plugin = greeting.get("plugin") or {}
        self.plugin_id = plugin.get("key", "")
        self.profile_name = greeting.get("profile_name", "default")
        self.manifest = types.SimpleNamespace(**{**plugin, "path": plugin.get("folder")})
        self.llm = Llm(host)

    def register_tool(self, name, toolset=None, schema=None, handler=None, check_fn=None,
                      requires_env=None, is_async=False, description="", emoji="",
                      override=False, **_ignored):
        schema = schema or {}
        self._host.pipe.ask("ctx.register_tool", {
            "name": name, "toolset": toolset, "schema": schema, "description": description,
            "requires_env": requires_env, "has_check": check_fn is not None, "emoji": emoji,
            "is_async": is_async, "override": override,
        })
        self._host.tools[name] = (handler, check_fn)

    def register_hook(self, name, callback):
        self._host.hooks.setdefault(name, []).append(callback)
        self._host.pipe.ask("ctx.register_hook", {"name": name})

    def register_middleware(self, kind, callback):
        number = len(self._host.middleware) + 1
        self._host.middleware[number] = callback
        self._host.pipe.ask("ctx.register_middleware", {"kind": kind, "id": number})

    def register_command(self, name, handler, description="", args_hint="", **_ignored):
        self._host.pipe.ask("ctx.register_command", {
            "name": name, "description": description, "args_hint": args_hint})
        self._host.commands[clean(name)] = handler

    def register_cli_command(self, name, help="", setup_fn=None, handler_fn=None, description="",
                             **_ignored):
        self._host.pipe.ask("ctx.register_cli_command", {
            "name": name, "help": help, "description": description})
        self._host.cli[clean(name)] = (setup_fn, handler_fn, description or help)

    def register_skill(self, name, path, description="", **_ignored):
        self._host.pipe.ask("ctx.register_skill", {
            "name": name, "path": str(path), "description": description})

    def dispatch_tool(self, name, args=None, **_ignored):
        return self._host.pipe.ask("ctx.dispatch_tool", {
            "name": name, "args": args or {}, "token": CALL.get()})

    def inject_message(self, text, role="user", **_ignored):
        return bool(self._host.pipe.ask("ctx.inject_message", {"text": text, "role": role}))

    def get_config(self, key, default=None):
        value = self._settings
        for part in str(key).split("."):
            if not isinstance(value, dict) or part not in value:
                return default
            value = value[part]
        return value

    def on_unload(self, callback):
        self._host.unload.append(callback)

    def __getattr__(self, name):
        if not name.startswith("register_"):
            raise AttributeError(name)

        def other(*args, **named):
            given = args[0] if args else next(iter(named.values()), "")
            label = given if isinstance(given, str) else getattr(given, "name", type(given).__name__)
            self._host.pipe.ask("ctx.register_other", {"kind": name[9:], "name": str(label)})

        return other


def clean(name):
    return "-".join(str(name).strip().lstrip("/").lower().split())


class Host:
    """One plugin and what it registered."""

    def __init__(self):
        self.pipe = Pipe()
        self.workers = Workers()
        self.tools, self.hooks, self.middleware = {}, {}, {}
        self.commands, self.cli, self.unload = {}, {}, []
        self._loop = None
        self._loop_lock = threading.Lock()

    def run(self):
        for message in self.pipe:
            if message["method"].startswith("$/"):
                continue
            self.workers.submit(lambda message=message: self.serve(message))

    def serve(self, message):
        number = message.get("id")
        try:
            params = message.get("params") or {}
            CALL.set((params.get("context") or {}).get("token"))
            verb = "on_" + message["method"].replace(".", "_")
            handler = getattr(self, verb, None)
            if handler is None:
                raise RuntimeError(f"unknown method {message['method']}")
            answer = {"jsonrpc": "2.0", "id": number, "result": handler(params)}
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is reported
            if not isinstance(error, DownstreamError):
                traceback.print_exc()
            answer = {"jsonrpc": "2.0", "id": number, "error": {
                "code": -32000, "message": str(error) or type(error).__name__,
                "data": {"type": type(error).__name__}}}
        if number is not None:
            try:
                self.pipe.send(answer)
            except OSError:
                os._exit(1)

    def wait(self, value):
        if not inspect.isawaitable(value):
            return value
        with self._loop_lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True).start()

        async def awaited():
            return await value

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def on_initialize(self, greeting):
        shims(greeting)
        module = load(greeting["plugin"])
        register = getattr(module, "register", None)
        if not callable(register):
            raise RuntimeError("the plugin has no register(ctx)")
        self.wait(register(Context(self, greeting)))
        return {"protocol_version": PROTOCOL}

    def on_tool_call(self, params):
        handler, _ = self.tools[params["name"]]
        context = params.get("context") or {}
        named = {name: context.get(name) for name in
                 ("task_id", "session_id", "turn_id", "tool_call_id", "platform")}
        return self.wait(call(handler, (params.get("args") or {},), named))

    def on_tool_check(self, params):
        _, check = self.tools[params["name"]]
        return {"available": bool(self.wait(check())) if check else True}

    def on_hook_fire(self, params):
        answers = []
        for callback in self.hooks.get(params["event"], ()):
            try:
                answer = self.wait(call(callback, (), dict(params.get("payload") or {})))
            except Exception:  # noqa: BLE001 - one callback's failure is its own
                traceback.print_exc()
                continue
            if answer is not None:
                answers.append(answer)
        return answers

    def on_middleware_run(self, params):
        callback = self.middleware[params["id"]]
        named = dict(params.get("payload") or {})
        frame = params.get("frame")
        if frame is not None:
            def next_call(payload=None):
                return self.pipe.ask("middleware.next", {"frame": frame, "payload": payload})
            named["next_call"] = next_call
        return self.wait(call(callback, (), named))

    def on_command_run(self, params):
        return self.wait(call(self.commands[params["name"]], (params.get("args", ""),), {}))

    def on_cli_run(self, params):
        setup, handler, description = self.cli[params["name"]]
        parser = argparse.ArgumentParser(prog=params["name"], description=description)
        if setup is not None:
            setup(parser)
        out, code = io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                parsed = parser.parse_args(params.get("argv") or [])
                run = handler or getattr(parsed, "func", None)
                result = self.wait(run(parsed)) if run else None
                code = result if isinstance(result, int) else 0
            except SystemExit as leaving:
                code = leaving.code if isinstance(leaving.code, int) else 1
        return {"output": out.getvalue(), "code": code}

    def on_shutdown(self, _params):
        for callback in reversed(self.unload):
            try:
                self.wait(callback())
            except Exception:  # noqa: BLE001
                traceback.print_exc()
        return None


def call(callback, args, named):
    """Calls with the named values that the callback takes."""
    try:
        parameters = inspect.signature(callback).parameters.values()
    except (TypeError, ValueError):
        return callback(*args, **named)
    if not any(one.kind is one.VAR_KEYWORD for one in parameters):
        known = {one.name for one in parameters}
        named = {name: value for name, value in named.items() if name in known}
    return callback(*args, **named)


def load(plugin):
    if plugin.get("module"):
        name, _, attribute = plugin["module"].partition(":")
        module = importlib.import_module(name)
        if attribute:
            found = getattr(module, attribute)
            return found if hasattr(found, "register") else types.SimpleNamespace(register=found)
        return module
    folder = Path(plugin["folder"])
    name = "petasos_plugin_" + "".join(c if c.isalnum() else "_" for c in plugin["key"])
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(folder))
    spec.loader.exec_module(module)
    return module


def shims(greeting):
    """The few host modules that plugins commonly import. What is not here is not pretended."""
    home = Path(greeting.get("home") or ".")
    key = (greeting.get("plugin") or {}).get("key", "")
    entry = greeting.get("entry") or {}
    module("hermes_constants", get_hermes_home=lambda: home, display_hermes_home=lambda: str(home),
           get_config_path=lambda: home / "config.yaml", get_env_path=lambda: home / ".env")
    module("hermes_cli", __path__=[])
    # A plugin reads its own entry; the rest of the configuration is not handed out.
    module("hermes_cli.config",
           load_config=lambda *_a, **_k: {"plugins": {"entries": {key: json.loads(json.dumps(entry))}}},
           get_env_value=lambda name, default=None: os.environ.get(name, default),
           get_hermes_home=lambda: home)


def module(name, **members):
    if name in sys.modules:
        return
    made = types.ModuleType(name)
    vars(made).update(members)
    sys.modules[name] = made


def packages():
    entries = importlib.metadata.entry_points(group="hermes_agent.plugins")
    print(json.dumps([[entry.name, entry.value] for entry in entries]))


if __name__ == "__main__":
    if "--packages" in sys.argv[1:]:
        packages()
    else:
        Host().run()
