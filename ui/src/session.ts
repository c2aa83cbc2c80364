// The viewer: who is logged in, and what the server allows.
import { effect, signal, untracked } from "@preact/signals";
import { ApiError, fetchUrl, urls } from "./api";
import type { SessionView } from "./api-types";
import { startStream, streamState } from "./stream";

export type Session =
  | { readonly state: "loading" }
  | { readonly state: "login" }
  | { readonly state: "error"; readonly message: string }
  | { readonly state: "viewer"; readonly viewer: SessionView };

export const session = signal<Session>({ state: "loading" });

const RETRY = 2_000;

/** The viewer of the page; only pages after the login use it. */
export function viewer(): SessionView | null {
  return session.value.state === "viewer" ? session.value.viewer : null;
}

/** Ask for a login if the stream has ended with its session: it would reconnect forever. */
async function checkSession(): Promise<void> {
  if (!viewer()) return;
  try {
    await fetchUrl(urls.session());
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) session.value = { state: "login" };
  }
}

effect(() => {
  if (streamState.value === "offline") void untracked(checkSession);
});

function enter(view: SessionView): void {
  session.value = { state: "viewer", viewer: view };
  startStream();
}

export async function loadSession(): Promise<void> {
  try {
    enter(await fetchUrl(urls.session()));
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) session.value = { state: "login" };
    else {
      session.value = { state: "error", message: error instanceof Error ? error.message : String(error) };
      setTimeout(() => void loadSession(), RETRY);
    }
  }
}
