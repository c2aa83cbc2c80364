// What changes, live: from the SharedWorker, or from a stream of this tab where there is none.
import { signal } from "@preact/signals";
import type { ChangeMessage } from "./api-types";
import { StreamSource, type StreamMessage, type StreamState } from "./stream-source";

export const streamState = signal<StreamState>("connecting");

const RELOAD: ChangeMessage = {
  revision: 0,
  nodes: { total: 0, ready: 0, progressing: 0, failed: 0, paused: 0, deleting: 0 },
  changed: [],
  deleted: [],
  reload: true,
};

type Listener = (change: ChangeMessage) => void;
const listeners = new Set<Listener>();

/** Call `listener` at every change. Return the function that ends it. */
export function onChange(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function receive(message: StreamMessage): void {
  if (message.type === "change") notify(message.change);
  else {
    // What changed between the first answers and the first connection is in no message.
    if (message.state === "live" && streamState.value === "connecting") notify(RELOAD);
    streamState.value = message.state;
  }
}

function notify(change: ChangeMessage): void {
  for (const listener of listeners) listener(change);
}

let command: ((text: "open" | "close" | "restart") => void) | undefined;

/** Start the stream, or connect it again at once after a login. */
export function startStream(): void {
  if (command) {
    command("restart");
    return;
  }
  command = "SharedWorker" in window ? startWorker() : startSource();
  window.addEventListener("pagehide", () => command?.("close"));
  window.addEventListener("pageshow", (event) => event.persisted && command?.("open"));
}

function startWorker(): (text: "open" | "close" | "restart") => void {
  const script = document.querySelector<HTMLLinkElement>("link[data-worker]")?.href ?? "/worker.js";
  const worker = new SharedWorker(script, "lynq-stream");
  worker.port.onmessage = (event: MessageEvent<StreamMessage>) => receive(event.data);
  return (text) => worker.port.postMessage(text);
}

function startSource(): (text: "open" | "close" | "restart") => void {
  const source = new StreamSource(receive);
  source.start();
  const commands = {
    open: () => source.start(),
    close: () => source.stop(),
    restart: () => source.restart(),
  };
  return (text) => commands[text]();
}
