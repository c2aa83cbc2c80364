// One EventSource with reconnect and resume: the worker runs it, or the page without SharedWorker.
import type { ChangeMessage } from "./api-types";

export type StreamState = "connecting" | "live" | "offline";
export type StreamMessage =
  | { readonly type: "state"; readonly state: StreamState }
  | { readonly type: "change"; readonly change: ChangeMessage };

const FIRST_DELAY = 500;
const LONGEST_DELAY = 5_000;

export class StreamSource {
  private source: EventSource | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private delay = FIRST_DELAY;
  private lastId = "";
  private isReconnect = false;
  state: StreamState = "connecting";

  constructor(private readonly send: (message: StreamMessage) => void) {}

  start(): void {
    if (!this.source && this.timer === undefined) this.connect();
  }

  /** Connect at once as another viewer, after a login. */
  restart(): void {
    this.stop();
    this.isReconnect = false;
    this.delay = FIRST_DELAY;
    this.connect();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.source?.close();
    this.source = null;
  }

  private connect(): void {
    this.timer = undefined;
    // The browser's own reconnect stops forever at the first answer that is no stream (a proxy's
    // 502), so a lost connection is replaced by a new one that names the last event. Without one
    // the server cannot know what was missed: pages load again.
    const after = this.isReconnect ? `?after=${encodeURIComponent(this.lastId || "none")}` : "";
    const source = new EventSource(`/api/v2/stream${after}`);
    this.source = source;
    source.onopen = () => {
      this.delay = FIRST_DELAY;
      this.report("live");
    };
    source.addEventListener("change", (event: MessageEvent<string>) => {
      this.lastId = event.lastEventId;
      this.send({ type: "change", change: JSON.parse(event.data) as ChangeMessage });
    });
    source.onerror = () => {
      this.stop();
      this.isReconnect = true;
      this.report("offline");
      this.timer = setTimeout(() => this.connect(), this.delay * (0.75 + Math.random() / 2));
      this.delay = Math.min(this.delay * 2, LONGEST_DELAY);
    };
  }

  private report(state: StreamState): void {
    this.state = state;
    this.send({ type: "state", state });
  }
}
